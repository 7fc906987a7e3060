"""Measure how the project's cost grows, print the figures beside their limits, and end with 1 if one is missed.

    python -m bench.growth                      # all figures
    python -m bench.growth --figures search load

The state of the 100,000 agents holds a million vectors: 1.5 GB in float32.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict

from bench.compare import RESULTS
from bench.growth_figures import (
    CACHE_BYTES,
    Figure,
    add_figure,
    cache_figure,
    checkpoint_figure,
    load_figure,
    recall_figure,
    search_figure,
)
from bench.project_growth import checkpoint_bytes, open_memory
from bench.table import aligned, number

_ROOMY = 8 * 1024**3
"""A cache that never evicts: for the figures that are not about eviction."""

FIGURES: Mapping[str, Callable[[], Figure]] = {
    "add": lambda: add_figure(open_memory(_ROOMY)),
    "search": lambda: search_figure(open_memory(_ROOMY)),
    "recall": lambda: recall_figure(open_memory(_ROOMY)),
    "load": lambda: load_figure(open_memory(_ROOMY)),
    "cache": lambda: cache_figure(open_memory(CACHE_BYTES)),
    "checkpoint": lambda: checkpoint_figure(checkpoint_bytes),
}


def main() -> int:
    """Read the command line, measure, print.

    Returns:
        The exit code: 0 where every figure was measured and keeps its limit, 1 otherwise.
    """
    parser = argparse.ArgumentParser(description="Measure how cost grows with memory.")
    parser.add_argument("--figures", nargs="+", choices=list(FIGURES), default=list(FIGURES), help="which (all)")
    wanted = parser.parse_args().figures
    found = [figure for name in wanted if (figure := _measure(name)) is not None]
    RESULTS.mkdir(parents=True, exist_ok=True)
    records = [{**asdict(figure), "ratio": figure.ratio, "good": figure.good} for figure in found]
    (RESULTS / "growth.json").write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")
    print("\n".join(aligned([("growth", "value", "against", "ratio", "limit", ""), *map(_row, found)])))
    return 0 if len(found) == len(wanted) and all(figure.good for figure in found) else 1


def _measure(name: str) -> Figure | None:
    print(f"  growth: {name} ...", file=sys.stderr, flush=True)
    try:
        figure = FIGURES[name]()
    except NotImplementedError as error:
        print(f"  {name} left out: {error}", file=sys.stderr)
        return None
    if figure.note:
        print(f"  {figure.name}: {figure.note}", file=sys.stderr)
    return figure


def _row(figure: Figure) -> tuple[str, ...]:
    return (
        figure.name,
        f"{number(figure.value)} {figure.unit}",
        f"{number(figure.against)} {figure.unit}",
        f"{figure.ratio:.2f}",
        f"{figure.limit:.1f}",
        "ok" if figure.good else "MISSED",
    )


if __name__ == "__main__":
    sys.exit(main())
