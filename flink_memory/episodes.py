"""Events: observing them, and reading the short-term history of them."""

from __future__ import annotations

from typing import Any

from flink_memory.bank import derived_id
from flink_memory.errors import RequestError
from flink_memory.execution import Execution
from flink_memory.needs import name_of
from flink_memory.records import EventRecord
from flink_memory.requests import AddMessages, ChatMessage, EndSession, GetHistory, Observe
from flink_memory.texts import indexed_text

_TYPE_OF_ROLE = {
    "user": "user_message",
    "assistant": "agent_action",
    "tool": "tool_output",
    "function": "tool_output",
    "system": "system_message",
    "developer": "system_message",
}


def observe(run: Execution[Observe]) -> dict[str, Any]:
    """Keep one event verbatim.

    The same event again changes nothing, whichever request brings it.

    Raises:
        RequestError: ``CONFLICT`` when another event has that id.
    """
    request = run.request
    event = EventRecord(
        event_id=request.event_id or derived_id("event", request.agent_id, request.request_id),
        session_id=request.session_id,
        timestamp_ms=run.draft.at_ms,
        type=request.type,
        content=_plain(request.content),
        producer=request.producer,
        metadata=request.metadata or {},
    )
    known = run.store.event(event.event_id)
    if known is None:
        run.draft.add_event(event, indexed_text(event), run.vector(None))
        return {"event_id": event.event_id}
    if _is_same(known, event, has_time=request.timestamp_ms is not None):
        return {"event_id": event.event_id, "duplicate": True}
    raise _conflict(event.event_id)


def add_messages(run: Execution[AddMessages]) -> dict[str, Any]:
    """Keep chat messages as events; those that are there already, by the same request, stay as they are.

    Raises:
        RequestError: ``VALIDATION_ERROR`` when memories are to be inferred, which takes a language model;
            ``CONFLICT`` when the request's id was used for other messages before.
    """
    request = run.request
    if request.infer:
        raise RequestError(
            "VALIDATION_ERROR",
            "Expected infer: false, as no language model is configured to infer memories with, got infer: "
            "true (which is also what leaving it out means). Send infer: false to keep the messages as events.",
            "infer",
        )
    event_ids = []
    for position, message in enumerate(request.messages):
        event = _event_of(run, message, position)
        known = run.store.event(event.event_id)
        if known is None:
            run.draft.add_event(event, indexed_text(event), run.vector(None, position))
        elif not _is_same(known, event, has_time=request.timestamp_ms is not None):
            raise _conflict(event.event_id)
        event_ids.append(event.event_id)
    return {"event_ids": event_ids, "memories": []}


def get_history(run: Execution[GetHistory]) -> dict[str, Any]:
    """Read the last items, oldest first."""
    request = run.request
    items = run.store.history()
    found: list[EventRecord] = []
    for _, event in reversed(items):
        if request.session_id is None or event.session_id == request.session_id:
            found.append(event)
            if len(found) == request.n:
                break
    return {"items": [event.wire() for event in reversed(found)]}


def end_session(run: Execution[EndSession]) -> dict[str, Any]:
    """Note that a session is over. Events that come later open it again."""
    run.draft.ended_session = run.request.session_id
    return {"session_id": run.request.session_id}


def _event_of(run: Execution[AddMessages], message: ChatMessage, position: int) -> EventRecord:
    request = run.request
    return EventRecord(
        event_id=derived_id("event", request.agent_id, request.request_id, str(position)),
        session_id=request.session_id,
        timestamp_ms=run.draft.at_ms,
        type=_TYPE_OF_ROLE[message.role],
        content=_plain(message.content),
        producer=name_of(message),
        role=message.role,
        extra=message.model_extra or {},
    )


def _conflict(event_id: str) -> RequestError:
    return RequestError(
        "CONFLICT",
        f"Expected an id that no other event has, got {event_id!r}, which has other content. Events "
        "are never changed: send this one under an id of its own.",
        "event_id",
    )


def _plain(content: Any) -> Any:
    """Content as plain JSON values: a text, a list of dictionaries, or nothing."""
    if content is None or isinstance(content, str):
        return content
    return [dict(block) for block in content]


def _is_same(known: EventRecord, event: EventRecord, *, has_time: bool) -> bool:
    same = (known.type, known.session_id, known.content, known.producer, known.metadata)
    if same != (event.type, event.session_id, event.content, event.producer, event.metadata):
        return False
    return not has_time or known.timestamp_ms == event.timestamp_ms
