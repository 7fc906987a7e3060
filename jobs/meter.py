"""How long records take in the operator, counted so cheaply that every record is.

A duration falls into one of sixteen classes for each power of two, so a percentile is right to about 3 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import orjson

_SHIFT = 6  # 64 ns is as fine as it gets
_FINE_BITS = 4
_WRITE_EVERY_NS = 500_000_000


class Meter:
    """Counts durations by the kind of record; half a microsecond each.

    Args:
        file: Is rewritten about twice a second, and at the end, with what was counted; None for nowhere.
            It tells another process how far this one is.
    """

    __slots__ = ("_file", "_next_write_ns", "_started_ns", "classes", "records", "span_ns")

    def __init__(self, file: Path | None = None) -> None:
        self.classes: dict[str, Counter[int]] = {}
        self.records = 0
        self.span_ns = 0
        """From the first record's begin to the last one's end."""
        self._started_ns: int | None = None
        self._file = file
        self._next_write_ns = 0

    def record(self, kind: str, start_ns: int, end_ns: int) -> None:
        """Count one record.

        Args:
            kind: Its ``op``.
            start_ns: When its work began, by ``perf_counter_ns``.
            end_ns: When it was done.
        """
        units = (end_ns - start_ns) >> _SHIFT
        coarse = max(units.bit_length() - _FINE_BITS - 1, 0)
        try:
            self.classes[kind][(coarse << _FINE_BITS) + (units >> coarse)] += 1
        except KeyError:
            self.classes[kind] = Counter({(coarse << _FINE_BITS) + (units >> coarse): 1})
        self.records += 1
        if self._started_ns is None:
            self._started_ns = start_ns
        self.span_ns = end_ns - self._started_ns
        if self._file is not None and end_ns >= self._next_write_ns:
            self._next_write_ns = end_ns + _WRITE_EVERY_NS
            self.write()

    def write(self) -> None:
        """Bring the file up to date; each version of it appears at once."""
        if self._file is None:
            return
        unfinished = self._file.with_suffix(".unfinished")
        # Keys of JSON objects are text.
        classes = {kind: {str(key): n for key, n in counts.items()} for kind, counts in self.classes.items()}
        unfinished.write_bytes(orjson.dumps({"span_ns": self.span_ns, "classes": classes}))
        unfinished.replace(self._file)

    def percentiles_ms(self, kind: str | None = None) -> tuple[float, float] | None:
        """The median and the 99th percentile, in ms, of one kind or of all; None when there was no such record."""
        counts: Counter[int] = sum(
            (each for name, each in self.classes.items() if kind in (None, name)), start=Counter()
        )
        total = counts.total()
        return (_percentile_ms(counts, total * 0.5), _percentile_ms(counts, total * 0.99)) if total else None


def read_meters(files: Iterable[Path]) -> Meter:
    """Add up what several meters have written; the longest span counts. A file that cannot be read is left out."""
    total = Meter()
    for file in files:
        try:
            written = orjson.loads(file.read_bytes())
        except (OSError, ValueError):
            continue
        total.span_ns = max(total.span_ns, written["span_ns"])
        for kind, counts in written["classes"].items():
            total.classes.setdefault(kind, Counter()).update({int(key): n for key, n in counts.items()})
            total.records += sum(counts.values())
    return total


def _percentile_ms(counts: Counter[int], rank: float) -> float:
    seen = 0
    for key in sorted(counts):
        seen += counts[key]
        if seen >= rank:
            return _middle_ns(key) / 1e6
    raise ValueError("expected a rank up to the number of records")


def _middle_ns(key: int) -> float:
    """The middle of a class, in ns."""
    coarse = max((key >> _FINE_BITS) - 1, 0)
    units = key - (coarse << _FINE_BITS)
    return float(((units << coarse) + (1 << coarse) / 2) * (1 << _SHIFT))
