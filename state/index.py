"""The three indexes over one agent's rows, kept in step: rows, vectors, and words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flink_memory.analysis import session_key
from flink_memory.effects import Float32Matrix, Float32Vector
from flink_memory.lexical import LexicalBlock, LexicalIndex
from flink_memory.records import KIND_EVENT
from flink_memory.state.chunks import ChunkRows
from flink_memory.state.log import Upsert
from flink_memory.state.rows import BoolMask, RowNumbers, RowTable
from flink_memory.state.vectors import VectorIndex

#: Rough bytes of a row whose words are not indexed yet.
_UNREAD_BYTES = 600


@dataclass(frozen=True, slots=True)
class SealedRows:
    """A sealed chunk, decoded, but for its words.

    Attributes:
        rows: Its rows.
        vectors: Shape ``(n, dim)``.
        dead: Which of the rows are dead, shape ``(n,)``; ``None`` for none.
    """

    rows: ChunkRows
    vectors: Float32Matrix
    dead: BoolMask | None


class LiveIndex:
    """All rows of an agent in use, searchable.

    Row numbers are the same in all three indexes. The lexical one is made when it is first needed: an
    agent that is read from state for a search by vector need not wait for it.

    Args:
        dimension: Of the vectors; 0 while the agent has none.
        ef_search: See :class:`VectorIndex`.
        read_words: Reads the lexical blocks of all sealed chunks, in order.
    """

    __slots__ = ("_neighbours", "_read_words", "_unread", "_words", "ef_search", "rows", "vectors")

    def __init__(self, dimension: int, ef_search: int, read_words: Callable[[], Sequence[LexicalBlock]]) -> None:
        self.ef_search = ef_search
        self.rows = RowTable()
        self.vectors = VectorIndex(dimension, ef_search)
        self._read_words = read_words
        self._words: LexicalIndex | None = None
        self._unread: list[Upsert] = []
        self._neighbours: tuple[RowNumbers, RowNumbers] | None = None

    @property
    def words(self) -> LexicalIndex:
        """The lexical index."""
        if self._words is None:
            words = LexicalIndex()
            for block in self._read_words():
                words.add_block(words.n_rows, block)
            for row in self._unread:
                words.add(words.n_rows, row.terms, _session_of(row))
            for number in np.flatnonzero(~self.rows.alive).tolist():
                words.remove(number)
            self._words, self._unread = words, []
        return self._words

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        words = _UNREAD_BYTES * len(self._unread) if self._words is None else self._words.nbytes
        return self.rows.nbytes + self.vectors.nbytes + words

    def load(self, chunks: Sequence[SealedRows], graph: bytes | None) -> None:
        """Take in the chunks of a sealed segment, with its graph if it has one."""
        self.rows.extend([(chunk.rows, chunk.dead) for chunk in chunks])
        self.vectors.load([chunk.vectors for chunk in chunks], graph)

    def append(self, upserts: Sequence[Upsert], vectors: Float32Matrix) -> None:
        """Append rows of the tail.

        Args:
            upserts: In order.
            vectors: Shape ``(len(upserts), dim)``.
        """
        if vectors.shape[1] != self.vectors.dimension and not self.vectors.count:
            self.vectors = VectorIndex(vectors.shape[1], self.ef_search)
        self.vectors.add(vectors)
        for row in upserts:
            self.rows.append(row)
            if self._words is None:
                self._unread.append(row)
            else:
                self._words.add(self._words.n_rows, row.terms, _session_of(row))
        self._neighbours = None

    def kill(self, ordinal: int) -> None:
        """Mark the row of that ordinal as dead, if it lives."""
        number = self.rows.find(ordinal)
        if number is not None:
            self.rows.kill(number)
            if self._words is not None:
                self._words.remove(number)
            self._neighbours = None

    def seal_words(self, start: int) -> LexicalBlock:
        """The words of the rows from ``start`` on, which are those of the tail, as a block.

        Where no search has asked for words yet, none of them are indexed for it.
        """
        if self._words is not None:
            return self._words.block(start, self.rows.count - start)
        alive = self.rows.alive[start:].tolist()
        rows, self._unread = self._unread, []
        return LexicalBlock.build(
            [row.terms if living else () for row, living in zip(rows, alive, strict=True)],
            [_session_of(row) if living else 0 for row, living in zip(rows, alive, strict=True)],
        )

    def chunk(self, start: int, end: int) -> SealedRows:
        """Rows ``start`` to ``end`` as a chunk; they stay where they are."""
        alive = self.rows.alive[start:end]
        return SealedRows(
            rows=self.rows.chunk(start, end),
            vectors=self.vectors.slice(start, end),
            dead=None if alive.all() else ~alive,
        )

    def keep(self, mask: BoolMask) -> None:
        """Purge the rows outside ``mask``, shape ``(count,)``; the others move up.

        All rows must be sealed: the words are read again.
        """
        self.rows.keep(mask)
        self.vectors.keep(mask)
        self._words = None
        self._unread = []
        self._neighbours = None

    def neighbours(self) -> tuple[RowNumbers, RowNumbers]:
        """The living event before and after each row in its session; -1 where there is none.

        Returns:
            ``(previous, following)``, each of shape ``(count,)``.
        """
        if self._neighbours is None:
            self._neighbours = _neighbours(self.rows)
        return self._neighbours

    def scores(self, query: Float32Vector, rows: RowNumbers) -> Float32Vector:
        """Inner products with the vectors of ``rows`` (ascending)."""
        return self.vectors.scores(query, rows)


def _session_of(row: Upsert) -> int:
    return session_key(row.session) if row.kind == KIND_EVENT else 0


def _neighbours(table: RowTable) -> tuple[RowNumbers, RowNumbers]:
    previous = np.full(table.count, -1, dtype=np.int64)
    following = np.full(table.count, -1, dtype=np.int64)
    events = np.flatnonzero(table.of_kind(KIND_EVENT))
    sessions = table.rows["session"][events]
    order = np.argsort(sessions, kind="stable")
    events, sessions = events[order], sessions[order]
    same = sessions[1:] == sessions[:-1]
    previous[events[1:][same]] = events[:-1][same]
    following[events[:-1][same]] = events[1:][same]
    return previous, following
