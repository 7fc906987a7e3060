"""Times between their text and milliseconds since the epoch."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flink_memory.clock import format_time, parse_time


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00.5z", 500),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-01-31T09:15:30.123456789+01:00", 1769847330123),
        ("2026-01-31T08:15:30.1-00:00", 1769847330100),
        ("2016-12-31T23:59:60Z", 1483228800000),
    ],
)
def test_reads_rfc_3339(text: str, time_ms: int) -> None:
    assert parse_time(text) == time_ms


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026-01-31T08:15:30", "offset"),
        ("2026-01-31", "expected an RFC 3339 time"),
        ("2026-02-30T00:00:00Z", "no such day"),
        ("0000-01-01T00:00:00Z", "no such day"),
        ("2026-01-31T24:00:00Z", "no such time of day"),
        ("2026-01-31T00:60:00Z", "no such time of day"),
        ("2026-01-31T00:00:00+24:00", "no such offset"),
        ("0001-01-01T00:00:00+01:00", "years 1 to 9999"),
        ("9999-12-31T23:59:59-01:00", "years 1 to 9999"),
        ("٢٠٢٦-01-31T08:15:30Z", "expected an RFC 3339 time"),
        ("2026-01-31T08:15:30Z\n", "expected an RFC 3339 time"),
        ("", "expected an RFC 3339 time"),
        ("x" * 10_000, "..."),
    ],
)
def test_says_why_a_text_is_no_time(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        parse_time(text)
    assert len(str(caught.value)) < 200


def test_prints_milliseconds_and_z() -> None:
    assert format_time(1769847330123) == "2026-01-31T08:15:30.123Z"
    assert format_time(0) == "1970-01-01T00:00:00.000Z"
    assert format_time(parse_time("0001-01-01T00:00:00Z")) == "0001-01-01T00:00:00.000Z"


def test_refuses_to_print_times_beyond_the_calendar() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        format_time(10**15)


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(timezone.utc)))
def test_agrees_with_datetime_and_comes_back(time: datetime) -> None:
    time_ms = parse_time(time.isoformat())
    assert time_ms == (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // datetime.resolution // 1000
    assert parse_time(format_time(time_ms)) == time_ms
