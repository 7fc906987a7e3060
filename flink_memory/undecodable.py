"""What becomes of a payload that is not a request: who asked, and what is wrong with it.

This is the slow way, taken only after the fast one failed. It reads the payload a second time
with the standard library's parser, which, unlike pydantic's, lets lone surrogates and NaN pass,
so that a sender that can be told is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from flink_memory.errors import ErrorDetail
from flink_memory.fields import has_lone_surrogate, require_json
from flink_memory.problems import Problem, worst_problem
from flink_memory.wording import did_you_mean, listed, shown

_MAX_IDS = {"request_id": 128, "agent_id": 256}
_BYTE_ORDER_MARKS = "\ufeff\ufffe"
_MAX_DEPTH = 200  # that of pydantic's parser
_MAX_ECHOED_OP = 64


@dataclass(frozen=True, slots=True)
class Rejected:
    """A payload that says not even who asked: it becomes a dead letter.

    Attributes:
        error: What is wrong with it.
        raw: The payload as it came.
    """

    error: ErrorDetail
    raw: bytes


@dataclass(frozen=True, slots=True)
class Invalid:
    """A payload of a known sender that is no request: it becomes an error result.

    Attributes:
        request_id: The producer's id.
        agent_id: Whose memory it was meant for.
        op: The ``op`` as it came, known or not; None if it was missing or no short string.
        error: What is wrong with it.
    """

    request_id: str
    agent_id: str
    op: str | None
    error: ErrorDetail


def explain(
    payload: str | bytes, error: ValidationError, fields_by_op: Mapping[str, Sequence[str]]
) -> Invalid | Rejected:
    """Say why a payload is not a request.

    Args:
        payload: What failed to validate.
        error: How it failed.
        fields_by_op: Names on the wire of the fields of each known ``op``.

    Returns:
        ``Invalid`` where ``request_id`` and ``agent_id`` are usable, else ``Rejected``.
    """
    raw = payload if isinstance(payload, bytes) else payload.encode("utf-8", "surrogatepass")
    try:
        fields = _object(_text(payload))
        request_id, agent_id = (_identifier(fields, name) for name in _MAX_IDS)
        problem = _problem(fields, error, fields_by_op)
    except _NotARequestError as reason:
        return Rejected(reason.detail, raw)
    op = fields.get("op")
    echoed = op if type(op) is str and len(op) <= _MAX_ECHOED_OP and not has_lone_surrogate(op) else None
    return Invalid(request_id, agent_id, echoed, ErrorDetail("VALIDATION_ERROR", problem.message, problem.field))


class _NotARequestError(Exception):
    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.detail = ErrorDetail("VALIDATION_ERROR", message, field)


def _text(payload: str | bytes) -> str:
    if isinstance(payload, str):
        return payload
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise _NotARequestError(
            f"Expected a JSON object in UTF-8, got the byte 0x{payload[error.start]:02x} at offset {error.start}, "
            "which is not UTF-8. Encode the record as UTF-8."
        ) from None


def _object(text: str) -> dict[str, Any]:
    if text.startswith("\ufeff"):
        raise _NotARequestError(
            "Expected a JSON object, got a byte order mark before it. Write UTF-8 without a byte order mark."
        )
    if not text.strip():
        raise _NotARequestError("Expected a JSON object, got an empty record. Send one object a record.")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise _NotARequestError(
            f"Expected a JSON object, got text that is not JSON: {error.msg} at character {error.pos} "
            f"({shown(text[max(error.pos - 10, 0) : error.pos + 20])})."
        ) from None
    except RecursionError:
        raise _NotARequestError(_TOO_DEEP) from None
    except ValueError:
        raise _NotARequestError(
            "Expected numbers of ordinary size, got a whole number of thousands of digits. Send it as a string."
        ) from None
    if type(value) is not dict:
        raise _NotARequestError(f"Expected a JSON object, got {shown(value)}. Send one object a record.")
    if _deeper_than(value, _MAX_DEPTH):
        raise _NotARequestError(_TOO_DEEP)
    return value


_TOO_DEEP = f"Expected at most {_MAX_DEPTH} levels of nested lists and objects, got more. Send it flatter."


def _deeper_than(value: object, levels: int) -> bool:
    """Whether lists and objects nest deeper; by levels, as recursion is what it guards against."""
    layer = [value]
    for _ in range(levels):
        layer = [
            item
            for node in layer
            if isinstance(node, (dict, list))
            for item in (node.values() if isinstance(node, dict) else node)
            if isinstance(item, (dict, list))
        ]
        if not layer:
            return False
    return True


def _identifier(fields: Mapping[str, Any], name: str) -> str:
    value, longest = fields.get(name), _MAX_IDS[name]
    if name not in fields:
        near = next((key for key in fields if key.lower().replace("_", "") == name.replace("_", "")), None)
        hint = f" There is {near!r}: rename it." if near else " Add it."
        raise _NotARequestError(f"Expected a string of 1 to {longest} characters, got nothing.{hint}", name)
    if type(value) is not str or not 1 <= len(value) <= longest:
        raise _NotARequestError(f"Expected a string of 1 to {longest} characters, got {shown(value)}.", name)
    if has_lone_surrogate(value):
        raise _NotARequestError("Expected text, got half of a surrogate pair. Send characters as UTF-8.", name)
    if name == "agent_id" and value[0] in _BYTE_ORDER_MARKS:
        raise _NotARequestError("Expected text, got a byte order mark before it. Leave it out.", name)
    return value


def _problem(fields: Mapping[str, Any], error: ValidationError, fields_by_op: Mapping[str, Sequence[str]]) -> Problem:
    if "op" not in fields:
        return Problem("op", f"Expected an operation, got nothing. Set one of: {listed(fields_by_op)}.")
    op = fields["op"]
    if type(op) is not str:
        return Problem("op", f"Expected a string, got {shown(op)}. Set one of: {listed(fields_by_op)}.")
    if op not in fields_by_op:
        return Problem("op", f"There is no operation {shown(op)}{did_you_mean(op, list(fields_by_op))}")
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return worst_problem(error, fields_by_op[op], f"The operation {op!r}")
    return _not_json(fields, first.get("ctx", {}).get("error", first["msg"]))


def _not_json(fields: Mapping[str, Any], reason: str) -> Problem:
    """Find what Python's JSON parser let pass and pydantic's did not."""
    if "recursion" in reason:
        raise _NotARequestError(_TOO_DEEP)
    try:
        for name, value in fields.items():
            require_json(name, "a name")
            require_json(value, name)
    except PydanticCustomError as refusal:
        context = refusal.context or {}
        # A name on the path may itself hold the surrogate.
        return Problem(context["path"].encode(errors="replace").decode(), context["message"])
    return Problem(None, f"Expected a JSON object, got text that is not JSON: {reason}.")
