"""How far a long run is: a bar on a terminal, a line now and then elsewhere, nothing for a short one."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from tqdm import tqdm

_BAR_AFTER_S = 2.0
_LINE_EVERY_S = 5.0


class Progress:
    """Tells on ``stream`` how many records are done.

    Args:
        total: Of how many; None when that is not known.
        stream: Where to; standard error when None.
        line_every_s: Time between two lines where there is no terminal.
    """

    def __init__(self, total: int | None, stream: TextIO | None = None, line_every_s: float = _LINE_EVERY_S) -> None:
        self._stream = stream or sys.stderr
        self._total = total
        self._done = 0
        self._every_s = line_every_s
        self._started: float | None = None  # when the first record was done: what starts before it takes its time
        self._next_line = 0.0
        self._bar = (
            tqdm(total=total, unit=" records", file=self._stream, delay=_BAR_AFTER_S, leave=False)
            if self._stream.isatty()
            else None
        )

    def show(self, done: int) -> None:
        """Tell that ``done`` records are done, if it is time to."""
        done = done if self._total is None else min(done, self._total)
        if self._bar is not None:
            self._bar.update(done - self._done)
        elif done:
            self._show_line(done)
        self._done = done

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()

    def _show_line(self, done: int) -> None:
        now = time.monotonic()
        if self._started is None:
            self._started, self._next_line = now, now + self._every_s
        if now >= self._next_line and done != self._total:
            self._next_line = now + self._every_s
            of = f" of {self._total:,} ({done / self._total:.0%})" if self._total else ""
            rate = done / max(now - self._started, 1e-9)
            print(f"{done:,}{of} records, {rate:,.0f} a second", file=self._stream, flush=True)
