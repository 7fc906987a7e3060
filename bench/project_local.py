"""The project in this process: ``LocalMemory``, measured like the rivals, call by call."""

from __future__ import annotations

from pathlib import Path

from bench.one_by_one import run
from bench.workload import DIMENSION, NEIGHBOURS, Workload, memory_name, memory_number
from flink_memory import LocalMemory


def given_vectors_config() -> dict[str, object]:
    """A configuration for vectors that are given: the model is never asked."""
    return {"embedding": {"model": "hashing", "dimension": DIMENSION}}


class Local:
    """The same memory as the job's, over dictionaries: no Flink, no Java, nothing on disk."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        """Open an empty memory for the workload's agents."""
        self._workload = workload
        self._memory = LocalMemory(given_vectors_config())

    def add(self, number: int) -> None:
        """Add one memory with its vector."""
        workload = self._workload
        self._memory.add(
            workload.memory_agent(number),
            workload.texts[number],
            memory_id=memory_name(number),
            vector=workload.vectors[number],
        )
        self._memory.changes.clear()

    def fill(self, numbers: range) -> None:
        """Add many; here that is one by one."""
        for number in numbers:
            self.add(number)

    def search(self, query: int) -> list[int]:
        """Search the memories of the query's agent, by vector alone."""
        workload = self._workload
        hits = self._memory.search(workload.query_agent(query), vector=workload.queries[query], limit=NEIGHBOURS)
        return [memory_number(hit["id"]) for hit in hits]


if __name__ == "__main__":
    run({"local": Local})
