"""The block of inverted lists that is kept in state for a chunk of rows."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flink_memory.analysis import ANALYSIS_ID
from flink_memory.errors import StateVersionError
from flink_memory.inverted_lists import U8, U16, U32, U64, Postings, Unsigned, count_terms, sort_postings

_MAGIC: Final = b"LXB1"
_HEADER: Final = struct.Struct("<4sIIII4x")
_ROW_TYPES: Final = (
    (1 << 8, np.dtype("<u1")),
    (1 << 16, np.dtype("<u2")),
    (1 << 32, np.dtype("<u4")),
)


@dataclass(frozen=True, slots=True)
class LexicalBlock:
    """The terms of consecutive rows, immutable, as kept in state beside their vectors.

    Layout, little-endian, without gaps::

        4  magic and version "LXB1"
        4  analysis id (which stemmer and rules made the terms)
        4  number of rows r
        4  number of terms t
        4  number of postings p
        4  zero
        8r session key of each row, 0 for none
        4t terms, ascending
        4(t + 1) offsets into the postings
        2r length of each row in terms
        p * (1, 2 or 4) row of each posting: u8 up to 256 rows, u16 up to 65,536, else u32
        p  frequency of each posting, u8

    Attributes:
        sessions: Shape ``(r,)``, see ``analysis.session_key``.
        lengths: Shape ``(r,)``, in terms, repeats counted.
        postings: Rows counted from the block's first.
        analysis_id: Equal to ``ANALYSIS_ID``, or the block must be built anew from the texts.
    """

    sessions: U64
    lengths: U16
    postings: Postings
    analysis_id: int = ANALYSIS_ID

    @property
    def n_rows(self) -> int:
        """Number of rows, those without text included."""
        return len(self.sessions)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.sessions.nbytes + self.lengths.nbytes + self.postings.nbytes

    @property
    def is_current(self) -> bool:
        """Whether its terms compare with those that ``analyze`` gives now."""
        return self.analysis_id == ANALYSIS_ID

    @classmethod
    def build(cls, rows: Sequence[Iterable[int]], sessions: Sequence[int]) -> LexicalBlock:
        """Make a block from the terms of each row.

        Args:
            rows: For each row its terms, as ``analyze`` gives them.
            sessions: For each row its session key, 0 for none.

        Returns:
            The block; the same input gives the same bytes.

        Raises:
            ValueError: Not as many sessions as rows.
        """
        if len(rows) != len(sessions):
            raise ValueError(f"Expected one session key for each of {len(rows)} rows, got {len(sessions)}.")
        counted = [count_terms(row) for row in rows]
        return cls.of_postings(
            np.array(sessions, np.uint64),
            np.array([length for _, _, length in counted], np.uint16),
            (
                np.array([term for terms, _, _ in counted for term in terms], np.uint32),
                np.array(
                    [row for row, (terms, _, _) in enumerate(counted) for _ in terms],
                    np.uint32,
                ),
                np.array([n for _, frequencies, _ in counted for n in frequencies], np.uint8),
            ),
        )

    @classmethod
    def of_postings(cls, sessions: U64, lengths: U16, postings: tuple[U32, U32, U8]) -> LexicalBlock:
        """Make a block from postings in any order of terms.

        Args:
            sessions: Shape ``(r,)``.
            lengths: Shape ``(r,)``.
            postings: Term, row and frequency of each, rows ascending for each term.

        Returns:
            The block, of the present analysis.
        """
        terms, rows, frequencies = postings
        return cls(
            sessions,
            lengths,
            sort_postings(terms, rows.astype(_row_type(len(sessions))), frequencies),
        )

    def encode(self) -> bytes:
        """The block as bytes, in the layout above."""
        p = self.postings
        header = _HEADER.pack(_MAGIC, self.analysis_id, self.n_rows, len(p.terms), len(p.rows))
        parts = (self.sessions, p.terms, p.offsets, self.lengths, p.rows, p.frequencies)
        return b"".join([header, *(part.tobytes() for part in parts)])

    @classmethod
    def decode(cls, data: bytes | memoryview) -> LexicalBlock:
        """Read a block without copying: its arrays are read-only views of ``data``.

        Args:
            data: What ``encode`` gave.

        Returns:
            The block. It may be of an older analysis: see ``is_current``.

        Raises:
            StateVersionError: ``data`` is not a block, is cut short, or is of an unknown version.
        """
        if len(data) < _HEADER.size or bytes(data[:4]) != _MAGIC:
            raise StateVersionError(
                f"Expected a lexical block that starts with {_MAGIC!r}, got {bytes(data[:4])!r}. "
                "Run the version of flink-memory that wrote this state, or a newer one."
            )
        _, analysis_id, rows, terms, postings = _HEADER.unpack_from(data)
        types = (
            ("<u8", rows),
            ("<u4", terms),
            ("<u4", terms + 1),
            ("<u2", rows),
            (_row_type(rows), postings),
            ("<u1", postings),
        )
        size = _HEADER.size + sum(np.dtype(kind).itemsize * count for kind, count in types)
        if len(data) != size:
            raise StateVersionError(
                f"Expected a lexical block of {size} bytes, got {len(data)}. The state is damaged: "
                "restore an earlier checkpoint."
            )
        arrays: list[Unsigned] = []
        at = _HEADER.size
        for kind, count in types:
            arrays.append(np.frombuffer(data, kind, count, at))
            at += arrays[-1].nbytes
        sessions, term, offsets, lengths, row, frequencies = arrays
        return cls(sessions, lengths, Postings(term, offsets, row, frequencies), analysis_id)


def merge_blocks(blocks: Sequence[LexicalBlock], keep: Sequence[npt.NDArray[np.bool_]]) -> LexicalBlock:
    """Join blocks into one, without the rows that are gone.

    Args:
        blocks: In the order of their rows, all of one analysis; at least one.
        keep: For each block, shape ``(n_rows,)``: which rows stay.

    Returns:
        The block that ``LexicalBlock.build`` gives for the kept rows.

    Raises:
        ValueError: No blocks, or blocks of different analyses.
    """
    if len({block.analysis_id for block in blocks}) != 1:
        raise ValueError("Expected blocks of one analysis; build the others anew from their texts first.")
    row_type = _row_type(sum(int(kept.sum()) for kept in keep))
    terms, rows, frequencies = [], [], []
    first = 0
    for block, kept in zip(blocks, keep, strict=True):
        renumbered = np.cumsum(kept) - 1 + first
        chosen = kept[block.postings.rows]
        terms.append(block.postings.term_of_posting()[chosen])
        rows.append(renumbered[block.postings.rows[chosen]].astype(row_type))
        frequencies.append(block.postings.frequencies[chosen])
        first += int(kept.sum())
    return LexicalBlock(
        np.concatenate([block.sessions[kept] for block, kept in zip(blocks, keep, strict=True)]),
        np.concatenate([block.lengths[kept] for block, kept in zip(blocks, keep, strict=True)]),
        sort_postings(np.concatenate(terms), np.concatenate(rows), np.concatenate(frequencies)),
        blocks[0].analysis_id,
    )


def _row_type(n_rows: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The narrowest type that numbers ``n_rows`` rows."""
    return next(kind for limit, kind in _ROW_TYPES if n_rows <= limit)
