"""What the checkpoints of a running job write, as its job manager tells it over REST."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.workload import DIMENSION

_POLL_S = 0.2


@dataclass
class CheckpointLog:
    """Checkpoints that were seen.

    Attributes:
        before: Results that must have been written before a checkpoint counts.
        sizes: Bytes that each checkpoint wrote, by its number.
        results: Results at the time when a checkpoint was first seen, by its number.
    """

    before: int
    sizes: dict[int, int] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)

    @property
    def counted(self) -> list[int]:
        """Numbers of the checkpoints that count, in order; the first of them is only where counting begins."""
        return sorted(number for number in self.sizes if self.results[number] >= self.before)

    @property
    def written_bytes(self) -> int:
        """What the checkpoints that count wrote, but for the first."""
        return sum(self.sizes[number] for number in self.counted[1:])

    @property
    def memories(self) -> int:
        """Memories that came between the first and the last checkpoint that count."""
        numbers = self.counted
        if len(numbers) < 3:
            raise LookupError(f"expected at least three checkpoints after {self.before} memories, got {len(numbers)}")
        return self.results[numbers[-1]] - self.results[numbers[0]]


def watch_job(folder: Path, log: CheckpointLog) -> None:
    """Run the job over ``folder/requests.jsonl`` and note its checkpoints.

    Raises:
        subprocess.CalledProcessError: The job failed; the end of its log is in ``output``.
    """
    port = _free_port()
    command = [
        *(sys.executable, "-m", "flink_memory.jobs.cli", "run"),
        *("--input", str(folder / "requests.jsonl"), "--output", str(folder / "results")),
        *("--checkpoint-dir", str(folder / "checkpoints"), "--checkpoint-interval", "3"),
        *("--set", "embedding.model=hashing", "--set", f"embedding.dimension={DIMENSION}"),
        *("--flink", f"rest.port={port}", "--flink", f"rest.bind-port={port}"),
        *("--flink", "metrics.fetcher.update-interval=200"),
    ]
    with (folder / "log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while process.poll() is None:
            _note(port, log)
            time.sleep(_POLL_S)
    if process.returncode:
        tail = (folder / "log").read_text(encoding="utf-8", errors="replace")[-2_000:]
        raise subprocess.CalledProcessError(process.returncode, command, output=tail)


def _note(port: int, log: CheckpointLog) -> None:
    try:
        for job in _get(port, "/jobs")["jobs"]:
            taken = _records_taken(port, job["id"])
            for checkpoint in _get(port, f"/jobs/{job['id']}/checkpoints")["history"]:
                if checkpoint["status"] == "COMPLETED" and checkpoint["id"] not in log.sizes:
                    log.sizes[checkpoint["id"]] = checkpoint["checkpointed_size"]
                    log.results[checkpoint["id"]] = taken
    except (OSError, KeyError, ValueError):
        return  # not up yet, or down already


def _records_taken(port: int, job: str) -> int:
    """Records that the memory operator has taken so far."""
    for vertex in _get(port, f"/jobs/{job}")["vertices"]:
        if "memory" in vertex["name"]:
            return int(vertex["metrics"]["read-records"])
    return 0


def _get(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
        return json.load(reply)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
