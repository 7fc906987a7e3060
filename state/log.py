"""Entries of the vector log's tail: one for every input that changed something.

An entry carries the counters as they stand after it, so that the manifest is written only when
the tail is sealed. Layout, little-endian:

=================== ==========================================================
bytes               meaning
=================== ==========================================================
u8                  version of the layout
u8                  number of counters, n
u16                 dimension of the vectors
u32, u32            tombstones, upserts
u32                 analysis that the terms are of (``ANALYSIS_ID``)
n x i64             :meth:`flink_memory.counters.Counters.values`
tombstones x i64    ordinals of rows that died
upserts x ROW       :data:`ROW`
upserts x 3 x u32   lengths of id, session and terms, in bytes
upserts x vector    dim x float32
rest                id, session (UTF-8) and terms (u32 each) of each upsert, in order
=================== ==========================================================

Terms are those of :func:`flink_memory.analysis.analyze`, so that a restored agent need not
analyse its texts again.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flink_memory.analysis import ANALYSIS_ID
from flink_memory.counters import Counters
from flink_memory.effects import Float32Matrix
from flink_memory.state.encoding import unknown_version

VERSION = 1

#: One row of the vector log without its texts and its vector; part of the state layout.
ROW = np.dtype(
    [
        ("ordinal", "<i8"),
        ("birth", "<i8"),
        ("arrived_ms", "<i8"),
        ("expires_ms", "<i8"),
        ("session", "<u4"),
        ("kind", "u1"),
    ]
)

Rows = npt.NDArray[np.void]
_HEAD = struct.Struct("<BBHIII")
_ROW = struct.Struct("<qqqqIB")
_LENGTHS = struct.Struct("<III")
_COUNTERS = len(Counters().values())
_COUNTERS_STRUCT = struct.Struct(f"<{_COUNTERS}q")


@dataclass(frozen=True, slots=True)
class Upsert:
    """One row as it stands in the tail."""

    ordinal: int
    birth: int
    arrived_ms: int
    expires_ms: int
    kind: int
    row_id: str
    session: str
    terms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What one input did to the rows of an agent.

    Attributes:
        counters: As they stand afterwards.
        tombstones: Ordinals of rows that died; applied after the upserts.
        upserts: Rows that are new.
        vectors: Shape ``(len(upserts), dim)``.
        analysis_id: Which analysis the upserts' terms are of.
    """

    counters: Counters
    tombstones: tuple[int, ...]
    upserts: tuple[Upsert, ...]
    vectors: Float32Matrix
    analysis_id: int = ANALYSIS_ID


def encode_entry(entry: LogEntry) -> bytes:
    """Encode an entry."""
    upserts = entry.upserts
    dimension = entry.vectors.shape[1] if upserts else 0
    parts = [
        _HEAD.pack(VERSION, _COUNTERS, dimension, len(entry.tombstones), len(upserts), entry.analysis_id),
        _COUNTERS_STRUCT.pack(*entry.counters.values()),
    ]
    if entry.tombstones:
        parts.append(struct.pack(f"<{len(entry.tombstones)}q", *entry.tombstones))
    if upserts:
        texts = [(row.row_id.encode(), row.session.encode(), array("I", row.terms).tobytes()) for row in upserts]
        parts.extend(_ROW.pack(row.ordinal, row.birth, row.arrived_ms, row.expires_ms, 0, row.kind) for row in upserts)
        parts.extend(_LENGTHS.pack(*map(len, text)) for text in texts)
        parts.append(np.ascontiguousarray(entry.vectors, dtype="<f4").tobytes())
        parts.extend(piece for text in texts for piece in text)
    return b"".join(parts)


def decode_entry(data: bytes) -> LogEntry:
    """Decode an entry.

    Raises:
        StateVersionError: The layout is not one that this code knows.
    """
    if data[0] != VERSION:
        raise unknown_version("log entry", data[0], VERSION)
    _, n_counters, dimension, n_tombstones, n_upserts, analysis_id = _HEAD.unpack_from(data)
    at = _HEAD.size
    counters = Counters(*struct.unpack_from(f"<{n_counters}q", data, at))
    at += 8 * n_counters
    tombstones = struct.unpack_from(f"<{n_tombstones}q", data, at)
    at += 8 * n_tombstones
    lengths_at = at + _ROW.size * n_upserts
    vectors_at = lengths_at + _LENGTHS.size * n_upserts
    texts_at = vectors_at + 4 * dimension * n_upserts
    vectors = np.frombuffer(data, dtype="<f4", count=dimension * n_upserts, offset=vectors_at)
    upserts = []
    for index in range(n_upserts):
        ordinal, birth, arrived_ms, expires_ms, _, kind = _ROW.unpack_from(data, at + _ROW.size * index)
        id_length, session_length, terms_length = _LENGTHS.unpack_from(data, lengths_at + _LENGTHS.size * index)
        session_at = texts_at + id_length
        terms_at = session_at + session_length
        end = terms_at + terms_length
        upserts.append(
            Upsert(
                ordinal=ordinal,
                birth=birth,
                arrived_ms=arrived_ms,
                expires_ms=expires_ms,
                kind=kind,
                row_id=data[texts_at:session_at].decode(),
                session=data[session_at:terms_at].decode(),
                terms=struct.unpack_from(f"<{terms_length // 4}I", data, terms_at),
            )
        )
        texts_at = end
    return LogEntry(counters, tombstones, tuple(upserts), vectors.reshape(n_upserts, dimension), analysis_id)
