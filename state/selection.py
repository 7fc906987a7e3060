"""Which rows a search may return: by kind, and by a filter over their records.

A row never changes, so what a filter says of it holds until it dies; the answer for the rows that
have come since is added to the one of last time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from flink_memory.filters import Filter
from flink_memory.records import KIND_EVENT, KIND_MEMORY, EventRecord, MemoryRecord
from flink_memory.state.accesses import AccessLog
from flink_memory.state.index import LiveIndex
from flink_memory.state.record_cache import RecordCache
from flink_memory.state.rows import BoolMask

#: Filters whose answers are kept for one agent.
_KEPT_FILTERS = 8
#: Fields of a record that change without a new row; what a filter over them says is not kept.
_VOLATILE = frozenset({"access_count", "last_accessed"})
_KINDS = {"memory": KIND_MEMORY, "event": KIND_EVENT}


class Selection:
    """Answers of filters over one agent's rows.

    Args:
        index: The agent's live index.
        memories: Its memories.
        events: Its events.
        accesses: How often the memories were returned.
    """

    __slots__ = ("_accesses", "_answers", "_events", "_index", "_memories")

    def __init__(
        self,
        index: LiveIndex,
        memories: RecordCache[MemoryRecord],
        events: RecordCache[EventRecord],
        accesses: AccessLog,
    ) -> None:
        self._accesses = accesses
        self._index = index
        self._memories = memories
        self._events = events
        self._answers: OrderedDict[Filter, BoolMask] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return sum(answer.nbytes + 300 for answer in self._answers.values())

    def reset(self) -> None:
        """Forget all answers: row numbers have changed."""
        self._answers.clear()

    def rows(self, kinds: Sequence[str], condition: Filter | None) -> BoolMask | None:
        """Living rows of those kinds that match, shape ``(count,)``; ``None`` when all rows do."""
        table = self._index.rows
        if condition is not None:
            return self._answer(condition) & self._of_kinds(kinds)
        if not table.dead and len(set(kinds)) == len(_KINDS):
            return None
        mask = self._of_kinds(kinds)
        return None if mask.all() else mask

    def _of_kinds(self, kinds: Sequence[str]) -> BoolMask:
        table = self._index.rows
        if len(set(kinds)) == len(_KINDS):
            return table.alive.copy()
        return table.of_kind(_KINDS[kinds[0]])

    def _answer(self, condition: Filter) -> BoolMask:
        if condition.fields & _VOLATILE:
            return self._evaluate(condition, 0)
        known = self._answers.get(condition)
        count = self._index.rows.count
        if known is None or len(known) < count:
            fresh = self._evaluate(condition, 0 if known is None else len(known))
            known = fresh if known is None else np.concatenate([known, fresh])
            self._answers[condition] = known
            if len(self._answers) > _KEPT_FILTERS:
                self._answers.popitem(last=False)
        self._answers.move_to_end(condition)
        return known

    def _evaluate(self, condition: Filter, start: int) -> BoolMask:
        table = self._index.rows
        rows = np.flatnonzero(table.alive[start:]) + start
        kinds = table.rows["kind"][rows].tolist()
        ids = [table.ids[row] for row in rows.tolist()]
        self._memories.fetch(name for name, kind in zip(ids, kinds, strict=True) if kind == KIND_MEMORY)
        self._events.fetch(name for name, kind in zip(ids, kinds, strict=True) if kind == KIND_EVENT)
        answer = np.zeros(table.count - start, dtype=np.bool_)
        for row, kind, name in zip(rows.tolist(), kinds, ids, strict=True):
            answer[row - start] = self._matches(condition, kind, name)
        return answer

    def _matches(self, condition: Filter, kind: int, name: str) -> bool:
        if kind == KIND_EVENT:
            event = self._events.get(name)
            return event is not None and condition.matches(event.fields())
        memory = self._memories.get(name)
        return memory is not None and condition.matches(memory.fields(self._accesses.of(memory.birth)))
