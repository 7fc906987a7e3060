"""Bytes of every state value that is not part of the vector log.

Each value starts with one byte, the version of its layout, and goes on with compact JSON: an
array of fields by position. Fields are only ever appended, so that older values stay readable;
a change that this cannot express takes the next version, and a reader for each version stays.

========== =========================================================================
value      fields after the version byte
========== =========================================================================
memory     memory_id, memory, memory_type, metadata, confidence, importance,
           source_sessions, source_events, created_at_ms, updated_at_ms,
           expires_at_ms, version, birth, ordinal, last change (as below; its id and
           its new text are the memory's own and left out)
change     sequence, memory_id, action, old, new, request_id, op, at_ms, arrived_ms,
           session_id, previous
event      event_id, session_id, timestamp_ms, type, content, producer, role,
           metadata, extra, ordinal
outcome    u8 1 if the result quotes memory, else 0; int64 arrival in ms,
           little-endian; the result record as JSON from its op on (its ids are those
           of the request), or nothing where it was not kept
history    int64 arrival in ms, little-endian, then the fields of an event
pending    arrival_ms, the request as it came
number     an integer
========== =========================================================================
"""

from __future__ import annotations

from typing import Any

import orjson

from flink_memory.errors import StateVersionError
from flink_memory.records import Cause, Change, EventRecord, MemoryRecord

VERSION = 1
_PREFIX = bytes([VERSION])


def encode_memory(record: MemoryRecord) -> bytes:
    """Encode a memory."""
    return _PREFIX + orjson.dumps(
        (
            record.memory_id,
            record.memory,
            record.memory_type,
            record.metadata,
            record.confidence,
            record.importance,
            record.source_sessions,
            record.source_events,
            record.created_at_ms,
            record.updated_at_ms,
            record.expires_at_ms,
            record.version,
            record.birth,
            record.ordinal,
            _change_fields(record.last_change, is_latest=True),
        )
    )


def decode_memory(data: bytes) -> MemoryRecord:
    """Decode a memory.

    Raises:
        StateVersionError: The layout is not one that this code knows.
    """
    fields = _fields(data, "memory")
    change = fields[14]
    change[1], change[4] = fields[0], fields[1]
    fields[6:8] = tuple(fields[6]), tuple(fields[7])
    fields[14] = _change(change)
    return MemoryRecord(*fields)


def encode_change(change: Change) -> bytes:
    """Encode a change of the audit history."""
    return _PREFIX + orjson.dumps(_change_fields(change))


def decode_change(data: bytes) -> Change:
    """Decode a change of the audit history."""
    return _change(_fields(data, "change"))


def encode_event(event: EventRecord) -> bytes:
    """Encode an event."""
    return _PREFIX + orjson.dumps(
        (
            event.event_id,
            event.session_id,
            event.timestamp_ms,
            event.type,
            event.content,
            event.producer,
            event.role,
            event.metadata,
            event.extra,
            event.ordinal,
        )
    )


def decode_event(data: bytes) -> EventRecord:
    """Decode an event."""
    return EventRecord(*_fields(data, "event"))


def encode_history_item(arrived_ms: int, event: EventRecord) -> bytes:
    """Encode an item of the short-term history."""
    return _PREFIX + arrived_ms.to_bytes(8, "little", signed=True) + encode_event(event)[1:]


def decode_history_item(data: bytes) -> tuple[int, EventRecord]:
    """Decode ``(arrived_ms, event)``."""
    _check(data, "history item")
    arrived_ms = int.from_bytes(data[1:9], "little", signed=True)
    return arrived_ms, EventRecord(*orjson.loads(memoryview(data)[9:]))


def encode_outcome(arrived_ms: int, result: bytes, *, quotes: bool) -> bytes:
    """Encode the outcome of a request.

    Args:
        arrived_ms: When the request arrived.
        result: Its result record; may be empty.
        quotes: Whether the result holds texts of memories or events.
    """
    return _PREFIX + bytes([quotes]) + arrived_ms.to_bytes(8, "little", signed=True) + result


def decode_outcome(data: bytes) -> tuple[int, bytes, bool]:
    """Decode ``(arrived_ms, result, quotes)``."""
    _check(data, "outcome")
    return int.from_bytes(data[2:10], "little", signed=True), data[10:], bool(data[1])


def encode_pending(arrived_ms: int, payload: str) -> bytes:
    """Encode a request that waits."""
    return _PREFIX + orjson.dumps((arrived_ms, payload))


def decode_pending(data: bytes) -> tuple[int, str]:
    """Decode ``(arrived_ms, payload)``."""
    arrived_ms, payload = _fields(data, "pending request")
    return arrived_ms, payload


def encode_number(number: int) -> bytes:
    """Encode an integer."""
    return _PREFIX + orjson.dumps(number)


def decode_number(data: bytes) -> int:
    """Decode an integer."""
    return int(_fields(data, "number"))


def _change_fields(change: Change, *, is_latest: bool = False) -> tuple[Any, ...]:
    return (
        change.sequence,
        None if is_latest else change.memory_id,
        change.action,
        change.old_memory,
        None if is_latest else change.new_memory,
        change.cause.request_id,
        change.cause.op,
        change.at_ms,
        change.arrived_ms,
        change.session_id,
        change.previous,
    )


def _change(fields: list[Any]) -> Change:
    fields[5:7] = [Cause(fields[5], fields[6])]
    return Change(*fields)


def _fields(data: bytes, what: str) -> Any:
    _check(data, what)
    return orjson.loads(memoryview(data)[1:])


def _check(data: bytes, what: str) -> None:
    if data[:1] != _PREFIX:
        raise unknown_version(what, data[0] if data else None, VERSION)


def unknown_version(what: str, found: int | None, known: int) -> StateVersionError:
    """The error for a value whose layout this code does not know."""
    return StateVersionError(
        f"Expected a {what} in layout 1 to {known}, found layout {found}. The state was written by a "
        "newer release: restore it with that release or a later one. Nothing was changed."
    )
