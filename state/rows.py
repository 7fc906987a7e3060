"""The rows of one agent's vector log while the agent is in use.

Rows are numbered from 0 in the order of the log. A row never changes; it dies, and dead rows stay
until they are purged, so that row numbers hold still between two purges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flink_memory.records import KIND_EVENT
from flink_memory.state.chunks import ChunkRows
from flink_memory.state.log import ROW, Rows, Upsert

BoolMask = npt.NDArray[np.bool_]
RowNumbers = npt.NDArray[np.int64]

_FIRST_CAPACITY = 16
#: Rough cost of one id in a list and a set, in bytes, beside its characters.
_ID_BYTES = 100
#: Ids for each lookup among them that a set is made for, once that many lookups have come.
_IDS_A_LOOKUP = 64


class RowTable:
    """Columns of the rows, growing by doubling; ids beside them."""

    __slots__ = (
        "_alive",
        "_known",
        "_lookups",
        "_rows",
        "_sessions",
        "count",
        "dead",
        "id_bytes",
        "ids",
        "session_names",
    )

    def __init__(self) -> None:
        self.count = 0
        self.dead = 0
        self.ids: list[str] = []
        self._known: set[str] | None = set()
        self._lookups = 0
        self.id_bytes = 0
        self.session_names: list[str] = [""]
        self._sessions: dict[str, int] = {"": 0}
        self._rows: Rows = np.zeros(_FIRST_CAPACITY, dtype=ROW)
        self._alive: BoolMask = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)

    @property
    def rows(self) -> Rows:
        """All rows, a view of shape ``(count,)``."""
        return self._rows[: self.count]

    @property
    def alive(self) -> BoolMask:
        """Which rows are alive, a view of shape ``(count,)``."""
        return self._alive[: self.count]

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return int(self._rows.nbytes + self._alive.nbytes) + self.id_bytes + 200 * len(self.session_names)

    def may_have(self, row_id: str) -> bool:
        """Whether a row of that id may live: ``False`` is certain, and saves a look into state."""
        if self._known is None:
            self._lookups += 1
            if self._lookups * _IDS_A_LOOKUP < self.count:
                return True
            self._known = set(self.ids)
        return row_id in self._known

    def append(self, row: Upsert) -> int:
        """Append a row and return its number."""
        number = self.count
        if number == len(self._rows):
            self._reserve(number + 1)
        self._rows[number] = (
            row.ordinal,
            row.birth,
            row.arrived_ms,
            row.expires_ms,
            self._session_number(row.session),
            row.kind,
        )
        self._alive[number] = True
        self.ids.append(row.row_id)
        if self._known is not None:
            self._known.add(row.row_id)
        self.id_bytes += _ID_BYTES + len(row.row_id)
        self.count = number + 1
        return number

    def extend(self, chunks: Sequence[tuple[ChunkRows, BoolMask | None]]) -> None:
        """Append the rows of sealed chunks: each with the rows of it that are dead, ``None`` for none."""
        end = self.count + sum(len(chunk.rows) for chunk, _ in chunks)
        self._known, self._lookups = None, 0
        self._reserve(end)
        for chunk, dead in chunks:
            start, self.count = self.count, self.count + len(chunk.rows)
            self._rows[start : self.count] = chunk.rows
            if chunk.sessions != [""]:
                numbers = np.array([self._session_number(name) for name in chunk.sessions], dtype=np.uint32)
                self._rows["session"][start : self.count] = numbers[chunk.rows["session"]]
            self._alive[start : self.count] = True
            if dead is not None:
                self._alive[start : self.count] = ~dead
                self.dead += int(dead.sum())
            self.ids.extend(chunk.ids)
            self.id_bytes += _ID_BYTES * len(chunk.ids) + len("".join(chunk.ids))

    def find(self, ordinal: int) -> int | None:
        """Number of the living row of that ordinal; O(log n)."""
        number = int(np.searchsorted(self.rows["ordinal"], ordinal))
        if number < self.count and self._rows["ordinal"][number] == ordinal and self._alive[number]:
            return number
        return None

    def kill(self, number: int) -> None:
        """Mark a living row as dead."""
        self._alive[number] = False
        self.dead += 1

    def session(self, number: int) -> str:
        """Session of a row; empty for a memory."""
        return self.session_names[int(self._rows["session"][number])]

    def of_kind(self, kind: int) -> BoolMask:
        """Living rows of a kind, shape ``(count,)``."""
        mask: BoolMask = (self.rows["kind"] == kind) & self.alive
        return mask

    def of_session(self, session: str) -> RowNumbers:
        """Living events of a session, in order."""
        number = self._sessions.get(session)
        if number is None:
            return np.empty(0, dtype=np.int64)
        mask = (self.rows["session"] == number) & (self.rows["kind"] == KIND_EVENT) & self.alive
        return np.flatnonzero(mask)

    def chunk(self, start: int, end: int) -> ChunkRows:
        """Rows ``start`` to ``end`` as a chunk of their own, with only the sessions that they name."""
        rows = self._rows[start:end].copy()
        numbers, positions = np.unique(rows["session"], return_inverse=True)
        names = [self.session_names[int(number)] for number in numbers]
        rows["session"] = positions
        return ChunkRows(rows, self.ids[start:end], names)

    def keep(self, mask: BoolMask) -> None:
        """Drop all rows outside ``mask``, shape ``(count,)``; the others move up."""
        kept = np.flatnonzero(mask)
        self._known, self._lookups = None, 0
        self._rows = self.rows[kept].copy()
        self._alive = self.alive[kept].copy()
        self.ids = [self.ids[number] for number in kept.tolist()]
        self.id_bytes = sum(_ID_BYTES + len(row_id) for row_id in self.ids)
        self.count = len(kept)
        self.dead = int((~self._alive).sum())

    def _session_number(self, session: str) -> int:
        number = self._sessions.get(session)
        if number is None:
            number = len(self.session_names)
            self._sessions[session] = number
            self.session_names.append(session)
        return number

    def _reserve(self, count: int) -> None:
        if count <= len(self._rows):
            return
        capacity = max(count, 2 * len(self._rows))
        rows = np.zeros(capacity, dtype=ROW)
        rows[: self.count] = self.rows
        alive = np.zeros(capacity, dtype=np.bool_)
        alive[: self.count] = self.alive
        self._rows, self._alive = rows, alive
