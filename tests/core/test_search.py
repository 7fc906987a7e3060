"""Search by words, by vector and by both."""

from __future__ import annotations

import json

import pytest

from tests.core.driver import Clock, open_memory, unit_vector


def test_by_vector_alone_the_score_is_the_cosine() -> None:
    memory = open_memory()
    memory.add("ada", "One.", memory_id="near", vector=[3.0, 4.0, *[0.0] * 14])
    memory.add("ada", "Two.", memory_id="far", vector=unit_vector(5))
    hits = memory.search("ada", vector=[2.0, *[0.0] * 15])
    assert [(hit["id"], round(hit["score"], 6)) for hit in hits] == [("near", 0.6), ("far", 0.0)]


def test_under_the_inner_product_vectors_are_taken_as_they_are() -> None:
    memory = open_memory(index={"metric": "inner_product"})
    memory.add("ada", "One.", memory_id="long", vector=[3.0, 4.0, *[0.0] * 14])
    (hit,) = memory.search("ada", vector=[2.0, *[0.0] * 15])
    assert hit["score"] == 6.0


def test_a_score_beyond_float32_is_still_json() -> None:
    memory = open_memory(index={"metric": "inner_product"})
    memory.add("ada", "One.", vector=[3e38] * 16)
    result = memory.send({"op": "search", "agent_id": "ada", "vector": [3e38] * 16})
    json.loads(json.dumps(result), parse_constant=lambda name: pytest.fail(name))


def test_by_words_the_memory_that_has_them_comes_first() -> None:
    memory = open_memory()
    memory.add("ada", "Ada cycles to work.", memory_id="bike")
    memory.add("ada", "Ada drinks green tea.", memory_id="tea")
    assert memory.search("ada", "cycling to work")[0]["id"] == "bike"


def test_a_given_vector_goes_before_an_embedding_of_the_query() -> None:
    memory = open_memory()
    memory.add("ada", "Milk.", memory_id="a", vector=unit_vector(1))
    memory.add("ada", "Milk.", memory_id="b", vector=unit_vector(2))
    assert [hit["id"] for hit in memory.search("ada", "milk", vector=unit_vector(2))] == ["b", "a"]


def test_the_parts_of_a_score_add_up() -> None:
    memory = open_memory()
    for number, text in enumerate(["We met in Berlin.", "It rained in Berlin.", "The tea was good."]):
        memory.observe("ada", text, event_id=f"e{number}")
    memory.add("ada", "Berlin is rainy.")
    hits = memory.search("ada", "rain in Berlin", explain=True)
    assert len(hits) == 4
    for hit in hits:
        assert sum(hit["explain"].values()) == pytest.approx(hit["score"], abs=1e-6)
    assert any(hit["explain"]["context"] > 0 for hit in hits)


def test_explaining_changes_no_score() -> None:
    memory = open_memory()
    for text in ("Tea.", "Green tea.", "Coffee."):
        memory.add("ada", text)
    plain = memory.search("ada", "green tea")
    explained = memory.search("ada", "green tea", explain=True)
    assert [(hit["id"], hit["score"]) for hit in plain] == [(hit["id"], hit["score"]) for hit in explained]


def test_kinds_filters_limit_and_least_score_narrow_the_hits() -> None:
    memory = open_memory()
    memory.add("ada", "Tea at home.", memory_id="m1", metadata={"topic": "home"})
    memory.add("ada", "Tea at work.", memory_id="m2", metadata={"topic": "work"})
    memory.observe("ada", "Tea again.", event_id="e1", metadata={"topic": "home"})
    found = {hit["id"] for hit in memory.search("ada", "tea", kinds=["memory"])}
    assert found == {"m1", "m2"}
    assert {hit["id"] for hit in memory.search("ada", "tea", kinds=["event"])} == {"e1"}
    assert {hit["id"] for hit in memory.search("ada", "tea", filter="metadata.topic = 'home'")} == {"m1", "e1"}
    assert {hit["id"] for hit in memory.search("ada", "tea", filter="kind = 'memory'")} == {"m1", "m2"}
    assert len(memory.search("ada", "tea", limit=2)) == 2
    best = memory.search("ada", "tea at work", limit=3)
    assert [hit["id"] for hit in memory.search("ada", "tea at work", min_score=best[0]["score"])] == ["m2"]
    assert memory.search("ada", "tea", min_score=2) == []


