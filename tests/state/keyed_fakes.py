"""Keyed state of PyFlink without a JVM: handles over dictionaries that follow the current key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from pyflink.common import Row

from flink_memory.state.dictionary import DictionaryList, DictionaryMap, DictionaryValue


class FollowingHandle:
    """A state that is another one for each key, as Flink's handles are."""

    def __init__(self, current_key: Callable[[], object], empty: Callable[[], Any]) -> None:
        self._current_key = current_key
        self._by_key: defaultdict[object, Any] = defaultdict(empty)

    def holds_anything(self) -> bool:
        """Whether anything is in it under the current key."""
        state = self._by_key[self._current_key()]
        if isinstance(state, DictionaryValue):
            return state.value() is not None
        return bool(list(state.get() if isinstance(state, DictionaryList) else state.keys()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._by_key[self._current_key()], name)


class ThreadBackend:
    """What thread mode has: the key as it is."""

    key: object = None

    def get_current_key(self) -> object:
        return self.key

    def switch(self, key: object) -> None:
        self.key = key


class ProcessBackend:
    """What process mode has: a row around the key, which Python itself sets."""

    row: Row | None = None

    def get_current_key(self) -> Row | None:
        return self.row

    def set_current_key(self, row: Row) -> None:
        self.row = row

    def switch(self, key: object) -> None:
        self.set_current_key(Row(key))


class FakeRuntimeContext:
    """Opens states that outlive it: another context over the same ``stored`` is a restart."""

    def __init__(self, backend: Any, stored: dict[str, FollowingHandle] | None = None) -> None:
        self._keyed_state_backend = backend
        self.stored = {} if stored is None else stored

    def get_map_state(self, descriptor: Any) -> Any:
        return self._opened(descriptor, DictionaryMap)

    def get_list_state(self, descriptor: Any) -> Any:
        return self._opened(descriptor, DictionaryList)

    def get_state(self, descriptor: Any) -> Any:
        return self._opened(descriptor, DictionaryValue)

    def _opened(self, descriptor: Any, empty: Callable[[], Any]) -> FollowingHandle:
        backend = self._keyed_state_backend
        return self.stored.setdefault(
            descriptor.get_name(), FollowingHandle(lambda: str(backend.get_current_key()), empty)
        )
