"""What ends by itself: by its own time, by age, and by number."""

from __future__ import annotations

from flink_memory.clock import format_time
from tests.core.driver import DAY_MS, START_MS, Clock, Driver, config_of, open_memory


def test_a_memory_is_not_returned_after_its_time() -> None:
    clock = Clock()
    memory = open_memory(clock)
    memory.add("ada", "Tea.", memory_id="m", expires_at=format_time(START_MS + 1000))
    clock.advance(ms=999)
    assert memory.get("ada", "m") is not None
    clock.advance(ms=1)
    assert memory.get("ada", "m") is None
    assert memory.search("ada", "tea") == []
    assert list(memory.get_all("ada")) == []
    change = memory.changes[-1]
    assert (change["action"], change["old_memory"], change["new_memory"]) == ("EXPIRE", "Tea.", None)
    assert change["cause"] == {"request_id": None, "op": "expire"}
    assert [entry["action"] for entry in memory.history("ada", "m")] == ["ADD", "EXPIRE"]


def test_a_time_before_the_epoch_is_over_as_well() -> None:
    clock = Clock()
    memory = open_memory(clock)
    for year in (1960, 1970):
        memory.add("ada", "Tea.", expires_at=f"{year}-01-01T00:00:00Z")
    clock.advance(ms=1)
    assert list(memory.get_all("ada")) == []


def test_a_time_that_is_cleared_or_put_off_no_longer_counts() -> None:
    clock = Clock()
    memory = open_memory(clock)
    for name in ("cleared", "put off"):
        memory.add("ada", "Tea.", memory_id=name, expires_at=format_time(START_MS + 1000))
    memory.update("ada", "cleared", expires_at=None)
    memory.update("ada", "put off", expires_at=format_time(START_MS + 3000))
    clock.advance(ms=2000)
    assert len(list(memory.get_all("ada"))) == 2
    clock.advance(ms=1000)
    assert [record["memory_id"] for record in memory.get_all("ada")] == ["cleared"]


def test_a_timer_is_set_for_the_time_and_removes_the_memory() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="m", vector=[1.0] * 16, expires_at=format_time(START_MS + 1000))
    assert driver.timers == [START_MS + 1000]
    driver.clock.advance(ms=1000)
    driver.fire()
    assert [change["action"] for change in driver.changes] == ["ADD", "EXPIRE"]


def test_a_restart_sets_the_timer_again() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="m", vector=[1.0] * 16, expires_at=format_time(START_MS + 1000))
    driver.restart()
    driver.timers.clear()
    driver.fire()
    assert START_MS + 1000 in driver.timers


def test_only_the_newest_events_are_kept_for_search() -> None:
    memory = open_memory(sensory={"max_events": 3}, index={"tail_entries": 2, "merge_fanout": 2})
    for number in range(8):
        memory.observe("ada", f"Event {number}.", event_id=f"e{number}")
    assert {hit["id"] for hit in memory.search("ada", "event", limit=20)} == {"e5", "e6", "e7"}
    assert len(memory.get_history("ada")) == 8


def test_history_is_trimmed_with_a_quarter_of_slack() -> None:
    memory = open_memory(history={"max_items": 4})
    lengths = []
    for number in range(12):
        memory.observe("ada", f"Event {number}.")
        lengths.append(len(memory.get_history("ada", 100)))
    assert max(lengths) == 5
    assert lengths[5] == 4
    assert memory.get_history("ada", 1)[0]["content"] == "Event 11."


def test_the_longest_unchanged_memories_go_when_there_are_too_many() -> None:
    memory = open_memory(memories={"max_count": 3})
    for number in range(3):
        memory.add("ada", f"Memory {number}.", memory_id=f"m{number}")
    memory.update("ada", "m0", importance=1.0)
    memory.add("ada", "Memory 3.", memory_id="m3")
    assert [record["memory_id"] for record in memory.get_all("ada")] == ["m0", "m2", "m3"]
    assert (memory.changes[-1]["action"], memory.changes[-1]["memory_id"]) == ("EXPIRE", "m1")
    assert memory.changes[-1]["cause"] == {"request_id": None, "op": "retention"}


def test_ages_count_from_arrival_not_from_the_stated_time() -> None:
    clock = Clock()
    memory = open_memory(clock, memories={"max_age_days": 2}, sensory={"max_age_days": 1}, history={"max_age_days": 3})
    memory.add("ada", "Tea.", timestamp="2020-01-01T00:00:00Z")
    memory.observe("ada", "Hello.", timestamp="2020-01-01T00:00:00Z")
    counts = []
    for _ in range(4):
        counts.append((len(memory.search("ada", "tea hello")), len(memory.get_history("ada"))))
        clock.advance(days=1)
    assert counts == [(2, 1), (1, 1), (0, 1), (0, 0)]


def test_history_ages_although_nothing_else_does() -> None:
    clock = Clock()
    memory = open_memory(clock, history={"max_age_days": 1}, sensory={"max_age_days": None})
    memory.observe("ada", "Old.")
    clock.advance(days=0.5)
    memory.observe("ada", "New.")
    clock.advance(days=0.5)
    assert [item["content"] for item in memory.get_history("ada")] == ["New."]
    memory.cache.drop("ada")
    clock.advance(days=0.5)
    assert memory.get_history("ada") == []
    assert len(memory.search("ada", "old new")) == 2


def test_the_audit_history_ages_although_nothing_else_does() -> None:
    clock = Clock()
    memory = open_memory(clock, audit={"max_age_days": 1}, sensory={"max_age_days": None})
    memory.add("ada", "One.", memory_id="m")
    clock.advance(days=0.6)
    memory.update("ada", "m", memory="Two.")
    clock.advance(days=0.6)
    assert [change["action"] for change in memory.history("ada", "m")] == ["UPDATE"]
    memory.delete("ada", "m")
    memory.cache.drop("ada")
    clock.advance(days=1)
    assert memory.send({"op": "history", "agent_id": "ada", "memory_id": "m"})["error"]["code"] == "NOT_FOUND"


def test_the_audit_history_is_bounded_and_the_last_change_stays() -> None:
    memory = open_memory(audit={"max_changes": 3})
    memory.add("ada", "Text 0.", memory_id="m")
    for number in range(1, 8):
        memory.update("ada", "m", memory=f"Text {number}.")
    texts = [change["new_memory"] for change in memory.history("ada", "m")]
    assert texts == ["Text 4.", "Text 5.", "Text 6.", "Text 7."]
    for number in range(4):
        memory.add("ada", "x", memory_id=f"other {number}")
        memory.delete("ada", f"other {number}")
    assert [change["new_memory"] for change in memory.history("ada", "m")] == ["Text 7."]
    assert memory.send({"op": "history", "agent_id": "ada", "memory_id": "other 0"})["error"]["code"] == "NOT_FOUND"


def test_a_memory_that_waited_past_its_time_is_gone_for_the_request_behind_it() -> None:
    driver = Driver(config_of({}))
    driver.send("add", memory="Tea.", memory_id="m", expires_at=format_time(START_MS + 1000))
    driver.send("get", memory_id="m")
    driver.clock.advance(ms=DAY_MS)
    added, got = driver.answer()
    assert (added["status"], got["result"]) == ("ok", {"memory": None})
