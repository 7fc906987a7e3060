"""Requests that wait for an embedding, and those behind them."""

from __future__ import annotations

import pytest

from flink_memory.effects import Answer, Timer
from flink_memory.embedding import HashingModel
from flink_memory.errors import EmbeddingModelChangedError, FlinkMemoryError
from tests.core.driver import DIMENSION, START_MS, CountingModel, Driver, config_of, open_memory

VECTOR = [1.0] * 16


def test_requests_behind_one_that_waits_hold_and_come_in_order() -> None:
    driver = Driver()
    assert driver.send("add", memory="Tea.", memory_id="m") == []
    assert driver.send("get", memory_id="m") == []
    assert driver.send("delete", memory_id="m") == []
    results = driver.answer()
    assert [(result["op"], result["status"]) for result in results] == [("add", "ok"), ("get", "ok"), ("delete", "ok")]
    assert results[1]["result"]["memory"]["memory"] == "Tea."


def test_answers_may_come_in_any_order() -> None:
    driver = Driver()
    for number in range(4):
        driver.send("add", memory=f"Memory {number}.", memory_id=f"m{number}")
    for ask_id in ("3", "1", "2"):
        assert driver.answer(ask_id) == []
    results = driver.answer("0")
    assert [result["result"]["memory_id"] for result in results] == ["m0", "m1", "m2", "m3"]
    for number in range(4):
        driver.send("search", query=f"Memory {number}.", kinds=["memory"], limit=1)
        (found,) = driver.answer()
        assert found["result"]["hits"][0]["id"] == f"m{number}"


def test_a_failed_ask_fails_its_request_and_no_other() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="a")
    driver.send("add", memory="Milk.", memory_id="b")
    driver.send("get_all")
    (failed,) = driver.answer("0", error="The model is away.")
    assert failed["error"]["code"] == "UNAVAILABLE"
    assert failed["error"]["message"] == "The model is away. The request changed nothing; send it again."
    _, listed = driver.answer()
    assert [record["memory_id"] for record in listed["result"]["memories"]] == ["b"]
    assert [change["sequence"] for change in driver.changes] == [1]


def test_only_the_first_answer_counts() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="a")
    driver.send("add", memory="Milk.", memory_id="b")
    assert driver.answer("1") == []
    assert driver.deliver(Answer("1", error="Too late.")) == []
    assert [result["status"] for result in driver.answer("0")] == ["ok", "ok"]
    for ask_id in ("0", "1", "7"):
        assert driver.deliver(Answer(ask_id, error="Too late.")) == []
    assert len(driver.changes) == 2


def test_a_late_answer_is_not_taken_for_that_of_another_request_after_the_agent_was_dropped() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="a")
    late = Answer(next(iter(driver.asks)), driver.model.embed(["Tea."]))
    driver.answer()
    driver.cache.drop("ada")
    driver.send("add", memory="Milk.", memory_id="b")
    assert driver.deliver(late) == []
    assert [result["status"] for result in driver.answer()] == ["ok"]
    driver.send("search", vector=[float(x) for x in driver.model.embed(["Milk."])[0]], limit=1)
    assert driver.results[-1]["result"]["hits"][0]["id"] == "b"


def test_after_a_restart_what_is_unanswered_is_asked_again_with_the_same_results() -> None:
    steady, restarted = Driver(), Driver()
    for driver in (steady, restarted):
        driver.send("observe", type="user_message", content="Hi.", event_id="e")
        driver.send("add", memory="Tea.", memory_id="m")
        driver.send("get", memory_id="m")
        driver.send("search", query="tea")
    asked = dict(restarted.asks)
    restarted.answer("1")
    restarted.restart()
    assert restarted.asks == asked
    assert restarted.answer_all() == steady.answer_all()
    assert restarted.changes == steady.changes
    restarted.restart()
    assert restarted.asks == {}


def test_a_request_arrived_when_it_came_not_when_it_was_answered() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="m")
    driver.clock.advance(ms=5000)
    driver.restart()
    (added,) = driver.answer()
    assert added["applied_at"] == "2025-06-15T15:06:45.000Z"
    (got,) = driver.send("get", memory_id="m")
    assert got["result"]["memory"]["created_at"] == "2025-06-15T15:06:40.000Z"


def test_a_request_that_will_fail_or_is_known_is_not_embedded() -> None:
    model = CountingModel()
    driver = Driver(config_of({"limits": {"max_text_bytes": 256}}), model)
    (result,) = driver.send("add", memory="x" * 257)
    assert (result["error"]["code"], result["error"]["field"]) == ("TOO_LARGE", "memory")
    driver.send("add", "r", memory="Tea.")
    driver.answer()
    (repeat,) = driver.send("add", "r", memory="Tea.")
    assert repeat["duplicate"] is True
    assert model.texts == ["Tea."]


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"op": "observe", "type": "user_message", "content": "é" * 129}, "TOO_LARGE", "content"),
        ({"op": "search", "query": "x" * 257}, "TOO_LARGE", "query"),
        ({"op": "add", "memory": "x", "metadata": {"a": "x" * 256}}, "TOO_LARGE", "metadata"),
        ({"op": "add", "memory": "x", "vector": [1.0] * 15}, "DIMENSION_MISMATCH", "vector"),
        ({"op": "search", "vector": [1.0] * 17}, "DIMENSION_MISMATCH", "vector"),
        ({"op": "add", "memory": "x", "vector": [0.0] * 16}, "VALIDATION_ERROR", "vector"),
    ],
)
def test_limits_are_kept(fields: dict[str, object], code: str, field: str) -> None:
    memory = open_memory(limits={"max_text_bytes": 256, "max_metadata_bytes": 256})
    error = memory.send({"agent_id": "ada", **fields})["error"]
    assert (error["code"], error["field"]) == (code, field)


