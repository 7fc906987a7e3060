"""Sealing, merging and purging of the vector log.

Segments are merged in tiers, as Lucene's are, but a merge takes clean chunks over by reference: only
chunks with dead rows, or small ones, are written again. So a vector is written once when it comes
(in the tail) and once when it is sealed, however large its agent grows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flink_memory.lexical import LexicalBlock
from flink_memory.postings import merge_blocks
from flink_memory.state.chunks import (
    ChunkRows,
    decode_graph,
    decode_rows,
    decode_vectors,
    encode_graph,
    encode_rows,
    encode_vectors,
)
from flink_memory.state.handles import MapHandle
from flink_memory.state.index import LiveIndex, SealedRows
from flink_memory.state.manifest import Chunk, Manifest, Segment
from flink_memory.state.rows import BoolMask

#: Share of dead rows among the sealed ones above which they are purged.
PURGE_SHARE = 0.25

#: The values of a chunk.
CHUNK_PARTS = ("r", "v", "w")

ChunkTest = Callable[[Chunk], bool]


class Sealer:
    """Turns the tail of one agent into sealed segments, and keeps those in order.

    Args:
        segments: The agent's ``vector_segments``.
        manifest: Changed in place; the caller writes it.
        index: The agent's live index; its row numbers follow the purges.
        tail_entries: Entries of a full tail: the usual size of a chunk.
        fanout: Segments of a level that are merged into one of the next.
    """

    def __init__(
        self, segments: MapHandle, manifest: Manifest, index: LiveIndex, tail_entries: int, fanout: int
    ) -> None:
        self._segments = segments
        self._manifest = manifest
        self._index = index
        self._tail_entries = tail_entries
        self._fanout = fanout

    def seal(self, *, purge: bool) -> bool:
        """Seal the tail, then merge and purge what is due.

        Args:
            purge: Whether to purge every dead row, as forgetting wants it.

        Returns:
            Whether row numbers changed.
        """
        manifest, index = self._manifest, self._index
        start = manifest.sealed_rows
        if index.rows.count > start:
            end = index.rows.count
            chunk = self._write(index.chunk(start, end), index.seal_words(start))
            manifest.segments.append(Segment(manifest.take_number(), 0, [chunk]))
        self._note_dead_rows()
        dead = sum(chunk.dead_rows for chunk in manifest.chunks)
        is_due = purge or dead > max(self._tail_entries, PURGE_SHARE * manifest.sealed_rows)
        if dead and is_due:
            self._rewrite(manifest.segments, lambda chunk: chunk.dead_rows > 0)
        return self._merge() or bool(dead and is_due)

    def set_graph(self, segment: Segment, graph: bytes) -> None:
        """Keep the graph of a segment."""
        pieces = encode_graph(graph)
        for position, piece in enumerate(pieces):
            self._segments.put(graph_key(segment, position), piece)
        segment.graph_pieces = len(pieces)

    def _note_dead_rows(self) -> None:
        """Bring the chunks' tombstones up to what the index says."""
        if not self._index.rows.dead:
            return
        alive = self._index.rows.alive
        start = 0
        for chunk in self._manifest.chunks:
            living = alive[start : start + chunk.rows]
            chunk.dead = None if living.all() else ~living
            start += chunk.rows

    def _merge(self) -> bool:
        """Merge every level that is full; returns whether row numbers changed."""
        moved = False
        level = 0
        while any(segment.level >= level for segment in self._manifest.segments):
            same = [segment for segment in self._manifest.segments if segment.level == level]
            if len(same) >= self._fanout:
                moved = self._merge_segments(same, level + 1) or moved
            level += 1
        return moved

    def _merge_segments(self, parts: list[Segment], level: int) -> bool:
        manifest = self._manifest
        small = self._tail_entries // 2
        moved = any(chunk.dead_rows for segment in parts for chunk in segment.chunks)
        self._rewrite(parts, lambda chunk: chunk.dead_rows > 0 or chunk.rows < small)
        for segment in parts:
            self._drop_graph(segment)
        chunks = [chunk for segment in parts for chunk in segment.chunks]
        position = next((at for at, segment in enumerate(manifest.segments) if segment in parts), 0)
        manifest.segments = [segment for segment in manifest.segments if segment not in parts]
        if chunks:
            manifest.segments.insert(position, Segment(manifest.take_number(), level, chunks))
        return moved

    def _rewrite(self, parts: list[Segment], is_due: ChunkTest) -> None:
        """Write the chunks that are due again, without their dead rows, neighbours joined.

        A segment whose rows change gets a new number and loses its graph.
        """
        index, manifest = self._index, self._manifest
        rewritten = {id(chunk): None for segment in parts for chunk in segment.chunks if is_due(chunk)}
        if not rewritten:
            return
        keep = _kept_rows(manifest, rewritten, index.rows.count)
        words = self._words(rewritten)
        if not keep.all():
            index.keep(keep)
        start = 0
        for segment in manifest.segments:
            chunks: list[Chunk] = []
            joining: list[Chunk] = []
            before = list(segment.chunks)
            for chunk in before:
                if id(chunk) not in rewritten:
                    start = self._join(joining, chunks, words, start)
                    chunks.append(chunk)
                    start += chunk.rows
                    continue
                joining.append(chunk)
                if sum(part.rows - part.dead_rows for part in joining) >= self._tail_entries:
                    start = self._join(joining, chunks, words, start)
            start = self._join(joining, chunks, words, start)
            if chunks != before:
                self._drop_graph(segment)
                segment.number = manifest.take_number()
                segment.chunks = chunks
        manifest.segments = [segment for segment in manifest.segments if segment.chunks]

    def _words(self, rewritten: dict[int, None]) -> dict[int, LexicalBlock]:
        """The lexical block of each chunk that is due."""
        return {
            id(chunk): read_words(self._segments, chunk) for chunk in self._manifest.chunks if id(chunk) in rewritten
        }

    def _join(self, joining: list[Chunk], chunks: list[Chunk], words: dict[int, LexicalBlock], start: int) -> int:
        """Write one chunk in place of those that are ``joining``, whose rows now begin at ``start``."""
        if not joining:
            return start
        count = sum(chunk.rows - chunk.dead_rows for chunk in joining)
        if count:
            merged = merge_blocks([words[id(chunk)] for chunk in joining], [chunk.living for chunk in joining])
            chunks.append(self._write(self._index.chunk(start, start + count), merged))
        for chunk in joining:
            for part in CHUNK_PARTS:
                self._segments.remove(chunk_key(chunk, part))
        joining.clear()
        return start + count

    def _write(self, sealed: SealedRows, words: LexicalBlock) -> Chunk:
        chunk = Chunk(self._manifest.take_number(), len(sealed.rows.rows), sealed.dead)
        rows: ChunkRows = sealed.rows
        self._segments.put(chunk_key(chunk, "r"), encode_rows(rows.rows, rows.ids, rows.sessions))
        self._segments.put(chunk_key(chunk, "v"), encode_vectors(sealed.vectors))
        self._segments.put(chunk_key(chunk, "w"), words.encode())
        return chunk

    def _drop_graph(self, segment: Segment) -> None:
        for position in range(segment.graph_pieces):
            self._segments.remove(graph_key(segment, position))
        segment.graph_pieces = 0


