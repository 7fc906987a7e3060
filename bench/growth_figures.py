"""How cost grows with an agent's memory: each function measures one figure beside what it is judged against.

The two sides of a ratio are measured in turns, in short blocks, so that a slow minute of the machine falls on both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bench.faiss_baseline import deserialize_seconds, flat_index, search_seconds
from bench.measurement import MIB
from bench.workload import DIMENSION, NEIGHBOURS, Float32Matrix, clustered_vectors, memory_name, memory_text

ADD_BLOCKS = 8
ADDS_IN_BLOCK = 256
"""A tail is sealed every few hundred adds: a block holds about one seal, on either side."""

CACHE_BYTES = 256 * MIB


class MemoryUnderTest(Protocol):
    """What these figures need of a memory; the time of each call is the time of the work."""

    def add(self, agent: str, memory_id: str, text: str, vector: Float32Matrix) -> None:
        """Add one memory; ``vector`` has shape ``(384,)``."""

    def search(self, agent: str, vector: Float32Matrix, k: int) -> Sequence[str]:
        """Return the ids of the ``k`` nearest memories of an agent, best first."""

    def unload(self, agent: str) -> None:
        """Drop the live object of an agent, so that only its state is left."""

    def load(self, agent: str) -> None:
        """Build the live object of an agent from its state."""

    def live_bytes(self) -> int:
        """Return what the cache says that its live objects take."""


@dataclass(frozen=True)
class Figure:
    """One figure beside its limit.

    Attributes:
        name: What was measured.
        value: The project's number, in ``unit``.
        against: What it is compared with, in the same unit.
        unit: Unit of both.
        limit: The largest ``value / against`` that is good.
        note: More about how it came about; "" for nothing.
    """

    name: str
    value: float
    against: float
    unit: str
    limit: float
    note: str = ""

    @property
    def ratio(self) -> float:
        """``value`` in units of ``against``."""
        return self.value / self.against

    @property
    def good(self) -> bool:
        """Whether the ratio keeps the limit."""
        return self.ratio <= self.limit


def add_figure(memory: MemoryUnderTest, large: int = 100_000, small: int = 1_000) -> Figure:
    """Compare the mean cost of an add in a large agent with that in small ones, seals and merges included.

    Each block of adds to the large agent is followed by one to a fresh small agent, so that the small stay small.
    """
    extra = ADD_BLOCKS * ADDS_IN_BLOCK
    vectors, _ = clustered_vectors(large + extra, 1, seed=21)
    _fill(memory, "large", vectors[:large])
    in_large: list[float] = []
    in_small: list[float] = []
    for block in range(ADD_BLOCKS):
        first = large + block * ADDS_IN_BLOCK
        some = vectors[first : first + ADDS_IN_BLOCK]
        _fill(memory, f"small-{block}", vectors[:small])
        in_large += _fill(memory, "large", some, first)
        in_small += _fill(memory, f"small-{block}", some, small)
    medians = [float(np.median(each)) * 1e6 for each in (in_large, in_small)]
    return Figure(
        name=f"add at {large:,} memories against {small:,}",
        value=float(np.mean(in_large)) * 1e6,
        against=float(np.mean(in_small)) * 1e6,
        unit="µs",
        limit=1.3,
        note=f"means of {extra:,}; medians {medians[0]:.1f} and {medians[1]:.1f}; "
        f"longest {max(in_large) * 1e3:.1f} and {max(in_small) * 1e3:.1f} ms",
    )


def search_figure(memory: MemoryUnderTest, count: int = 10_000) -> Figure:
    """Compare the median search of an agent with raw FAISS flat search over the same vectors."""
    vectors, queries = clustered_vectors(count, 1_000, seed=22)
    _fill(memory, "searched", vectors)
    index = flat_index(vectors)
    ours: list[float] = []
    raw: list[float] = []
    for first in range(0, len(queries), 50):
        block = queries[first : first + 50]
        raw += search_seconds(index, block)
        ours += [_seconds(lambda query=query: memory.search("searched", query, NEIGHBOURS)) for query in block]  # type: ignore[misc]
    return Figure(
        f"search of {count:,} memories against raw FAISS flat", float(np.median(ours)) * 1e6,
        float(np.median(raw)) * 1e6, "µs", 2.0, "medians of 1,000",
    )  # fmt: skip


def recall_figure(memory: MemoryUnderTest, count: int = 50_000, queries: int = 500) -> Figure:
    """Compare the recall that is wanted of graphs with the recall of an agent whose segments have them."""
    vectors, asked = clustered_vectors(count, queries, seed=25)
    _fill(memory, "graphs", vectors)
    _, nearest = flat_index(vectors).search(asked, NEIGHBOURS)
    found = [set(memory.search("graphs", query, NEIGHBOURS)) for query in asked]
    truth = [{memory_name(number) for number in row} for row in nearest.tolist()]
    recall = float(np.mean([len(ours & theirs) / NEIGHBOURS for ours, theirs in zip(found, truth, strict=True)]))
    return Figure(
        f"recall@10 wanted of graphs at {count:,} memories against measured", 0.99, recall, "", 1.0,
        f"recall@10 {recall:.4f} over {queries} queries",
    )  # fmt: skip


def load_figure(memory: MemoryUnderTest, count: int = 10_000, repeats: int = 20) -> Figure:
    """Compare loading an agent from its state with deserializing a FAISS flat index of its vectors."""
    vectors, _ = clustered_vectors(count, 1, seed=23)
    _fill(memory, "loaded", vectors)
    index = flat_index(vectors)
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(repeats):
        memory.unload("loaded")
        ours.append(_seconds(lambda: memory.load("loaded")))
        raw += deserialize_seconds(index, 1)
    return Figure(
        f"loading an agent of {count:,} against FAISS deserialize", float(np.median(ours)) * 1e3,
        float(np.median(raw)) * 1e3, "ms", 3.0, f"medians of {repeats}",
    )  # fmt: skip


def cache_figure(memory: MemoryUnderTest, agents: int = 100_000, each: int = 10) -> Figure:
    """Send many small agents through the cache and take the most that it ever held.

    At the end a thousand agents from all over are searched for a memory of their own, most of them loaded anew.

    Raises:
        LookupError: A memory was not found again.
    """
    pool, _ = clustered_vectors(10_000, 1, seed=24)
    most = 0
    for agent in range(agents):
        _fill(memory, f"many-{agent}", _agent_vectors(pool, agent, each))
        if agent % 100 == 0:
            most = max(most, memory.live_bytes())
    for agent in range(0, agents, max(1, agents // 1_000)):
        found = memory.search(f"many-{agent}", _agent_vectors(pool, agent, each)[0], 1)
        if list(found) != [memory_name(0)]:
            raise LookupError(f"expected agent many-{agent} to find its first memory, got {list(found)}")
    most = max(most, memory.live_bytes())
    return Figure(
        f"cache with {agents:,} agents of {each} memories against its bound", most / MIB, CACHE_BYTES / MIB, "MiB", 1.0
    )


def checkpoint_figure(checkpoint_bytes: Callable[[int, int], int], before: int = 10_000, new: int = 30_000) -> Figure:
    """Compare what checkpoints write for each new memory with the memory's own bytes: id, text and float32 vector.

    Args:
        checkpoint_bytes: Called with ``(before, new)``; runs a job whose one agent has ``before`` memories in a
            finished checkpoint, adds ``new``, and returns the bytes that the checkpoints since then have written.
        before: Memories at the start.
        new: Memories added.
    """
    own = sum(len(memory_name(number)) + len(memory_text(number).encode()) + 4 * DIMENSION for number in range(new))
    written = checkpoint_bytes(before, new)
    return Figure("checkpoint bytes for each new memory against its own", written / new, own / new, "bytes", 2.0)


def _fill(memory: MemoryUnderTest, agent: str, vectors: Float32Matrix, first: int = 0) -> list[float]:
    """Add vectors under the numbers from ``first`` on; returns the duration of each add, in seconds."""
    durations = []
    for number, vector in enumerate(vectors, start=first):
        name, text = memory_name(number), memory_text(number)
        start = time.perf_counter()
        memory.add(agent, name, text, vector)
        durations.append(time.perf_counter() - start)
    return durations


def _agent_vectors(pool: Float32Matrix, agent: int, each: int) -> Float32Matrix:
    rows = (agent * each + np.arange(each)) % len(pool)
    return np.ascontiguousarray(pool[rows])


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
