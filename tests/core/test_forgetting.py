"""Forgetting: nothing of the text may be left in any byte of state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flink_memory.jobs.local import LocalMemory
from tests.core.driver import CountingModel, all_bytes, float_bytes, open_memory, states_of

SECRET = "xylophone-4711"
SECRET_TEXT = f"The code is {SECRET}."


def vectors_of(*texts: str) -> list[bytes]:
    return [float_bytes(row) for row in CountingModel().embed(texts)]


def assert_no_trace(memory: LocalMemory, *vectors: bytes) -> None:
    held = all_bytes(states_of(memory, "ada"))
    assert SECRET.encode() not in held
    for vector in vectors:
        assert vector not in held


def a_life(memory: LocalMemory) -> None:
    """A memory with a secret that has been changed, read, searched and sealed among others."""
    for number in range(5):
        memory.add("ada", f"Memory {number}.", memory_id=f"m{number}", session_id="s1")
    memory.add("ada", SECRET_TEXT, memory_id="m", session_id="s2")
    memory.update("ada", "m", memory=f"{SECRET_TEXT} Really.")
    memory.observe("ada", SECRET_TEXT, event_id="e", session_id="s2")
    memory.add_messages("ada", [{"role": "user", "content": f"Again: {SECRET}."}], session_id="s2")
    memory.observe("ada", "Hello.", event_id="e1", session_id="s1")
    memory.get("ada", "m")
    memory.search("ada", "code", expand_context=3)
    memory.get_history("ada")
    memory.history("ada", "m")
    list(memory.get_all("ada"))
    memory.update("ada", "m", importance=0.5)


@pytest.fixture(params=[2, 128], ids=["sealed", "in the tail"])
def memory(request: pytest.FixtureRequest) -> LocalMemory:
    opened = open_memory(index={"tail_entries": request.param, "merge_fanout": 2})
    a_life(opened)
    assert SECRET.encode() in all_bytes(states_of(opened, "ada"))
    return opened


def test_a_forgotten_memory_leaves_no_trace(memory: LocalMemory) -> None:
    memory.forget("ada", session_id="s2")
    assert_no_trace(memory, *vectors_of(SECRET_TEXT, f"{SECRET_TEXT} Really.", f"Again: {SECRET}."))
    assert [record["memory_id"] for record in memory.get_all("ada")] == [f"m{number}" for number in range(5)]
    assert [item["event_id"] for item in memory.get_history("ada")] == ["e1"]


def test_memories_by_id_leave_no_trace_but_events_stay(memory: LocalMemory) -> None:
    counts = memory.forget("ada", memory_ids=["m", "m", "unknown"])
    assert counts == {"memories": 1, "events": 0, "history": 0}
    held = all_bytes(states_of(memory, "ada"))
    assert f"{SECRET_TEXT} Really.".encode() not in held
    assert vectors_of(f"{SECRET_TEXT} Really.")[0] not in held
    assert SECRET_TEXT.encode() in held
    assert len(memory.get_history("ada")) == 3
    assert memory.send({"op": "history", "agent_id": "ada", "memory_id": "m"})["error"]["code"] == "NOT_FOUND"


def test_events_by_id_leave_no_trace_but_memories_stay(memory: LocalMemory) -> None:
    event_ids = [item["event_id"] for item in memory.get_history("ada") if SECRET in str(item["content"])]
    assert memory.forget("ada", event_ids=event_ids) == {"memories": 0, "events": 2, "history": 2}
    memory.forget("ada", memory_ids=["m"])
    assert_no_trace(memory, *vectors_of(SECRET_TEXT, f"{SECRET_TEXT} Really.", f"Again: {SECRET}."))


def test_everything_leaves_no_trace_and_the_numbering_goes_on(memory: LocalMemory) -> None:
    before = memory.changes[-1]["sequence"]
    assert memory.forget("ada", everything=True) == {"memories": 6, "events": 3, "history": 3}
    assert_no_trace(memory, *vectors_of("Memory 1.", SECRET_TEXT, f"{SECRET_TEXT} Really."))
    assert b"Memory" not in all_bytes(states_of(memory, "ada"))
    memory.add("ada", "New.", memory_id="m")
    sequence = [change["sequence"] for change in memory.changes]
    assert sequence == list(range(1, before + 8))
    assert [change["action"] for change in memory.history("ada", "m")] == ["ADD"]


def test_the_change_that_says_so_has_no_text(memory: LocalMemory) -> None:
    count = len(memory.changes)
    memory.forget("ada", memory_ids=["m"])
    (change,) = memory.changes[count:]
    assert (change["action"], change["old_memory"], change["new_memory"]) == ("FORGET", None, None)
    assert SECRET not in str(change)


def test_a_deleted_memory_can_still_be_forgotten(memory: LocalMemory) -> None:
    memory.forget("ada", session_id="s2")
    memory.add("ada", SECRET_TEXT, memory_id="m")
    memory.delete("ada", "m")
    assert SECRET.encode() in all_bytes(states_of(memory, "ada"))
    memory.forget("ada", memory_ids=["m"])
    assert_no_trace(memory, *vectors_of(SECRET_TEXT))


def test_a_memory_added_again_under_a_derived_id_is_forgotten_with_its_former_life() -> None:
    memory = open_memory(sensory={"max_requests": 1})
    request = {"op": "add", "agent_id": "ada", "request_id": "r", "memory": SECRET_TEXT}
    memory_id = memory.send(request)["result"]["memory_id"]
    memory.delete("ada", memory_id)
    for _ in range(4):
        memory.get("ada", "x")
    assert memory.send({**request, "memory": "Harmless."})["result"]["memory_id"] == memory_id
    assert [change["action"] for change in memory.history("ada", memory_id)] == ["ADD", "DELETE", "ADD"]
    memory.forget("ada", memory_ids=[memory_id])
    assert_no_trace(memory, *vectors_of(SECRET_TEXT))


def test_the_session_without_a_name_is_forgotten_like_any_other() -> None:
    memory = open_memory()
    memory.observe("ada", SECRET_TEXT, session_id="")
    assert memory.forget("ada", session_id="") == {"memories": 0, "events": 1, "history": 1}
    assert_no_trace(memory, *vectors_of(SECRET_TEXT))
    assert memory.search("ada", "code") == []


def test_a_memory_of_several_sessions_only_loses_the_one_that_is_forgotten() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m", session_id="s1")
    memory.update("ada", "m", memory="Green tea.", session_id="s2")
    assert memory.forget("ada", session_id="s1")["memories"] == 0
    (record,) = memory.get_all("ada")
    assert (record["memory"], record["source_sessions"]) == ("Green tea.", ["s2"])


def test_another_agent_keeps_all_it_has() -> None:
    memory = open_memory()
    for agent in ("ada", "bob"):
        memory.add(agent, "Tea.", memory_id="m")
    memory.forget("ada", everything=True)
    assert [record["memory"] for record in memory.get_all("bob")] == ["Tea."]


def test_forgetting_what_is_not_there_counts_nothing() -> None:
    memory = open_memory()
    nothing = {"memories": 0, "events": 0, "history": 0}
    selectors: list[dict[str, Any]] = [
        {"session_id": "s"}, {"event_ids": ["e"]}, {"memory_ids": ["m"]}, {"everything": True}
    ]  # fmt: skip
    for selector in selectors:
        assert memory.forget("ada", **selector) == nothing
    assert memory.changes == []


def test_a_repeat_of_a_search_before_finds_what_is_left(memory: LocalMemory) -> None:
    request = {"op": "search", "agent_id": "ada", "request_id": "before", "query": SECRET, "limit": 50}
    assert SECRET in str(memory.send(request))
    memory.forget("ada", session_id="s2")
    again = memory.send(request)
    assert again["duplicate"] is True
    assert SECRET not in str(again)
    assert len(again["result"]["hits"]) == 6


def test_bytes_of_vectors_are_looked_for_as_they_are_kept(memory: LocalMemory) -> None:
    assert vectors_of(f"{SECRET_TEXT} Really.")[0] in all_bytes(states_of(memory, "ada"))
    assert np.float32(1).tobytes() == b"\x00\x00\x80?"
