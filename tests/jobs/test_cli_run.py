"""The command line over Flink: what a user sees when it goes well, and when it does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flink_memory.connectors.files import file_edges
from flink_memory.jobs import java
from flink_memory.jobs.cli import main
from flink_memory.jobs.environment import EnvironmentSettings, stream_environment
from flink_memory.jobs.failure import JobFailedError
from flink_memory.jobs.operator import MemoryOperator
from flink_memory.jobs.pipeline import build_pipeline
from flink_memory.jobs.run import execute
from tests.jobs.echo_memory import OpenEcho, OpenSlowDoor

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "flink_memory.jobs.cli", "run"]
HASHING = ("--set", "embedding.model=hashing")


def environment(folder: Path) -> dict[str, str]:
    """Variables for a command of its own, with its temporary files in ``folder``."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}


def adds(count: int) -> bytes:
    text = b'{"request_id": "%d", "agent_id": "a%d", "op": "add", "memory": "Number %d."}\n'
    return b"".join(text % (number, number % 7, number) for number in range(count))


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def test_a_run_takes_any_folder_and_leaves_nothing_but_its_files(tmp_path: Path, temporary: Path) -> None:
    folder = tmp_path / "100 % d\u00e9j\u00e0 'vu'"
    folder.mkdir()
    requests = folder / "_requests.jsonl"
    requests.write_bytes(adds(50) + b"broken")
    output, checkpoints = folder / "results", folder / "check points"
    edges = ["--input", str(requests), "--output", str(output), "--checkpoint-dir", str(checkpoints)]
    told = subprocess.run([*COMMAND, *edges, *HASHING], env=environment(temporary), capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout == ""
    assert "51 records of 7 agents" in told.stderr
    assert "50 ok" in told.stderr
    assert "dead letters   1" in told.stderr
    assert "p99" in told.stderr
    assert sorted(path.name for path in output.iterdir()) == [
        "changelog.jsonl", "deadletter.jsonl", "results.jsonl", "service_times.json",
    ]  # fmt: skip
    assert len((output / "results.jsonl").read_text().splitlines()) == 50
    times = json.loads((output / "service_times.json").read_text())
    assert set(times) == {"add", "refused"}
    assert 0 < times["add"][0] <= times["add"][1]
    assert checkpoints.is_dir()
    assert not list(temporary.glob("flink-memory*"))


def test_standard_input_runs_into_standard_output(temporary: Path) -> None:
    told = subprocess.run(
        [*COMMAND, "--input", "-", "--output", "-", *HASHING],
        input=adds(3), env=environment(temporary), capture_output=True,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert [json.loads(line)["status"] for line in told.stdout.splitlines()] == ["ok"] * 3


def test_an_interrupt_ends_a_run_and_its_flink(tmp_path: Path, temporary: Path) -> None:
    requests, output = tmp_path / "requests.jsonl", tmp_path / "results"
    requests.write_bytes(adds(200_000))
    arguments = [*COMMAND, "--input", str(requests), "--output", str(output), *HASHING]
    with subprocess.Popen(
        arguments,
        env=environment(temporary),
        stderr=subprocess.PIPE,
        text=True,
        # A shell has what it starts in the background ignore interrupts, and so all that is started from there.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    ) as running:
        until_true(lambda: bool(list(output.glob(".flink-memory-*/meters/*.json"))))
        assert java_below(running.pid)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr is not None
        told = running.stderr.read()
    assert told.endswith("flink-memory: interrupted\n")
    assert "Traceback" not in told
    assert list(output.iterdir()) == []
    assert not list(temporary.glob("flink-memory*"))


def until_true(condition: Any, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def java_below(pid: int) -> list[int]:
    """The children of a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_without_java_the_exit_code_and_the_message_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> Iterator[tuple[str, Path]]:
        yield from ()

    monkeypatch.setattr(java, "_candidates", none)
    requests = tmp_path / "requests.jsonl"
    requests.write_bytes(adds(1))
    assert main(["run", "--input", str(requests), "--output", str(tmp_path / "out"), *HASHING]) == 3
    assert "flink-memory[java]" in capsys.readouterr().err


@pytest.mark.parametrize("execution_mode", ["thread", "process"])
def test_a_job_that_fails_tells_its_cause_and_where_its_log_is(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, execution_mode: Any
) -> None:
    requests, log_dir = tmp_path / "requests.jsonl", tmp_path_factory.getbasetemp() / "flink-log"
    requests.write_bytes(b'{"request_id": "fail-once", "agent_id": "a", "op": "get", "memory_id": "x"}')
    settings = EnvironmentSettings(
        execution_mode=execution_mode, restart_attempts=0, checkpoint_interval_ms=0, log_dir=log_dir
    )
    env = stream_environment(settings)
    operator = MemoryOperator(OpenEcho(tmp_path / "marker"), OpenSlowDoor(0.0))
    build_pipeline(env, file_edges(requests, tmp_path / "parts"), operator)
    with pytest.raises(JobFailedError) as caught:
        execute(env, tmp_path, 1, log_dir)
    cause, log = str(caught.value).splitlines()
    assert cause == "The job failed: RuntimeError: failing on purpose"
    assert Path(log.removeprefix("The whole log: ")).is_file()
