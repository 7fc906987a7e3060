"""Adding, changing, deleting and reading memories, and their audit history."""

from __future__ import annotations

from typing import Any

import pytest

from flink_memory.errors import RequestError
from tests.core.driver import START_MS, Clock, open_memory, unit_vector


def error_of(action: Any, *arguments: Any, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        action(*arguments, **fields)
    return caught.value


def test_an_added_memory_comes_back_as_the_contract_says() -> None:
    memory = open_memory()
    memory_id = memory.add(
        "ada", "Tea.", metadata={"topic": "home"}, confidence=0.5, importance=1.0, session_id="s1",
        memory_type="preference", expires_at="2030-01-01T00:00:00Z",
    )  # fmt: skip
    assert memory.get("ada", memory_id) == {
        "memory_id": memory_id,
        "memory": "Tea.",
        "memory_type": "preference",
        "metadata": {"topic": "home"},
        "confidence": 0.5,
        "importance": 1.0,
        "source_sessions": ["s1"],
        "source_events": [],
        "created_at": "2025-06-15T15:06:40.000Z",
        "updated_at": "2025-06-15T15:06:40.000Z",
        "last_accessed": None,
        "access_count": 0,
        "expires_at": "2030-01-01T00:00:00.000Z",
        "version": 1,
    }


def test_an_id_in_use_is_a_conflict() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m")
    error = error_of(memory.add, "ada", "Coffee.", memory_id="m")
    assert (error.code, error.field) == ("CONFLICT", "memory_id")
    assert [record["memory"] for record in memory.get_all("ada")] == ["Tea."]


def test_two_agents_may_use_the_same_id() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m")
    memory.add("bob", "Coffee.", memory_id="m")
    assert [record["memory"] for record in memory.get_all("ada")] == ["Tea."]
    assert [hit["text"] for hit in memory.search("bob", "tea coffee")] == ["Coffee."]


def test_an_update_keeps_what_it_leaves_out_and_clears_what_is_null() -> None:
    memory = open_memory()
    fields = {"metadata": {"a": 1}, "confidence": 0.4, "importance": 0.6, "expires_at": "2030-01-01T00:00:00Z"}
    memory.add("ada", "Tea.", memory_id="m", **fields)
    kept = memory.update("ada", "m", memory="Green tea.")
    assert (kept["metadata"], kept["confidence"], kept["importance"]) == ({"a": 1}, 0.4, 0.6)
    assert kept["expires_at"] == "2030-01-01T00:00:00.000Z"
    cleared = memory.update("ada", "m", metadata=None, confidence=None, importance=None, expires_at=None)
    assert (cleared["memory"], cleared["metadata"]) == ("Green tea.", {})
    assert (cleared["confidence"], cleared["importance"], cleared["expires_at"]) == (None, None, None)
    assert cleared["version"] == 3


def test_an_update_moves_the_time_of_change_and_not_that_of_creation() -> None:
    clock = Clock()
    memory = open_memory(clock)
    memory.add("ada", "Tea.", memory_id="m")
    clock.advance(ms=1500)
    record = memory.update("ada", "m", importance=0.1)
    assert record["created_at"] == "2025-06-15T15:06:40.000Z"
    assert record["updated_at"] == "2025-06-15T15:06:41.500Z"


def test_an_update_without_text_keeps_the_vector() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m", vector=unit_vector(3))
    memory.update("ada", "m", importance=0.1)
    (hit,) = memory.search("ada", vector=unit_vector(3))
    assert hit["score"] == 1.0


def test_a_session_that_updates_a_memory_becomes_one_of_its_sources() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m", session_id="s1")
    assert memory.update("ada", "m", importance=0.1)["source_sessions"] == ["s1"]
    assert memory.update("ada", "m", importance=0.2, session_id="s2")["source_sessions"] == ["s1", "s2"]


@pytest.mark.parametrize("op", ["update", "delete", "history"])
def test_what_is_not_there_is_not_found(op: str) -> None:
    memory = open_memory()
    request = {"op": op, "agent_id": "ada", "memory_id": "m", **({"memory": "x"} if op == "update" else {})}
    assert memory.send(request)["error"]["code"] == "NOT_FOUND"


def test_get_gives_null_for_what_is_not_there() -> None:
    assert open_memory().get("ada", "m") is None


def test_a_deleted_memory_is_gone_from_every_reading_but_history() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m")
    memory.delete("ada", "m")
    assert memory.get("ada", "m") is None
    assert list(memory.get_all("ada")) == []
    assert memory.search("ada", "tea") == []
    assert [change["action"] for change in memory.history("ada", "m")] == ["ADD", "DELETE"]


def test_history_says_what_a_memory_was_and_why_it_changed() -> None:
    memory = open_memory()
    for request in (
        {"op": "add", "request_id": "r1", "memory": "Tea."},
        {"op": "update", "request_id": "r2", "memory": "Coffee."},
        {"op": "delete", "request_id": "r3"},
        {"op": "add", "request_id": "r4", "memory": "Water."},
    ):
        assert memory.send({"agent_id": "ada", "memory_id": "m", **request})["status"] == "ok"
    at = "2025-06-15T15:06:40.000Z"
    rows = [("ADD", None, "Tea.", "r1", "add"), ("UPDATE", "Tea.", "Coffee.", "r2", "update"),
            ("DELETE", "Coffee.", None, "r3", "delete"), ("ADD", None, "Water.", "r4", "add")]  # fmt: skip
    assert memory.history("ada", "m") == [
        {"action": action, "old_memory": old, "new_memory": new, "at": at, "cause": {"request_id": name, "op": op}}
        for action, old, new, name, op in rows
    ]


def test_the_changelog_has_one_record_a_change_without_gaps() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m")
    memory.add("bob", "Milk.", memory_id="m")
    memory.update("ada", "m", memory="Coffee.")
    memory.delete("ada", "m")
    rows = [(c["agent_id"], c["sequence"], c["action"], c["old_memory"], c["new_memory"]) for c in memory.changes]
    assert rows == [
        ("ada", 1, "ADD", None, "Tea."),
        ("bob", 1, "ADD", None, "Milk."),
        ("ada", 2, "UPDATE", "Tea.", "Coffee."),
        ("ada", 3, "DELETE", "Coffee.", None),
    ]
    assert memory.changes[2]["record"]["version"] == 2
    assert "record" not in memory.changes[3]


def test_get_all_pages_in_the_order_of_creation_whatever_changes_in_between() -> None:
    memory = open_memory(index={"tail_entries": 3, "merge_fanout": 2})
    for number in range(7):
        memory.add("ada", f"Memory {number}.", memory_id=f"m{number}")
    first = memory.send({"op": "get_all", "agent_id": "ada", "limit": 3})["result"]
    assert [record["memory_id"] for record in first["memories"]] == ["m0", "m1", "m2"]
    memory.update("ada", "m0", memory="Changed.")
    memory.delete("ada", "m3")
    memory.add("ada", "New.", memory_id="m7")
    rest = memory.send({"op": "get_all", "agent_id": "ada", "cursor": first["cursor"]})["result"]
    assert [record["memory_id"] for record in rest["memories"]] == ["m4", "m5", "m6", "m7"]
    assert rest["cursor"] is None


def test_a_page_that_ends_with_the_last_match_has_no_cursor() -> None:
    memory = open_memory()
    for number in range(4):
        memory.add("ada", "Tea.", memory_id=f"m{number}", metadata={"even": number % 2 == 0})
    page = memory.send({"op": "get_all", "agent_id": "ada", "limit": 2, "filter": "metadata.even = true"})["result"]
    assert ([record["memory_id"] for record in page["memories"]], page["cursor"]) == (["m0", "m2"], None)


def test_a_cursor_that_is_none_is_refused() -> None:
    result = open_memory().send({"op": "get_all", "agent_id": "ada", "cursor": "x"})
    assert (result["error"]["code"], result["error"]["field"]) == ("VALIDATION_ERROR", "cursor")


def test_get_and_search_count_as_accesses_and_filters_see_them() -> None:
    clock = Clock()
    memory = open_memory(clock)
    memory.add("ada", "Tea.", memory_id="tea")
    memory.add("ada", "Bikes.", memory_id="bikes")
    clock.advance(ms=1000)
    memory.get("ada", "tea")
    memory.search("ada", "tea", limit=1)
    counts = {
        record["memory_id"]: (record["access_count"], record["last_accessed"]) for record in memory.get_all("ada")
    }
    assert counts == {"tea": (2, "2025-06-15T15:06:41.000Z"), "bikes": (0, None)}
    assert [record["memory_id"] for record in memory.get_all("ada", filter="access_count >= 2")] == ["tea"]
    assert [hit["id"] for hit in memory.search("ada", "bikes", filter="access_count = 0")] == ["bikes"]
    assert memory.search("ada", "bikes", filter="access_count = 0") == []


def test_a_stated_time_is_when_it_happened() -> None:
    memory = open_memory()
    memory.add("ada", "Tea.", memory_id="m", timestamp="2020-01-01T00:00:00+01:00")
    record = memory.get("ada", "m")
    assert record is not None
    assert record["created_at"] == "2019-12-31T23:00:00.000Z"
    assert memory.changes[0]["at"] == "2019-12-31T23:00:00.000Z"
    assert START_MS == 1_750_000_000_000
