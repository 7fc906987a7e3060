"""The keyed states of one agent, as the rest of this package sees them.

The protocols are the part of PyFlink's ``MapState``, ``ListState`` and ``ValueState`` that is used,
so that Flink's own handles fit as they are, and dictionaries stand in for them without a JVM.
Every value is ``bytes`` of an encoding of ours; nothing is ever pickled into state by class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol


class MapHandle(Protocol):
    """A map from text to bytes."""

    def get(self, key: str, /) -> bytes | None: ...

    def put(self, key: str, value: bytes, /) -> None: ...

    def remove(self, key: str, /) -> None: ...

    def keys(self) -> Iterable[str]: ...

    def values(self) -> Iterable[bytes]: ...

    def items(self) -> Iterable[tuple[str, bytes]]: ...

    def clear(self) -> None: ...


class ListHandle(Protocol):
    """A list of bytes that is appended to."""

    def get(self) -> Iterable[bytes]: ...

    def add(self, value: bytes, /) -> None: ...

    def update(self, values: list[bytes], /) -> None: ...

    def clear(self) -> None: ...


class ValueHandle(Protocol):
    """One value, or none."""

    def value(self) -> bytes | None: ...

    def update(self, value: bytes, /) -> None: ...

    def clear(self) -> None: ...


@dataclass(frozen=True, slots=True)
class AgentStates:
    """All states of one agent. The field names are the states' names in every savepoint.

    Attributes:
        sensory: Event id -> event: the recent raw events.
        requests_0: Request id -> outcome; one of two generations of the window of idempotence.
        requests_1: The other generation.
        history: Events in order of arrival: the short-term history.
        memories: Memory id -> record: the memory bank.
        accesses: Which memories were returned by searches, appended, folded now and then.
        vector_tail: One entry for each change since the last seal: the head of the vector log.
        vector_segments: Sealed chunks of the vector log, and the graphs over them.
        audit: Number -> superseded change; ``last/<memory id>`` -> number of a deleted memory's end.
        pending: Arrival number -> request that waits for an answer, or behind one that does.
        manifest: Layout version, counters and segments as of the last seal.
    """

    sensory: MapHandle
    requests_0: MapHandle
    requests_1: MapHandle
    history: ListHandle
    memories: MapHandle
    accesses: ListHandle
    vector_tail: ListHandle
    vector_segments: MapHandle
    audit: MapHandle
    pending: MapHandle
    manifest: ValueHandle

    def clear(self) -> None:
        """Remove everything of the agent."""
        for entry in fields(self):
            getattr(self, entry.name).clear()


#: Name -> kind of every state, in the order of :class:`AgentStates`.
STATE_KINDS: dict[str, str] = {
    "sensory": "map",
    "requests_0": "map",
    "requests_1": "map",
    "history": "list",
    "memories": "map",
    "accesses": "list",
    "vector_tail": "list",
    "vector_segments": "map",
    "audit": "map",
    "pending": "map",
    "manifest": "value",
}
