"""The project as a Flink job: ``flink-memory run`` over a file of requests, decoding and results included.

The command and the files are those of the wire contract. What ``read_results`` says about timing holds here: rates are
those of the phases of a warm job; starting and ending the JVM is in the note.
p50 and p99 are those of the time in the operator, which the command counts itself: a file of results cannot tell them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from bench.measurement import Measurement, Timing, bytes_below
from bench.process_memory import TreePeak
from bench.wire import JobResults, WarmUp, read_results, write_requests
from bench.workload import DIMENSION, Workload

_LOG_TAIL = 2_000
_POLL_S = 0.5


def measure_job(
    workload: Workload, folder: Path, command: Sequence[str] | None = None, warm_up: WarmUp | None = None
) -> dict[str, object]:
    """Run the job over the workload.

    Args:
        workload: What to add and ask.
        folder: Empty; takes requests, results, log and checkpoints.
        command: What to run before ``--input``; None is ``flink-memory run`` of this environment.
        warm_up: What is done before anything is timed; None is the default of ``bench.wire``.

    Returns:
        The same as ``one_by_one.measure``: a ``Measurement`` as a dict with recall 0, and ``hits``.

    Raises:
        subprocess.CalledProcessError: It failed; the end of its log is in ``output``.
        BrokenRunError: Its results do not answer the requests.
    """
    requests, results = folder / "requests.jsonl", folder / "results"
    written = write_requests(workload, requests, warm_up=warm_up)
    started = time.perf_counter()
    peak, disk = _run(
        [*(command or _command(folder)), "--input", str(requests), "--output", str(results)],
        folder / "log",
        folder / "checkpoints",
    )
    wall_s = time.perf_counter() - started
    answered = _with_service_times(read_results(results / "results.jsonl", workload), folder)
    measurement = Measurement(
        system="flink",
        memories=workload.count,
        agents=workload.agents,
        adds=answered.adds,
        searches=answered.searches,
        recall=0.0,
        disk_bytes=disk or None,
        peak_bytes=peak,
        note=f"{written:,} requests in {wall_s:.1f} s from start of the command to its end, warm-up included",
    )
    return {**asdict(measurement), "hits": answered.hits}


def _command(folder: Path) -> list[str]:
    """Return the command without its files: RocksDB, a checkpoint every five seconds."""
    settings = ["embedding.model=hashing", f"embedding.dimension={DIMENSION}"]
    return [
        *(sys.executable, "-m", "flink_memory.jobs.cli", "run"),
        *("--checkpoint-dir", str(folder / "checkpoints"), "--checkpoint-interval", "5"),
        *(argument for setting in settings for argument in ("--set", setting)),
    ]


def _with_service_times(answered: JobResults, folder: Path) -> JobResults:
    """Put the p50 and p99 of the time in the operator into the timings, in milliseconds, warm-up included."""
    path = folder / "results" / "service_times.json"
    if not path.exists():
        return answered
    times = json.loads(path.read_text(encoding="utf-8"))
    return replace(
        answered, adds=_with_percentiles(answered.adds, times["add"]),
        searches=_with_percentiles(answered.searches, times["search"]),
    )  # fmt: skip


def _with_percentiles(timing: Timing, percentiles: Sequence[float]) -> Timing:
    return replace(timing, p50_ms=percentiles[0], p99_ms=percentiles[1])


def _run(command: Sequence[str], log: Path, checkpoints: Path) -> tuple[int, int]:
    """Run it to its end.

    Returns:
        The peak memory of its process tree, and the size of the checkpoints when they were last seen, in bytes:
        a job that has ended removes them.
    """
    disk = 0
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        with TreePeak(process.pid) as peak:
            while (code := process.poll()) is None:
                with suppress(OSError):  # a file went while it was looked at
                    disk = bytes_below(checkpoints) or disk
                time.sleep(_POLL_S)
    if code != 0:
        tail = log.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL:]
        raise subprocess.CalledProcessError(code, list(command), output=tail)
    return peak.bytes, disk
