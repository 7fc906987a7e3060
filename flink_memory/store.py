"""What the memory of one agent needs from where it is kept.

The hybrid backend (``flink_memory.state.store``) is the one implementation; it runs on Flink's
keyed state and on dictionaries alike. Rows are numbers of the live vector log: they hold still
within one input, and no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from flink_memory.counters import Counters
from flink_memory.draft import Draft
from flink_memory.effects import BuildGraph, Float32Matrix, Float32Vector
from flink_memory.filters import Filter
from flink_memory.lexical import LexicalScores
from flink_memory.records import Access, Change, EventRecord, MemoryRecord

BoolMask = npt.NDArray[np.bool_]
RowNumbers = npt.NDArray[np.int64]


class AgentStore(Protocol):
    """One agent's memory as it is kept. Only :meth:`commit` and its like change anything."""

    @property
    def counters(self) -> Counters:
        """Where the numbering stands. Not to be changed: copy it into a draft."""
        ...

    @property
    def dimension(self) -> int:
        """Of the vectors."""
        ...

    # Records

    def memory(self, memory_id: str) -> MemoryRecord | None:
        """A memory by its id."""
        ...

    def event(self, event_id: str) -> EventRecord | None:
        """An event by its id."""
        ...

    def access(self, birth: int) -> Access:
        """How often a memory was returned, by its birth."""
        ...

    def change(self, number: int) -> Change | None:
        """An entry of the audit history, by its number."""
        ...

    def end_of(self, memory_id: str) -> int | None:
        """Number of the audit entry that ended a memory which is gone."""
        ...

    def history(self) -> Sequence[tuple[int, EventRecord]]:
        """The short-term history, oldest first: ``(arrived_ms, event)``."""
        ...

    def memories_after(self, birth: int) -> Iterator[MemoryRecord]:
        """Memories born after ``birth``, in the order of birth."""
        ...

    def events_of(self, session_id: str) -> list[tuple[str, int]]:
        """Events of a session, in order of arrival: ``(event_id, ordinal)``."""
        ...

    def oldest_events(self, count: int, before_ms: int | None = None) -> list[tuple[str, int]]:
        """The events that arrived first: ``(event_id, ordinal)``; of those before a time, if given."""
        ...

    def oldest_memories(self, count: int, before_ms: int | None = None) -> list[str]:
        """Ids of the memories that changed least recently; of those before a time, if given."""
        ...

    def expired_memories(self, now_ms: int) -> list[str]:
        """Ids of the memories whose time is over, in order of it."""
        ...

    # Search

    def vector(self, ordinal: int) -> Float32Vector:
        """Vector of a living row, shape ``(dim,)``."""
        ...

    def select(self, kinds: Sequence[str], condition: Filter | None) -> BoolMask | None:
        """Rows of those kinds that match, shape ``(rows,)``; ``None`` when every row does."""
        ...

    def nearest(self, query: Float32Vector, k: int, mask: BoolMask | None) -> tuple[RowNumbers, Float32Vector]:
        """The ``k`` rows of highest inner product, best first: ``(rows, scores)``."""
        ...

    def similarity(self, query: Float32Vector, rows: RowNumbers) -> Float32Vector:
        """Inner products with the vectors of ``rows`` (ascending), shape ``(len(rows),)``."""
        ...

    def words(self, text: str) -> LexicalScores | None:
        """Lexical scores of all rows; ``None`` when the text has no words that count."""
        ...

    def neighbours(self) -> tuple[RowNumbers, RowNumbers]:
        """The living event before and after each row in its session, -1 for none."""
        ...

    def memory_births(self, rows: RowNumbers) -> list[int]:
        """Births of those rows that are memories."""
        ...

    def births(self, rows: RowNumbers) -> RowNumbers:
        """Births of rows: the order in which equal scores stand."""
        ...

    def records(self, rows: Sequence[int]) -> list[MemoryRecord | EventRecord]:
        """The records of living rows."""
        ...

    def hits(self, rows: Sequence[int]) -> list[bytes]:
        """The ``hit()`` of living rows as JSON; what has been encoded once is kept."""
        ...

    # Requests

    def outcome(self, request_id: str) -> bytes | None:
        """The result record of an earlier request; empty where it was not kept."""
        ...

    def remember(self, request_id: str, arrived_ms: int, result: bytes, *, quotes: bool) -> None:
        """Keep the outcome of a request; ``quotes`` says that it holds texts of memories or events."""
        ...

    def enqueue(self, arrived_ms: int, payload: str) -> int:
        """Put a request at the end of those that wait; returns its number."""
        ...

    def waiting(self) -> list[tuple[int, int, str]]:
        """Requests that wait, first come first: ``(number, arrived_ms, payload)``."""
        ...

    def dequeue(self) -> None:
        """Remove the first of those that wait."""
        ...

    # Changes

    def commit(self, draft: Draft) -> None:
        """Write a draft, all of it."""
        ...

    def next_due_ms(self) -> int | None:
        """When the next memory, event, item of history or of audit ends by its age or its time; ``None`` for never."""
        ...

    # Background

    def graphs_due(self) -> list[BuildGraph]:
        """Graphs that sealed segments should have and have not; each is told once."""
        ...

    def set_graph(self, ask_id: str, graph: bytes) -> None:
        """Put a graph over the segment it was built for, if that is still there."""
        ...

    @property
    def needs_vectors(self) -> bool:
        """Whether all vectors are of another model, and have to be made again first."""
        ...

    def texts(self) -> list[str]:
        """Texts of all living rows, in order, as they are to be embedded."""
        ...

    def replace_vectors(self, vectors: Float32Matrix) -> None:
        """Replace all vectors, in the order of :meth:`texts`."""
        ...
