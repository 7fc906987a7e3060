"""What is measured of a system, and the small arithmetic that turns clock readings into it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np

MIB = 1024 * 1024


@dataclass(frozen=True)
class Timing:
    """How long calls took.

    Attributes:
        rate: Calls a second, over the whole phase.
        p50_ms: Median of one call, in milliseconds; None where single calls were not timed.
        p99_ms: Likewise the 99th percentile.
        calls: How many calls this rests on.
    """

    rate: float
    p50_ms: float | None
    p99_ms: float | None
    calls: int


@dataclass(frozen=True)
class Measurement:
    """One system at one size.

    Attributes:
        system: Name in the table.
        memories: Memories over all agents.
        agents: Number of agents.
        adds: Adding memories one by one.
        searches: Searching one by one for 10 neighbours.
        recall: recall@10 against brute force, 0 to 1.
        disk_bytes: What lies on disk at the end; None where nothing is written.
        peak_bytes: Peak resident memory of the process (of all its processes, where there are several).
        note: What a reader must know to read the numbers rightly; "" for nothing.
    """

    system: str
    memories: int
    agents: int
    adds: Timing
    searches: Timing
    recall: float
    disk_bytes: int | None
    peak_bytes: int
    note: str = ""


def timing_of(seconds: Sequence[float]) -> Timing:
    """Sum up calls that were timed one by one and ran one after the other.

    Args:
        seconds: Duration of each call; at least one.
    """
    p50, p99 = np.percentile(np.asarray(seconds), [50, 99]) * 1000
    return Timing(len(seconds) / float(np.sum(seconds)), float(p50), float(p99), len(seconds))


def median_of(measurements: Sequence[Measurement]) -> Measurement:
    """Take the median of each number over repeated measurements of one system; notes are those of the first.

    Raises:
        ValueError: There are none.
    """
    if not measurements:
        raise ValueError("expected at least one measurement")
    return replace(
        measurements[0],
        adds=_median_timing([each.adds for each in measurements]),
        searches=_median_timing([each.searches for each in measurements]),
        recall=statistics.median(each.recall for each in measurements),
        disk_bytes=_median_bytes([each.disk_bytes for each in measurements]),
        peak_bytes=int(statistics.median(each.peak_bytes for each in measurements)),
    )


def measurement_from(record: dict[str, object]) -> Measurement:
    """Rebuild a measurement from the JSON object that ``asdict`` makes of it; fields of other names are left out."""
    known = {field.name: record[field.name] for field in fields(Measurement) if field.name in record}
    for name in ("adds", "searches"):
        timing = known[name]
        if not isinstance(timing, dict):
            raise TypeError(f"expected an object in {name}, got {timing!r}")
        known[name] = Timing(**timing)
    return Measurement(**known)  # type: ignore[arg-type]


def write_measurements(measurements: Sequence[Measurement], path: Path) -> None:
    """Write them as a JSON list, making the folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(each) for each in measurements], indent=2) + "\n", encoding="utf-8")


def bytes_below(folder: Path) -> int:
    """Return the size of all files in a folder, by their length (not by blocks)."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _median_timing(timings: Sequence[Timing]) -> Timing:
    return Timing(
        statistics.median(each.rate for each in timings),
        _median_present([each.p50_ms for each in timings]),
        _median_present([each.p99_ms for each in timings]),
        timings[0].calls,
    )


def _median_present(numbers: Sequence[float | None]) -> float | None:
    present = [number for number in numbers if number is not None]
    return statistics.median(present) if present else None


def _median_bytes(numbers: Sequence[int | None]) -> int | None:
    median = _median_present(list(numbers))
    return None if median is None else int(median)
