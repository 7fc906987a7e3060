"""Forgetting: removing for good, with every trace in state but the change that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flink_memory.bank import numbered_changes
from flink_memory.execution import Execution
from flink_memory.records import Change, EventRecord, MemoryRecord
from flink_memory.requests import Forget


def forget(run: Execution[Forget]) -> dict[str, Any]:
    """Remove what the request names; what is not there is not counted.

    Forgetting a session takes its events, the memories that come from it alone, and what the audit history
    quotes of changes made in it. Memories that have other sources, too, lose the session from their lineage,
    and their earlier texts.
    """
    request = run.request
    if request.everything:
        return {"forgotten": _everything(run)}
    if request.session_id is not None:
        return {"forgotten": _session(run, request.session_id)}
    if request.event_ids is not None:
        return {"forgotten": _events(run, list(dict.fromkeys(request.event_ids)))}
    return {"forgotten": _memories(run, list(dict.fromkeys(request.memory_ids or ())))}


def _everything(run: Execution[Forget]) -> dict[str, int]:
    store, draft = run.store, run.draft
    counts = {
        "memories": store.counters.memories,
        "events": store.counters.events,
        "history": len(store.history()),
    }
    for record in list(store.memories_after(-1)):
        draft.counters.sequence += 1
        draft.changes.append(
            Change(
                sequence=draft.counters.sequence,
                memory_id=record.memory_id,
                action="FORGET",
                old_memory=None,
                new_memory=None,
                cause=draft.cause,
                at_ms=draft.at_ms,
                arrived_ms=draft.arrived_ms,
            )
        )
    counters = draft.counters
    counters.memories = counters.events = counters.history = 0
    counters.audit_first = counters.audit_next
    draft.clear = True
    return counts


def _session(run: Execution[Forget], session_id: str) -> dict[str, int]:
    events = run.store.events_of(session_id)
    for event_id, ordinal in events:
        run.draft.remove_event(event_id, ordinal)
    history = _drop_history(run, lambda event: event.session_id == session_id)
    memories = 0
    for record in list(run.store.memories_after(-1)):
        if record.source_sessions == (session_id,):
            _erase(run, record)
            memories += 1
        elif session_id in record.source_sessions:
            rest = tuple(name for name in record.source_sessions if name != session_id)
            run.draft.replace_memory(record, run.store.vector(record.ordinal), {"source_sessions": rest})
            _redact_history(run, record)
    _redact_changes(run, session_id)
    run.draft.forgotten_session = session_id
    run.draft.purge = True
    return {"memories": memories, "events": len(events), "history": history}


def _redact_changes(run: Execution[Forget], session_id: str) -> None:
    """Take the texts out of the changes that were made in a session; that they were made stays known."""
    counters = run.store.counters
    for number in range(counters.audit_first, counters.audit_next):
        change = run.store.change(number)
        if change is None or number in run.draft.superseded or change.session_id != session_id:
            continue
        run.draft.superseded[number] = _redacted(change)


def _redact_history(run: Execution[Forget], record: MemoryRecord) -> None:
    """Take the earlier texts of a memory out of its audit history."""
    superseded = run.draft.superseded
    for number, change in list(superseded.items()):
        if change is not None and change.sequence == record.last_change.sequence:
            superseded[number] = _redacted(change)
    for earlier, change in numbered_changes(run.store, record.memory_id):
        if earlier is not None:
            superseded[earlier] = _redacted(change)


def _redacted(change: Change) -> Change:
    return replace(change, old_memory=None, new_memory=None, session_id="")


def _events(run: Execution[Forget], event_ids: list[str]) -> dict[str, int]:
    found = [event for event in map(run.store.event, event_ids) if event is not None]
    for event in found:
        run.draft.remove_event(event.event_id, event.ordinal)
    names = frozenset(event_ids)
    history = _drop_history(run, lambda event: event.event_id in names)
    run.draft.purge = True
    return {"memories": 0, "events": len(found), "history": history}


def _memories(run: Execution[Forget], memory_ids: list[str]) -> dict[str, int]:
    forgotten = 0
    for memory_id in memory_ids:
        record = run.store.memory(memory_id)
        if record is not None:
            _erase(run, record)
            forgotten += 1
        else:
            _erase_trace(run, memory_id)
    run.draft.purge = True
    return {"memories": forgotten, "events": 0, "history": 0}


def _erase(run: Execution[Forget], record: MemoryRecord) -> None:
    numbers = [number for number, _ in numbered_changes(run.store, record.memory_id) if number is not None]
    run.draft.erase_memory(record, numbers)


def _erase_trace(run: Execution[Forget], memory_id: str) -> None:
    """Remove what the audit history still says of a memory that was deleted before."""
    for number, _ in numbered_changes(run.store, memory_id):
        if number is not None:
            run.draft.superseded[number] = None
            run.draft.ends[memory_id] = None


def _drop_history(run: Execution[Forget], is_dropped: Callable[[EventRecord], bool]) -> int:
    items = run.store.history()
    kept = [item for item in items if not is_dropped(item[1])]
    if len(kept) < len(items):
        run.draft.history_kept = kept
        run.draft.counters.history = len(kept)
    return len(items) - len(kept)
