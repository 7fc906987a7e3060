"""The records that go out, as JSON text: results, changes and dead letters.

A big result is encoded once: its bytes are spliced into the record as they are, and a stored
result is marked as a duplicate without decoding it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson

from flink_memory.clock import format_time
from flink_memory.errors import ErrorDetail
from flink_memory.records import Action

MAX_RAW_BYTES = 64 * 1024
"""How much of a payload a dead letter holds."""


def ok_result(request_id: str, agent_id: str, op: str, result: Mapping[str, Any], applied_at_ms: int) -> str:
    """Build the result of a request that was carried out.

    Args:
        request_id: Of the request.
        agent_id: Of the request.
        op: Of the request.
        result: What the contract says for that ``op``; JSON values, or `orjson.Fragment`.
        applied_at_ms: Time of processing.
    """
    return _text(
        {
            "request_id": request_id,
            "agent_id": agent_id,
            "op": op,
            "status": "ok",
            "result": result,
            "applied_at": format_time(applied_at_ms),
        }
    )


def ok_result_from_fragment(request_id: str, agent_id: str, op: str, result_json: bytes, applied_at_ms: int) -> str:
    """Build the same as `ok_result` around a ``result`` that is JSON already."""
    return _text(
        {
            "request_id": request_id,
            "agent_id": agent_id,
            "op": op,
            "status": "ok",
            "result": orjson.Fragment(result_json),
            "applied_at": format_time(applied_at_ms),
        }
    )


def error_result(request_id: str, agent_id: str, op: str | None, error: ErrorDetail, applied_at_ms: int) -> str:
    """Build the result of a request that could not be carried out.

    Args:
        request_id: Of the request.
        agent_id: Of the request.
        op: As it came; None if it was missing or unreadable.
        error: What went wrong.
        applied_at_ms: Time of processing.
    """
    return _text(
        {
            "request_id": request_id,
            "agent_id": agent_id,
            "op": op,
            "status": "error",
            "error": _error_object(error),
            "applied_at": format_time(applied_at_ms),
        }
    )


def duplicate_of(stored_text: str) -> str:
    """Mark a stored result as given once more: ``"duplicate": true``, all else as it was."""
    return f'{stored_text[:-1]},"duplicate":true}}'


def change_record(
    agent_id: str,
    sequence: int,
    memory_id: str,
    action: Action,
    old_memory: str | None,
    new_memory: str | None,
    cause: Mapping[str, Any],
    at_ms: int,
    record: Mapping[str, Any] | None = None,
) -> str:
    """Build one record of the changelog.

    Args:
        agent_id: Whose memory changed.
        sequence: 1, 2, 3, ... for each agent.
        memory_id: Which memory changed.
        action: How.
        old_memory: Its text before; None if it was not there.
        new_memory: Its text after; None if it is gone.
        cause: ``request_id`` and ``op`` of the request, or what else caused it.
        at_ms: Time of the change.
        record: The memory's whole record after the change, so that a replay of the changelog
            rebuilds what the text alone does not say; left out when None.
    """
    change: dict[str, Any] = {
        "agent_id": agent_id,
        "sequence": sequence,
        "memory_id": memory_id,
        "action": action,
        "old_memory": old_memory,
        "new_memory": new_memory,
        "cause": cause,
        "at": format_time(at_ms),
    }
    if record is not None:
        change["record"] = record
    return _text(change)


def dead_letter(error: ErrorDetail, raw: bytes, received_at_ms: int) -> str:
    """Build the record of a payload that is no request.

    Args:
        error: What is wrong with it.
        raw: The payload as it came; what is beyond 64 KiB is cut.
        received_at_ms: Time of processing.
    """
    return _text(
        {
            "error": _error_object(error),
            "raw": base64.b64encode(raw[:MAX_RAW_BYTES]).decode(),
            "truncated": len(raw) > MAX_RAW_BYTES,
            "received_at": format_time(received_at_ms),
        }
    )


def _error_object(error: ErrorDetail) -> dict[str, str]:
    fields = {"code": error.code, "message": error.message}
    return fields if error.field is None else {**fields, "field": error.field}


def _text(record: Mapping[str, Any]) -> str:
    return orjson.dumps(record).decode()
