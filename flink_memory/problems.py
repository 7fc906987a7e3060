"""Pydantic's errors as sentences: what was expected, what came, what to do.

Requests and the configuration share it, so both name a field by its path in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from flink_memory.wording import did_you_mean, nearest, path_text, shown


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one field; ``field`` is None where it is the whole object's."""

    field: str | None
    message: str


def worst_problem(error: ValidationError, known: Sequence[str], owner: str) -> Problem:
    """Pick the problem to tell of: an unknown field before all else.

    An unknown field is most often a typing mistake, of which a missing field is only the echo.

    Args:
        error: Of validating a request, whose locations start with the name of its ``op``.
        known: Names of the fields there are, for suggestions.
        owner: Whose fields they are, to start a sentence with.
    """
    details = error.errors(include_url=False)
    unknown = [detail for detail in details if detail["type"] == "extra_forbidden"]
    return problem((unknown or details)[0], known, owner, skip=1)


def problem(detail: ErrorDetails, known: Sequence[str], owner: str, skip: int = 0) -> Problem:
    """Translate one of pydantic's errors.

    Args:
        detail: As `ValidationError.errors` lists it.
        known: Names of the fields there are beside an unknown one.
        owner: Whose fields they are, to start a sentence with.
        skip: How many leading parts of the location are not fields.
    """
    location = detail["loc"][skip:]
    context: Mapping[str, Any] = detail.get("ctx", {})
    path = (path_text(location) + context.get("path", "")).lstrip(".")
    return Problem(path or None, _message(detail, location, known, owner, context))


def _message(
    detail: ErrorDetails, location: Sequence[str | int], known: Sequence[str], owner: str, context: Mapping[str, Any]
) -> str:
    kind, came = detail["type"], detail.get("input")
    if kind == "refused":
        return str(context["message"])
    if kind == "extra_forbidden":
        name = str(location[-1])
        return f"{owner} has no field {shown(name)}{did_you_mean(name, known)}"
    if kind == "missing":
        return f"{owner} needs {shown(location[-1])}, and it is missing. Add it."
    if kind in ("string_too_short", "string_too_long"):
        return f"Expected {_bound(kind, context, 'character')}, got {len(str(came))}."
    if kind in ("too_short", "too_long"):
        return f"Expected {_bound(kind, context, 'item')}, got {context.get('actual_length')}."
    if kind == "literal_error":
        expected = "true" if context["expected"] == "True" else context["expected"]
        return f"Expected {expected}, got {shown(came)}{_near(came, expected)}"
    if kind in _EXPECTED:
        return f"Expected {_EXPECTED[kind].format(**context)}, got {shown(came)}."
    return f"{detail['msg']}, got {shown(came)}."


def _bound(kind: str, context: Mapping[str, Any], noun: str) -> str:
    least = kind.endswith("short")
    count = context["min_length" if least else "max_length"]
    return f"{'at least' if least else 'at most'} {count} {noun}{'' if count == 1 else 's'}"


def _near(came: object, expected: str) -> str:
    known = expected.replace(" or ", ", ").replace("'", "").split(", ")
    near = nearest(came, known) if isinstance(came, str) else None
    return f": did you mean {near!r}?" if near else "."


_EXPECTED: Mapping[str, str] = {
    "invalid_key": "a name of letters",
    "string_type": "a string",
    "string_unicode": "text that UTF-8 can encode",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "a list",
    "list_type": "a list",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
    "greater_than": "a number above {gt}",
    "less_than": "a number below {lt}",
}
