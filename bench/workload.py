"""The one workload that every system is measured with: memories, queries and the true nearest neighbours.

Everything is derived from a seed, so two runs measure the same vectors. The vectors are unit length and clustered:
about a hundred memories around each centre, with a cosine of about 0.6 to one another, because on uniformly random
vectors in 384 dimensions every neighbour is as far as any other and recall would say nothing. Each has noise of its
own, so none nearly repeats another (the largest cosine of two is 0.71).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
NEIGHBOURS = 10
QUERIES = 500

Float32Matrix = NDArray[np.float32]
Int64Matrix = NDArray[np.int64]

_CLUSTER_SIZE = 100
_SPREAD = 0.8
_TIE = 1e-6
_PEOPLE = ("Ada", "Bo", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana")
_VERBS = ("prefers", "asked about", "is moving to", "cancelled", "recommends", "is learning", "dislikes", "has booked")
_THINGS = ("the night train to Vienna", "a vegetarian menu", "weekly reports in Spanish", "the blue running shoes",
           "a course in woodwork", "the early shift", "a second monitor", "long walks by the river")  # fmt: skip
_REASONS = ("because of the children", "since the last visit", "as the doctor said", "to save money",
            "after talking with a colleague", "for the summer", "unless it rains", "as a matter of habit")  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """Memories dealt out to agents in turn, and queries dealt out likewise.

    Attributes:
        vectors: Shape ``(count, 384)``, unit rows; memory ``i`` belongs to agent ``i % agents``.
        queries: Shape ``(QUERIES, 384)``, unit rows; query ``q`` is asked of agent ``q % agents``.
        texts: What each memory says; all different, about 70 characters.
        agents: Number of agents, at least 1.
    """

    vectors: Float32Matrix
    queries: Float32Matrix
    texts: tuple[str, ...]
    agents: int

    @property
    def count(self) -> int:
        """Number of memories over all agents."""
        return len(self.texts)

    def memory_agent(self, memory: int) -> str:
        """Name the agent that memory number ``memory`` belongs to."""
        return agent_name(memory % self.agents)

    def query_agent(self, query: int) -> str:
        """Name the agent that query number ``query`` is asked of."""
        return agent_name(query % self.agents)


def agent_name(number: int) -> str:
    """Return the id of an agent, e.g. ``agent-007``."""
    return f"agent-{number:03d}"


def memory_name(number: int) -> str:
    """Return the id of a memory, e.g. ``m000123``; ``memory_number`` reads it back."""
    return f"m{number:06d}"


def memory_number(name: str) -> int:
    """Return the number in an id that ``memory_name`` made.

    Raises:
        ValueError: It is not such an id.
    """
    if not name.startswith("m"):
        raise ValueError(f"expected a memory id such as m000123, got {name!r}")
    return int(name[1:])


def make_workload(count: int, agents: int, seed: int = 7) -> Workload:
    """Make the workload of ``count`` memories over ``agents`` agents; the vectors do not depend on ``agents``."""
    vectors, queries = clustered_vectors(count, QUERIES, seed)
    return Workload(vectors, queries, tuple(memory_text(number) for number in range(count)), agents)


def clustered_vectors(count: int, queries: int, seed: int) -> tuple[Float32Matrix, Float32Matrix]:
    """Draw memories and queries around the same centres.

    Returns:
        ``(memories, queries)`` of shapes ``(count, 384)`` and ``(queries, 384)``, float32, unit rows.
    """
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((max(4, count // _CLUSTER_SIZE), DIMENSION), dtype=np.float32))
    return _around(centres, count, rng), _around(centres, queries, rng)


def memory_text(number: int) -> str:
    """Write a sentence that no other number gets; deterministic."""
    parts = [number >> shift & 7 for shift in (0, 3, 6, 9)]
    said = f"{_PEOPLE[parts[0]]} {_VERBS[parts[1]]} {_THINGS[parts[2]]} {_REASONS[parts[3]]}"
    return f"{said}, note {number}."


def true_neighbours(workload: Workload, k: int = NEIGHBOURS) -> list[frozenset[int]]:
    """Find, by brute force in float32, the memories that may stand among the best ``k`` of each query.

    A memory that scores within 1e-6 of the k-th best counts as one of them: systems add up a dot product in different
    orders, and the last bit is not what recall is about. So a set may hold more than ``k``; it holds fewer only where
    the agent has fewer memories.
    """
    return [_neighbours_of(workload, query, k) for query in range(len(workload.queries))]


def recall(found: Sequence[Sequence[int]], truth: Sequence[frozenset[int]], k: int = NEIGHBOURS) -> float:
    """Return the mean share of the true ``k`` neighbours that were found, between 0 and 1.

    Args:
        found: For each query the memories returned; only the first ``k`` count, repeats once.
        truth: What ``true_neighbours`` returned, one set for each query.
        k: How many were asked for.

    Raises:
        ValueError: The two differ in length, or are empty.
    """
    if len(found) != len(truth) or not truth:
        raise ValueError(f"expected hits for each of {len(truth)} queries, got {len(found)}")
    shares = [len(true & set(hits[:k])) / min(k, len(true)) for hits, true in zip(found, truth, strict=True)]
    return float(np.mean(shares))


def save_workload(workload: Workload, folder: Path) -> None:
    """Write it as ``vectors.npy``, ``queries.npy`` and ``texts.json``, for processes with another NumPy."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", workload.vectors)
    np.save(folder / "queries.npy", workload.queries)
    record = {"texts": workload.texts, "agents": workload.agents}
    (folder / "texts.json").write_text(json.dumps(record), encoding="utf-8")


def load_workload(folder: Path) -> Workload:
    """Read what ``save_workload`` wrote."""
    record = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    return Workload(
        np.load(folder / "vectors.npy"), np.load(folder / "queries.npy"), tuple(record["texts"]), record["agents"]
    )


def _around(centres: Float32Matrix, count: int, rng: np.random.Generator) -> Float32Matrix:
    chosen = rng.integers(0, len(centres), size=count)
    noise = _unit(rng.standard_normal((count, DIMENSION), dtype=np.float32))
    return _unit(centres[chosen] + np.float32(_SPREAD) * noise)


def _unit(rows: Float32Matrix) -> Float32Matrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _neighbours_of(workload: Workload, query: int, k: int) -> frozenset[int]:
    agent = query % workload.agents
    scores = workload.vectors[agent :: workload.agents] @ workload.queries[query]
    kth_best = np.partition(scores, -k)[-k] if len(scores) > k else -np.inf
    rows = np.flatnonzero(scores >= kth_best - _TIE)
    return frozenset((rows * workload.agents + agent).tolist())
