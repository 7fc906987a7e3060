"""The vector log against a plain list: tails, seals, merges and purges, and what a fresh load makes of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flink_memory.analysis import analyze
from flink_memory.config import IndexConfig
from flink_memory.counters import Counters
from flink_memory.effects import Float32Vector
from flink_memory.filters import parse_filter
from flink_memory.records import EventRecord, MemoryRecord
from flink_memory.state.accesses import AccessLog
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.encoding import decode_event, decode_memory, encode_event, encode_memory
from flink_memory.state.handles import AgentStates
from flink_memory.state.log import LogEntry, Upsert
from flink_memory.state.record_cache import RecordCache
from flink_memory.state.vector_log import ModelStamp, VectorLog
from flink_memory.state.vectors import build_graph

DIMENSION = 8
WORDS = ["tea", "coffee", "berlin", "dog", "bike", "rust"]


class Log:
    """A vector log of events, and the plain list of what lives in it."""

    def __init__(self, tail_entries: int, fanout: int, graph_min_rows: int | None = None) -> None:
        self.config = IndexConfig.model_construct(
            **{**IndexConfig().model_dump(), "tail_entries": tail_entries, "merge_fanout": fanout},
        ).model_copy(update={"graph_min_rows": graph_min_rows})
        self.states = dictionary_states()
        self.log = self.opened(self.states)
        self.next = 0
        self.living: dict[int, tuple[str, str, Float32Vector, tuple[int, ...]]] = {}

    def opened(self, states: AgentStates) -> VectorLog:
        memories: RecordCache[MemoryRecord] = RecordCache(
            states.memories, encode_memory, decode_memory, lambda record: record.memory_id
        )
        events: RecordCache[EventRecord] = RecordCache(
            states.sensory, encode_event, decode_event, lambda record: record.event_id
        )
        self.events = events
        return VectorLog(
            states, self.config, ModelStamp("model", DIMENSION), memories, events, AccessLog(states.accesses)
        )

    def change(self, seeds: list[int], dead: list[int]) -> None:
        """Append rows, and let those of the given ordinals die."""
        upserts, vectors = [], []
        for seed in seeds:
            random = np.random.default_rng(seed)
            vector = random.normal(size=DIMENSION).astype(np.float32)
            text = " ".join(random.choice(WORDS, random.integers(1, 5)))
            session = ["", "a", "b"][seed % 3]
            name = f"e{self.next}"
            terms = tuple(analyze(text))
            event = EventRecord(name, session, 0, "user_message", text, metadata={"odd": seed % 2}, ordinal=self.next)
            self.events.put(name, event)
            upserts.append(Upsert(self.next, self.next, seed, 0, 1, name, session, terms))
            vectors.append(vector)
            self.living[self.next] = (name, session, vector, terms)
            self.next += 1
        for ordinal in dead:
            self.events.put(self.living.pop(ordinal)[0], None)
        array = np.array(vectors, dtype=np.float32).reshape(len(vectors), DIMENSION)
        self.log.append(LogEntry(Counters(next_ordinal=self.next), tuple(dead), tuple(upserts), array))

    def check(self) -> None:
        """The live index holds what the list does, and so does one that is read from the bytes of state."""
        fresh = self.opened(copy.deepcopy(self.states))
        for log in (self.log, fresh):
            table = log.index.rows
            alive = np.flatnonzero(table.alive).tolist()
            assert [int(table.rows["ordinal"][row]) for row in alive] == list(self.living)
            assert [table.ids[row] for row in alive] == [name for name, _, _, _ in self.living.values()]
            assert [table.session(row) for row in alive] == [session for _, session, _, _ in self.living.values()]
            if alive:
                found = np.array([log.index.vectors.vector(row) for row in alive])
                np.testing.assert_array_equal(found, np.array([vector for _, _, vector, _ in self.living.values()]))
            assert table.dead == table.count - len(alive)
        np.testing.assert_array_equal(fresh.index.rows.alive, self.log.index.rows.alive)
        assert fresh.counters == self.log.counters
        for word in WORDS[:3]:
            terms = analyze(word)
            live, loaded = self.log.index.words.scores(terms), fresh.index.words.scores(terms)
            np.testing.assert_array_equal(live.total, loaded.total)
            np.testing.assert_array_equal(live.own, loaded.own)
            rows = self.log.index.rows
            having = [int(rows.rows["ordinal"][row]) for row in np.flatnonzero(live.own > 0)]
            assert having == [ordinal for ordinal, (_, _, _, of_row) in self.living.items() if terms[0] in of_row]
        for live_links, loaded_links in zip(self.log.index.neighbours(), fresh.index.neighbours(), strict=True):
            np.testing.assert_array_equal(live_links, loaded_links)
        for text in ("metadata.odd = 1", "session_id = 'a'"):
            condition = parse_filter(text)
            for log in (self.log, fresh):
                mask = log.selection.rows(["event"], condition)
                assert mask is not None
                chosen = [log.index.rows.ids[row] for row in np.flatnonzero(mask)]
                matching = [self.events.get(name) for name, _, _, _ in self.living.values()]
                assert chosen == [event.event_id for event in matching if event and condition.matches(event.fields())]


steps: st.SearchStrategy[tuple[str, list[int], float]] = st.one_of(
    st.tuples(st.just("change"), st.lists(st.integers(0, 999), max_size=4), st.floats(0, 1)),
    st.tuples(st.just("change"), st.lists(st.integers(0, 999), max_size=4), st.just(0.0)),
    st.tuples(st.sampled_from(["seal", "purge", "reopen", "clear", "check"]), st.just([]), st.just(0.0)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 6), st.integers(2, 4), st.lists(steps, min_size=5, max_size=50))
def test_live_rows_are_those_of_a_plain_list_and_of_a_fresh_load(
    tail_entries: int, fanout: int, told: list[tuple[str, list[int], float]]
) -> None:
    log = Log(tail_entries, fanout)
    for step, seeds, dying in told:
        if step == "change":
            dead = [ordinal for ordinal in log.living if (ordinal * 7919 % 100) / 400 < dying - 0.75]
            log.change(seeds, dead)
            log.log.seal_if_full()
        elif step in ("seal", "purge"):
            log.log.seal(purge=step == "purge")
            if step == "purge":
                assert log.log.index.rows.dead == 0
        elif step == "reopen":
            log.states = copy.deepcopy(log.states)
            log.log = log.opened(log.states)
        elif step == "clear" and dying == 0 and len(log.living) > 12:
            log.change([], list(log.living))
            log.log.clear(Counters(next_ordinal=log.next))
        elif step == "check":
            log.check()
    log.check()


def test_a_long_life_leaves_few_segments_and_no_orphans() -> None:
    log = Log(tail_entries=4, fanout=3)
    random = np.random.default_rng(0)
    for seed in range(400):
        dead = random.choice(list(log.living), 1).tolist() if len(log.living) > 20 and seed % 3 else []
        log.change([seed], dead)
        log.log.seal_if_full()
    log.check()
    manifest = log.log._manifest
    assert len(manifest.segments) < 20
    assert manifest.sealed_rows < 2 * len(log.living) + 20
    keys = [key for key, _ in log.states.vector_segments.items()]
    numbers = {str(chunk.number) for chunk in manifest.chunks}
    assert all(any(part.lstrip("0") in numbers | {""} for part in key.split("/")) for key in keys)
    assert len(keys) == 3 * len(manifest.chunks)


def graph_log() -> Log:
    log = Log(tail_entries=16, fanout=2, graph_min_rows=30)
    for seed in range(64):
        log.change([seed], [])
        log.log.seal_if_full()
    return log


def test_a_graph_is_told_once_set_and_loaded_again() -> None:
    log = graph_log()
    (due,) = log.log.graphs_due()
    assert log.log.graphs_due() == []
    assert due.vectors.shape == (64, DIMENSION)
    log.log.set_graph(due.ask_id, build_graph(due))
    assert log.log.index.vectors.has_graph
    fresh = log.opened(copy.deepcopy(log.states))
    assert fresh.index.vectors.has_graph
    assert fresh.graphs_due() == []
    log.check()


@pytest.mark.parametrize("ending", ["clear", "purge", "rewrite", "merge"])
def test_a_graph_that_comes_too_late_is_ignored(ending: str) -> None:
    log = graph_log()
    (due,) = log.log.graphs_due()
    graph = build_graph(due)
    if ending == "clear":
        log.change([], list(log.living))
        log.log.clear(Counters(next_ordinal=log.next))
    elif ending == "purge":
        log.change([], [3])
        log.log.seal(purge=True)
    elif ending == "rewrite":
        rows = list(log.living.items())
        upserts = [Upsert(at, at, 0, 0, 1, name, session, terms) for at, (name, session, _, terms) in rows]
        log.log.rewrite(upserts, np.array([vector for _, (_, _, vector, _) in rows]))
    for seed in range(64, 64 if ending == "rewrite" else 150):
        log.change([seed], [])
        log.log.seal_if_full()
    log.log.set_graph(due.ask_id, graph)
    assert not log.log.index.vectors.has_graph
    log.check()


def test_words_are_indexed_anew_when_the_analysis_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tail_entries=4, fanout=2)
    for module in ("postings", "state.log"):
        monkeypatch.setattr(f"flink_memory.{module}.ANALYSIS_ID", 1)
    for seed in range(10):
        log.change([seed], [])
        log.log.seal_if_full()
    log.change([], [2, 9])
    monkeypatch.undo()
    states = copy.deepcopy(log.states)
    log.log, log.states = log.opened(states), states
    log.check()
    log.change([], [5])
    log.log.seal(purge=True)
    log.check()


def test_order_holds_when_a_merge_has_smaller_segments_behind_it() -> None:
    log = Log(tail_entries=1, fanout=4)
    for seed in range(8):
        log.change([seed], [])
        log.log.seal_if_full()
    assert [segment.level for segment in log.log._manifest.segments] == [1, 1]
    log.config = log.config.model_copy(update={"merge_fanout": 2})
    log.log = log.opened(log.states)
    log.change([8], [])
    log.log.seal_if_full()
    assert [segment.level for segment in log.log._manifest.segments] == [2, 0]
    log.check()
