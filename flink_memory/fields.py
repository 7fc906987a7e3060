"""The field types of a request that pydantic does not have: vectors, times, metadata.

Each is a plain function over the decoded JSON value, so that a value is checked and built in
one step and errors can say where inside the value the fault lies (``path`` in the error's
context, which the translation of errors appends to the name of the field).
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Annotated, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
from pydantic import PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from flink_memory.clock import parse_time
from flink_memory.wording import shown

Float32Vector = npt.NDArray[np.float32]

_WIRE_FLOAT = np.dtype("<f4")
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1
_NUMBER_TYPES = ({float}, {int}, {int, float})


def refuse(message: str, path: str = "") -> NoReturn:
    """Fail the field under validation.

    Args:
        message: What was expected, what came, what to do.
        path: Where inside the field's value, such as ``.a[2]``.

    Raises:
        PydanticCustomError: Always.
    """
    raise PydanticCustomError("refused", "{message}", {"message": message, "path": path})


def decode_vector(value: object) -> Float32Vector | None:
    """Read a vector off the wire: a list of numbers, or base64 of little-endian float32.

    Args:
        value: The JSON value; None is no vector; an array is taken as it is.

    Returns:
        Read-only, shape ``(dim,)``, ``dim >= 1``, every element finite.

    Raises:
        PydanticCustomError: Neither of the two, empty, or not finite.
    """
    if type(value) is str:
        vector = _vector_from_base64(value)
    elif type(value) is list:
        vector = _vector_from_numbers(value)
    elif value is None:
        return None
    elif isinstance(value, np.ndarray) and value.ndim == 1:
        vector = np.array(value, dtype=np.float32)
    else:
        refuse(f"Expected a list of numbers or a base64 string of little-endian float32, got {shown(value)}.")
    if vector.size == 0:
        refuse("Expected at least one number, got an empty vector. Leave the field out to have the text embedded.")
    # One pass without a temporary: the sum of squares is finite only if every element is. The
    # exact test follows only where the sum itself may have overflowed.
    if not math.isfinite(np.vdot(vector, vector)) and not np.isfinite(vector).all():
        row = int(np.flatnonzero(~np.isfinite(vector))[0])
        refuse("Expected finite float32 numbers, got NaN or infinity, or a number beyond 3.4e38.", f"[{row}]")
    vector.flags.writeable = False
    return vector


def _vector_from_base64(text: str) -> Float32Vector:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        refuse(f"Expected the base64 of little-endian float32 (standard alphabet, padded), got {shown(text)}.")
    if len(raw) % 4:
        refuse(f"Expected base64 of float32, 4 bytes a number, got {len(raw)} bytes. Was it float64 or cut off?")
    return np.frombuffer(raw, dtype=_WIRE_FLOAT).astype(np.float32, copy=False)


def _vector_from_numbers(numbers: list[Any]) -> Float32Vector:
    if numbers and set(map(type, numbers)) not in _NUMBER_TYPES:
        row = next(row for row, number in enumerate(numbers) if type(number) not in (int, float))
        refuse(f"Expected a number, got {shown(numbers[row])}.", f"[{row}]")
    try:
        with np.errstate(over="ignore"):
            return np.array(numbers, dtype=np.float64).astype(np.float32)
    except OverflowError:
        refuse("Expected finite float32 numbers, got a whole number beyond 3.4e38.")


def decode_time(value: object, info: ValidationInfo) -> int | None:
    """Read an RFC 3339 time into milliseconds since the epoch; None stays None.

    In Python code, though never on the wire, whole milliseconds are taken as they are.

    Raises:
        PydanticCustomError: Not such a time.
    """
    if value is None:
        return None
    if type(value) is int and info.mode == "python":
        return value
    if type(value) is not str:
        refuse(f"Expected a string with an RFC 3339 time such as 2026-01-31T08:15:30Z, got {shown(value)}.")
    try:
        return parse_time(value)
    except ValueError as error:
        reason = str(error)
    refuse(reason[0].upper() + reason[1:] + ".")


def decode_metadata(value: object) -> dict[str, Any] | None:
    """Check an object of JSON values; None stays None.

    Raises:
        PydanticCustomError: Not an object, or a number inside that JSON cannot carry on.
    """
    if value is None:
        return None
    if type(value) is not dict:
        refuse(f'Expected an object such as {{"topic": "work"}}, got {shown(value)}.')
    require_json(value)
    return value


def require_json(value: object, path: str = "") -> None:
    """Check that a decoded JSON value can be written as JSON again.

    Args:
        value: Any tree of dicts, lists and scalars.
        path: Where it stands inside the field.

    Raises:
        PydanticCustomError: NaN or infinity, a whole number beyond 64 bits, a lone surrogate,
            or a type that is not JSON's.
    """
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        if not text.isascii() and has_lone_surrogate(text):
            refuse("Expected text, got half of a surrogate pair. Send characters as UTF-8.", path)
    elif kind is bool or value is None:
        return
    elif kind is int:
        if not _MIN_INT <= cast("int", value) <= _MAX_INT:
            refuse("Expected a whole number of at most 64 bits. Send larger ones as strings.", path)
    elif kind is float:
        if not math.isfinite(cast("float", value)):
            refuse("Expected a finite number, got NaN or infinity. Send null or a string.", path)
    elif kind is dict:
        for name, item in cast("dict[object, object]", value).items():
            if type(name) is not str:
                refuse(f"Expected names that are strings, got {shown(name)}.", path)
            if not name.isascii():
                require_json(name, path)
            require_json(item, f"{path}.{name}")
    elif kind is list or kind is tuple:
        for row, item in enumerate(cast("list[object]", value)):
            require_json(item, f"{path}[{row}]")
    else:
        refuse(f"Expected a JSON value, got a {kind.__name__}.", path)


def has_lone_surrogate(text: str) -> bool:
    """Whether the text holds half of a surrogate pair, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


OptionalVector = Annotated[Float32Vector | None, PlainValidator(decode_vector)]
OptionalTime = Annotated[int | None, PlainValidator(decode_time)]
OptionalMetadata = Annotated[dict[str, Any] | None, PlainValidator(decode_metadata)]
