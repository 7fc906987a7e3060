"""The manifest: what the sealed part of an agent's log consists of.

One version byte, then a JSON object (its fields are those of :class:`Manifest`; unknown ones are
refused, as they come from a newer release). A chunk's tombstones are a bitmap, base64.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import orjson

from flink_memory.counters import Counters
from flink_memory.state.encoding import unknown_version

VERSION = 1


@dataclass(slots=True, eq=False)
class Chunk:
    """A sealed chunk.

    Attributes:
        number: Names its values in ``vector_segments``; never used again.
        rows: Rows in it, dead ones included.
        dead: Positions of dead rows: a boolean array of shape ``(rows,)``, or ``None`` for none.
    """

    number: int
    rows: int
    dead: npt.NDArray[np.bool_] | None = None

    @property
    def dead_rows(self) -> int:
        """How many of its rows are dead."""
        return 0 if self.dead is None else int(self.dead.sum())

    @property
    def living(self) -> npt.NDArray[np.bool_]:
        """Which of its rows are alive, shape ``(rows,)``."""
        return np.ones(self.rows, dtype=np.bool_) if self.dead is None else ~self.dead


@dataclass(slots=True, eq=False)
class Segment:
    """Consecutive chunks that were merged.

    Attributes:
        number: Names its graph; never used again.
        level: Tier; a merge of segments of one level makes one of the next.
        chunks: In order of their rows.
        graph_pieces: Pieces of its graph in ``vector_segments``; 0 where it has none.
    """

    number: int
    level: int
    chunks: list[Chunk]
    graph_pieces: int = 0

    @property
    def rows(self) -> int:
        """Rows in it, dead ones included."""
        return sum(chunk.rows for chunk in self.chunks)


@dataclass(slots=True, eq=False)
class Manifest:
    """What stands in an agent's state beside the tail.

    Attributes:
        dimension: Of the vectors; 0 while there is none.
        metric: ``cosine`` or ``inner_product``.
        model: Id of the embedding model that the vectors are of.
        counters: As of the last seal; the tail's entries carry newer ones.
        segments: In order of their rows.
        next_number: For the next chunk or segment.
        ended_sessions: Session -> when it was ended, in ms; the most recent ones.
    """

    dimension: int = 0
    metric: str = "cosine"
    model: str = ""
    counters: Counters = field(default_factory=Counters)
    segments: list[Segment] = field(default_factory=list)
    next_number: int = 0
    ended_sessions: dict[str, int] = field(default_factory=dict)

    @property
    def chunks(self) -> list[Chunk]:
        """All chunks, in order of their rows."""
        return [chunk for segment in self.segments for chunk in segment.chunks]

    @property
    def sealed_rows(self) -> int:
        """Rows in all segments, dead ones included."""
        return sum(segment.rows for segment in self.segments)

    def take_number(self) -> int:
        """A number for a new chunk or segment."""
        self.next_number += 1
        return self.next_number - 1


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest."""
    return bytes([VERSION]) + orjson.dumps(
        {
            "dimension": manifest.dimension,
            "metric": manifest.metric,
            "model": manifest.model,
            "counters": manifest.counters.values(),
            "segments": [
                {
                    "number": segment.number,
                    "level": segment.level,
                    "graph_pieces": segment.graph_pieces,
                    "chunks": [(chunk.number, chunk.rows, _bitmap(chunk.dead)) for chunk in segment.chunks],
                }
                for segment in manifest.segments
            ],
            "next_number": manifest.next_number,
            "ended_sessions": manifest.ended_sessions,
        }
    )


def decode_manifest(data: bytes) -> Manifest:
    """Decode a manifest.

    Raises:
        StateVersionError: The layout is not one that this code knows.
    """
    if data[0] != VERSION:
        raise unknown_version("manifest", data[0], VERSION)
    fields = orjson.loads(memoryview(data)[1:])
    segments = [
        Segment(
            number=segment["number"],
            level=segment["level"],
            graph_pieces=segment["graph_pieces"],
            chunks=[Chunk(number, rows, _positions(bitmap, rows)) for number, rows, bitmap in segment["chunks"]],
        )
        for segment in fields.pop("segments")
    ]
    return Manifest(counters=Counters(*fields.pop("counters")), segments=segments, **fields)


def _bitmap(dead: npt.NDArray[np.bool_] | None) -> str | None:
    return None if dead is None else base64.b64encode(np.packbits(dead).tobytes()).decode()


def _positions(bitmap: str | None, rows: int) -> npt.NDArray[np.bool_] | None:
    if bitmap is None:
        return None
    bits = np.frombuffer(base64.b64decode(bitmap), dtype=np.uint8)
    return np.unpackbits(bits, count=rows).astype(np.bool_)
