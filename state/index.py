"""The three indexes over one agent's rows, kept in step: rows, vectors, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flink_memory.effects import Float32Matrix, Float32Vector
from flink_memory.analysis import session_key
from flink_memory.lexical import LexicalBlock, LexicalIndex
from flink_memory.records import KIND_EVENT
from flink_memory.state.chunks import ChunkRows
from flink_memory.state.log import Upsert
from flink_memory.state.rows import BoolMask, RowNumbers, RowTable
from flink_memory.state.vectors import VectorIndex


@dataclass(frozen=True, slots=True)
class SealedRows:
    """The three parts of a sealed chunk, decoded.

    Attributes:
        rows: Its rows.
        vectors: Shape ``(n, dim)``.
        words: Its lexical index.
        dead: Which of the rows are dead, shape ``(n,)``; ``None`` for none.
    """

    rows: ChunkRows
    vectors: Float32Matrix
    words: LexicalBlock
    dead: BoolMask | None


class LiveIndex:
    """All rows of an agent in use, searchable.

    Row numbers are the same in all three indexes. Rows before ``sealed`` stand in chunks.

    Args:
        dimension: Of the vectors; 0 while the agent has none.
        ef_search: See :class:`VectorIndex`.
    """

    __slots__ = ("_neighbours", "ef_search", "rows", "vectors", "words")

    def __init__(self, dimension: int, ef_search: int) -> None:
        self.ef_search = ef_search
        self.rows = RowTable()
        self.vectors = VectorIndex(dimension, ef_search)
        self.words = LexicalIndex()
        self._neighbours: tuple[RowNumbers, RowNumbers] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return self.rows.nbytes + self.vectors.nbytes + self.words.nbytes

    def load(self, chunks: Sequence[SealedRows]) -> None:
        """Take in all sealed chunks of an agent that is being read from state."""
        for chunk in chunks:
            first = self.rows.count
            self.rows.extend(chunk.rows, chunk.dead)
            self._add_words(first, chunk.words, chunk.dead)
        self.vectors.load([chunk.vectors for chunk in chunks])

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
            number = self.rows.append(row)
            self.words.add(number, row.terms, session_key(row.session) if row.session else 0)
        self._neighbours = None

    def kill(self, ordinal: int) -> None:
        """Mark the row of that ordinal as dead, if it lives."""
        number = self.rows.find(ordinal)
        if number is not None:
            self.rows.kill(number)
            self.words.remove(number)
            self._neighbours = None

    def seal(self, start: int) -> SealedRows:
        """Close the rows from ``start`` on into a chunk; they stay where they are."""
        end = self.rows.count
        alive = self.rows.alive[start:end]
        return SealedRows(
            rows=self.rows.chunk(start, end),
            vectors=self.vectors.slice(start, end),
            words=self.words.block(start, end - start),
            dead=None if alive.all() else ~alive,
        )

    def keep(self, mask: BoolMask) -> None:
        """Purge the rows outside ``mask``, shape ``(count,)``; the others move up.

        Only of sealed rows; :attr:`words` must be given anew, with :meth:`reset_words`.
        """
        self.rows.keep(mask)
        self.vectors.keep(mask)
        self._neighbours = None

    def reset_words(self, chunks: Sequence[tuple[LexicalBlock, BoolMask | None]]) -> None:
        """Replace the lexical index.

        Args:
            chunks: For all rows, in order: the block, and which of its rows are dead.
        """
        self.words = LexicalIndex()
        for block, dead in chunks:
            self._add_words(self.words.n_rows, block, dead)

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

    def _add_words(self, first: int, block: LexicalBlock, dead: BoolMask | None) -> None:
        self.words.add_block(first, block)
        if dead is not None:
            for position in np.flatnonzero(dead).tolist():
                self.words.remove(first + position)


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
