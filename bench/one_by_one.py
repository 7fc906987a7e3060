"""How a system that lives in this process is measured: memories and queries go in one by one, as they come in life.

Each system has a module with a ``main`` that calls ``run``; ``compare`` starts it as a process of its own, so that peak
memory is the system's and nobody's garbage slows another. Results come back as one line of JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.measurement import Measurement, bytes_below, timing_of
from bench.process_memory import peak_bytes
from bench.workload import Workload, load_workload

ROUNDS = 3
LAST_ADDS = 100


class System(Protocol):
    """A system that keeps memories of several agents."""

    def add(self, number: int) -> None:
        """Add memory ``number`` of the workload; when it returns, a search finds it."""

    def fill(self, numbers: range) -> None:
        """Add many in the quickest way there is; not counted."""

    def search(self, query: int) -> list[int]:
        """Return the numbers of the memories found for query ``query``, best first."""


Opener = Callable[[Workload, Path], System]


def run(systems: Mapping[str, Opener]) -> None:
    """Read the command line, measure one of ``systems`` and print the JSON of ``measure``."""
    parser = argparse.ArgumentParser(description="Measure one system at one size; prints one JSON object.")
    parser.add_argument("system", choices=sorted(systems))
    parser.add_argument("workload", type=Path, help="folder written by bench.workload.save_workload")
    parser.add_argument("folder", type=Path, help="empty folder for the system's files")
    parser.add_argument("--add-seconds", type=float, default=120.0, help="stop adding one by one after this long (120)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    workload = load_workload(arguments.workload)
    opener = systems[arguments.system]
    print(json.dumps(measure(arguments.system, opener, workload, arguments.folder, arguments.add_seconds)))


def measure(name: str, opener: Opener, workload: Workload, folder: Path, add_seconds: float) -> dict[str, object]:
    """Fill a system, search it ``ROUNDS`` times with all queries, and sum up.

    Args:
        name: What to call it.
        opener: Opens it, empty.
        workload: What to add and ask.
        folder: Empty; its size at the end is ``disk_bytes``.
        add_seconds: After this long, adding one by one stops: the middle is filled in bulk, uncounted, and the last 100
            adds are timed again at full size. The rate is that of the adds before the stop, the note says the rest.

    Returns:
        A ``Measurement`` as a dict, with recall 0 as the truth is not known here; ``hits``: for each query the numbers
        found in the last round; ``add_ms_by_tenth``: the mean add in each tenth of the adds, in milliseconds.
    """
    system = opener(workload, folder)
    added, late = _add_all(system, workload.count, add_seconds)
    searched, hits = [], list[list[int]]()
    for _ in range(ROUNDS):
        hits = []
        for seconds, found in _timed_searches(system, len(workload.queries)):
            searched.append(seconds)
            hits.append(found)
    measurement = Measurement(
        system=name,
        memories=workload.count,
        agents=workload.agents,
        adds=timing_of(added),
        searches=timing_of(searched),
        recall=0.0,
        disk_bytes=bytes_below(folder) or None,
        peak_bytes=peak_bytes(),
        note=_note(added, late, workload.count),
    )
    return {**asdict(measurement), "hits": hits, "add_ms_by_tenth": _tenths(added)}


def _add_all(system: System, count: int, limit_s: float) -> tuple[list[float], list[float]]:
    """Return the durations of the adds before the limit, and of the last ones at full size where it was reached."""
    added: list[float] = []
    end = time.perf_counter() + limit_s
    while len(added) < count and time.perf_counter() < end:
        added.append(_timed_add(system, len(added)))
    first_late = max(len(added), count - LAST_ADDS)
    if first_late > len(added):
        system.fill(range(len(added), first_late))
    return added, [_timed_add(system, number) for number in range(first_late, count)]


def _timed_add(system: System, number: int) -> float:
    start = time.perf_counter()
    system.add(number)
    return time.perf_counter() - start


def _timed_searches(system: System, queries: int) -> Iterator[tuple[float, list[int]]]:
    for query in range(queries):
        start = time.perf_counter()
        found = system.search(query)
        yield time.perf_counter() - start, found


def _note(added: list[float], late: list[float], count: int) -> str:
    if not late:
        return ""
    recent = timing_of(added[-500:])
    return (
        f"adds/s is over the first {len(added):,} of {count:,}, where the clock stopped them; "
        f"the last {recent.calls} of those ran at {recent.rate:.1f}/s, the last {len(late)} of all at "
        f"{timing_of(late).rate:.1f}/s"
    )


def _tenths(seconds: list[float]) -> list[float]:
    return [round(1000 * float(np.mean(part)), 3) for part in np.array_split(seconds, 10) if len(part)]
