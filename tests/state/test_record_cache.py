"""Records in use: what they take is known whatever became of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flink_memory.records import EventRecord
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.encoding import decode_event, encode_event
from flink_memory.state.handles import MapHandle
from flink_memory.state.record_cache import RecordCache

names = st.sampled_from([f"e{number}" for number in range(5)])
steps = st.tuples(st.sampled_from(["put", "remove", "get", "hit", "fetch"]), names, st.integers(0, 300))


def cache_over(state: MapHandle) -> RecordCache[EventRecord]:
    return RecordCache(state, encode_event, decode_event, lambda event: event.event_id)


def event_of(name: str, size: int) -> EventRecord:
    return EventRecord(name, "s", 0, "user_message", "x" * size)


@given(st.lists(steps, max_size=40))
def test_the_bytes_held_are_those_of_the_records_and_hits_that_are_held(told: list[tuple[str, str, int]]) -> None:
    state = dictionary_states().sensory
    cache = cache_over(state)
    expected: dict[str, EventRecord] = {}
    hits: set[str] = set()
    for step, name, size in told:
        if step == "put":
            expected[name] = event_of(name, size)
            cache.put(name, expected[name])
            hits.discard(name)
        elif step == "remove":
            expected.pop(name, None)
            cache.put(name, None)
            hits.discard(name)
        elif step == "hit" and name in expected:
            assert b"x" * len(expected[name].text) in cache.hit(name)
            hits.add(name)
        elif step == "fetch":
            cache.fetch([name])
        assert cache.get(name) == expected.get(name)
    fresh = cache_over(state)
    for name in expected:
        assert fresh.get(name) == cache.get(name) == expected[name]
    for name in hits:
        assert fresh.hit(name) == cache.hit(name)
    assert cache.nbytes == fresh.nbytes
    cache.drop()
    assert cache.nbytes == 0
    assert cache.get("e0") == expected.get("e0")


def test_many_records_are_read_at_once() -> None:
    state = dictionary_states().sensory
    for number in range(100):
        state.put(f"e{number}", encode_event(event_of(f"e{number}", number)))
    cache, fresh = cache_over(state), cache_over(state)
    cache.fetch(f"e{number}" for number in range(90))
    for number in range(100):
        assert cache.get(f"e{number}") == fresh.get(f"e{number}") == event_of(f"e{number}", number)
    assert cache.nbytes == fresh.nbytes
