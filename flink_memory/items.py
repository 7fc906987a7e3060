"""What a memory state gives and takes: plain, frozen, on its own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from flink_memory.clock import format_time
from flink_memory.records import Action, Change, EventRecord, Kind, MemoryRecord, MemoryType


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MemoryItem(_Frozen):
    """One memory, or one observed event, as it was when it was read.

    A later change of the memory does not show in it, and a change of its ``metadata`` does not reach the memory.
    Times are RFC 3339 in UTC.
    """

    id: str = Field(default="", description="Unique under its key; when an item is added, empty means: make one.")
    memory: str = Field(description="The text.")
    metadata: dict[str, Any] | None = Field(default=None, description="Whatever JSON values the user adds to it.")
    created_at: str | None = Field(default=None, description="When it was created; for an event, when it happened.")
    updated_at: str | None = Field(default=None, description="When it last changed.")
    kind: Kind = Field(default="memory", description="`memory`, or `event` for what was observed.")
    memory_type: MemoryType | None = Field(default=None, description="`fact`, `preference` or `experience`.")
    confidence: float | None = Field(default=None, description="From 0 to 1.")
    importance: float | None = Field(default=None, description="From 0 to 1.")
    expires_at: str | None = Field(default=None, description="When it goes by itself.")
    sessions: tuple[str, ...] = Field(default=(), description="The sessions that it comes from, latest last.")
    producer: str | None = Field(default=None, description="Who said it, of an event.")
    score: float | None = Field(default=None, description="How well it fits, in what a search returns.")


class MemoryChange(_Frozen):
    """One change that a memory went through."""

    action: Action = Field(description="What happened.")
    old_memory: str | None = Field(description="The text before.")
    new_memory: str | None = Field(description="The text afterwards; None when the memory is gone.")
    at: str = Field(description="When, RFC 3339 in UTC.")
    op: str = Field(description="What did it: the method, or `expire` and `retention`, which act by themselves.")


def item_of(record: MemoryRecord | EventRecord) -> MemoryItem:
    """A memory or an event as an item; content of several blocks becomes one text."""
    return _item_of_event(record) if isinstance(record, EventRecord) else _item_of_memory(record)


def item_of_hit(hit: Mapping[str, Any]) -> MemoryItem:
    """A search hit of the wire contract, decoded for this item alone, as an item."""
    is_memory = hit["kind"] == "memory"
    return MemoryItem(
        id=hit["id"],
        memory=hit["text"],
        metadata=hit["metadata"],
        created_at=hit["created_at"],
        updated_at=hit["updated_at"] if is_memory else hit["created_at"],
        kind=hit["kind"],
        memory_type=hit.get("memory_type"),
        confidence=hit.get("confidence"),
        importance=hit.get("importance"),
        sessions=tuple(hit["source_sessions"]) if is_memory else (hit["session_id"],),
        producer=hit.get("producer"),
        score=hit["score"],
    )


def change_item(change: Change) -> MemoryChange:
    """An entry of the audit history as an item."""
    return MemoryChange(
        action=change.action,
        old_memory=change.old_memory,
        new_memory=change.new_memory,
        at=format_time(change.at_ms),
        op=change.cause.op,
    )


def _item_of_memory(record: MemoryRecord) -> MemoryItem:
    return MemoryItem(
        id=record.memory_id,
        memory=record.memory,
        metadata=deepcopy(dict(record.metadata)),
        created_at=format_time(record.created_at_ms),
        updated_at=format_time(record.updated_at_ms),
        memory_type=record.memory_type,
        confidence=record.confidence,
        importance=record.importance,
        expires_at=None if record.expires_at_ms is None else format_time(record.expires_at_ms),
        sessions=tuple(record.source_sessions),
    )


def _item_of_event(record: EventRecord) -> MemoryItem:
    happened_at = format_time(record.timestamp_ms)
    return MemoryItem(
        id=record.event_id,
        memory=record.text,
        metadata=deepcopy(dict(record.metadata)),
        created_at=happened_at,
        updated_at=happened_at,
        kind="event",
        sessions=(record.session_id,),
        producer=record.producer,
    )
