"""Times: ``int`` milliseconds since 1970-01-01T00:00:00Z inside, RFC 3339 text on the wire.

Nothing here reads a clock; the time of processing is always passed in.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache

_MS_PER_DAY = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MIN_MS = (date.min.toordinal() - _EPOCH_ORDINAL) * _MS_PER_DAY
_MAX_MS = (date.max.toordinal() + 1 - _EPOCH_ORDINAL) * _MS_PER_DAY - 1

# RFC 3339, section 5.6. [0-9] and not \d, which takes the digits of every script.
_RFC_3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)
_NO_OFFSET = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+")


def parse_time(text: str) -> int:
    """Read an RFC 3339 time with an offset.

    Digits past the millisecond are cut. A leap second (``:60``) is the first instant of the
    next minute, as in POSIX time.

    Args:
        text: Such as ``2026-01-31T09:15:30.123+01:00``.

    Returns:
        Milliseconds since the epoch, UTC; negative before 1970.

    Raises:
        ValueError: Not such a time, or outside the years 1 to 9999.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(_why_not_a_time(text))
    year, month, day, hour, minute, second, fraction, zulu, sign, off_hour, off_minute = match.groups()
    days = _days_since_epoch(int(year), int(month), int(day), text)
    if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        raise ValueError(f"there is no such time of day: {_shortened(text)}")
    ms = ((int(hour) * 60 + int(minute)) * 60 + int(second)) * 1000
    if fraction is not None:
        ms += int(fraction[:3].ljust(3, "0"))
    if zulu is None:
        if int(off_hour) > 23 or int(off_minute) > 59:
            raise ValueError(f"there is no such offset from UTC: {_shortened(text)}")
        offset_ms = (int(off_hour) * 60 + int(off_minute)) * 60_000
        ms -= offset_ms if sign == "+" else -offset_ms
    return _in_range(days * _MS_PER_DAY + ms)


@lru_cache(maxsize=4096)
def format_time(time_ms: int) -> str:
    """Print a time as ``2026-01-31T08:15:30.123Z``; the last few thousand are kept, as one record has several.

    Args:
        time_ms: Milliseconds since the epoch, UTC, within the years 1 to 9999.

    Raises:
        ValueError: Outside those years.
    """
    time = _EPOCH + timedelta(milliseconds=_in_range(time_ms))
    return f"{time.isoformat('T', 'milliseconds')[:23]}Z"


def _days_since_epoch(year: int, month: int, day: int, text: str) -> int:
    try:
        return date(year, month, day).toordinal() - _EPOCH_ORDINAL
    except ValueError:
        raise ValueError(f"there is no such day: {_shortened(text)}") from None


def _in_range(time_ms: int) -> int:
    if not _MIN_MS <= time_ms <= _MAX_MS:
        raise ValueError(f"the time is outside the years 1 to 9999: {time_ms} ms since 1970")
    return time_ms


def _why_not_a_time(text: str) -> str:
    if _NO_OFFSET.fullmatch(text):
        return f"the offset from UTC is missing: end {_shortened(text)} with Z or with an offset such as +02:00"
    return f"expected an RFC 3339 time such as 2026-01-31T08:15:30Z, got {_shortened(text)}"


def _shortened(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "...")
