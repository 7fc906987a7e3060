"""Percentiles of durations from a histogram, and their way from one process to another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flink_memory.jobs.meter import Meter, read_meters


def metered(durations_ns: list[int], kind: str = "add", file: Path | None = None) -> Meter:
    meter = Meter(file)
    for duration in durations_ns:
        meter.record(kind, 1_000, 1_000 + duration)
    return meter


@pytest.mark.parametrize("scale_ns", [2_000, 300_000, 80_000_000, 5_000_000_000])
def test_percentiles_are_right_to_a_few_percent(scale_ns: int) -> None:
    drawn = np.random.default_rng(scale_ns).lognormal(0, 0.7, 5_000) * scale_ns
    told = metered([int(each) for each in drawn]).percentiles_ms()
    assert told == pytest.approx(np.percentile(drawn, [50, 99]) / 1e6, rel=0.05)


def test_one_record_is_its_own_percentiles() -> None:
    assert metered([1_000_000]).percentiles_ms("add") == pytest.approx((1.0, 1.0), rel=0.04)


def test_without_records_there_are_no_percentiles() -> None:
    assert Meter().percentiles_ms() is None
    assert metered([5]).percentiles_ms("search") is None


def test_kinds_are_told_apart_and_together() -> None:
    meter = metered([1_000_000] * 98)
    meter.record("search", 0, 1_000_000_000)
    meter.record("search", 0, 1_000_000_000)
    assert meter.percentiles_ms("add") == pytest.approx((1.0, 1.0), rel=0.04)
    assert meter.percentiles_ms("search") == pytest.approx((1000.0, 1000.0), rel=0.04)
    assert meter.percentiles_ms() == pytest.approx((1.0, 1000.0), rel=0.04)


def test_what_several_meters_wrote_adds_up(tmp_path: Path) -> None:
    whole = metered([100_000, 3_000_000, 100_000, 7_000_000])
    for number, durations in enumerate(([100_000, 3_000_000], [100_000, 7_000_000])):
        metered(durations, file=tmp_path / f"{number}.json").write()
    (tmp_path / "2.json").write_text("not yet")
    read = read_meters(tmp_path.glob("*.json"))
    assert read.records == 4
    assert read.classes == whole.classes
    assert read.span_ns == 7_000_000


def test_the_file_tells_how_far_it_is_before_the_end(tmp_path: Path) -> None:
    meter = Meter(tmp_path / "meter.json")
    meter.record("add", 0, 10)
    assert read_meters([tmp_path / "meter.json"]).records == 1
    for number in range(100):
        meter.record("add", number, number + 10)
    meter.record("add", 0, 2_000_000_000)
    assert read_meters([tmp_path / "meter.json"]).records == 102
