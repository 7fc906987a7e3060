"""What a run did, in a few lines for the person who started it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from flink_memory.connectors.files import OUTPUT_FILES
from flink_memory.jobs.meter import Meter


class Tally:
    """Counts what came out."""

    def __init__(self) -> None:
        self.changes = 0
        self.dead_letters = 0
        self.agents: set[str] = set()
        self.statuses: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()

    @property
    def results(self) -> int:
        """How many results."""
        return self.statuses.total()

    @property
    def records(self) -> int:
        """How many records came in: each got one result, or became one dead letter."""
        return self.results + self.dead_letters

    def add(self, kind: str, text: str | bytes) -> None:
        """Count one record of the output.

        Args:
            kind: One of the keys of ``OUTPUT_FILES``.
            text: The record.
        """
        if kind == "changelog":
            self.changes += 1
        elif kind == "dead_letters":
            self.dead_letters += 1
        else:
            record = orjson.loads(text)
            self.agents.add(record["agent_id"])
            self.statuses[record["status"]] += 1
            if record["status"] == "error":
                self.codes[record["error"]["code"]] += 1


def tally_of(folder: Path) -> Tally:
    """Count what is in the three files of a folder."""
    tally = Tally()
    for kind, name in OUTPUT_FILES.items():
        with (folder / name).open("rb") as lines:
            for line in lines:
                tally.add(kind, line)
    return tally


def summary_lines(tally: Tally, meter: Meter, seconds: float, output: str) -> Iterator[str]:
    """Say what was done.

    Args:
        tally: What came out.
        meter: How long records took.
        seconds: How long all of it took, starting included.
        output: The folder, or ``-``.
    """
    busy_s = meter.span_ns / 1e9
    yield (
        f"{_counted(tally.records, 'record')} of {_counted(len(tally.agents), 'agent')} in {seconds:.1f} s"
        + (f": {tally.records / busy_s:,.0f} a second in the {busy_s:.1f} s after the start" if busy_s else "")
    )
    statuses = [f"{number:,} {status}" for status, number in sorted(tally.statuses.items(), reverse=True)]
    codes = ", ".join(f"{number:,} {code}" for code, number in tally.codes.most_common())
    yield f"  results        {', '.join(statuses) or 'none'}" + (f" ({codes})" if codes else "")
    yield f"  changes        {tally.changes:,}"
    yield f"  dead letters   {tally.dead_letters:,}"
    if (percentiles_ms := meter.percentiles_ms()) is not None:
        yield f"  time a record  p50 {percentiles_ms[0]:.3g} ms, p99 {percentiles_ms[1]:.3g} ms"
    if output != "-":
        yield f"  written to     {output}: {', '.join(OUTPUT_FILES.values())}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
