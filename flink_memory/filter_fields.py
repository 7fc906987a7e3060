"""The fields that a filter can read, and the literals that each compares with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from flink_memory.clock import parse_time
from flink_memory.errors import RequestError
from flink_memory.filter_conditions import LiteralKind, Value
from flink_memory.wording import did_you_mean, shown

FieldType = Literal["text", "texts", "number", "time", "object"]

FIELD_TYPES: Mapping[str, FieldType] = {
    "kind": "text",
    "memory_id": "text",
    "memory": "text",
    "memory_type": "text",
    "metadata": "object",
    "confidence": "number",
    "importance": "number",
    "source_sessions": "texts",
    "source_events": "texts",
    "created_at": "time",
    "updated_at": "time",
    "last_accessed": "time",
    "access_count": "number",
    "expires_at": "time",
    "version": "number",
    "event_id": "text",
    "session_id": "text",
    "type": "text",
    "producer": "text",
    "role": "text",
    "timestamp": "time",
}
"""The fields that can be filtered by: those of memories and of events. Own ones are in metadata."""

LITERAL_NAMES: Mapping[FieldType, str] = {
    "text": "a text in single quotes",
    "texts": "a text in single quotes",
    "number": "a number",
    "time": "an RFC 3339 time in single quotes",
}
"""What to call a literal of each type in a message; metadata takes any."""

_LITERAL_KINDS: Mapping[FieldType, LiteralKind] = {"text": "text", "texts": "text", "number": "number", "time": "time"}


def filter_error(message: str) -> RequestError:
    """Make the error of a filter that cannot be used."""
    return RequestError("VALIDATION_ERROR", message, "filter")


def check_path(parts: Sequence[str], at: int) -> None:
    """Check that a path names a field there is.

    Args:
        parts: The path, at least one part.
        at: Where it stands in the filter, from 0.

    Raises:
        RequestError: It does not.
    """
    name = parts[0]
    if name not in FIELD_TYPES:
        raise filter_error(
            f"There is no field {shown(name)} (character {at + 1}){did_you_mean(name, list(FIELD_TYPES))} "
            "Fields of your own are under metadata, as in metadata.topic."
        )
    if FIELD_TYPES[name] == "object":
        if len(parts) == 1:
            raise filter_error(f"Name a field of {name} (character {at + 1}), as in {name}.topic.")
    elif len(parts) > 1:
        raise filter_error(f"The field {name} (character {at + 1}) has no fields inside. Only metadata has.")


def takes(name: str, value: Value) -> bool:
    """Whether a literal is of the kind that the field ``name`` compares with."""
    return FIELD_TYPES[name] == "object" or value.kind == _LITERAL_KINDS[FIELD_TYPES[name]]


def text_value(text: str, name: str, at: int) -> Value:
    """Read a text literal that the field ``name`` is compared with: a time where it can be one.

    Raises:
        RequestError: The field is a time and the text is none.
    """
    wanted = FIELD_TYPES[name]
    if wanted in ("text", "texts"):
        return Value("text", text)
    try:
        return Value("time", parse_time(text))
    except ValueError as error:
        if wanted == "time":
            raise filter_error(f"{name} is a time (character {at + 1}): {error}.") from None
    return Value("text", text)


def number_value(text: str, at: int) -> Value:
    """Read a number literal.

    Raises:
        RequestError: It is beyond what a float holds.
    """
    number = int(text) if text.lstrip("+-").isdecimal() else float(text)
    if isinstance(number, float) and not math.isfinite(number):
        raise filter_error(f"The number at character {at + 1} is too large. Use one below 1.8e308.")
    return Value("number", number)
