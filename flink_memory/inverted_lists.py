"""Inverted lists as sorted arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]

MAX_FREQUENCY: Final = 255
MAX_LENGTH: Final = 65_535


@dataclass(frozen=True, slots=True)
class Postings:
    """For each term, in which rows it occurs, and how often.

    Attributes:
        terms: Shape ``(t,)``, ascending, each once.
        offsets: Shape ``(t + 1,)``: term ``i`` has the postings ``offsets[i]:offsets[i + 1]``.
        rows: Shape ``(p,)``, unsigned, ascending within a term, counted from the first row.
        frequencies: Shape ``(p,)``, 1 to 255.
    """

    terms: U32
    offsets: U32
    rows: Unsigned
    frequencies: U8

    @property
    def nbytes(self) -> int:
        """Bytes of the four arrays."""
        return self.terms.nbytes + self.offsets.nbytes + self.rows.nbytes + self.frequencies.nbytes

    def term_of_posting(self) -> U32:
        """The term of each posting, shape ``(p,)``."""
        return np.repeat(self.terms, np.diff(self.offsets))


def sort_postings(terms: U32, rows: Unsigned, frequencies: U8) -> Postings:
    """Group postings by term.

    O(p log p), near O(p) when the input is a few sorted runs.

    Args:
        terms: Shape ``(p,)``, the term of each posting.
        rows: Shape ``(p,)``; for each term ascending in the order given.
        frequencies: Shape ``(p,)``.

    Returns:
        The same postings by term, rows in the order given.
    """
    order = np.argsort(terms, kind="stable")
    grouped = terms[order]
    starts = np.flatnonzero(np.concatenate(([True], grouped[1:] != grouped[:-1]))) if len(grouped) else order
    offsets = np.append(starts, len(grouped)).astype(np.uint32)
    return Postings(grouped[starts], offsets, rows[order], frequencies[order])


def count_terms(terms: Iterable[int]) -> tuple[list[int], list[int], int]:
    """Count the terms of one text.

    Args:
        terms: Terms of the text, with repeats.

    Returns:
        ``(terms, frequencies, length)``: each term once, how often it occurs (at most 255), and
        the number of all (at most 65,535). The limits are those of the stored layout, so that a
        live text and a restored one count the same.
    """
    counts = Counter(terms)
    frequencies = [min(count, MAX_FREQUENCY) for count in counts.values()]
    return list(counts), frequencies, min(sum(counts.values()), MAX_LENGTH)
