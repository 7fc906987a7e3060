"""Sealed chunks of the vector log: immutable, each in three values of ``vector_segments``.

==================== ==========================================================
key                  value
==================== ==========================================================
``<chunk>/r/0000``   rows: u8 version, u8 zero, u16 zero, u32 rows, u32 bytes of
                     ids, then the rows (:data:`flink_memory.state.log.ROW`), the
                     ids as a JSON array, and the sessions as a JSON array; a
                     row's ``session`` is a position in it
``<chunk>/v/0000``   vectors: u8 version, u8 zero, u16 dimension, u32 rows, then
                     rows x dim x float32, little-endian
``<chunk>/w/0000``   the lexical index of the rows
                     (:class:`flink_memory.lexical.LexicalBlock`)
==================== ==========================================================

Numbers have ten digits, pieces four. Graphs stand beside them under ``<segment>/g/<piece>``: u8 version, then a
piece of what FAISS serializes of an ``IndexHNSWFlat`` without its storage.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from flink_memory.effects import Float32Matrix
from flink_memory.state.encoding import unknown_version
from flink_memory.state.log import ROW, Rows

VERSION = 1
_HEAD = struct.Struct("<BBHI")
_IDS = struct.Struct("<I")

#: A graph larger than this is kept in several pieces, in bytes.
GRAPH_PIECE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """The rows of a chunk.

    Attributes:
        rows: Structured array of :data:`ROW`, ascending by ordinal.
        ids: Memory or event id of each row.
        sessions: Names that ``rows["session"]`` refers to; position 0 is ``""``.
    """

    rows: Rows
    ids: list[str]
    sessions: list[str]


def encode_rows(rows: Rows, ids: Sequence[str], sessions: Sequence[str]) -> bytes:
    """Encode the rows of a chunk."""
    encoded_ids = orjson.dumps(list(ids))
    return b"".join(
        (
            _HEAD.pack(VERSION, 0, 0, len(rows)),
            _IDS.pack(len(encoded_ids)),
            rows.tobytes(),
            encoded_ids,
            orjson.dumps(list(sessions)),
        )
    )


def decode_rows(data: bytes) -> ChunkRows:
    """Decode the rows of a chunk; the array is a view of ``data``.

    Raises:
        StateVersionError: The layout is not one that this code knows.
    """
    count, _ = _head(data, "chunk of rows")
    (id_bytes,) = _IDS.unpack_from(data, _HEAD.size)
    start = _HEAD.size + _IDS.size
    ids_at = start + count * ROW.itemsize
    view = memoryview(data)
    return ChunkRows(
        rows=np.frombuffer(data, dtype=ROW, count=count, offset=start),
        ids=orjson.loads(view[ids_at : ids_at + id_bytes]),
        sessions=orjson.loads(view[ids_at + id_bytes :]),
    )


def encode_vectors(vectors: Float32Matrix) -> bytes:
    """Encode the vectors of a chunk, shape ``(n, dim)``."""
    count, dimension = vectors.shape
    return _HEAD.pack(VERSION, 0, dimension, count) + np.ascontiguousarray(vectors, dtype="<f4").tobytes()


def decode_vectors(data: bytes) -> Float32Matrix:
    """Decode the vectors of a chunk, shape ``(n, dim)``; a view of ``data``."""
    count, dimension = _head(data, "chunk of vectors")
    return np.frombuffer(data, dtype="<f4", count=count * dimension, offset=_HEAD.size).reshape(count, dimension)


def encode_graph(graph: bytes) -> list[bytes]:
    """Cut a graph into pieces."""
    prefix = bytes([VERSION])
    return [prefix + graph[start : start + GRAPH_PIECE_BYTES] for start in range(0, len(graph), GRAPH_PIECE_BYTES)]


def decode_graph(pieces: Sequence[bytes]) -> bytes:
    """Put a graph together again."""
    for piece in pieces:
        if piece[0] != VERSION:
            raise unknown_version("graph", piece[0], VERSION)
    return b"".join(piece[1:] for piece in pieces)


def _head(data: bytes, what: str) -> tuple[int, int]:
    version, _, dimension, count = _HEAD.unpack_from(data)
    if version != VERSION:
        raise unknown_version(what, version, VERSION)
    return count, dimension
