"""The inverted lists of a growing index: a few sorted runs, and the newest postings unsorted."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from flink_memory.inverted_lists import U8, U32, Postings, Unsigned, sort_postings

Indices = npt.NDArray[np.int64]
Triple = tuple[U32, U32, U8]
"""Term, row and frequency of each of some postings; rows ascend for each term."""

_OPEN_POSTINGS: Final = 8_192
_EMPTY_BYTES: Final = 400


class PostingRuns:
    """Postings of rows that come in order, to be looked up by term.

    New postings are appended to an open list, which a look-up scans. When it is long it is sorted
    into a run; a run joins the one before it unless that one is larger. So there are O(log n) runs,
    and a posting is moved O(log n) times.
    """

    __slots__ = ("_first_rows", "_frequencies", "_rows", "_runs", "_terms")

    def __init__(self) -> None:
        self._terms = array("I")
        self._rows = array("I")
        self._frequencies = array("B")
        self._runs: list[Postings] = []
        self._first_rows: list[int] = []

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return _EMPTY_BYTES + 9 * len(self._terms) + sum(run.nbytes for run in self._runs)

    def append(self, row: int, terms: Sequence[int], frequencies: Iterable[int]) -> None:
        """Add the postings of one row.

        Args:
            row: Higher than all before it.
            terms: Each once.
            frequencies: Of each term, 1 to 255.
        """
        self._terms.extend(terms)
        self._rows.extend([row] * len(terms))
        self._frequencies.extend(frequencies)
        if len(self._terms) >= _OPEN_POSTINGS:
            self.close()

    def extend(self, postings: Iterable[Triple]) -> None:
        """Add the postings of many rows, higher than all before them, as one run."""
        self.close()
        self._push(_joined(postings))

    def close(self) -> None:
        """Sort the open postings into a run; changes nothing that can be seen but the time it takes."""
        self._push(sort_postings(*self._open()))
        del self._terms[:], self._rows[:], self._frequencies[:]

    def find(self, terms: U32) -> tuple[Indices, U32, U8]:
        """Look terms up.

        Args:
            terms: Ascending, each once, at least one.

        Returns:
            ``(index, row, frequency)`` of each of their postings, ``index`` into ``terms``.
        """
        found = [_find(run, terms) for run in self._runs]
        open_terms, open_rows, open_frequencies = self._open()
        index = np.minimum(np.searchsorted(terms, open_terms), len(terms) - 1)
        hits = np.flatnonzero(terms[index] == open_terms)
        found.append((index[hits], open_rows[hits], open_frequencies[hits]))
        index, rows, frequencies = map(np.concatenate, zip(*found, strict=True))
        return index, rows, frequencies

    def between(self, first_row: int, end_row: int) -> Triple:
        """The postings of the rows from ``first_row`` up to and without ``end_row``."""
        ends = [*self._first_rows[1:], end_row]
        parts = [
            _between(run, first_row, end_row)
            for run, first, end in zip(self._runs, self._first_rows, ends, strict=False)
            if first < end_row and first_row < end
        ]
        terms, rows, frequencies = self._open()
        at = np.flatnonzero((rows >= first_row) & (rows < end_row))
        return _concatenated([*parts, (terms[at], rows[at], frequencies[at])])

    def _open(self) -> Triple:
        return (
            np.array(self._terms, np.uint32),
            np.array(self._rows, np.uint32),
            np.array(self._frequencies, np.uint8),
        )

    def _push(self, run: Postings) -> None:
        if not len(run.rows):
            return
        first_row = int(run.rows.min())
        while self._runs and len(self._runs[-1].rows) <= len(run.rows):
            run = _joined([_triple(self._runs.pop()), _triple(run)])
            first_row = self._first_rows.pop()
        self._runs.append(run)
        self._first_rows.append(first_row)


def _find(run: Postings, terms: U32) -> tuple[Indices, Unsigned, U8]:
    places = np.minimum(np.searchsorted(run.terms, terms), len(run.terms) - 1)
    hits = np.flatnonzero(run.terms[places] == terms)
    starts = run.offsets[places[hits]].astype(np.int64)
    counts = run.offsets[places[hits] + 1] - starts
    at = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return np.repeat(hits, counts), run.rows[at], run.frequencies[at]


def _between(run: Postings, first_row: int, end_row: int) -> Triple:
    at = np.flatnonzero((run.rows >= first_row) & (run.rows < end_row))
    terms = run.terms[np.searchsorted(run.offsets, at, side="right") - 1]
    return terms, run.rows[at].astype(np.uint32), run.frequencies[at]


def _triple(run: Postings) -> Triple:
    return run.term_of_posting(), run.rows.astype(np.uint32, copy=False), run.frequencies


def _concatenated(parts: Iterable[Triple]) -> Triple:
    terms, rows, frequencies = map(np.concatenate, zip(*parts, strict=True))
    return terms, rows, frequencies


def _joined(parts: Iterable[Triple]) -> Postings:
    return sort_postings(*_concatenated(parts))
