"""Memory as keyed state, over fakes of PyFlink's: everything is about the current key."""

from __future__ import annotations

from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyflink.common import Row
from pyflink.datastream.state import State, StateDescriptor, StateTtlConfig

from flink_memory.embedding import HashingModel
from flink_memory.errors import (
    ConfigurationError,
    DimensionMismatchError,
    EmbeddingModelChangedError,
    FlinkMemoryError,
    RequestError,
    StateVersionError,
)
from flink_memory.items import MemoryItem
from flink_memory.state.flink_memory_state import MemoryState, MemoryStateDescriptor, get_memory_state
from flink_memory.state.key_marker import key_name
from tests.state.keyed_fakes import FakeRuntimeContext, ProcessBackend, ThreadBackend

BACKENDS = pytest.mark.parametrize("backend_type", [ThreadBackend, ProcessBackend])
TEA, CODE = "Ada prefers tea to coffee", "Ada writes compilers in Pascal"


def letters(texts: list[str]) -> list[list[float]]:
    """An embedding by counting letters."""
    return [[text.lower().count(letter) + 0.5 for letter in "abcdefgh"] for text in texts]


def hashing(name: str = "notes", **config: Any) -> MemoryStateDescriptor:
    return MemoryStateDescriptor(name, HashingModel(64), config=config)


def opened(descriptor: MemoryStateDescriptor | None = None, key: object = "ada") -> tuple[MemoryState, ThreadBackend]:
    backend = ThreadBackend()
    backend.switch(key)
    return MemoryState.of(FakeRuntimeContext(backend), descriptor or hashing()), backend


def texts(items: list[MemoryItem]) -> list[str]:
    return [item.memory for item in items]


def test_it_is_a_state_of_pyflink_with_a_descriptor_of_pyflink() -> None:
    memory, _ = opened()
    assert isinstance(memory, State)
    assert isinstance(hashing(), StateDescriptor)
    assert hashing("notes").get_name() == "notes"


def test_what_is_added_is_read_again() -> None:
    memory, _ = opened()
    memory_id = memory.add(TEA, metadata={"topic": "food"}, memory_type="preference", confidence=0.5)
    item = memory.get(memory_id)
    assert item is not None
    assert (item.id, item.memory, item.metadata) == (memory_id, TEA, {"topic": "food"})
    assert (item.memory_type, item.confidence, item.importance) == ("preference", 0.5, None)
    assert item.created_at == item.updated_at
    assert memory.get("unknown") is None


def test_an_item_is_added_as_it_is_and_its_id_is_taken() -> None:
    memory, _ = opened()
    item = MemoryItem(id="m1", memory=TEA, metadata={"a": 1}, created_at="2026-01-31T08:15:30.000Z", importance=0.9)
    assert memory.add(item) == "m1"
    found = memory.get("m1")
    assert found is not None
    assert (found.created_at, found.importance, found.memory_type) == ("2026-01-31T08:15:30.000Z", 0.9, "fact")
    with pytest.raises(RequestError, match="in use"):
        memory.add(item)


def test_update_changes_what_is_given_and_keeps_the_rest() -> None:
    memory, _ = opened()
    memory_id = memory.add(TEA, metadata={"a": 1}, importance=0.5)
    assert memory.update(memory_id, "Ada prefers coffee").metadata == {"a": 1}
    changed = memory.update(memory_id, importance=None, metadata={"b": 2})
    assert (changed.memory, changed.importance, changed.metadata) == ("Ada prefers coffee", None, {"b": 2})
    taken = memory.update(memory_id, MemoryItem(memory=CODE))
    assert (taken.memory, taken.metadata) == (CODE, {"b": 2})
    assert memory.search("Pascal")[0].id == memory_id
    with pytest.raises(RequestError, match="unknown"):
        memory.update("unknown", TEA)
    with pytest.raises(RequestError, match="at least one field"):
        memory.update(memory_id)


def test_every_change_is_told_by_history_of_a_deleted_memory_too() -> None:
    memory, _ = opened()
    memory_id = memory.add(TEA)
    memory.update(memory_id, CODE)
    memory.delete(memory_id)
    told = [(change.action, change.old_memory, change.new_memory, change.op) for change in memory.history(memory_id)]
    assert told == [("ADD", None, TEA, "add"), ("UPDATE", TEA, CODE, "update"), ("DELETE", CODE, None, "delete")]
    assert memory.history("unknown") == []
    with pytest.raises(RequestError, match="does not have"):
        memory.delete(memory_id)