def read_chunk(segments: MapHandle, chunk: Chunk) -> SealedRows:
    """Read a sealed chunk from state, but for its words."""
    return SealedRows(
        rows=decode_rows(_value(segments, chunk_key(chunk, "r"))),
        vectors=decode_vectors(_value(segments, chunk_key(chunk, "v"))),
        dead=chunk.dead,
    )


def read_words(segments: MapHandle, chunk: Chunk) -> LexicalBlock:
    """Read the lexical block of a sealed chunk from state."""
    return LexicalBlock.decode(_value(segments, chunk_key(chunk, "w")))


def read_graph(segments: MapHandle, segment: Segment) -> bytes:
    """Read the graph of a segment from state."""
    pieces = range(segment.graph_pieces)
    return decode_graph([_value(segments, graph_key(segment, position)) for position in pieces])


def graph_key(segment: Segment, position: int) -> str:
    """Where a piece of a segment's graph stands."""
    return f"{segment.number:010d}/g/{position:04d}"


def chunk_key(chunk: Chunk, part: str) -> str:
    """Where one of the :data:`CHUNK_PARTS` of a chunk stands.

    The number leads, and all keys have the same length, which Flink puts before a text: so an agent's new
    chunks lie behind its old ones in RocksDB, and a compaction need not rewrite those because of them.
    """
    return f"{chunk.number:010d}/{part}/0000"


def _value(segments: MapHandle, key: str) -> bytes:
    value = segments.get(key)
    if value is None:
        raise KeyError(f"Expected {key!r} in vector_segments, as the manifest says; it is not there.")
    return value


def _kept_rows(manifest: Manifest, rewritten: dict[int, None], count: int) -> BoolMask:
    keep = np.ones(count, dtype=np.bool_)
    start = 0
    for chunk in manifest.chunks:
        if id(chunk) in rewritten and chunk.dead is not None:
            keep[start : start + chunk.rows] = ~chunk.dead
        start += chunk.rows
    return keep
