"""The job around the echo memory, on a real Flink inside the JVM of this test session."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flink_memory.connectors.files import file_edges, gather
from flink_memory.jobs.environment import EnvironmentSettings, stream_environment
from flink_memory.jobs.operator import MemoryOperator
from flink_memory.jobs.pipeline import build_pipeline
from tests.jobs.echo_memory import OpenEcho, OpenSlowDoor


@dataclass(frozen=True)
class Outputs:
    """What a job wrote, decoded."""

    results: list[dict[str, Any]]
    changelog: list[dict[str, Any]]
    dead_letters: list[dict[str, Any]]


@dataclass(frozen=True)
class EchoJob:
    """Runs the job over a file with the given content."""

    folder: Path
    log_dir: Path

    def __call__(self, content: bytes, *, delay_s: float = 0.0, marker: Path | None = None, **settings: Any) -> Outputs:
        requests, parts, output = (self.folder / name for name in ("requests.jsonl", "parts", "out"))
        requests.write_bytes(content)
        chosen: dict[str, Any] = {
            "restart_attempts": 0,
            "checkpoint_interval_ms": 0,
            "log_dir": self.log_dir,
        } | settings
        env = stream_environment(EnvironmentSettings(**chosen))
        build_pipeline(env, file_edges(requests, parts), MemoryOperator(OpenEcho(marker), OpenSlowDoor(delay_s)))
        env.execute("echo")
        gather(parts, output)
        results, changelog, dead = (
            [json.loads(line) for line in (output / name).read_bytes().splitlines()]
            for name in ("results.jsonl", "changelog.jsonl", "deadletter.jsonl")
        )
        return Outputs(results, changelog, dead)


@pytest.fixture
def echo_job(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outputs]:
    return EchoJob(tmp_path, tmp_path_factory.getbasetemp() / "flink-log")
