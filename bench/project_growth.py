"""The project's side of the growth figures."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.growth_figures import MemoryUnderTest
from bench.job_checkpoints import CheckpointLog, watch_job
from bench.project_local import given_vectors_config
from bench.wire import WarmUp, write_requests
from bench.workload import Float32Matrix, make_workload
from flink_memory import LocalMemory


class _Local:
    """``LocalMemory`` with a bounded cache; its state is in dictionaries."""

    def __init__(self, cache_bytes: int) -> None:
        self._memory = LocalMemory({**given_vectors_config(), "cache": {"max_bytes": cache_bytes}})

    def add(self, agent: str, memory_id: str, text: str, vector: Float32Matrix) -> None:
        self._memory.add(agent, text, memory_id=memory_id, vector=vector)
        self._memory.changes.clear()

    def search(self, agent: str, vector: Float32Matrix, k: int) -> Sequence[str]:
        return [hit["id"] for hit in self._memory.search(agent, vector=vector, limit=k)]

    def unload(self, agent: str) -> None:
        self._memory.cache.drop(agent)

    def load(self, agent: str) -> None:
        self._memory.cache.load(agent)

    def live_bytes(self) -> int:
        return self._memory.cache.nbytes


def open_memory(cache_bytes: int) -> MemoryUnderTest:
    """Open an empty memory with 384 dimensions whose cache of live agents is bounded by ``cache_bytes``."""
    return _Local(cache_bytes)


def checkpoint_bytes(before: int, new: int) -> int:
    """Return what checkpoints write when an agent of ``before`` memories gets ``new`` more.

    The job on RocksDB with an incremental checkpoint every second. What is returned is the sum of what the job
    manager says that each checkpoint wrote, from the first whose job had taken ``before`` requests on, scaled to
    ``new`` of the memories that came in that time.
    """
    with tempfile.TemporaryDirectory(prefix="flink-memory-checkpoints-") as name:
        folder = Path(name)
        total = before + new
        workload = make_workload(total, 1)
        write_requests(workload, folder / "requests.jsonl", rounds=1, warm_up=WarmUp(agents=1, adds=1, searches=1))
        log = CheckpointLog(before)
        watch_job(folder, log)
    return round(log.written_bytes * new / log.memories)