def test_recent_history_is_of_memories_and_events_in_the_order_in_which_they_came() -> None:
    memory, _ = opened()
    first = memory.add("one")
    memory.observe("two", producer="Ada", session_id="s")
    gone = memory.add("three", session_id="s")
    memory.add("four", timestamp=0)
    memory.update(first, "one, changed")
    assert texts(memory.get_history()) == ["one, changed", "two", "three", "four"]
    assert texts(memory.get_history(2)) == ["three", "four"]
    assert texts(memory.get_history(session_id="s")) == ["two", "three"]
    memory.delete(gone)
    assert [item.kind for item in memory.get_history(3)] == ["memory", "event", "memory"]
    with pytest.raises(RequestError, match="from 1 on"):
        memory.get_history(0)


def test_recent_history_reaches_back_over_many_events() -> None:
    memory, _ = opened()
    for number in range(3):
        memory.add(f"memory {number}")
    for number in range(200):
        memory.observe(f"event {number}")
    assert texts(memory.get_history(202))[:3] == ["memory 1", "memory 2", "event 0"]


def test_search_takes_text_a_vector_a_filter_and_kinds() -> None:
    memory, _ = opened(MemoryStateDescriptor("notes", dimension=3))
    for name, vector in (("x", [1.0, 0.0, 0.0]), ("y", [0.0, 1.0, 0.0]), ("z", [0.6, 0.8, 0.0])):
        memory.add(name, vector, memory_id=name, metadata={"name": name})
    memory.observe("an event", [1, 0, 0])
    assert texts(memory.search(vector=[1, 0, 0], limit=2)) == ["x", "an event"]
    found = memory.search(vector=np.array([1, 0, 0], dtype=np.float32), kinds=["memory"])
    assert [(item.id, round(item.score or 0, 3)) for item in found] == [("x", 1.0), ("z", 0.6), ("y", 0.0)]
    assert texts(memory.search(vector=[1, 0, 0], filter="metadata.name != 'x'", kinds=["memory"])) == ["z", "y"]
    assert texts(memory.search("y", vector=[0, 1, 0], limit=1)) == ["y"]
    assert texts(memory.search(vector=[1, 0, 0], min_score=0.5)) == ["x", "an event", "z"]
    assert texts(memory.get_all("metadata.name IN ('x', 'z')")) == ["x", "z"]
    assert texts(memory.get_all()) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory.add(""), "memory"),
        (lambda memory: memory.add(TEA, memory_typ="fact"), "did you mean 'memory_type'"),
        (lambda memory: memory.add(TEA, metadata={"when": object()}), "JSON value"),
        (lambda memory: memory.add(TEA, [1.0, 2.0]), "vector of 64 numbers"),
        (lambda memory: memory.observe(TEA, [1.0, 2.0]), "vector of 64 numbers"),
        (lambda memory: memory.observe(TEA, [float("nan")] * 64), "finite"),
        (lambda memory: memory.search(), "neither"),
        (lambda memory: memory.search(TEA, limit=0), "limit"),
        (lambda memory: memory.search(TEA, filter="nonsense ="), "filter"),
        (lambda memory: memory.get_all("nonsense ="), "filter"),
    ],
)
def test_a_mistake_is_told_and_changes_nothing(call: Any, message: str) -> None:
    memory, _ = opened()
    memory.add(CODE)
    with pytest.raises(RequestError, match=message):
        call(memory)
    assert texts(memory.get_history()) == [CODE]


def test_metadata_is_not_shared_with_the_caller() -> None:
    memory, _ = opened()
    metadata = {"tags": ["a"]}
    memory_id = memory.add(TEA, metadata=metadata)
    metadata["tags"].append("b")
    item = memory.get(memory_id)
    assert item is not None
    assert item.metadata is not None
    item.metadata["tags"].append("c")
    again = memory.get(memory_id)
    assert again is not None
    assert again.metadata == {"tags": ["a"]}


@BACKENDS
def test_keys_never_see_one_another(backend_type: Any) -> None:
    backend = backend_type()
    memory = MemoryState.of(FakeRuntimeContext(backend), hashing())
    keys = [f"customer {number}" for number in range(7)]
    for round_number in range(5):
        for key in keys:
            backend.switch(key)
            memory.add(f"note {round_number} of {key}")
            memory.observe(f"event {round_number} of {key}")
    for key in keys:
        backend.switch(key)
        everything = memory.search("note event customer", limit=100)
        assert len(everything) == 10
        assert all(item.memory.endswith(f"of {key}") for item in everything + memory.get_history(100))


@BACKENDS
def test_a_bounded_cache_and_a_restart_lose_nothing(backend_type: Any) -> None:
    backend = backend_type()
    context = FakeRuntimeContext(backend)
    tight = hashing(cache={"max_bytes": 1024 * 1024}, index={"tail_entries": 4})
    memory = MemoryState.of(context, tight)
    for number in range(600):
        backend.switch((number % 150, "composite"))
        memory.add(f"note {number}")
    assert len(memory._cache) < 150
    after = MemoryState.of(FakeRuntimeContext(backend, context.stored), tight)
    for key in range(150):
        backend.switch((key, "composite"))
        assert texts(after.get_history()) == [f"note {number}" for number in range(key, 600, 150)]


