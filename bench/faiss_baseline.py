"""Raw FAISS with the same vectors in the same run: the floor that the project's overhead is judged against.

A flat inner-product index for each agent, in memory, one thread: no texts, no ids, no log, no results. As a row of the
comparison it is run like the rivals (``python -m bench.faiss_baseline faiss-flat WORKLOAD FOLDER``); the functions
serve the growth figures.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import faiss  # type: ignore[import-untyped,unused-ignore]
import numpy as np

from bench.one_by_one import run
from bench.workload import DIMENSION, NEIGHBOURS, Float32Matrix, Workload

faiss.omp_set_num_threads(1)


class FlatIndexes:
    """A flat index for each agent."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        """Begin with no vectors; nothing is written to ``folder``."""
        self._workload = workload
        self._indexes = [faiss.IndexFlatIP(DIMENSION) for _ in range(workload.agents)]

    def add(self, number: int) -> None:
        """Add one vector to its agent's index."""
        self._indexes[number % self._workload.agents].add(self._workload.vectors[number : number + 1])

    def fill(self, numbers: range) -> None:
        """Add vectors one by one."""
        for number in numbers:
            self.add(number)

    def search(self, query: int) -> list[int]:
        """Search the index of the query's agent."""
        agents = self._workload.agents
        _, rows = self._indexes[query % agents].search(self._workload.queries[query : query + 1], NEIGHBOURS)
        return [int(row) * agents + query % agents for row in rows[0] if row >= 0]


def flat_index(vectors: Float32Matrix) -> Any:
    """Build a flat inner-product index over vectors of shape ``(n, dim)``."""
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def search_seconds(index: Any, queries: Float32Matrix, k: int = NEIGHBOURS) -> list[float]:
    """Time searches one by one; one duration for each query, in seconds."""
    durations = []
    for row in range(len(queries)):
        start = time.perf_counter()
        index.search(queries[row : row + 1], k)
        durations.append(time.perf_counter() - start)
    return durations


def add_seconds(index: Any, vectors: Float32Matrix) -> list[float]:
    """Time adds one by one; one duration for each vector, in seconds."""
    durations = []
    for row in range(len(vectors)):
        start = time.perf_counter()
        index.add(vectors[row : row + 1])
        durations.append(time.perf_counter() - start)
    return durations


def serialize_seconds(index: Any, repeats: int) -> list[float]:
    """Time turning an index into bytes; one duration for each repeat, in seconds."""
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        faiss.serialize_index(index)
        durations.append(time.perf_counter() - start)
    return durations


def deserialize_seconds(index: Any, repeats: int) -> list[float]:
    """Time turning an index's bytes back into an index; one duration for each repeat, in seconds."""
    content = np.frombuffer(faiss.serialize_index(index).tobytes(), dtype=np.uint8)
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        faiss.deserialize_index(content)
        durations.append(time.perf_counter() - start)
    return durations


if __name__ == "__main__":
    run({"faiss-flat": FlatIndexes})
