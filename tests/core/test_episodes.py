"""Observing events, keeping chat messages, and reading the short-term history."""

from __future__ import annotations

from typing import Any

from tests.core.driver import Clock, open_memory

AT = "2025-06-15T15:06:40.000Z"


def observed(**fields: Any) -> dict[str, Any]:
    return {"op": "observe", "agent_id": "ada", "type": "user_message", "content": "Hello.", **fields}


def test_blocks_are_kept_verbatim_and_searched_as_one_text() -> None:
    memory = open_memory()
    blocks = [{"type": "text", "text": "Green tea."}, {"type": "text", "text": "No sugar."}]
    memory.observe("ada", blocks, event_id="e", producer="Ann", metadata={"n": 1}, session_id="s")
    assert memory.get_history("ada") == [
        {
            "event_id": "e",
            "session_id": "s",
            "timestamp": AT,
            "type": "user_message",
            "producer": "Ann",
            "content": blocks,
            "metadata": {"n": 1},
        }
    ]
    (hit,) = memory.search("ada", "sugar")
    assert (hit["kind"], hit["id"], hit["text"]) == ("event", "e", "Green tea.\nNo sugar.")


def test_the_same_event_again_changes_nothing_whichever_request_brings_it() -> None:
    memory = open_memory()
    memory.send(observed(event_id="e", request_id="r1"))
    again = memory.send(observed(event_id="e", request_id="r2"))
    assert (again["status"], again["duplicate"], again["result"]) == ("ok", True, {"event_id": "e"})
    assert len(memory.get_history("ada")) == 1
    assert len(memory.search("ada", "hello")) == 1


def test_another_event_of_the_same_id_is_a_conflict() -> None:
    memory = open_memory()
    memory.send(observed(event_id="e"))
    for change in ({"content": "Bye."}, {"type": "tool_output"}, {"session_id": "s"}, {"producer": "Ann"}):
        assert memory.send(observed(event_id="e", **change))["error"]["code"] == "CONFLICT"
    assert memory.send(observed(event_id="e", timestamp="2020-01-01T00:00:00Z"))["error"]["code"] == "CONFLICT"


def test_chat_messages_become_events_with_their_roles_names_and_calls() -> None:
    memory = open_memory()
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?", "name": "Ann"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "Sunny.", "tool_call_id": "c1"},
    ]
    event_ids = memory.add_messages("ada", messages, session_id="s")
    items = memory.get_history("ada")
    assert [item["event_id"] for item in items] == event_ids
    types = ["system_message", "user_message", "agent_action", "tool_output"]
    assert [item["type"] for item in items] == types
    assert [item["role"] for item in items] == ["system", "user", "assistant", "tool"]
    assert [item["content"] for item in items] == ["Be brief.", "Weather?", None, "Sunny."]
    assert items[1]["producer"] == "Ann"
    assert items[2]["message"] == {"tool_calls": [call]}
    assert items[3]["message"] == {"tool_call_id": "c1"}


def test_messages_that_come_again_after_the_window_are_kept_once() -> None:
    memory = open_memory(sensory={"max_requests": 0, "max_events": 2})
    request = {"op": "add_messages", "agent_id": "ada", "request_id": "r", "infer": False}
    request["messages"] = [{"role": "user", "content": "Hello."}]
    first, second = memory.send(request), memory.send(request)
    assert first["result"] == second["result"]
    assert len(memory.search("ada", "hello")) == 1
    memory.observe("ada", "One.")
    memory.observe("ada", "Two.")
    assert sorted(hit["text"] for hit in memory.search("ada", "one two")) == ["One.", "Two."]
    assert memory.send({**request, "messages": [{"role": "user", "content": "Bye."}]})["status"] == "ok"


def test_other_messages_under_a_request_id_that_was_used_are_a_conflict() -> None:
    memory = open_memory(sensory={"max_requests": 0})
    request = {"op": "add_messages", "agent_id": "ada", "request_id": "r", "infer": False}
    memory.send({**request, "messages": [{"role": "user", "content": "Hello."}]})
    later = memory.send({**request, "messages": [{"role": "user", "content": "Bye."}]})
    assert later["error"]["code"] == "CONFLICT"


def test_history_is_read_by_session_or_over_all_oldest_first() -> None:
    clock = Clock()
    memory = open_memory(clock)
    for number, session in enumerate(["a", "b", "a", "b", "a"]):
        clock.advance(ms=1)
        memory.observe("ada", f"Event {number}.", session_id=session)
    assert [item["content"] for item in memory.get_history("ada", 2, session_id="a")] == ["Event 2.", "Event 4."]
    assert [item["content"] for item in memory.get_history("ada", 3)] == ["Event 2.", "Event 3.", "Event 4."]
    assert memory.get_history("ada", session_id="c") == []
    assert memory.get_history("bob") == []


def test_ending_a_session_keeps_its_events() -> None:
    memory = open_memory()
    memory.observe("ada", "Hello.", session_id="s")
    memory.end_session("ada", "s")
    memory.end_session("ada", "never begun")
    assert len(memory.get_history("ada", session_id="s")) == 1


def test_what_this_release_does_not_do_is_said_plainly() -> None:
    memory = open_memory()
    message = {"role": "user", "content": "Hi."}
    for request, field in (
        ({"op": "recall", "query": "tea"}, "op"),
        ({"op": "compact"}, "op"),
        ({"op": "add_messages", "messages": [message]}, "infer"),
        ({"op": "add_messages", "messages": [message], "infer": True}, "infer"),
    ):
        error = memory.send({"agent_id": "ada", **request})["error"]
        assert (error["code"], error["field"]) == ("VALIDATION_ERROR", field)
        assert error["message"].startswith("Expected ")
    assert memory.get_history("ada") == []
