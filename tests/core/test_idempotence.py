"""A request that comes again: the same result, and nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from flink_memory import memory as memory_module
from tests.core.driver import Driver, all_bytes, config_of, open_memory, states_of

VECTOR = [1.0] * 16
REQUESTS: list[dict[str, Any]] = [
    {"op": "add", "memory": "Tea.", "vector": VECTOR},
    {"op": "add", "memory": "Tea.", "memory_id": "m", "vector": VECTOR},
    {"op": "update", "memory_id": "there", "memory": "Coffee."},
    {"op": "delete", "memory_id": "there"},
    {"op": "observe", "type": "tool_output", "content": "Sunny."},
    {"op": "add_messages", "messages": [{"role": "user", "content": "Hi."}], "infer": False},
    {"op": "get", "memory_id": "there"},
    {"op": "get_all"},
    {"op": "history", "memory_id": "there"},
    {"op": "get_history"},
    {"op": "search", "query": "tea"},
    {"op": "end_session", "session_id": "s"},
    {"op": "forget", "memory_ids": ["there"]},
    {"op": "forget", "everything": True},
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: "-".join(request)[:40])
@pytest.mark.parametrize("is_restarted", [False, True], ids=["at once", "after a restart"])
def test_the_same_id_gives_the_same_result_marked_as_duplicate(
    request_: Mapping[str, Any], *, is_restarted: bool
) -> None:
    memory = open_memory()
    memory.add("ada", "Tea and more.", memory_id="there")
    request = {"agent_id": "ada", "request_id": "r", **request_}
    first = memory.send(request)
    assert first["status"] == "ok"
    if is_restarted:
        memory.cache.drop("ada")
    held, changes = all_bytes(states_of(memory, "ada")), len(memory.changes)
    assert memory.send(request) == {**first, "duplicate": True}
    assert all_bytes(states_of(memory, "ada")) == held
    assert len(memory.changes) == changes


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "update", "memory_id": "m", "importance": 0.5},
        {"op": "get", "memory_id": "m", "limit": 3},
        {"op": "unknown"},
        {"op": "search", "vector": [1.0]},
        {"op": "recall", "query": "tea"},
    ],
)
def test_errors_are_remembered_as_well(fields: dict[str, Any]) -> None:
    memory = open_memory()
    request = {"agent_id": "ada", "request_id": "r", **fields}
    first = memory.send(request)
    assert first["status"] == "error"
    memory.add("ada", "Tea.", memory_id="m")
    assert memory.send(request) == {**first, "duplicate": True}


def test_the_same_id_of_another_agent_is_another_request() -> None:
    memory = open_memory()
    for agent in ("ada", "bob"):
        result = memory.send({"op": "add", "agent_id": agent, "request_id": "r", "memory": "Tea."})
        assert "duplicate" not in result


def test_the_last_requests_are_known_and_twice_as_many_are_kept_at_most() -> None:
    memory = open_memory(sensory={"max_requests": 5})
    for number in range(40):
        memory.send({"op": "get", "agent_id": "ada", "request_id": f"r{number}", "memory_id": "m"})
        states = states_of(memory, "ada")
        kept = [
            key for part in (states.requests_0, states.requests_1) for key, _ in part.items() if key != "generation"
        ]
        assert len(kept) <= 10
        for recent in range(max(0, number - 4), number + 1):
            again = memory.send({"op": "get", "agent_id": "ada", "request_id": f"r{recent}", "memory_id": "m"})
            assert again["duplicate"] is True
    first = memory.send({"op": "get", "agent_id": "ada", "request_id": "r0", "memory_id": "m"})
    assert "duplicate" not in first


def test_without_a_window_every_request_is_new() -> None:
    memory = open_memory(sensory={"max_requests": 0})
    request = {"op": "get", "agent_id": "ada", "request_id": "r", "memory_id": "m"}
    assert memory.send(request)
    assert "duplicate" not in memory.send(request)


@pytest.mark.parametrize("code", ["UNAVAILABLE", "TIMEOUT"])
def test_what_may_pass_is_not_remembered(code: str) -> None:
    driver = Driver()
    driver.send("add", "r", memory="Tea.", memory_id="m")
    (failed,) = driver.answer(error="The model is away.", code=code)
    assert failed["error"]["code"] == code
    assert driver.changes == []
    driver.send("add", "r", memory="Tea.", memory_id="m")
    (added,) = driver.answer()
    assert added["status"] == "ok"
    assert "duplicate" not in added


def test_a_large_result_of_a_read_is_made_again() -> None:
    memory = open_memory()
    for number in range(3):
        memory.add("ada", f"{number} " + "tea " * 2000, memory_id=f"m{number}")
    request = {"op": "get_all", "agent_id": "ada", "request_id": "r"}
    first = memory.send(request)
    memory.delete("ada", "m0")
    again = memory.send(request)
    assert again["duplicate"] is True
    assert [record["memory_id"] for record in first["result"]["memories"]] == ["m0", "m1", "m2"]
    assert [record["memory_id"] for record in again["result"]["memories"]] == ["m1", "m2"]
    search = {"op": "search", "agent_id": "ada", "request_id": "s", "query": "tea"}
    assert memory.send({**search})["status"] == "ok"
    assert len(memory.send(search)["result"]["hits"]) == 2


def test_a_large_update_is_not_made_twice() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m")
    request = {"op": "update", "agent_id": "ada", "request_id": "r", "memory_id": "m", "memory": "tea " * 6000}
    first = memory.send(request)
    assert memory.send(request)["result"] == first["result"]
    assert first["result"]["memory"]["version"] == 2


def test_an_unexpected_exception_is_an_internal_error_and_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="m", vector=VECTOR)
    held = all_bytes(driver.states)

    def breaks(run: Any) -> dict[str, Any]:
        run.draft.remove_memory(run.memory("m"))
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setitem(memory_module._OPERATIONS, "delete", breaks)
        (result,) = driver.send("delete", "r", memory_id="m")
    assert result["error"]["code"] == "INTERNAL"
    assert all_bytes(driver.states) == held
    assert len(driver.changes) == 1
    (result,) = driver.send("delete", "r", memory_id="m")
    assert result["status"] == "ok"


def test_a_repeat_that_waits_behind_a_forget_is_carried_out_again() -> None:
    driver = Driver(config_of({}))
    driver.send("add", memory="Tea.", memory_id="m", vector=VECTOR)
    driver.send("search", "seen", query="tea")
    (first,) = driver.answer()
    driver.send("observe", type="user_message", content="Hi.")
    driver.send("forget", memory_ids=["m"])
    driver.send("search", "seen", query="tea")
    results = driver.answer_all()
    assert [result["op"] for result in results] == ["observe", "forget", "search"]
    assert len(first["result"]["hits"]) == 1
    assert (results[2]["status"], results[2]["duplicate"]) == ("ok", True)
    assert [hit["kind"] for hit in results[2]["result"]["hits"]] == ["event"]
