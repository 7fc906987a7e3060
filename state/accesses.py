"""Which memories were returned when: an append-only log, folded into a table now and then.

A search appends one short entry in place of rewriting the records of all its hits. Layout,
little-endian: u8 version, u8 form, then for form 0 (returned together) i64 time in ms and the
births as i64; for form 1 (table) rows of i64 birth, i64 count, i64 last time in ms.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from flink_memory.records import Access
from flink_memory.state.encoding import unknown_version
from flink_memory.state.handles import ListHandle

VERSION = 1
_TOGETHER, _TABLE = 0, 1
#: An access log that is kept short is folded at so many entries.
FOLD_ENTRIES = 256


def encode_together(at_ms: int, births: Sequence[int]) -> bytes:
    """Encode that memories were returned together."""
    return struct.pack(f"<BBq{len(births)}q", VERSION, _TOGETHER, at_ms, *births)


def encode_table(table: dict[int, Access]) -> bytes:
    """Encode what has been counted so far."""
    rows = [(birth, access.count, access.last_ms or 0) for birth, access in sorted(table.items())]
    return bytes([VERSION, _TABLE]) + np.array(rows, dtype="<i8").tobytes()


def decode_accesses(entries: Iterable[bytes]) -> tuple[dict[int, Access], int]:
    """Count a log's entries.

    Returns:
        Birth of a memory -> its accesses, and the number of entries.
    """
    table: dict[int, Access] = {}
    count = 0
    for entry in entries:
        if entry[0] != VERSION:
            raise unknown_version("access entry", entry[0], VERSION)
        values = np.frombuffer(entry, dtype="<i8", offset=2).tolist()
        if entry[1] == _TABLE:
            for at in range(0, len(values), 3):
                table[values[at]] = Access(values[at + 1], values[at + 2])
        else:
            for birth in values[1:]:
                table[birth] = accessed(table.get(birth), values[0])
        count += 1
    return table, count


def accessed(access: Access | None, at_ms: int) -> Access:
    """One more access."""
    if access is None:
        return Access(1, at_ms)
    return Access(access.count + 1, max(at_ms, access.last_ms or 0))


class AccessLog:
    """The accesses of one agent in use; read from state when first asked for.

    Args:
        state: The log.
        keeps_short: Whether to look at the log's length at every addition; else its owner folds it in time.
    """

    __slots__ = ("_entries", "_keeps_short", "_state", "_table")

    def __init__(self, state: ListHandle, *, keeps_short: bool = False) -> None:
        self._state = state
        self._keeps_short = keeps_short
        self._table: dict[int, Access] | None = None
        self._entries = 0

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return 150 * len(self._table) if self._table else 0

    def append(self, at_ms: int, births: Sequence[int]) -> None:
        """Note that memories were returned together."""
        if self._keeps_short:
            self._read()
            if self._entries >= FOLD_ENTRIES:
                self.fold()
        self._state.add(encode_together(at_ms, births))
        self._entries += 1
        if self._table is not None:
            for birth in births:
                self._table[birth] = accessed(self._table.get(birth), at_ms)

    def of(self, birth: int) -> Access:
        """Accesses of the memory of that birth."""
        return self._read().get(birth) or Access()

    def forget(self) -> None:
        """Drop all that was counted, in state, too."""
        self._state.clear()
        self._table, self._entries = None, 0

    def fold(self, is_alive: Iterable[int] | None = None) -> None:
        """Rewrite the log as one table, and let go of what was read for it.

        Args:
            is_alive: Births of the memories that still exist; ``None`` keeps all.
        """
        table = self._read()
        if is_alive is not None:
            alive = set(is_alive)
            table = {birth: access for birth, access in table.items() if birth in alive}
        if self._entries:
            self._state.update([encode_table(table)] if table else [])
        self._table = table if self._keeps_short else None
        self._entries = 1 if table else 0

    def _read(self) -> dict[int, Access]:
        if self._table is None:
            self._table, self._entries = decode_accesses(self._state.get())
        return self._table
