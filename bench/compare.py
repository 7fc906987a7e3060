"""Measure the project beside mem0 with FAISS and beside Chroma, on the same vectors in the same run, and print tables.

    python -m bench.compare                      # all sizes, three repeats
    python -m bench.compare --memories 1000 --agents 1 --repeats 1 --systems flink chroma

Each repeat measures all systems one after the other, so that a slow minute of the machine falls on all of them, and
the table shows the median of the repeats. Every single measurement goes to ``bench/results/``. It ends with 1 where a
system that was asked for could not be measured.

**What is compared with what.** The rivals are libraries: one caller, one call after the other, each add on disk when
the call returns. The job is a stream: requests wait in line, all of them are counted from decoding to written result,
and an add is durable with the next checkpoint. So rates are comparable as the work that a machine gets done, and p50
and p99 of the job (time inside it) are not the same thing as those of a call.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from bench.measurement import Measurement, measurement_from, median_of, write_measurements
from bench.systems import ROOT, Measure, Task, UnavailableError, systems
from bench.table import comparison
from bench.workload import Workload, make_workload, recall, save_workload, true_neighbours

RESULTS = ROOT / "bench" / "results"


def main() -> int:
    """Read the command line, measure, print.

    Returns:
        The exit code: 0 where all that was asked for was measured, 1 otherwise.
    """
    complete = True
    arguments = _parse_arguments()
    chosen = {name: measure for name, measure in systems().items() if name in arguments.systems}
    for count in arguments.memories:
        for agents in arguments.agents:
            found = compare(count, agents, chosen, arguments.repeats, arguments.add_seconds)
            complete = complete and len(found) == len(chosen)
            print("\n" + (comparison(found) if found else f"{count} memories: nothing could be measured"), flush=True)
    return 0 if complete else 1


def compare(
    count: int, agents: int, chosen: Mapping[str, Measure], repeats: int, add_seconds: float
) -> list[Measurement]:
    """Measure systems at one size.

    Args:
        count: Memories over all agents.
        agents: Number of agents.
        chosen: The systems, in the order of the result.
        repeats: How often each is measured; at least 1.
        add_seconds: Where adding one by one stops.

    Returns:
        The median of the repeats for each system that could be measured; all repeats lie in ``bench/results``.
    """
    workload = make_workload(count, agents)
    single: dict[str, list[Measurement]] = {}
    with tempfile.TemporaryDirectory(prefix="flink-memory-bench-") as name:
        folder = Path(name)
        save_workload(workload, folder / "workload")
        for repeat in range(repeats):
            for system, measurement in _measure_each(workload, chosen, folder, add_seconds):
                single.setdefault(system, []).append(measurement)
            _say(f"{count:,} memories over {agents}: repeat {repeat + 1} of {repeats} done")
    write_measurements([each for some in single.values() for each in some], RESULTS / f"compare-{count}-{agents}.json")
    return [median_of(single[system]) for system in chosen if system in single]


def _measure_each(
    workload: Workload, chosen: Mapping[str, Measure], folder: Path, add_seconds: float
) -> list[tuple[str, Measurement]]:
    truth, measured = true_neighbours(workload), []
    for system, measure in chosen.items():
        _say(f"  {system} ...")
        try:
            record = measure(Task(workload, folder / "workload", folder / system, add_seconds))
        except UnavailableError as error:
            _say(f"  {system} left out: {error}")
            continue
        finally:
            shutil.rmtree(folder / system, ignore_errors=True)
        hits = cast("Sequence[Sequence[int]]", record["hits"])
        measured.append((system, measurement_from({**record, "recall": recall(hits, truth)})))
    return measured


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the project with mem0 + FAISS and with Chroma.")
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000], help="memories over all agents")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 50], help="numbers of agents")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each system, of which the median (3)")
    parser.add_argument(
        "--add-seconds", type=float, default=40.0, help="where rivals that are slower stop adding one by one (40)"
    )
    parser.add_argument(
        "--systems", nargs="+", choices=list(systems()), default=list(systems()), help="what to measure (all)"
    )
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
