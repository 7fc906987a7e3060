"""The vector log of one agent: its tail, its sealed segments, and the live index over both.

State is written before memory, and the manifest only at a seal: each entry of the tail carries the
counters as they stand after it, so the last entry says where the numbering is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from flink_memory.analysis import ANALYSIS_ID, analyze
from flink_memory.config import IndexConfig
from flink_memory.counters import Counters
from flink_memory.effects import BuildGraph, Float32Matrix
from flink_memory.records import KIND_MEMORY, EventRecord, MemoryRecord
from flink_memory.state.accesses import AccessLog
from flink_memory.state.handles import AgentStates
from flink_memory.state.index import LiveIndex
from flink_memory.state.log import LogEntry, Upsert, decode_entry, encode_entry
from flink_memory.state.manifest import Manifest, Segment, decode_manifest, encode_manifest
from flink_memory.state.record_cache import RecordCache
from flink_memory.state.sealing import Sealer, read_chunk, read_graph
from flink_memory.state.selection import Selection
from flink_memory.state.words import WordReader
from flink_memory.texts import indexed_text

#: Ended sessions that are remembered for each agent.
_ENDED_SESSIONS: Final = 256
_GRAPH: Final = "graph/"


@dataclass(frozen=True, slots=True)
class ModelStamp:
    """Which embedding model vectors are of.

    Attributes:
        model_id: As the model names itself.
        dimension: Of its vectors.
    """

    model_id: str
    dimension: int


class VectorLog:
    """Rows of one agent, written through.

    Args:
        states: The agent's states; the tail, the segments and the manifest are used.
        config: The index's part of the configuration.
        model: The embedding model in use.
        memories: The agent's memories; their texts are read when the analysis has changed, and for filters.
        events: The agent's events, likewise.
        accesses: For filters over them.

    Raises:
        StateVersionError: The state is of a layout that this code does not know.
    """

    def __init__(
        self,
        states: AgentStates,
        config: IndexConfig,
        model: ModelStamp,
        memories: RecordCache[MemoryRecord],
        events: RecordCache[EventRecord],
        accesses: AccessLog,
    ) -> None:
        self._states = states
        self._config = config
        self._model = model
        self._memories = memories
        self._events = events
        self._accesses = accesses
        self._tail_entries = 0
        self._graphs_told: set[int] = set()
        self._graphs_unchecked = True
        stored = states.manifest.value()
        self._is_new = stored is None
        self._open(self._empty_manifest() if stored is None else decode_manifest(stored))
        if stored is not None:
            self._load()

    @property
    def is_of_model(self) -> bool:
        """Whether the vectors, if there are any, are those of the model in use, under the metric in use."""
        if not self.index.rows.count:
            return True
        return self.stamp == (self._model.model_id, self._model.dimension, self._config.metric)

    @property
    def stamp(self) -> tuple[str, int, str]:
        """Model, dimension and metric of the vectors that are there."""
        return self._manifest.model, self._manifest.dimension, self._manifest.metric

    def append(self, entry: LogEntry) -> None:
        """Append an entry; its counters become those of the log."""
        self.counters = entry.counters
        if self._is_new or (entry.upserts and not self.index.rows.count):
            self._manifest.model, self._manifest.dimension = self._model.model_id, self._model.dimension
            self._manifest.metric = self._config.metric
            self._write_manifest()
        self._states.vector_tail.add(encode_entry(entry))
        self._tail_entries += 1
        self._apply(entry)

    def seal_if_full(self) -> None:
        """Seal the tail when it is as long as a chunk is to be."""
        if self._tail_entries >= self._config.tail_entries:
            self.seal(purge=False)

    def seal(self, *, purge: bool) -> None:
        """Seal the tail; with ``purge``, rewrite every chunk that has dead rows."""
        if self._sealer().seal(purge=purge):
            self.selection.reset()
        self._states.vector_tail.clear()
        self._tail_entries = 0
        self._graphs_unchecked = True
        self._write_manifest()

    def graphs_due(self) -> list[BuildGraph]:
        """Graphs that segments should have and have not; each is told once."""
        least = self._config.graph_min_rows
        if least is None or not self._graphs_unchecked:
            return []
        self._graphs_unchecked = False
        due = []
        for segment, start in self._segments():
            if segment.rows < least or segment.graph_pieces or segment.number in self._graphs_told:
                continue
            self._graphs_told.add(segment.number)
            due.append(
                BuildGraph(
                    ask_id=f"{_GRAPH}{segment.number}",
                    vectors=self.index.vectors.slice(start, start + segment.rows),
                    neighbors=self._config.graph_neighbors,
                    ef_construction=self._config.graph_ef_construction,
                )
            )
        return due

    def set_graph(self, ask_id: str, graph: bytes) -> None:
        """Put a graph over the segment it was built for, if that is still there."""
        number = int(ask_id.removeprefix(_GRAPH))
        for segment, start in self._segments():
            if segment.number == number and not segment.graph_pieces:
                self._sealer().set_graph(segment, graph)
                self.index.vectors.set_graph(start, start + segment.rows, graph)
                self._write_manifest()

    def end_session(self, session_id: str, at_ms: int) -> None:
        """Note that a session is over."""
        ended = self._manifest.ended_sessions
        ended.pop(session_id, None)
        ended[session_id] = at_ms
        while len(ended) > _ENDED_SESSIONS:
            del ended[next(iter(ended))]
        self._write_manifest()

    def forget_session(self, session_id: str) -> None:
        """Remove the note of a session's end."""
        if self._manifest.ended_sessions.pop(session_id, None) is not None:
            self._write_manifest()

    def clear(self, counters: Counters) -> None:
        """Drop all rows; the numbering goes on from ``counters``."""
        self._drop()
        self.counters = counters
        self._open(self._emptied_manifest(), counters)
        self._write_manifest()

    def rewrite(self, upserts: Sequence[Upsert], vectors: Float32Matrix) -> None:
        """Replace all rows.

        Args:
            upserts: The rows, in order.
            vectors: Shape ``(len(upserts), dim)``, of the model in use.
        """
        self._drop()
        self._open(replace(self._emptied_manifest(), ended_sessions=self._manifest.ended_sessions), self.counters)
        size = self._config.tail_entries
        for start in range(0, len(upserts), size):
            self.index.append(upserts[start : start + size], vectors[start : start + size])
            self.seal(purge=False)
        self._write_manifest()

    def _open(self, manifest: Manifest, counters: Counters | None = None) -> None:
        """Begin with what a manifest says, nothing of it loaded."""
        self._manifest = manifest
        self.counters = manifest.counters.copy() if counters is None else counters
        words = WordReader(self._states.vector_segments, manifest, self._memories, self._events)
        self.index = LiveIndex(manifest.dimension, self._config.graph_ef_search, words)
        self.selection = Selection(self.index, self._memories, self._events, self._accesses)

    def _load(self) -> None:
        segments = self._states.vector_segments
        for run, has_graph in _runs(self._manifest.segments):
            chunks = [chunk for segment in run for chunk in segment.chunks]
            graph = read_graph(segments, run[0]) if has_graph else None
            self.index.load([read_chunk(segments, chunk) for chunk in chunks], graph)
        for stored in self._states.vector_tail.get():
            entry = decode_entry(stored)
            self.counters = entry.counters
            self._apply(self._analyzed(entry))
            self._tail_entries += 1

    def _apply(self, entry: LogEntry) -> None:
        if entry.upserts:
            self.index.append(entry.upserts, entry.vectors)
        for ordinal in entry.tombstones:
            self.index.kill(ordinal)

    def _analyzed(self, entry: LogEntry) -> LogEntry:
        """The entry with terms of the present analysis; made anew from the texts if need be."""
        if entry.analysis_id == ANALYSIS_ID:
            return entry
        upserts = tuple(replace(row, terms=tuple(analyze(self._text_of(row)))) for row in entry.upserts)
        return replace(entry, upserts=upserts, analysis_id=ANALYSIS_ID)

    def _text_of(self, row: Upsert) -> str:
        record = self._memories.get(row.row_id) if row.kind == KIND_MEMORY else self._events.get(row.row_id)
        return "" if record is None or record.ordinal != row.ordinal else indexed_text(record)

    def _segments(self) -> Iterator[tuple[Segment, int]]:
        """Segments, each with the number of its first row."""
        start = 0
        for segment in self._manifest.segments:
            yield segment, start
            start += segment.rows

    def _sealer(self) -> Sealer:
        config = self._config
        return Sealer(
            self._states.vector_segments, self._manifest, self.index, config.tail_entries, config.merge_fanout
        )

    def _empty_manifest(self) -> Manifest:
        return Manifest(self._model.dimension, self._config.metric, self._model.model_id)

    def _emptied_manifest(self) -> Manifest:
        """An empty manifest whose numbers go on: a graph under way must not find another segment of its number."""
        return replace(self._empty_manifest(), next_number=self._manifest.next_number)

    def _write_manifest(self) -> None:
        """Write the manifest; while there is a tail, the counters in it are those of the last seal."""
        if not self._tail_entries:
            self._manifest.counters = self.counters.copy()
        self._states.manifest.update(encode_manifest(self._manifest))
        self._is_new = False

    def _drop(self) -> None:
        self._states.vector_tail.clear()
        self._states.vector_segments.clear()
        self._tail_entries = 0
        self._graphs_told.clear()


def _runs(segments: Sequence[Segment]) -> Iterator[tuple[list[Segment], bool]]:
    """Segments that are loaded together: each with a graph alone, those without one in runs."""
    for has_graph, group in groupby(segments, key=lambda segment: segment.graph_pieces > 0):
        run = list(group)
        yield from (([segment], True) for segment in run) if has_graph else [(run, False)]
