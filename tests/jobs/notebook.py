"""Somebody's own keyed function with a memory state: a notebook for each key."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyflink.datastream import KeyedCoProcessFunction, KeyedProcessFunction, RuntimeContext

from flink_memory.embedding import HashingModel
from flink_memory.state.flink_memory_state import MemoryState, MemoryStateDescriptor, get_memory_state

END_MS = 2**62


class Notebook(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink is not typed
    """Takes ``(number, op, text)``; at the end of the input a timer of each key tells all that is in its notebook."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        config = {"cache": {"max_bytes": 1024 * 1024}, "index": {"tail_entries": 8}}
        self.notes = MemoryState.of(runtime_context, MemoryStateDescriptor("notes", HashingModel(16), config=config))
        self.other = get_memory_state(runtime_context, MemoryStateDescriptor("other", dimension=2))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        _, op, text = value
        ctx.timer_service().register_event_time_timer(END_MS)
        if op == "add":
            self.notes.add(text)
            self.other.add(f"other {text}", [1.0, 2.0])
        elif op == "observe":
            self.notes.observe(text)
        elif op == "clear":
            self.notes.clear()
        else:
            found = [item.memory for item in self.notes.search(text, limit=100)]
            yield json.dumps({"kind": self._kind, "key": ctx.get_current_key(), "found": found})

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        held = {
            "history": [item.memory for item in self.notes.get_history(1_000)],
            "notes": [item.memory for item in self.notes.get_all()],
            "changes": [change.action for item in self.notes.get_all() for change in self.notes.history(item.id)],
            "other": [item.memory for item in self.other.get_all()],
        }
        yield json.dumps({"kind": self._kind, "key": ctx.get_current_key(), **held})


class FailingNotebook(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink is not typed
    """Takes numbers: each is noted, and every fifth note is changed. It fails once, at a number."""

    def __init__(self, fail_at: int, folder: Path) -> None:
        self._fail_at = fail_at
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = MemoryStateDescriptor("notes", HashingModel(16), config={"index": {"tail_entries": 8}})
        self.notes = MemoryState.of(runtime_context, descriptor)
        self._is_first = True

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if self._is_first:
            self._is_first = False
            with (self._folder / "starts").open("a") as starts:
                starts.write(f"{value}\n")
        ctx.timer_service().register_event_time_timer(END_MS)
        time.sleep(0.001)
        note_id = self.notes.add(f"note {value}")
        if value % 5 == 0:
            self.notes.update(note_id, f"note {value}, changed")
        if value == self._fail_at and not (self._folder / "failed").exists():
            (self._folder / "failed").touch()
            raise RuntimeError("failing on purpose")
        return iter(())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        notes = self.notes.get_all()
        audited = sum(len(self.notes.history(item.id)) for item in notes)
        found = [item.id for item in self.notes.search(notes[-1].memory, limit=1)]
        assert found == [notes[-1].id]
        yield json.dumps({"key": ctx.get_current_key(), "notes": [item.memory for item in notes], "audited": audited})


class TwoSidedNotebook(KeyedCoProcessFunction):  # type: ignore[misc]  # PyFlink is not typed
    """Notes what comes on the first side, and answers what comes on the second."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.notes = MemoryState.of(runtime_context, MemoryStateDescriptor("notes", HashingModel(16)))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.notes.add(value[1])
        yield json.dumps([value[0], [item.memory for item in self.notes.get_history()]])

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield json.dumps([value[0], [item.memory for item in self.notes.search(value[1])]])
