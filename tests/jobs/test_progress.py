"""How a long run tells how far it is."""

from __future__ import annotations

import io

import pytest

from flink_memory.jobs import progress as progress_module
from flink_memory.jobs.progress import Progress


class Clock:
    """A clock that stands where it is put."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", clock)
    return clock


def told(clock: Clock, total: int | None, steps: list[tuple[float, int]]) -> list[str]:
    stream = io.StringIO()
    progress = Progress(total, stream)
    for now, done in steps:
        clock.now = now
        progress.show(done)
    progress.close()
    return stream.getvalue().splitlines()


def test_a_short_run_says_nothing(clock: Clock) -> None:
    assert told(clock, 100, [(0.0, 1), (1.0, 50), (4.0, 100)]) == []


def test_a_long_run_says_a_line_every_few_seconds(clock: Clock) -> None:
    steps = [(0.0, 1), (3.0, 200), (6.0, 600), (7.0, 650), (12.0, 999)]
    assert told(clock, 1_000, steps) == [
        "600 of 1,000 (60%) records, 100 a second",
        "999 of 1,000 (100%) records, 83 a second",
    ]


def test_time_before_the_first_record_does_not_count(clock: Clock) -> None:
    assert told(clock, None, [(0.0, 0), (60.0, 0), (60.0, 1), (66.0, 600)]) == ["600 records, 100 a second"]


def test_what_is_done_twice_after_a_failure_is_not_more_than_all(clock: Clock) -> None:
    assert told(clock, 10, [(0.0, 1), (6.0, 14)]) == []


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress_module, "_BAR_AFTER_S", 0.0)
    stream = Terminal()
    progress = Progress(1_000, stream)
    progress.show(500)
    assert progress._bar is not None
    progress._bar.refresh()
    assert "500/1000" in stream.getvalue()
    progress.close()
