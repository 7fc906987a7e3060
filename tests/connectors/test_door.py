"""The door: calls out, answers back, by agent."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from flink_memory.connectors.door import LONGEST_DELAY_MS, SHORTEST_DELAY_MS, Door
from flink_memory.effects import Answer, Ask, BuildGraph, Float32Matrix, GraphBuilt


class GatedModel:
    """Embeds a text as its length, when the gate is open, and notes its batches."""

    model_id = "gated"
    dimension = 1
    batch_size = 4

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        self.gate.wait(10)
        self.batches.append(list(texts))
        if "bad" in texts:
            raise ValueError("bad text")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


@pytest.fixture
def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
def door(model: GatedModel) -> Iterator[Door]:
    door = Door(model, lambda build: GraphBuilt(build.ask_id, b"graph"))
    yield door
    model.gate.set()
    door.close()


def collected(door: Door, agent_id: str) -> list[Answer]:
    answers: list[Answer] = []
    while door.is_busy_for(agent_id):
        assert door.wait(agent_id, 10)
        answers += [reply for reply in door.collect(agent_id) if isinstance(reply, Answer)]
    return answers


def test_an_answer_has_the_vectors_of_its_own_texts(door: Door, model: GatedModel) -> None:
    model.gate.set()
    door.submit("a", Ask("1", ("x", "xx")))
    door.submit("b", Ask("1", ("xxx",)))
    [first], [second] = collected(door, "a"), collected(door, "b")
    assert first.vectors is not None
    assert first.vectors.tolist() == [[1], [2]]
    assert second.vectors is not None
    assert second.vectors.tolist() == [[3]]


def test_what_has_gathered_makes_a_batch_across_agents(door: Door, model: GatedModel) -> None:
    for number in range(9):
        door.submit(f"agent {number}", Ask("1", (str(number),)))
    model.gate.set()
    for number in range(9):
        collected(door, f"agent {number}")
    assert [len(batch) for batch in model.batches][-2:] != [1, 1]
    assert max(len(batch) for batch in model.batches) == 4


def test_nothing_blocks_while_the_model_works(door: Door) -> None:
    door.submit("a", Ask("1", ("x",)))
    assert door.collect("a") == []
    assert door.is_busy_for("a")
    assert not door.wait("a", 0.01)
    assert not door.wait("nobody", 10)


def test_a_call_made_twice_is_answered_once(door: Door, model: GatedModel) -> None:
    door.submit("a", Ask("1", ("x",)))
    door.submit("a", Ask("1", ("x",)))
    model.gate.set()
    assert door.wait("a", 10)
    door.submit("a", Ask("1", ("x",)))
    assert len(collected(door, "a")) == 1
    assert door.collect("a") == []


def test_a_text_that_cannot_be_embedded_spoils_no_other(door: Door, model: GatedModel) -> None:
    door.submit("z", Ask("0", ("holds the worker",)))
    for ask_id, text in (("1", "good"), ("2", "bad"), ("3", "also good")):
        door.submit("a", Ask(ask_id, (text,)))
    model.gate.set()
    answers = {answer.ask_id: answer for answer in collected(door, "a")}
    assert answers["2"].error == "The embedding model failed: bad text"
    assert answers["1"].error is None
    assert answers["3"].error is None


def test_graphs_are_built_while_texts_wait(door: Door) -> None:
    door.submit("a", Ask("1", ("x",)))
    door.submit("b", BuildGraph("segment", np.zeros((1, 1), np.float32), 32, 64))
    assert door.wait("b", 10)
    assert door.collect("b") == [GraphBuilt("segment", b"graph")]


def test_a_full_door_holds_the_caller_until_there_is_room(door: Door, model: GatedModel) -> None:
    for number in range(4):
        door.submit("a", Ask(str(number), ("x",)))
    waiter = threading.Thread(target=door.wait_for_room, args=(3,))
    waiter.start()
    waiter.join(0.05)
    assert waiter.is_alive()
    model.gate.set()
    waiter.join(10)
    assert not waiter.is_alive()


def test_the_expected_delay_stays_within_its_bounds(door: Door, model: GatedModel) -> None:
    assert door.expected_delay_ms() == SHORTEST_DELAY_MS
    model.gate.set()
    door.submit("a", Ask("1", ("x",)))
    collected(door, "a")
    assert SHORTEST_DELAY_MS <= door.expected_delay_ms() <= LONGEST_DELAY_MS


def test_closing_ends_the_threads_with_calls_waiting(model: GatedModel) -> None:
    door = Door(model)
    model.gate.set()
    for number in range(50):
        door.submit("a", Ask(str(number), ("x",)))
    door.close()
    assert not [t for t in threading.enumerate() if t in door._threads]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_dies_is_told_to_who_waits(model: GatedModel) -> None:
    def break_down(build: BuildGraph) -> GraphBuilt:
        raise MemoryError("no room for a graph")

    door = Door(model, break_down)
    door.submit("a", BuildGraph("segment", np.zeros((1, 1), np.float32), 32, 64))
    with pytest.raises(RuntimeError, match="no answers will come"):
        door.wait("a", 10)
    model.gate.set()
    door.close()
