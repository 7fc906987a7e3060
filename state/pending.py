"""Requests of one agent that wait for an answer, or behind one that does, in order of arrival.

Keys of the map are arrival numbers, 16 digits; ``range`` holds the first and the next number, so
that whether anything waits is known from one read (looking into an empty map costs 135 us on RocksDB).
It stays when nothing waits: a number names a call, and must not come again for another one.
"""

from __future__ import annotations

import struct

from flink_memory.state.encoding import decode_pending, encode_pending, unknown_version
from flink_memory.state.handles import MapHandle

VERSION = 1
_RANGE = struct.Struct("<Bqq")
_RANGE_KEY = "range"


class PendingRequests:
    """The queue, written through.

    Args:
        state: The map; read once, here.
    """

    __slots__ = ("_first", "_next", "_state")

    def __init__(self, state: MapHandle) -> None:
        self._state = state
        stored = state.get(_RANGE_KEY)
        self._first = self._next = 0
        if stored is not None:
            if stored[0] != VERSION:
                raise unknown_version("range of pending requests", stored[0], VERSION)
            _, self._first, self._next = _RANGE.unpack(stored)

    def __len__(self) -> int:
        return self._next - self._first

    def append(self, arrived_ms: int, payload: str) -> int:
        """Add a request at the end; returns its number."""
        number = self._next
        self._state.put(_key(number), encode_pending(arrived_ms, payload))
        self._next = number + 1
        self._write_range()
        return number

    def items(self) -> list[tuple[int, int, str]]:
        """All that wait: ``(number, arrived_ms, payload)``, first come first."""
        found = []
        for number in range(self._first, self._next):
            stored = self._state.get(_key(number))
            if stored is not None:
                found.append((number, *decode_pending(stored)))
        return found

    def remove_first(self) -> None:
        """Remove the one that came first."""
        self._state.remove(_key(self._first))
        self._first += 1
        self._write_range()

    def _write_range(self) -> None:
        self._state.put(_RANGE_KEY, _RANGE.pack(VERSION, self._first, self._next))


def _key(number: int) -> str:
    return f"{number:016d}"
