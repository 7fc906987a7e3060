"""Reading the lexical blocks of an agent's sealed chunks."""

from __future__ import annotations

from flink_memory.analysis import analyze, session_key
from flink_memory.lexical import LexicalBlock
from flink_memory.records import KIND_MEMORY, EventRecord, MemoryRecord
from flink_memory.state.handles import MapHandle
from flink_memory.state.manifest import Chunk, Manifest
from flink_memory.state.record_cache import RecordCache
from flink_memory.state.sealing import chunk_key, read_chunk, read_words
from flink_memory.texts import indexed_text


class WordReader:
    """Reads all blocks of one agent, in order, when called.

    A block that an older analysis made is made anew from the texts of its rows, and written back. Holds
    no store, so that an agent that is dropped from the cache is freed at once, without a garbage collection.

    Args:
        segments: The agent's ``vector_segments``.
        manifest: Says which chunks there are.
        memories: The agent's memories.
        events: The agent's events.
    """

    def __init__(
        self,
        segments: MapHandle,
        manifest: Manifest,
        memories: RecordCache[MemoryRecord],
        events: RecordCache[EventRecord],
    ) -> None:
        self._segments = segments
        self._manifest = manifest
        self._memories = memories
        self._events = events

    def __call__(self) -> list[LexicalBlock]:
        """The blocks of all sealed chunks."""
        return [self._current(chunk) for chunk in self._manifest.chunks]

    def _current(self, chunk: Chunk) -> LexicalBlock:
        words = read_words(self._segments, chunk)
        if words.is_current:
            return words
        words = self._anew(chunk)
        self._segments.put(chunk_key(chunk, "w"), words.encode())
        return words

    def _anew(self, chunk: Chunk) -> LexicalBlock:
        sealed = read_chunk(self._segments, chunk)
        terms: list[list[int]] = []
        sessions: list[int] = []
        for row, row_id, living in zip(sealed.rows.rows, sealed.rows.ids, chunk.living.tolist(), strict=True):
            record = self._record(int(row["kind"]), row_id) if living else None
            terms.append([] if record is None else analyze(indexed_text(record)))
            session = record.session_id if isinstance(record, EventRecord) else ""
            sessions.append(session_key(session) if session else 0)
        return LexicalBlock.build(terms, sessions)

    def _record(self, kind: int, row_id: str) -> MemoryRecord | EventRecord | None:
        return self._memories.get(row_id) if kind == KIND_MEMORY else self._events.get(row_id)