def test_clear_takes_all_of_the_current_key_and_nothing_else() -> None:
    memory, backend = opened()
    first = memory.add(TEA)
    backend.switch("bob")
    memory.add(CODE)
    memory.observe("hello")
    memory.clear()
    assert (memory.get_history(), memory.get_all(), memory.search("compilers")) == ([], [], [])
    assert memory.history(first) == []
    backend.switch("ada")
    assert texts(memory.get_all()) == [TEA]


def test_clear_and_mere_reading_leave_no_byte_in_state() -> None:
    backend = ThreadBackend()
    context = FakeRuntimeContext(backend)
    memory = MemoryState.of(context, hashing())
    backend.switch("ada")
    memory.add(TEA)
    memory.clear()
    backend.switch("bob")
    memory.search(TEA)
    memory.get_history()
    memory.get("unknown")
    memory.history("unknown")
    with pytest.raises(RequestError):
        memory.delete("unknown")
    for key in ("ada", "bob"):
        backend.switch(key)
        assert not [name for name, handle in context.stored.items() if handle.holds_anything()]


def test_an_id_from_before_a_clear_does_not_come_back_for_another_text() -> None:
    memory, _ = opened()
    before = memory.add(TEA)
    memory.clear()
    assert memory.add(CODE) != before
    assert memory.get(before) is None


def test_a_replayed_input_makes_the_same_ids() -> None:
    ids = []
    for _ in range(2):
        memory, _ = opened()
        ids.append([memory.add(TEA), memory.observe(TEA), memory.add(TEA)])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 3


def test_states_of_different_names_are_apart_and_one_name_is_one_state() -> None:
    backend = ThreadBackend()
    backend.switch(1)
    context = FakeRuntimeContext(backend)
    notes, tasks = MemoryState.of(context, hashing("notes")), get_memory_state(context, hashing("tasks"))
    notes.add(TEA)
    assert tasks.get_all() == []
    assert get_memory_state(context, hashing("notes")) is notes
    assert {name.split(".")[0] for name in context.stored} == {"notes", "tasks"}


def test_the_memory_of_another_key_is_refused_when_it_is_loaded() -> None:
    backend = ThreadBackend()
    context = FakeRuntimeContext(backend)
    backend.switch("ada")
    MemoryState.of(context, hashing()).add(TEA)
    restored = MemoryState.of(FakeRuntimeContext(backend, context.stored), hashing())
    restored._current_key = lambda: "bob"  # a key that is not the one that the states follow
    with pytest.raises(FlinkMemoryError, match="not this key's memory"):
        restored.get_history()
    restored._current_key = lambda: "ada"
    assert texts(restored.get_history()) == [TEA]
    context.stored["notes.key"].clear()
    unmarked = MemoryState.of(FakeRuntimeContext(backend, context.stored), hashing())
    with pytest.raises(FlinkMemoryError, match="no mark"):
        unmarked.get_history()


def test_without_a_key_it_says_where_it_can_be_used() -> None:
    for backend in (ThreadBackend(), ProcessBackend()):
        memory = MemoryState.of(FakeRuntimeContext(backend), hashing())
        with pytest.raises(FlinkMemoryError, match="process_element"):
            memory.add(TEA)
    with pytest.raises(ConfigurationError, match="key_by"):
        MemoryState.of(FakeRuntimeContext(None), hashing())


keys = st.recursive(
    st.text() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.booleans(),
    lambda parts: st.lists(parts, min_size=1, max_size=3).map(tuple),
)


@given(keys, keys)
@settings(max_examples=300)
def test_different_keys_have_different_names(one: object, other: object) -> None:
    assert (key_name(one) == key_name(other)) == (repr(one) == repr(other))


def test_a_key_has_one_name_in_both_modes() -> None:
    names = []
    for backend in (ThreadBackend(), ProcessBackend()):
        backend.switch(Row("ada", 7))
        memory = MemoryState.of(FakeRuntimeContext(backend), hashing())
        names.append(key_name(memory._current_key()))
    assert names == [key_name(("ada", 7))] * 2
    with pytest.raises(ConfigurationError, match="key_type"):
        key_name(object())


def test_what_expires_is_gone_at_the_next_look_and_its_history_says_so() -> None:
    memory, _ = opened()
    now = [1_000]
    memory._clock_ms = lambda: now[0]
    memory_id = memory.add(TEA, expires_at=2_000)
    assert texts(memory.get_history()) == [TEA]
    now[0] = 2_000
    assert memory.get(memory_id) is None
    assert memory.search(TEA) == []
    assert [change.op for change in memory.history(memory_id)] == ["add", "expire"]


