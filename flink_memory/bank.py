"""The memory bank: adding, changing, deleting and reading single memories."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from flink_memory.clock import format_time
from flink_memory.errors import RequestError
from flink_memory.execution import Execution
from flink_memory.filters import parse_filter
from flink_memory.records import Change, MemoryRecord
from flink_memory.requests import Add, Delete, Get, GetAll, History, Update
from flink_memory.store import AgentStore

#: Sessions that one memory names as its sources; the latest are kept.
_MAX_SOURCES = 64


def add(run: Execution[Add]) -> dict[str, Any]:
    """Put one memory into the bank.

    Raises:
        RequestError: ``CONFLICT`` when there is a memory of that id.
    """
    request, store = run.request, run.store
    memory_id = request.memory_id or derived_id("memory", request.agent_id, request.request_id)
    if store.memory(memory_id) is not None:
        raise RequestError(
            "CONFLICT",
            f"Expected an id that is not in use, got {memory_id!r}, which is. Use update to change that "
            "memory, or leave memory_id out.",
            "memory_id",
        )
    run.draft.add_memory(
        memory_id,
        request.memory,
        run.vector(request.vector),
        end=store.end_of(memory_id) if store.counters.audit_next > store.counters.audit_first else None,
        memory_type=request.memory_type,
        metadata=request.metadata or {},
        confidence=request.confidence,
        importance=request.importance,
        source_sessions=(request.session_id,),
        source_events=(),
        expires_at_ms=request.expires_at_ms,
    )
    return {"memory_id": memory_id}


def update(run: Execution[Update]) -> dict[str, Any]:
    """Change fields of one memory.

    Raises:
        RequestError: ``NOT_FOUND``.
    """
    request = run.request
    old = run.memory(request.memory_id)
    changed: dict[str, Any] = {name: getattr(request, name) for name in request.changed_fields if name != "vector"}
    if "metadata" in changed:
        changed["metadata"] = changed["metadata"] or {}
    if "session_id" in request.model_fields_set:
        sessions = [name for name in old.source_sessions if name != request.session_id]
        changed["source_sessions"] = (*sessions, request.session_id)[-_MAX_SOURCES:]
    if request.vector is not None or request.memory is not None:
        vector = run.vector(request.vector)
    else:
        vector = run.store.vector(old.ordinal)
    return {"memory": run.wire(run.draft.replace_memory(old, vector, changed))}


def delete(run: Execution[Delete]) -> dict[str, Any]:
    """Delete one memory; its audit history stays.

    Raises:
        RequestError: ``NOT_FOUND``.
    """
    run.draft.remove_memory(run.memory(run.request.memory_id))
    return {"memory_id": run.request.memory_id}


def get(run: Execution[Get]) -> dict[str, Any]:
    """Read one memory, and count that it was read."""
    record = run.store.memory(run.request.memory_id)
    if record is None:
        return {"memory": None}
    run.draft.accesses.append(record.birth)
    return {"memory": run.wire(record)}


def get_all(run: Execution[GetAll]) -> dict[str, Any]:
    """Read a page of the bank, in the order in which the memories were added.

    Raises:
        RequestError: ``VALIDATION_ERROR`` for a bad filter or cursor.
    """
    request, store = run.request, run.store
    condition = None if request.filter is None else parse_filter(request.filter)
    page: list[MemoryRecord] = []
    for record in store.memories_after(_after(request.cursor)):
        if condition is not None and not condition.matches(record.fields(store.access(record.birth))):
            continue
        if len(page) == request.limit:
            return {"memories": [run.wire(each) for each in page], "cursor": str(page[-1].birth)}
        page.append(record)
    return {"memories": [run.wire(each) for each in page], "cursor": None}


def history(run: Execution[History]) -> dict[str, Any]:
    """Read what a memory was and why it changed, oldest first; of a deleted one, too.

    Raises:
        RequestError: ``NOT_FOUND`` when neither a memory nor a trace of one is left.
    """
    changes = list(changes_of(run.store, run.request.memory_id))
    if not changes:
        run.memory(run.request.memory_id)
    return {
        "history": [
            {
                "action": change.action,
                "old_memory": change.old_memory,
                "new_memory": change.new_memory,
                "at": format_time(change.at_ms),
                "cause": cause_fields(change),
            }
            for change in reversed(changes)
        ]
    }


def changes_of(store: AgentStore, memory_id: str) -> Iterator[Change]:
    """Changes of a memory that are still kept, latest first."""
    for _, change in numbered_changes(store, memory_id):
        yield change


def numbered_changes(store: AgentStore, memory_id: str) -> Iterator[tuple[int | None, Change]]:
    """Changes of a memory, latest first, each with its number in the audit history.

    The present memory's own last change is not in the audit history yet, and has no number.
    """
    record = store.memory(memory_id)
    if record is not None:
        yield None, record.last_change
        number = record.last_change.previous
    else:
        number = store.end_of(memory_id)
    while number is not None:
        change = store.change(number)
        if change is None:
            return
        yield number, change
        number = change.previous


def cause_fields(change: Change) -> dict[str, str | None]:
    """A change's cause as the wire contract gives it."""
    return {"request_id": change.cause.request_id or None, "op": change.cause.op}


def derived_id(*parts: str) -> str:
    """An id that the same parts always give, in the form of a UUID."""
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
    return str(uuid.UUID(bytes=digest.digest()))


def _after(cursor: str | None) -> int:
    if cursor is None:
        return -1
    if cursor.isascii() and cursor.isdigit() and len(cursor) < 19:
        return int(cursor)
    raise RequestError(
        "VALIDATION_ERROR",
        f"Expected the cursor of an earlier result, got {cursor[:40]!r}. Leave it out to start anew.",
        "cursor",
    )
