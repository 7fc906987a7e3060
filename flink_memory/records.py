"""What an agent's memory is made of: memories, events, and the changes they went through.

All times are milliseconds since the epoch, UTC. Records are frozen; a change makes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from flink_memory.clock import format_time

MemoryType = Literal["fact", "preference", "experience"]
Action = Literal["ADD", "UPDATE", "DELETE", "EXPIRE", "COMPACT", "FORGET"]
Kind = Literal["memory", "event"]

#: Row kinds as they stand in the vector log. The numbers are part of the state layout.
KIND_MEMORY = 0
KIND_EVENT = 1


@dataclass(frozen=True, slots=True)
class Cause:
    """Which request led to a change, or which rule of retention (``request_id`` is then empty)."""

    request_id: str
    op: str


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one memory.

    Attributes:
        sequence: Position among all changes of the agent, from 1, without gaps.
        memory_id: The memory that changed.
        action: What happened to it.
        old_memory: Its text before; ``None`` for an ``ADD``, and for a ``FORGET``, which keeps no text.
        new_memory: Its text afterwards; ``None`` when it is gone.
        cause: What led to it.
        at_ms: When the request says that it happened.
        arrived_ms: When the input that led to it arrived; ages count from here.
        session_id: Session of that input; empty where there was none.
        previous: Audit number of the change of the same memory before this one, if there was one.
    """

    sequence: int
    memory_id: str
    action: Action
    old_memory: str | None
    new_memory: str | None
    cause: Cause
    at_ms: int
    arrived_ms: int
    session_id: str = ""
    previous: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory of the bank.

    Attributes:
        birth: Ordinal of the row that first held this memory: its place in the order of creation.
        ordinal: Ordinal of the row that holds its present vector.
        last_change: The change that made it what it is; it moves to the audit history at the next one.
    """

    memory_id: str
    memory: str
    memory_type: MemoryType | None
    metadata: Mapping[str, Any]
    confidence: float | None
    importance: float | None
    source_sessions: tuple[str, ...]
    source_events: tuple[str, ...]
    created_at_ms: int
    updated_at_ms: int
    expires_at_ms: int | None
    version: int
    birth: int
    ordinal: int
    last_change: Change

    def fields(self, access: Access) -> dict[str, Any]:
        """The record under its wire names, times as milliseconds: what filters are evaluated on."""
        return {
            "kind": "memory",
            "memory_id": self.memory_id,
            "memory": self.memory,
            "memory_type": self.memory_type,
            "metadata": self.metadata,
            "confidence": self.confidence,
            "importance": self.importance,
            "source_sessions": self.source_sessions,
            "source_events": self.source_events,
            "created_at": self.created_at_ms,
            "updated_at": self.updated_at_ms,
            "last_accessed": access.last_ms,
            "access_count": access.count,
            "expires_at": self.expires_at_ms,
            "version": self.version,
        }

    def wire(self, access: Access) -> dict[str, Any]:
        """The record as the wire contract gives it."""
        return {
            "memory_id": self.memory_id,
            "memory": self.memory,
            "memory_type": self.memory_type,
            "metadata": self.metadata,
            "confidence": self.confidence,
            "importance": self.importance,
            "source_sessions": self.source_sessions,
            "source_events": self.source_events,
            "created_at": format_time(self.created_at_ms),
            "updated_at": format_time(self.updated_at_ms),
            "last_accessed": _optional_time(access.last_ms),
            "access_count": access.count,
            "expires_at": _optional_time(self.expires_at_ms),
            "version": self.version,
        }

    def hit(self) -> dict[str, Any]:
        """The part of a search hit that does not depend on the search."""
        return {
            "id": self.memory_id,
            "kind": "memory",
            "text": self.memory,
            "metadata": self.metadata,
            "created_at": format_time(self.created_at_ms),
            "updated_at": format_time(self.updated_at_ms),
            "memory_type": self.memory_type,
            "confidence": self.confidence,
            "importance": self.importance,
            "source_sessions": self.source_sessions,
        }


@dataclass(frozen=True, slots=True)
class Access:
    """How often a memory was returned by ``get`` or ``search``, and when last."""

    count: int = 0
    last_ms: int | None = None


NEVER_ACCESSED = Access()


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event as it was observed, verbatim.

    Attributes:
        content: The text, or the list of blocks, as it came.
        role: The role of the chat message that it came from, if it came from one.
        extra: Further fields of that chat message (``name``, ``tool_calls`` and the like).
        ordinal: Ordinal of its row in the vector log.
    """

    event_id: str
    session_id: str
    timestamp_ms: int
    type: str
    content: str | Sequence[Mapping[str, Any]] | None
    producer: str | None = None
    role: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    ordinal: int = -1

    @property
    def text(self) -> str:
        """The content as one text; blocks are joined by line ends."""
        return content_text(self.content)

    def fields(self) -> dict[str, Any]:
        """The event under its wire names, times as milliseconds: what filters are evaluated on."""
        return {
            "kind": "event",
            "event_id": self.event_id,
            "session_id": self.session_id,
            "timestamp": self.timestamp_ms,
            "created_at": self.timestamp_ms,
            "type": self.type,
            "producer": self.producer,
            "role": self.role,
            "metadata": self.metadata,
        }

    def wire(self) -> dict[str, Any]:
        """The event as ``get_history`` gives it."""
        record: dict[str, Any] = {
            "event_id": self.event_id,
            "session_id": self.session_id,
            "timestamp": format_time(self.timestamp_ms),
            "type": self.type,
            "producer": self.producer,
            "content": self.content,
            "metadata": self.metadata,
        }
        if self.role is not None:
            record["role"] = self.role
        if self.extra:
            record["message"] = self.extra
        return record

    def hit(self) -> dict[str, Any]:
        """The part of a search hit that does not depend on the search."""
        return {
            "id": self.event_id,
            "kind": "event",
            "text": self.text,
            "metadata": self.metadata,
            "created_at": format_time(self.timestamp_ms),
            "session_id": self.session_id,
            "type": self.type,
            "producer": self.producer,
        }


def content_text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    """Flatten message content to text; blocks that hold no text are left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in content if block.get("text"))


def _optional_time(time_ms: int | None) -> str | None:
    return None if time_ms is None else format_time(time_ms)