def test_a_bad_filter_is_refused_with_its_field() -> None:
    result = open_memory().send({"op": "search", "agent_id": "ada", "query": "tea", "filter": "topic ="})
    assert (result["error"]["code"], result["error"]["field"]) == ("VALIDATION_ERROR", "filter")


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 40])
def test_of_equal_scores_the_older_comes_first_also_after_updates_and_seals(limit: int) -> None:
    memory = open_memory(index={"tail_entries": 4, "merge_fanout": 2})
    for number in range(40):
        memory.add("ada", "The same tea.", memory_id=f"m{number:02}", vector=unit_vector(0))
    for number in (3, 30):
        memory.update("ada", f"m{number:02}", importance=0.5)
    for number in (0, 11):
        memory.delete("ada", f"m{number:02}")
    expected = [f"m{number:02}" for number in range(40) if number not in (0, 11)][:limit]
    by_words = [hit["id"] for hit in memory.search("ada", "same tea", vector=unit_vector(0), limit=limit)]
    assert sorted(by_words) == by_words
    if limit == 40:
        assert [hit["id"] for hit in memory.search("ada", vector=unit_vector(0), limit=limit)] == expected
        assert by_words == expected


def test_context_is_a_third_before_and_the_rest_after_within_session_and_filter() -> None:
    memory = open_memory()
    for number in range(12):
        session = "other" if number in (3, 8) else "s"
        text = "Zebra." if number == 5 else f"Line {number}."
        memory.observe("ada", text, event_id=f"e{number:02}", session_id=session, metadata={"odd": number % 2 == 1})
    (hit,) = memory.search("ada", "zebra", limit=1, expand_context=6)
    assert [event["event_id"] for event in hit["context"]] == ["e02", "e04", "e06", "e07", "e09", "e10"]
    (hit,) = memory.search("ada", "zebra", limit=1, expand_context=6, filter="metadata.odd = true")
    assert [event["event_id"] for event in hit["context"]] == ["e01", "e07", "e09", "e11"]
    (hit,) = memory.search("ada", "zebra", limit=1, expand_context=1)
    assert [event["event_id"] for event in hit["context"]] == ["e06"]
    (hit,) = memory.search("ada", "zebra", limit=1)
    assert "context" not in hit


def test_context_passes_over_forgotten_events() -> None:
    memory = open_memory()
    for number, text in enumerate(["Before.", "Gone.", "Zebra.", "After."]):
        memory.observe("ada", text, event_id=f"e{number}")
    memory.forget("ada", event_ids=["e1"])
    (hit,) = memory.search("ada", "zebra", limit=1, expand_context=3)
    assert [event["event_id"] for event in hit["context"]] == ["e0", "e3"]


def test_an_agent_without_memory_finds_nothing() -> None:
    memory = open_memory(Clock())
    assert memory.search("ada", "tea") == []
    assert memory.search("ada", vector=unit_vector(0)) == []
    assert memory.search("ada", "tea", filter="metadata.topic = 'x'", kinds=["event"]) == []


def test_filters_stay_right_after_updates_deletes_seals_and_purges() -> None:
    memory = open_memory(index={"tail_entries": 3, "merge_fanout": 2})
    topics: dict[str, str] = {}
    for number in range(30):
        name, topic = f"m{number % 11}", ("home", "work")[number % 3 == 0]
        if name in topics and number % 4 == 0:
            memory.forget("ada", memory_ids=[name]) if number % 8 else memory.delete("ada", name)
            del topics[name]
        elif name in topics:
            memory.update("ada", name, metadata={"topic": topic})
            topics[name] = topic
        else:
            memory.add("ada", "Tea.", memory_id=name, metadata={"topic": topic})
            topics[name] = topic
        for wanted in ("home", "work"):
            hits = memory.search("ada", "tea", filter=f"metadata.topic = '{wanted}'", limit=50)
            assert {hit["id"] for hit in hits} == {name for name, topic in topics.items() if topic == wanted}
