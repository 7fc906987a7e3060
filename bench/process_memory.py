"""Peak resident memory of this process, or of a process with all its children."""

from __future__ import annotations

import os
import resource
import sys
import threading
from pathlib import Path

_INTERVAL_S = 0.1


def peak_bytes() -> int:
    """Return the peak resident memory of this process since it began its program.

    Linux keeps it as ``VmHWM``. ``ru_maxrss`` would not do there: it survives ``exec`` and so may be the parent's.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return _kilobytes(status.read_text(encoding="ascii"), "VmHWM:") * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class TreePeak:
    """Samples the resident memory of a process and its descendants ten times a second, and keeps the largest sum.

    Pages that several of them share count for each. Needs Linux (``/proc``); elsewhere the peak stays 0.

    Example:
        ``with TreePeak(process.pid) as peak: process.wait()`` and then ``peak.bytes``.
    """

    def __init__(self, pid: int) -> None:
        """Prepare to watch process ``pid``."""
        self.bytes = 0
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> TreePeak:
        """Start sampling."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sampling."""
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_INTERVAL_S):
            self.bytes = max(self.bytes, sum(_resident_bytes(pid) for pid in _tree(self._pid)))


def _tree(root: int) -> list[int]:
    """List a process and its descendants; a process that ends meanwhile is left out."""
    pids, seen = [root], 0
    while seen < len(pids):
        for children in Path(f"/proc/{pids[seen]}/task").glob("*/children"):
            try:
                pids.extend(int(pid) for pid in children.read_text(encoding="ascii").split())
            except OSError:
                continue
        seen += 1
    return pids


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _kilobytes(status: str, name: str) -> int:
    line = next(line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1])
