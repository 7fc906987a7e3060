"""Recent history over memories and events alike."""

from __future__ import annotations

from flink_memory.records import EventRecord, MemoryRecord
from flink_memory.store import AgentStore


def recent_items(store: AgentStore, n: int, session_id: str | None = None) -> list[MemoryRecord | EventRecord]:
    """The last items that were added or observed and are still there, oldest first.

    A memory stands at its birth and an event at its ordinal, which are of one numbering: the order of arrival.
    O(rows) for the memories, whatever ``n`` is.

    Args:
        store: Is read.
        n: How many at most, at least 1.
        session_id: Only those that come from a session.
    """
    events = [event for _, event in store.history() if session_id in (None, event.session_id)][-n:]
    placed: list[tuple[int, MemoryRecord | EventRecord]] = [(event.ordinal, event) for event in events]
    placed += [(memory.birth, memory) for memory in _last_memories(store, n, session_id)]
    placed.sort(key=lambda item: item[0])
    return [record for _, record in placed[-n:]]


def _last_memories(store: AgentStore, n: int, session_id: str | None) -> list[MemoryRecord]:
    """The youngest memories, looked for among ever more of the latest ordinals."""
    newest = store.counters.next_ordinal - 1
    window = 2 * n
    while True:
        found = [
            record
            for record in store.memories_after(max(newest - window, -1))
            if session_id is None or session_id in record.source_sessions
        ]
        if len(found) >= n or window > newest:
            return found[-n:]
        window *= 8
