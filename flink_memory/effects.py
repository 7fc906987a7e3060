"""What a memory wants done: the only way in which it touches the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from flink_memory.requests import Request
from flink_memory.undecodable import Invalid

Float32Matrix: TypeAlias = npt.NDArray[np.float32]
Float32Vector: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Emit:
    """Send a result. ``status`` is ``ok`` or ``error``; ``text`` is the JSON record."""

    text: str
    op: str
    status: str


@dataclass(frozen=True, slots=True)
class Publish:
    """Send a change of the memory bank to the changelog. ``text`` is the JSON record."""

    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Have ``texts`` embedded, and come back with an :class:`Answer` of the same ``ask_id``.

    An ask may be made again after a restart, and answered more than once: only the first answer counts.
    """

    ask_id: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuildGraph:
    """Build the FAISS graph of a sealed segment away from the operator's thread.

    Attributes:
        ask_id: Names the segment; the answer carries it.
        vectors: Shape ``(n, dim)``, the segment's rows; not to be changed.
        neighbors: Links of a node on the upper levels (FAISS's ``M``).
        ef_construction: Size of the candidate list while building.
    """

    ask_id: str
    vectors: Float32Matrix
    neighbors: int
    ef_construction: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call :meth:`AgentMemory.apply` with a :class:`Timer` at ``at_ms`` of processing time, or later."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Received:
    """A record that arrived and names this agent; ``payload`` is its text, kept if it has to wait."""

    item: Request | Invalid
    payload: str


Effect: TypeAlias = Emit | Publish | Ask | BuildGraph | SetTimer


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an :class:`Ask`: vectors of shape ``(len(texts), dim)``, or an error in plain words.

    ``code`` is the contract's code of the error: ``UNAVAILABLE`` or ``TIMEOUT``.
    """

    ask_id: str
    vectors: Float32Matrix | None = None
    error: str | None = None
    code: str = "UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class GraphBuilt:
    """What came of a :class:`BuildGraph`: the graph without its vectors, as FAISS serializes it."""

    ask_id: str
    graph: bytes


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer fired."""
