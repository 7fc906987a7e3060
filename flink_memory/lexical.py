"""Lexical search: BM25 over the passages of an agent's rows.

The score of row ``d`` for a query of the terms ``q``::

    score(q, d) = sum of idf(t) * w / (w + K(d))  over t in q,  divided by  sum of idf(t)

    w      frequency of t in d's passage (see ``passages``)
    K(d)   k1 * (1 - b + b * length of d's passage / mean length of a passage)
    idf(t) ln(1 + (n - m + 0.5) / (m + 0.5)),  n rows,
    m      in how many passages t occurs, those in which w < 1 counting as w

This is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) divided by the
most that the query could attain, so that it is an absolute measure in [0, 1): the share of the
query, rare terms counting more, that the passage covers. A term that no row has counts as
not covered. ``k1`` and ``b`` are those of Anserini's baselines.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flink_memory.analysis import ANALYSIS_ID
from flink_memory.inverted_lists import count_terms
from flink_memory.passages import Passages
from flink_memory.posting_runs import PostingRuns
from flink_memory.postings import LexicalBlock

__all__ = ["K1", "B", "LexicalBlock", "LexicalIndex", "LexicalScores"]

K1: Final = 0.9
B: Final = 0.4

_TERMS_AT_ONCE: Final = 8
_OBJECT_BYTES: Final = 800

Float32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """How well each row answers the words of a query.

    Attributes:
        total: Shape ``(n_rows,)``, in [0, 1); 0 for a row that is removed or shares no term.
        own: Shape ``(n_rows,)``: the part of ``total`` that is due to the row's own text; the
            rest is due to its neighbours.
    """

    total: Float32
    own: Float32

    def at(self, rows: npt.NDArray[np.int64]) -> LexicalScores:
        """The scores of some rows only, in the order of ``rows``."""
        return LexicalScores(self.total[rows], self.own[rows])


class LexicalIndex:
    """The lexical index of one agent, live.

    Rows are numbered 0, 1, 2, … in order of arrival, never anew. Scores depend on nothing but the
    rows that are not removed, their order, sessions and terms: not on which of them came by ``add``
    and which in blocks, nor on rows removed since. So a restored agent ranks as before, to the bit.

    Not safe for use by several threads at once.
    """

    __slots__ = ("_alive", "_blocks", "_lengths", "_passages", "_postings", "_removed", "_sessions")

    def __init__(self) -> None:
        self._sessions = array("Q")
        self._lengths = array("H")
        self._alive = array("B")
        self._removed = 0
        self._postings = PostingRuns()
        self._blocks: list[tuple[int, LexicalBlock]] = []
        self._passages: Passages | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows ever added, removed ones included."""
        return len(self._alive)

    @property
    def nbytes(self) -> int:
        """Bytes held, close enough for the accounts of a cache."""
        blocks = sum(block.nbytes for _, block in self._blocks)
        passages = self._passages.nbytes if self._passages else 24 * self.n_rows
        return _OBJECT_BYTES + 11 * self.n_rows + self._postings.nbytes + blocks + passages

    def add(self, row: int, terms: Iterable[int], session: int = 0) -> None:
        """Add the next row. About 5 µs for 12 terms.

        Args:
            row: Must be ``n_rows``.
            terms: What ``analyze`` gave for its text; none for a row without text.
            session: Its ``session_key``; 0 for a row with no neighbours.

        Raises:
            ValueError: ``row`` is not the next row.
        """
        self._expect_next(row)
        distinct, frequencies, length = count_terms(terms)
        self._sessions.append(session)
        self._lengths.append(length)
        self._alive.append(1)
        self._fold_blocks()
        self._postings.append(row, distinct, frequencies)
        if self._passages is not None:
            self._passages.append(session, length)

    def add_block(self, first_row: int, block: LexicalBlock) -> None:
        """Add the rows of a block. Cheap: it is worked in when first searched.

        Args:
            first_row: Must be ``n_rows``.
            block: Of the present analysis (``block.is_current``).

        Raises:
            ValueError: ``first_row`` is not the next row, or the block is of another analysis.
        """
        self._expect_next(first_row)
        if not block.is_current:
            raise ValueError(
                f"Expected a lexical block of analysis {ANALYSIS_ID}, got "
                f"{block.analysis_id}. Build it anew from the texts of its rows."
            )
        self._sessions.frombytes(block.sessions.tobytes())
        self._lengths.frombytes(block.lengths.tobytes())
        self._alive.frombytes(b"\1" * block.n_rows)
        self._blocks.append((first_row, block))
        self._passages = None

    def remove(self, row: int) -> None:
        """Take a row out: it is neither found nor counted, nor context for its neighbours.

        Args:
            row: Any row; nothing happens if it is removed already.

        Raises:
            IndexError: There is no such row.
        """
        if not self._alive[row]:
            return
        self._alive[row] = 0
        self._removed += 1
        if self._passages is not None and self._sessions[row] == 0:
            self._passages.drop_single(row)
        else:
            self._passages = None

    def scores(self, terms: Iterable[int]) -> LexicalScores:
        """Score every row for a query.

        Exact. O(n_rows) for the arrays returned, and O(postings) for each term.

        Args:
            terms: What ``analyze`` gave for the query; repeats do not count.

        Returns:
            The scores of all rows. All are zero if the query has no terms.
        """
        passages = self._prepare()
        wanted = sorted(set(terms))
        if not passages.count or not wanted:
            return LexicalScores(np.zeros(self.n_rows, np.float32), np.zeros(self.n_rows, np.float32))
        parts = [self._sums(passages, wanted[i : i + _TERMS_AT_ONCE]) for i in range(0, len(wanted), _TERMS_AT_ONCE)]
        attainable = sum(part.attainable for part in parts)
        total = np.sum([part.total for part in parts], axis=0) / attainable
        own = np.sum([part.own for part in parts], axis=0) / attainable
        return LexicalScores(total.astype(np.float32), own.astype(np.float32))

    def block(self, first_row: int, count: int) -> LexicalBlock:
        """Seal rows: what ``LexicalBlock.build`` gives for them, without analysing their text again.

        Quick for the newest few hundred rows. Removed rows come out empty, and stay rows.

        Args:
            first_row: The first of them.
            count: How many.

        Raises:
            ValueError: Not all of them are there.
        """
        if not 0 <= first_row <= first_row + count <= self.n_rows:
            raise ValueError(f"Expected rows within 0 to {self.n_rows}, got {first_row} to {first_row + count}.")
        self._fold_blocks()
        terms, rows, frequencies = self._postings.between(first_row, first_row + count)
        own = slice(first_row, first_row + count)
        alive = np.array(self._alive[own], np.bool_)
        rows = rows - np.uint32(first_row)
        keep = alive[rows]
        return LexicalBlock.of_postings(
            np.array(self._sessions[own], np.uint64) * alive,
            np.array(self._lengths[own], np.uint16) * alive,
            (terms[keep], rows[keep], frequencies[keep]),
        )

    def _expect_next(self, row: int) -> None:
        if row != self.n_rows:
            raise ValueError(f"Expected row {self.n_rows}, the next one, got {row}. Rows come in order, without gaps.")

    def _alive_rows(self) -> Bools:
        return np.array(self._alive, np.bool_)

    def _fold_blocks(self) -> None:
        """Take in the blocks that came since the last search, all at once."""
        if self._blocks:
            self._postings.extend(
                (p.term_of_posting(), p.rows.astype(np.uint32) + np.uint32(first_row), p.frequencies)
                for first_row, p in ((first_row, block.postings) for first_row, block in self._blocks)
            )
            self._blocks.clear()

    def _prepare(self) -> Passages:
        """Bring what is derived up to date."""
        self._fold_blocks()
        if self._passages is None:
            sessions = np.array(self._sessions, np.uint64)
            self._passages = Passages(sessions, np.array(self._lengths, np.uint16), self._alive_rows())
        return self._passages

    def _sums(self, passages: Passages, terms: list[int]) -> _Sums:
        """Sum what each of ``terms`` brings to each row, in one pass over all their postings.

        Passages are laid out as cells, those of the first term in order of place, then those of the
        second. Sums run over cells, so their rounding does not depend on where postings came from.
        """
        index, row, frequency = self._postings.find(np.array(terms, np.uint32))
        if self._removed:
            alive = self._alive_rows()[row]
            index, row, frequency = index[alive], row[alive], frequency[alive]
        stride = self.n_rows + 1
        spread = passages.spread(row.astype(np.int64) + 1) + index * stride
        brought = np.multiply.outer(passages.walk_weights(), frequency)
        weights = np.bincount(spread.ravel(), brought.ravel(), len(terms) * stride)
        weights[::stride] = 0.0
        cells = np.flatnonzero(weights > 0.0)
        weights = weights[cells]
        own = np.zeros(len(cells))
        own[np.searchsorted(cells, spread[0])] = frequency
        term, place = np.divmod(cells, stride)
        gain = _gain(passages, term, place, weights, len(terms))
        return _Sums(
            np.bincount(place, gain.of_cells * weights, stride)[1:],
            np.bincount(place, gain.of_cells * own, stride)[1:],
            gain.attainable,
        )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over some terms: per row, of all and of its own text; and of the terms' idf."""

    total: npt.NDArray[Any]
    own: npt.NDArray[Any]
    attainable: float


@dataclass(frozen=True, slots=True)
class _Gain:
    """What each unit of weight in a cell adds to the score, and the sum of the terms' idf."""

    of_cells: npt.NDArray[Any]
    attainable: float


def _gain(
    passages: Passages,
    term: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    weights: npt.NDArray[Any],
    n_terms: int,
) -> _Gain:
    """Idf divided by saturation, for each cell; the formula of the module."""
    occurrences = np.bincount(term, np.minimum(weights, 1.0), n_terms)
    idf = np.log1p((passages.count - occurrences + 0.5) / (occurrences + 0.5))
    mean_length = passages.total_length / passages.count or 1.0
    saturation = K1 * (1 - B) + K1 * B / mean_length * passages.lengths_at(place)
    return _Gain(idf[term] / (weights + saturation), float(idf.sum()))
