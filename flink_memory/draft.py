"""The changes that one input makes, gathered before the first of them is written.

An operation reads the store and fills a draft; the store then writes the whole draft in one step.
What can go wrong goes wrong while the draft is made, when nothing has been touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flink_memory.counters import Counters
from flink_memory.effects import Float32Vector
from flink_memory.records import (
    KIND_EVENT,
    KIND_MEMORY,
    Action,
    Cause,
    Change,
    EventRecord,
    MemoryRecord,
)


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row to append to the vector log.

    Attributes:
        text: What the lexical index sees.
        vector: Shape ``(dim,)``, float32, unit length under the cosine metric.
        session: Session of an event; empty for a memory.
    """

    ordinal: int
    birth: int
    kind: int
    row_id: str
    arrived_ms: int
    expires_ms: int
    session: str
    text: str
    vector: Float32Vector


@dataclass(slots=True)
class Draft:
    """Changes of one agent, as plain data, in the order in which they were made.

    Attributes:
        counters: The counters as they will stand once the draft is written.
        cause: What every change in it is put down to.
        at_ms: When the input says that it happened.
        arrived_ms: When the input arrived; ages count from here.
        session_id: Session of the input; empty where it has none.
        history_kept: All of the short-term history that is to stay, where some of it goes.
        purge: Whether dead rows are to leave the sealed segments at once.
        clear: Whether everything that is there is to go.
        ended_session: A session that is over.
        forgotten_session: A session of which no trace is to stay.
    """

    counters: Counters
    cause: Cause
    at_ms: int
    arrived_ms: int
    session_id: str = ""
    rows: list[NewRow] = field(default_factory=list)
    dead_ordinals: list[int] = field(default_factory=list)
    memories: dict[str, MemoryRecord | None] = field(default_factory=dict)
    events: dict[str, EventRecord | None] = field(default_factory=dict)
    history: list[EventRecord] = field(default_factory=list)
    history_kept: list[tuple[int, EventRecord]] | None = None
    superseded: dict[int, Change | None] = field(default_factory=dict)
    ends: dict[str, int | None] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    accesses: list[int] = field(default_factory=list)
    purge: bool = False
    clear: bool = False
    ended_session: str | None = None
    forgotten_session: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to append to the log."""
        return not (
            self.rows
            or self.dead_ordinals
            or self.changes
            or self.history
            or self.history_kept is not None
            or self.superseded
        )

    def add_memory(
        self,
        memory_id: str,
        memory: str,
        vector: Float32Vector,
        *,
        end: int | None = None,
        **attributes: Any,
    ) -> MemoryRecord:
        """Add a memory.

        Args:
            memory_id: Not in the bank.
            memory: Its text.
            vector: Shape ``(dim,)``.
            end: Audit number of the end of a deleted memory of the same id, if there was one.
            **attributes: Further fields of :class:`MemoryRecord`.
        """
        ordinal = self._next_ordinal()
        record = MemoryRecord(
            memory_id=memory_id,
            memory=memory,
            created_at_ms=self.at_ms,
            updated_at_ms=self.at_ms,
            version=1,
            birth=ordinal,
            ordinal=ordinal,
            last_change=self._change("ADD", memory_id, None, memory, end),
            **attributes,
        )
        if end is not None:
            self.ends[memory_id] = None
        self._put_memory(record, vector)
        self.counters.memories += 1
        return record

    def replace_memory(self, old: MemoryRecord, vector: Float32Vector, changed: Mapping[str, Any]) -> MemoryRecord:
        """Change fields of a memory; its present row is superseded by a new one.

        Args:
            old: The record as it stands.
            vector: Shape ``(dim,)``: the vector of the new text, or the present one again.
            changed: Fields of :class:`MemoryRecord` and their new values.
        """
        number = self._supersede(old.last_change)
        text = changed.get("memory", old.memory)
        record = replace(
            old,
            **changed,
            updated_at_ms=max(self.at_ms, old.created_at_ms),
            version=old.version + 1,
            ordinal=self._next_ordinal(),
            last_change=self._change("UPDATE", old.memory_id, old.memory, text, number),
        )
        self.dead_ordinals.append(old.ordinal)
        self._put_memory(record, vector)
        return record

    def remove_memory(self, old: MemoryRecord, action: Action = "DELETE") -> None:
        """Remove a memory; its audit history stays, and says how it ended."""
        number = self._supersede(old.last_change)
        change = self._change(action, old.memory_id, old.memory, None, number)
        self.ends[old.memory_id] = self._supersede(change)
        self._drop_memory(old)

    def erase_memory(self, old: MemoryRecord, audit_numbers: list[int]) -> None:
        """Remove a memory with its audit history; the change that says so keeps no text.

        Args:
            old: The record as it stands.
            audit_numbers: Numbers of all its entries in the audit history.
        """
        for number in audit_numbers:
            self.superseded[number] = None
        self._change("FORGET", old.memory_id, None, None, None)
        self._drop_memory(old)
        self.purge = True

    def add_event(self, event: EventRecord, text: str, vector: Float32Vector) -> EventRecord:
        """Take in an event: sensory memory, short-term history, and a row to search.

        Args:
            event: Its ``ordinal`` is still open.
            text: What the lexical index sees.
            vector: Shape ``(dim,)``.
        """
        ordinal = self._next_ordinal()
        record = replace(event, ordinal=ordinal)
        self.events[record.event_id] = record
        self.history.append(record)
        self.rows.append(
            NewRow(
                ordinal=ordinal,
                birth=ordinal,
                kind=KIND_EVENT,
                row_id=record.event_id,
                arrived_ms=self.arrived_ms,
                expires_ms=0,
                session=record.session_id,
                text=text,
                vector=vector,
            )
        )
        self.counters.events += 1
        self.counters.history += 1
        return record

    def remove_event(self, event_id: str, ordinal: int) -> None:
        """Remove an event from sensory memory and from search."""
        self.events[event_id] = None
        self.dead_ordinals.append(ordinal)
        self.counters.events -= 1

    def _put_memory(self, record: MemoryRecord, vector: Float32Vector) -> None:
        self.memories[record.memory_id] = record
        self.rows.append(
            NewRow(
                ordinal=record.ordinal,
                birth=record.birth,
                kind=KIND_MEMORY,
                row_id=record.memory_id,
                arrived_ms=self.arrived_ms,
                expires_ms=0 if record.expires_at_ms is None else max(record.expires_at_ms, 1),
                session="",
                text=record.memory,
                vector=vector,
            )
        )

    def _drop_memory(self, old: MemoryRecord) -> None:
        self.memories[old.memory_id] = None
        self.dead_ordinals.append(old.ordinal)
        self.counters.memories -= 1

    def _next_ordinal(self) -> int:
        ordinal = self.counters.next_ordinal
        self.counters.next_ordinal = ordinal + 1
        return ordinal

    def _supersede(self, change: Change) -> int:
        number = self.counters.audit_next
        self.counters.audit_next = number + 1
        self.superseded[number] = change
        return number

    def _change(self, action: Action, memory_id: str, old: str | None, new: str | None, previous: int | None) -> Change:
        self.counters.sequence += 1
        change = Change(
            sequence=self.counters.sequence,
            memory_id=memory_id,
            action=action,
            old_memory=old,
            new_memory=new,
            cause=self.cause,
            at_ms=self.at_ms,
            arrived_ms=self.arrived_ms,
            session_id=self.session_id,
            previous=previous,
        )
        self.changes.append(change)
        return change