def test_many_messages_at_once_are_too_many() -> None:
    memory = open_memory(limits={"max_messages": 2, "max_text_bytes": 256})
    message = {"role": "user", "content": "Hi."}
    request = {"op": "add_messages", "agent_id": "ada", "infer": False}
    assert memory.send({**request, "messages": [message] * 3})["error"]["code"] == "TOO_LARGE"
    error = memory.send({**request, "messages": [message, {"role": "user", "content": "x" * 257}]})["error"]
    assert (error["code"], error["field"]) == ("TOO_LARGE", "messages[1].content")


def reembedding() -> Driver:
    """A driver that came back with a model of 32 dimensions where 16 were stored."""
    driver = Driver()
    driver.send("end_session", session_id="s")
    for name, text in (("tea", "Green tea."), ("bike", "A red bike.")):
        driver.send("add", memory=text, memory_id=name)
        driver.answer()
    driver.send("delete", memory_id="bike")
    driver.send("observe", type="user_message", content="It rains.", event_id="e")
    driver.answer()
    fields = {"embedding": {"model": "hashing", "dimension": 32, "on_model_change": "reembed"}}
    driver.restart(config_of(fields), HashingModel(32))
    return driver


def test_another_model_stops_the_job_with_the_way_out() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", vector=VECTOR)
    with pytest.raises(EmbeddingModelChangedError, match="on_model_change: reembed"):
        driver.restart(model=HashingModel(32))


def test_another_model_is_no_matter_for_an_agent_without_vectors() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="m", vector=VECTOR)
    driver.send("forget", memory_ids=["m"])
    driver.restart(config_of({"embedding": {"model": "hashing", "dimension": 32}}), HashingModel(32))
    driver.send("search", query="tea")
    (found,) = driver.answer()
    assert found["result"] == {"hits": []}
    driver.send("add", memory="Tea.", memory_id="m")
    assert [result["status"] for result in driver.answer()] == ["ok"]


def test_texts_are_embedded_anew_before_the_first_request() -> None:
    driver = reembedding()
    assert driver.send("get", memory_id="tea") == []
    assert driver.send("search", query="green tea", limit=1) == []
    assert [ask.texts for ask in driver.asks.values()] == [("Green tea.", "It rains.")]
    (got,) = driver.answer()
    assert got["result"]["memory"]["memory"] == "Green tea."
    (found,) = driver.answer()
    assert found["result"]["hits"][0]["id"] == "tea"
    vector = [float(x) for x in driver.model.embed(["It rains."])[0]]
    (found,) = driver.send("search", vector=vector, limit=1)
    assert (found["result"]["hits"][0]["id"], round(found["result"]["hits"][0]["score"], 5)) == ("e", 1.0)
    driver.restart()
    assert driver.send("get", memory_id="tea")[0]["status"] == "ok"


def test_requests_that_waited_before_the_change_are_embedded_by_the_new_model() -> None:
    driver = Driver()
    driver.send("add", memory="Green tea.", memory_id="tea")
    driver.answer()
    driver.send("add", memory="A red bike.", memory_id="bike")
    fields = {"embedding": {"model": "hashing", "dimension": 32, "on_model_change": "reembed"}}
    driver.restart(config_of(fields), HashingModel(32))
    assert [ask.texts for ask in driver.asks.values()] == [("Green tea.",)]
    results = driver.answer_all()
    assert [result["result"] for result in results] == [{"memory_id": "bike"}]


def test_what_expires_while_texts_are_embedded_anew_does_not_shift_the_vectors() -> None:
    driver = Driver()
    driver.send("add", memory="Gone soon.", memory_id="gone", vector=VECTOR, expires_at="2025-06-15T15:07:00Z")
    for name, text in (("tea", "Green tea."), ("bike", "A red bike.")):
        driver.send("add", memory=text, memory_id=name, vector=VECTOR)
    fields = {"embedding": {"model": "hashing", "dimension": 32, "on_model_change": "reembed"}}
    driver.restart(config_of(fields), HashingModel(32))
    driver.send("search", query="tea", limit=1)
    driver.clock.advance(ms=60_000)
    driver.answer()
    driver.answer_all()
    for name, text in (("tea", "Green tea."), ("bike", "A red bike.")):
        (found,) = driver.send("search", vector=[float(x) for x in driver.model.embed([text])[0]], limit=1)
        assert found["result"]["hits"][0]["id"] == name
    assert driver.clock() > START_MS


def test_a_model_that_fails_to_embed_anew_stops_the_job() -> None:
    driver = reembedding()
    driver.send("get", memory_id="tea")
    with pytest.raises(FlinkMemoryError, match="nothing was changed"):
        driver.answer(error="The model is away.")
    assert DIMENSION == 16


def test_a_timer_alone_does_not_disturb_what_waits() -> None:
    driver = Driver()
    driver.send("add", memory="Tea.", memory_id="m")
    assert driver.cache.apply("ada", Timer(), driver.clock()) == []
    assert [result["status"] for result in driver.answer()] == ["ok"]
