"""How errors speak: a value shortened, a near name suggested, a path printed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MAX_SHOWN = 60


def shown(value: object) -> str:
    """Name a decoded JSON value in a message: its kind, and the value if it is short.

    Never longer than about 80 characters, and always ASCII, so that it can be printed anywhere.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a whole number of more than 60 digits"
    if isinstance(value, (int, float)):
        return f"the number {value!r}"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return f"an object with {_counted(len(value), 'field')}"
    if isinstance(value, (list, tuple)):
        return f"a list of {_counted(len(value), 'item')}"
    return f"a {type(value).__name__}"


def _quoted(text: str) -> str:
    if len(text) <= _MAX_SHOWN:
        return ascii(text)[: 4 * _MAX_SHOWN]
    return f"{ascii(text[: _MAX_SHOWN // 2])[:-1]}...' ({len(text)} characters)"


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Iterable[str]) -> str:
    """Join names for a message: ``a, b, c``."""
    return ", ".join(names)


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Find the known name that was probably meant, or None."""
    part = name.lower()
    if len(part) >= 3:
        holding = [item for item in known if part in item]
        if len(holding) == 1:
            return holding[0]
    close = difflib.get_close_matches(name.lower()[:64], known, n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Say ``: did you mean 'x'?`` where a known name is near, else list what is known."""
    near = nearest(name, known)
    return f": did you mean {near!r}?" if near else f". Known: {listed(known)}."


def path_text(location: Iterable[str | int]) -> str:
    """Print a location such as ``("messages", 2, "content")`` as ``messages[2].content``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
