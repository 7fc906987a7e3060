"""The hybrid backend: history store and vector store of one agent, on its keyed states.

State is the truth at every instant: whatever a draft changes is written before the next input is
looked at. What is held here beside it (decoded records, the live index) is a cache, and may be
dropped at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from flink_memory.analysis import analyze
from flink_memory.config import MemoryConfig
from flink_memory.counters import Counters
from flink_memory.draft import Draft
from flink_memory.effects import BuildGraph, Float32Matrix, Float32Vector
from flink_memory.errors import EmbeddingModelChangedError
from flink_memory.filters import Filter
from flink_memory.lexical import LexicalScores
from flink_memory.records import KIND_EVENT, KIND_MEMORY, Access, Change, EventRecord, MemoryRecord
from flink_memory.retention import DAY_MS
from flink_memory.state.accesses import AccessLog
from flink_memory.state.encoding import (
    decode_change,
    decode_event,
    decode_history_item,
    decode_memory,
    decode_number,
    encode_change,
    encode_event,
    encode_history_item,
    encode_memory,
    encode_number,
)
from flink_memory.state.handles import AgentStates
from flink_memory.state.log import LogEntry, Upsert
from flink_memory.state.outcomes import Outcomes
from flink_memory.state.pending import PendingRequests
from flink_memory.state.record_cache import RecordCache
from flink_memory.state.rows import BoolMask, RowNumbers
from flink_memory.state.vector_log import ModelStamp, VectorLog
from flink_memory.texts import embedded_text, indexed_text

__all__ = ["HybridStore", "ModelStamp"]

#: Bytes of an agent in use that holds nothing, measured.
_AGENT_BYTES: Final = 9_000


class HybridStore:
    """One agent's :class:`~flink_memory.store.AgentStore`.

    Args:
        states: The agent's states; under Flink, those of the current key.
        config: The job's configuration.
        model: The embedding model in use.

    Raises:
        EmbeddingModelChangedError: The vectors are of another model, and the configuration says to stop.
        StateVersionError: The state is of a layout that this code does not know.
    """

    def __init__(self, states: AgentStates, config: MemoryConfig, model: ModelStamp) -> None:
        self._states = states
        self._config = config
        self._model = model
        age_days = config.sensory.max_age_days
        self._outcomes = Outcomes(
            states, config.sensory.max_requests, None if age_days is None else int(age_days * DAY_MS)
        )
        self._memories = RecordCache(states.memories, encode_memory, decode_memory, lambda record: record.memory_id)
        self._events = RecordCache(states.sensory, encode_event, decode_event, lambda record: record.event_id)
        self._accesses = AccessLog(states.accesses, keeps_short=not config.sensory.max_requests)
        self._pending = PendingRequests(states.pending)
        self._history: list[tuple[int, EventRecord]] | None = None
        self._log = VectorLog(states, config.index, model, self._memories, self._events, self._accesses)
        self._check_model()

    # Records

    @property
    def counters(self) -> Counters:
        return self._log.counters

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def nbytes(self) -> int:
        """Bytes held in memory, roughly."""
        history = 0 if self._history is None else 800 * len(self._history)
        records = self._memories.nbytes + self._events.nbytes + self._accesses.nbytes
        return _AGENT_BYTES + self._log.index.nbytes + records + history + self._log.selection.nbytes

    def memory(self, memory_id: str) -> MemoryRecord | None:
        return self._memories.get(memory_id) if self._log.index.rows.may_have(memory_id) else None

    def event(self, event_id: str) -> EventRecord | None:
        return self._events.get(event_id) if self._log.index.rows.may_have(event_id) else None

    def access(self, birth: int) -> Access:
        return self._accesses.of(birth)

    def change(self, number: int) -> Change | None:
        stored = self._states.audit.get(str(number))
        return None if stored is None else decode_change(stored)

    def end_of(self, memory_id: str) -> int | None:
        stored = self._states.audit.get(_end_key(memory_id))
        return None if stored is None else decode_number(stored)

    def history(self) -> Sequence[tuple[int, EventRecord]]:
        if self._history is None:
            self._history = [decode_history_item(item) for item in self._states.history.get()]
        return self._history

    def memories_after(self, birth: int) -> Iterator[MemoryRecord]:
        table = self._log.index.rows
        rows = np.flatnonzero(table.of_kind(KIND_MEMORY))
        births = table.rows["birth"][rows]
        order = np.argsort(births, kind="stable")
        for row in rows[order[np.searchsorted(births, birth, side="right", sorter=order) :]].tolist():
            yield self._memory_of(row)

    def events_of(self, session_id: str) -> list[tuple[str, int]]:
        return self._ids_and_ordinals(self._log.index.rows.of_session(session_id))

    def oldest_events(self, count: int, before_ms: int | None = None) -> list[tuple[str, int]]:
        return self._ids_and_ordinals(self._oldest(KIND_EVENT, count, before_ms))

    def oldest_memories(self, count: int, before_ms: int | None = None) -> list[str]:
        return [self._log.index.rows.ids[row] for row in self._oldest(KIND_MEMORY, count, before_ms).tolist()]

    def expired_memories(self, now_ms: int) -> list[str]:
        table = self._log.index.rows
        expires_ms = table.rows["expires_ms"]
        rows = np.flatnonzero((expires_ms > 0) & (expires_ms <= now_ms) & table.alive)
        order = np.argsort(expires_ms[rows], kind="stable")
        return [table.ids[row] for row in rows[order].tolist()]

    # Search

    def vector(self, ordinal: int) -> Float32Vector:
        row = self._log.index.rows.find(ordinal)
        if row is None:
            raise KeyError(f"Expected a living row of ordinal {ordinal}, found none.")
        return self._log.index.vectors.vector(row)

    def select(self, kinds: Sequence[str], condition: Filter | None) -> BoolMask | None:
        return self._log.selection.rows(kinds, condition)

    def nearest(self, query: Float32Vector, k: int, mask: BoolMask | None) -> tuple[RowNumbers, Float32Vector]:
        return self._log.index.vectors.top(query, k, mask)

    def similarity(self, query: Float32Vector, rows: RowNumbers) -> Float32Vector:
        return self._log.index.scores(query, rows)

    def words(self, text: str) -> LexicalScores | None:
        terms = analyze(text)
        return self._log.index.words.scores(terms) if terms else None

    def neighbours(self) -> tuple[RowNumbers, RowNumbers]:
        return self._log.index.neighbours()

    def births(self, rows: RowNumbers) -> RowNumbers:
        births: RowNumbers = self._log.index.rows.rows["birth"][rows]
        return births

    def memory_births(self, rows: RowNumbers) -> list[int]:
        chosen = self._log.index.rows.rows[rows]
        births: list[int] = chosen["birth"][chosen["kind"] == KIND_MEMORY].tolist()
        return births

    def records(self, rows: Sequence[int]) -> list[MemoryRecord | EventRecord]:
        return [self._record_of(row) for row in rows]

    def hits(self, rows: Sequence[int]) -> list[bytes]:
        kinds = self._log.index.rows.rows["kind"]
        ids = self._log.index.rows.ids
        return [
            self._memories.hit(ids[row]) if kinds[row] == KIND_MEMORY else self._events.hit(ids[row]) for row in rows
        ]

    # Requests

    def outcome(self, request_id: str) -> bytes | None:
        if not self._config.sensory.max_requests:
            return None
        return self._outcomes.get(request_id)

    def remember(self, request_id: str, arrived_ms: int, result: bytes, *, quotes: bool) -> None:
        if not self._config.sensory.max_requests:
            return
        if self._outcomes.put(request_id, arrived_ms, result, quotes=quotes):
            self._accesses.fold(self._births_alive())

    def enqueue(self, arrived_ms: int, payload: str) -> int:
        return self._pending.append(arrived_ms, payload)

    def waiting(self) -> list[tuple[int, int, str]]:
        return self._pending.items()

    def dequeue(self) -> None:
        self._pending.remove_first()

    # Changes

    def commit(self, draft: Draft) -> None:
        if draft.clear:
            self._clear(draft.counters)
        states = self._states
        for memory_id, memory in draft.memories.items():
            self._memories.put(memory_id, memory)
        for event_id, event in draft.events.items():
            self._events.put(event_id, event)
        self._write_history(draft)
        for number, change in draft.superseded.items():
            if change is None:
                states.audit.remove(str(number))
            else:
                states.audit.put(str(number), encode_change(change))
        for memory_id, end in draft.ends.items():
            if end is None:
                states.audit.remove(_end_key(memory_id))
            else:
                states.audit.put(_end_key(memory_id), encode_number(end))
        if draft.accesses:
            self._accesses.append(draft.at_ms, draft.accesses)
        self._log.counters = draft.counters
        if not draft.is_empty:
            self._log.append(_entry_of(draft))
        if draft.ended_session is not None:
            self._log.end_session(draft.ended_session, draft.at_ms)
        if draft.forgotten_session is not None:
            self._log.forget_session(draft.forgotten_session)
        if draft.purge:
            self._outcomes.drop_results()
            self._log.seal(purge=True)
        else:
            self._log.seal_if_full()

    def next_due_ms(self) -> int | None:
        table = self._log.index.rows
        dues = self._dues_of_history()
        if len(expires_ms := table.rows["expires_ms"][table.alive & (table.rows["expires_ms"] > 0)]):
            dues.append(int(expires_ms.min()))
        for kind, days in (
            (KIND_EVENT, self._config.sensory.max_age_days),
            (KIND_MEMORY, self._config.memories.max_age_days),
        ):
            if days is not None and len(oldest := self._oldest(kind, 1, None)):
                dues.append(int(table.rows["arrived_ms"][oldest[0]]) + int(days * DAY_MS))
        return min(dues, default=None)

    def _dues_of_history(self) -> list[int]:
        dues = []
        history_days, audit_days = self._config.history.max_age_days, self._config.audit.max_age_days
        if history_days is not None and self.history():
            dues.append(self.history()[0][0] + int(history_days * DAY_MS))
        if audit_days is not None:
            counters = self._log.counters
            changes = map(self.change, range(counters.audit_first, counters.audit_next))
            oldest = next((change for change in changes if change is not None), None)
            if oldest is not None:
                dues.append(oldest.arrived_ms + int(audit_days * DAY_MS))
        return dues

    # Background

    def graphs_due(self) -> list[BuildGraph]:
        return self._log.graphs_due()

    def set_graph(self, ask_id: str, graph: bytes) -> None:
        self._log.set_graph(ask_id, graph)

    @property
    def needs_vectors(self) -> bool:
        return not self._log.is_of_model

    def texts(self) -> list[str]:
        rows = np.flatnonzero(self._log.index.rows.alive).tolist()
        return [embedded_text(record) for record in self.records(rows)]

    def replace_vectors(self, vectors: Float32Matrix) -> None:
        rows = np.flatnonzero(self._log.index.rows.alive).tolist()
        self._log.rewrite([self._upsert_of(row) for row in rows], vectors)

    # Inside

    def _check_model(self) -> None:
        if self._log.is_of_model or self._config.embedding.on_model_change == "reembed":
            return
        model, dimension, metric = self._log.stamp
        raise EmbeddingModelChangedError(
            f"Expected vectors of the configured embedding model {self._model.model_id!r} "
            f"({self._model.dimension} dimensions, metric {self._config.index.metric}), but this state holds "
            f"vectors of {model!r} ({dimension} dimensions, metric {metric}). Configure that model again, or "
            "set embedding.on_model_change: reembed to have every text embedded anew as its agent is loaded. "
            "Nothing was changed."
        )

    def _write_history(self, draft: Draft) -> None:
        if draft.history_kept is not None:
            self._states.history.update([encode_history_item(*item) for item in draft.history_kept])
            self._history = list(draft.history_kept)
        for event in draft.history:
            self._states.history.add(encode_history_item(draft.arrived_ms, event))
            if self._history is not None:
                self._history.append((draft.arrived_ms, event))

    def _clear(self, counters: Counters) -> None:
        """Remove all but the numbering, the sessions' ends, and the requests that wait."""
        states = self._states
        for cleared in (states.sensory, states.memories, states.audit):
            cleared.clear()
        self._outcomes.clear()
        states.history.clear()
        self._memories.drop()
        self._events.drop()
        self._accesses.forget()
        self._history = None
        self._log.clear(counters)

    def _oldest(self, kind: int, count: int, before_ms: int | None) -> RowNumbers:
        table = self._log.index.rows
        mask = table.of_kind(kind)
        if before_ms is not None:
            mask &= table.rows["arrived_ms"] < before_ms
        return np.flatnonzero(mask)[:count]

    def _births_alive(self) -> list[int]:
        table = self._log.index.rows
        births: list[int] = table.rows["birth"][table.of_kind(KIND_MEMORY)].tolist()
        return births

    def _ids_and_ordinals(self, rows: RowNumbers) -> list[tuple[str, int]]:
        table = self._log.index.rows
        ordinals = table.rows["ordinal"][rows].tolist()
        return [(table.ids[row], ordinal) for row, ordinal in zip(rows.tolist(), ordinals, strict=True)]

    def _record_of(self, row: int) -> MemoryRecord | EventRecord:
        kind = int(self._log.index.rows.rows["kind"][row])
        return self._stored(kind, self._log.index.rows.ids[row])

    def _memory_of(self, row: int) -> MemoryRecord:
        record = self._record_of(row)
        if not isinstance(record, MemoryRecord):
            raise TypeError(f"Expected row {row} to be a memory, it is {type(record).__name__}.")
        return record

    def _stored(self, kind: int, row_id: str) -> MemoryRecord | EventRecord:
        record = self._memories.get(row_id) if kind == KIND_MEMORY else self._events.get(row_id)
        if record is None:
            raise KeyError(f"Expected the record of {row_id!r}, as the vector log says; it is not there.")
        return record

    def _upsert_of(self, row: int) -> Upsert:
        table = self._log.index.rows
        ordinal, birth, arrived_ms, expires_ms, _, kind = table.rows[row].tolist()
        return Upsert(
            ordinal=ordinal,
            birth=birth,
            arrived_ms=arrived_ms,
            expires_ms=expires_ms,
            kind=kind,
            row_id=table.ids[row],
            session=table.session(row),
            terms=tuple(analyze(indexed_text(self._record_of(row)))),
        )


def _entry_of(draft: Draft) -> LogEntry:
    """What a draft does to the rows, with the terms of the new ones."""
    upserts = tuple(
        Upsert(
            ordinal=row.ordinal,
            birth=row.birth,
            arrived_ms=row.arrived_ms,
            expires_ms=row.expires_ms,
            kind=row.kind,
            row_id=row.row_id,
            session=row.session,
            terms=tuple(analyze(row.text)),
        )
        for row in draft.rows
    )
    vectors = (
        np.stack([row.vector for row in draft.rows])
        if len(draft.rows) > 1
        else draft.rows[0].vector[None]
        if draft.rows
        else np.empty((0, 0), dtype=np.float32)
    )
    return LogEntry(draft.counters, tuple(draft.dead_ordinals), upserts, vectors)


def _end_key(memory_id: str) -> str:
    return f"last/{memory_id}"
