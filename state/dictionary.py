"""The states of agents in plain dictionaries: for tests, notebooks and the local runner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flink_memory.state.handles import STATE_KINDS, AgentStates


class DictionaryMap:
    """A :class:`~flink_memory.state.handles.MapHandle` over a ``dict``."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self._entries.get(key)

    def put(self, key: str, value: bytes) -> None:
        self._entries[key] = value

    def remove(self, key: str) -> None:
        self._entries.pop(key, None)

    def keys(self) -> Iterable[str]:
        return list(self._entries)

    def values(self) -> Iterable[bytes]:
        return list(self._entries.values())

    def items(self) -> Iterable[tuple[str, bytes]]:
        return list(self._entries.items())

    def clear(self) -> None:
        self._entries.clear()


class DictionaryList:
    """A :class:`~flink_memory.state.handles.ListHandle` over a ``list``."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[bytes] = []

    def get(self) -> Iterable[bytes]:
        return list(self._values)

    def add(self, value: bytes) -> None:
        self._values.append(value)

    def update(self, values: list[bytes]) -> None:
        self._values = list(values)

    def clear(self) -> None:
        self._values.clear()


class DictionaryValue:
    """A :class:`~flink_memory.state.handles.ValueHandle` over an attribute."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: bytes | None = None

    def value(self) -> bytes | None:
        return self._value

    def update(self, value: bytes) -> None:
        self._value = value

    def clear(self) -> None:
        self._value = None


def dictionary_states() -> AgentStates:
    """Empty states for one agent."""
    kinds: dict[str, Callable[[], Any]] = {"map": DictionaryMap, "list": DictionaryList, "value": DictionaryValue}
    return AgentStates(**{name: kinds[kind]() for name, kind in STATE_KINDS.items()})
