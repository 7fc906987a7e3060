"""Which key a memory belongs to, as a short text, and as a mark in its state.

A live memory is found by the name of its key while its states follow Flink's current key. Should the two
ever differ, one key would read another's memory; so every memory carries its key's name, and is checked
against it when it is loaded. The mark is a version byte and the 16 bytes of :func:`key_name`.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from flink_memory.errors import ConfigurationError, FlinkMemoryError
from flink_memory.state.encoding import unknown_version
from flink_memory.state.handles import ValueHandle

VERSION = 1
_PLAIN = (bool, int, float, bytes, bytearray, Decimal, date, datetime, time, timedelta)


def key_name(key: object) -> str:
    """Name a key: equal keys have one name on every machine, different ones two.

    Args:
        key: Text, a number, bytes, a time, or a tuple or list of such.

    Returns:
        32 hexadecimal digits, of BLAKE2b over the key's type and value.

    Raises:
        ConfigurationError: A key of another type, whose equality cannot be told from outside.
        FlinkMemoryError: There is no key.
    """
    if key is None:
        raise FlinkMemoryError(
            "Expected a current key, found none. A memory state is used while an element or a timer of a key is "
            "being processed: in process_element and on_timer, not in open or close."
        )
    return blake2b(_text(key).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def check_mark(mark: ValueHandle, name: str, *, has_memory: bool) -> None:
    """Check that the memory under the current key is that key's own.

    Raises:
        FlinkMemoryError: It is another's, or nobody's.
        StateVersionError: The mark is of a layout that this code does not know.
    """
    stored = mark.value()
    if stored is not None and stored[0] != VERSION:
        raise unknown_version("key mark", stored[0], VERSION)
    if stored is None and not has_memory:
        return
    if stored != _mark(name):
        found = "no mark" if stored is None else f"the mark {stored[1:].hex()}"
        raise FlinkMemoryError(
            f"Expected the memory of the key {name}, found {found}: this is not this key's memory, and nothing of "
            "it was read. Was the type of the key changed since the savepoint? Take the same type again."
        )


def set_mark(mark: ValueHandle, name: str) -> None:
    """Mark the memory under the current key as that key's own."""
    mark.update(_mark(name))


def _mark(name: str) -> bytes:
    return bytes([VERSION]) + bytes.fromhex(name)


def _text(key: Any) -> str:
    if isinstance(key, str):
        return f"str {key}"
    if isinstance(key, (tuple, list)):
        parts = [_text(part) for part in key]
        return "tuple " + "".join(f"{len(part)}:{part}" for part in parts)
    if type(key) in _PLAIN:
        return f"{type(key).__name__} {key!r}"
    raise ConfigurationError(
        f"Expected a key of text, a number, bytes, a time, or a tuple of such, got a {type(key).__name__}. Give "
        "key_by a selector of such a value, and its key_type."
    )
