"""The table that the comparison prints: one row a system, with the two ratios that the project is judged by."""

from __future__ import annotations

from collections.abc import Sequence

from bench.measurement import MIB, Measurement, Timing

_HEADINGS = (
    "system", "adds/s", "x mem0", "p50 ms", "p99 ms", "searches/s", "x chroma", "p50 ms", "p99 ms", "recall@10",
    "disk MB", "peak MB",
)  # fmt: skip
UNKNOWN = "-"


def comparison(measurements: Sequence[Measurement]) -> str:
    """Render the systems measured at one size.

    Args:
        measurements: All of the same count of memories and agents; the rows keep their order. The ratios stay unknown
            where the rival that they refer to was not measured.

    Returns:
        Lines of text: a title, the table, and a note for each system that has one.
    """
    by_name = {each.system: each for each in measurements}
    rows = [_row(each, by_name.get("mem0"), by_name.get("chroma")) for each in measurements]
    first = measurements[0]
    title = f"{first.memories:,} memories over {first.agents} agent{'s' if first.agents > 1 else ''}, 384 dimensions"
    notes = [f"  {each.system}: {each.note}" for each in measurements if each.note]
    return "\n".join([title, *aligned([_HEADINGS, *rows]), *notes])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Pad columns to one width: the first to the left, the rest to the right; all rows have the same length."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths)) for row in rows]


def number(value: float | None) -> str:
    """Write a number with about three digits, and an unknown one as ``-``."""
    if value is None:
        return UNKNOWN
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.4f}"


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]


def _row(each: Measurement, mem0: Measurement | None, chroma: Measurement | None) -> list[str]:
    return [
        each.system,
        *_timing_cells(each.adds, mem0.adds if mem0 else None),
        *_timing_cells(each.searches, chroma.searches if chroma else None),
        f"{each.recall:.4f}",
        number(None if each.disk_bytes is None else each.disk_bytes / MIB),
        number(each.peak_bytes / MIB),
    ]


def _timing_cells(timing: Timing, rival: Timing | None) -> list[str]:
    ratio = None if rival is None else timing.rate / rival.rate
    return [number(timing.rate), number(ratio), number(timing.p50_ms), number(timing.p99_ms)]