def test_bounds_of_the_config_hold() -> None:
    memory, _ = opened(hashing(memories={"max_count": 3}, limits={"max_text_bytes": 256}))
    for number in range(5):
        memory.add(f"note {number}")
    assert texts(memory.get_all()) == ["note 2", "note 3", "note 4"]
    with pytest.raises(RequestError, match="at most 256 bytes"):
        memory.add("x" * 257)


@pytest.mark.parametrize("embedding", [letters, HashingModel(8), lambda texts: np.ones((len(texts), 8))])
def test_a_descriptor_survives_being_shipped(embedding: Any) -> None:
    dimension = None if isinstance(embedding, HashingModel) else 8
    descriptor = MemoryStateDescriptor("notes", embedding, dimension=dimension, config={"memories": {"max_count": 9}})
    shipped = cloudpickle.loads(cloudpickle.dumps(descriptor))
    assert shipped.config == descriptor.config
    memory, _ = opened(shipped)
    memory.add(TEA)
    assert texts(memory.search("tea")) == [TEA]


def test_a_function_of_another_shape_is_told() -> None:
    memory, _ = opened(MemoryStateDescriptor("notes", letters, dimension=9))
    with pytest.raises(ConfigurationError, match=r"\(1, 9\).*\(1, 8\)"):
        memory.add(TEA)
    assert memory.get_all() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"dimension": 0},
        {"embedding": letters},
        {"embedding": 5, "dimension": 3},
        {"embedding": HashingModel(8), "dimension": 9},
        {"dimension": 3, "config": {"memory": {}}},
    ],
)
def test_a_descriptor_whose_parts_do_not_fit_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="notes"):
        MemoryStateDescriptor("notes", **arguments)


def test_without_an_embedding_a_text_needs_its_vector() -> None:
    memory, _ = opened(MemoryStateDescriptor("notes", dimension=3))
    for call in (memory.add, memory.observe, memory.search):
        with pytest.raises(RequestError, match="no embedding model"):
            call(TEA)


def test_flinks_time_to_live_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_age_days"):
        hashing().enable_time_to_live(StateTtlConfig)


def test_another_model_stops_or_embeds_anew() -> None:
    backend = ThreadBackend()
    backend.switch("ada")
    context = FakeRuntimeContext(backend)
    MemoryState.of(context, hashing()).add(TEA)
    changed = MemoryState.of(
        FakeRuntimeContext(backend, context.stored), MemoryStateDescriptor("notes", letters, dimension=8)
    )
    with pytest.raises(EmbeddingModelChangedError, match="reembed"):
        changed.get_all()
    config = {"embedding": {"on_model_change": "reembed"}}
    anew = MemoryState.of(
        FakeRuntimeContext(backend, context.stored),
        MemoryStateDescriptor("notes", letters, dimension=8, config=config),
    )
    anew.add(CODE)
    assert texts(anew.search("tea or coffee", limit=1)) == [TEA]
    with pytest.raises(DimensionMismatchError):
        anew.add("x", [1.0] * 64)


def test_after_a_failing_model_the_memory_goes_on_from_its_state() -> None:
    broken = False

    def sometimes(given: list[str]) -> list[list[float]]:
        if broken:
            raise OSError("no such model")
        return letters(given)

    memory, _ = opened(MemoryStateDescriptor("notes", sometimes, dimension=8))
    memory.add(TEA)
    broken = True
    with pytest.raises(OSError, match="no such model"):
        memory.add(CODE)
    broken = False
    assert texts(memory.get_history()) == [TEA]
    memory.add(CODE)
    assert texts(memory.get_history()) == [TEA, CODE]


def test_the_mark_of_a_key_is_what_it_was_in_every_earlier_savepoint() -> None:
    context = FakeRuntimeContext(backend := ThreadBackend())
    backend.switch("ada")
    MemoryState.of(context, hashing()).add(TEA)
    assert context.stored["notes.key"].value().hex() == "01" + "912b33928c686a00896ebcbf1b846afe"
    assert key_name(7) == "dba984abdfcc7a7e5b20637812ff99a7"
    assert key_name(("ada", 7)) == "5e34b63410ae7b5bd83ea1eafd582ce5"
    assert key_name(b"ada") == "1336cd7c1f5ad2c82901f76fe925ae41"
    assert key_name(0.5) == "81f591f30f65e19fd400dc9e3ac433a8"
    context.stored["notes.key"].update(b"\x02")
    later = MemoryState.of(FakeRuntimeContext(backend, context.stored), hashing())
    with pytest.raises(StateVersionError, match="layout 2"):
        later.get_all()
