"""Random requests against a plain model, with restarts from the state's bytes in between."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flink_memory.config import MemoryConfig, parse_config
from flink_memory.effects import Answer, Ask, Emit, Publish, Received
from flink_memory.embedding import HashingModel
from flink_memory.filters import parse_filter
from flink_memory.requests import decode_request
from flink_memory.state.cache import AgentCache
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.handles import AgentStates
from flink_memory.state.store import ModelStamp

Vector = npt.NDArray[np.float32]

DIMENSION = 8
START_MS = 1_750_000_000_000
TOPICS = ("work", "home", "travel")

memory_ids = st.sampled_from([f"m{number}" for number in range(12)])
event_ids = st.sampled_from([f"e{number}" for number in range(20)])
sessions = st.sampled_from(["s1", "s2", "default"])
words = st.lists(
    st.sampled_from(["tea", "coffee", "berlin", "dog", "bike", "rust", "python", "flight"]), min_size=1, max_size=5
)
seeds = st.integers(0, 10_000)


def vector_of(seed: int) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)]


def unit(vector: list[float]) -> Vector:
    array = np.array(vector, dtype=np.float32)
    return array / np.float32(np.sqrt(float(array @ array)))


class MemoryMachine(RuleBasedStateMachine):
    """Every rule sends one request to the memory, and does the same to dictionaries."""

    config: MemoryConfig = parse_config(
        {
            "embedding": {"model": "hashing", "dimension": DIMENSION},
            "index": {"tail_entries": 5, "merge_fanout": 2, "graph_min_rows": None},
            "sensory": {"max_events": 15, "max_requests": 40},
            "history": {"max_items": 8},
            "audit": {"max_changes": 1000},
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self.model = HashingModel(DIMENSION)
        self.states: dict[str, AgentStates] = {}
        self.cache = self._cache()
        self.now_ms = START_MS
        self.requests = 0
        self.memories: dict[str, dict[str, Any]] = {}
        self.vectors: dict[str, Vector] = {}
        self.trail: dict[str, list[str]] = {}
        self.events: dict[str, dict[str, Any]] = {}
        self.event_vectors: dict[str, Vector] = {}
        self.history: list[dict[str, Any]] = []
        self.sent: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.changes: list[dict[str, Any]] = []

    def _cache(self) -> AgentCache:
        stamp = ModelStamp(self.model.model_id, DIMENSION)
        return AgentCache(lambda agent: self.states.setdefault(agent, dictionary_states()), self.config, stamp)

    def send(self, op: str, **fields: Any) -> dict[str, Any]:
        self.requests += 1
        request = {"request_id": f"r{self.requests}", "agent_id": "agent", "op": op, **fields}
        result = self._deliver(request)
        self.sent[request["request_id"]] = (request, result)
        return result

    def _deliver(self, request: dict[str, Any]) -> dict[str, Any]:
        self.now_ms += 1
        payload = json.dumps(request)
        todo: list[Any] = list(
            self.cache.apply("agent", Received(decode_request(payload), payload), self.now_ms)  # type: ignore[arg-type]
        )
        results = []
        while todo:
            effect = todo.pop(0)
            if isinstance(effect, Ask):
                answer = Answer(effect.ask_id, self.model.embed(effect.texts))
                todo = [*self.cache.apply("agent", answer, self.now_ms), *todo]
            elif isinstance(effect, Emit):
                results.append(json.loads(effect.text))
            elif isinstance(effect, Publish):
                self.changes.append(json.loads(effect.text))
        (result,) = results
        assert isinstance(result, dict)
        assert result["request_id"] == request["request_id"]
        return result

    # Rules

    @rule(memory_id=memory_ids, text=words, topic=st.sampled_from(TOPICS), seed=seeds)
    def add(self, memory_id: str, text: list[str], topic: str, seed: int) -> None:
        vector = vector_of(seed)
        memory = " ".join(text)
        result = self.send("add", memory=memory, memory_id=memory_id, metadata={"topic": topic}, vector=vector)
        if memory_id in self.memories:
            assert result["error"]["code"] == "CONFLICT"
            return
        assert result["result"] == {"memory_id": memory_id}
        self.memories[memory_id] = {"memory": memory, "metadata": {"topic": topic}, "version": 1}
        self.vectors[memory_id] = unit(vector)
        self.trail.setdefault(memory_id, []).append("ADD")

    @rule(memory_id=memory_ids, text=st.none() | words, topic=st.none() | st.sampled_from(TOPICS), seed=seeds)
    def update(self, memory_id: str, text: list[str] | None, topic: str | None, seed: int) -> None:
        fields: dict[str, Any] = {}
        if text is not None:
            fields |= {"memory": " ".join(text), "vector": vector_of(seed)}
        if topic is not None:
            fields["metadata"] = {"topic": topic}
        if not fields:
            fields["importance"] = 0.5
        result = self.send("update", memory_id=memory_id, **fields)
        if memory_id not in self.memories:
            assert result["error"]["code"] == "NOT_FOUND"
            return
        record = self.memories[memory_id]
        record.update({name: fields[name] for name in ("memory", "metadata") if name in fields})
        record["version"] += 1
        if "vector" in fields:
            self.vectors[memory_id] = unit(fields["vector"])
        self.trail[memory_id].append("UPDATE")
        assert result["result"]["memory"]["version"] == record["version"]

    @rule(memory_id=memory_ids)
    def delete(self, memory_id: str) -> None:
        result = self.send("delete", memory_id=memory_id)
        if memory_id not in self.memories:
            assert result["error"]["code"] == "NOT_FOUND"
            return
        del self.memories[memory_id], self.vectors[memory_id]
        self.trail[memory_id].append("DELETE")

    @rule(event_id=event_ids, text=words, session=sessions)
    def observe(self, event_id: str, text: list[str], session: str) -> None:
        content = " ".join(text)
        result = self.send("observe", type="user_message", content=content, event_id=event_id, session_id=session)
        known = self.events.get(event_id)
        if known is not None:
            if known == {"text": content, "session_id": session}:
                assert result["duplicate"] is True
            else:
                assert result["error"]["code"] == "CONFLICT"
            return
        self.events[event_id] = {"text": content, "session_id": session}
        self.event_vectors[event_id] = self.model.embed([content])[0]
        self.history.append({"event_id": event_id, "session_id": session, "content": content})
        while len(self.events) > self.config.sensory.max_events:
            oldest = next(iter(self.events))
            del self.events[oldest], self.event_vectors[oldest]
        if len(self.history) > 10:
            self.history = self.history[-8:]

    @rule(seed=seeds, limit=st.integers(1, 8), topic=st.none() | st.sampled_from(TOPICS))
    def search_memories_by_vector(self, seed: int, limit: int, topic: str | None) -> None:
        query = unit(vector_of(seed))
        fields = {} if topic is None else {"filter": f"metadata.topic = '{topic}'"}
        result = self.send("search", vector=vector_of(seed), limit=limit, kinds=["memory"], **fields)
        expected = {
            name: float(self.vectors[name] @ query)
            for name, record in self.memories.items()
            if topic is None or record["metadata"]["topic"] == topic
        }
        self._compare(result, expected, limit)

    @rule(seed=seeds, limit=st.integers(1, 20), kinds=st.sampled_from([["event"], ["memory", "event"]]))
    def search_events_by_vector(self, seed: int, limit: int, kinds: list[str]) -> None:
        query = unit(vector_of(seed))
        result = self.send("search", vector=vector_of(seed), limit=limit, kinds=kinds)
        expected = {name: float(vector @ query) for name, vector in self.event_vectors.items()}
        if "memory" in kinds:
            expected |= {name: float(vector @ query) for name, vector in self.vectors.items()}
        self._compare(result, expected, limit)

    @rule(text=words)
    def search_by_text_finds_all_there_is(self, text: list[str]) -> None:
        result = self.send("search", query=" ".join(text), limit=100)
        hits = result["result"]["hits"]
        assert {hit["id"]: hit["text"] for hit in hits} == {
            **{name: record["memory"] for name, record in self.memories.items()},
            **{name: event["text"] for name, event in self.events.items()},
        }
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)

    @rule(text=words)
    def ranking_by_text_survives_a_restart(self, text: list[str]) -> None:
        before = self.send("search", query=" ".join(text), limit=100, explain=True)["result"]
        self.restart()
        after = self.send("search", query=" ".join(text), limit=100, explain=True)["result"]
        assert before == after

    @rule(limit=st.integers(1, 5))
    def read_page_by_page(self, limit: int) -> None:
        pages: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            result = self.send("get_all", limit=limit, **cursor)["result"]
            pages.extend(result["memories"])
            if result["cursor"] is None:
                break
            cursor = {"cursor": result["cursor"]}
        assert [page["memory_id"] for page in pages] == list(self.memories)

    @rule(memory_id=memory_ids)
    def get_and_history(self, memory_id: str) -> None:
        record = self.send("get", memory_id=memory_id)["result"]["memory"]
        model = self.memories.get(memory_id)
        assert (record is None) == (model is None)
        if record is not None and model is not None:
            assert {name: record[name] for name in model} == model
        result = self.send("history", memory_id=memory_id)
        if memory_id in self.trail:
            assert [entry["action"] for entry in result["result"]["history"]] == self.trail[memory_id]
        else:
            assert result["error"]["code"] == "NOT_FOUND"

    @rule(n=st.integers(1, 8), session=st.none() | sessions)
    def get_history(self, n: int, session: str | None) -> None:
        fields = {} if session is None else {"session_id": session}
        items = self.send("get_history", n=n, **fields)["result"]["items"]
        expected = [item for item in self.history if session in (None, item["session_id"])][-n:]
        assert [item["event_id"] for item in items] == [item["event_id"] for item in expected]

    @rule(memory_id=memory_ids)
    def forget_memory(self, memory_id: str) -> None:
        result = self.send("forget", memory_ids=[memory_id])["result"]["forgotten"]
        assert result["memories"] == (memory_id in self.memories)
        self.memories.pop(memory_id, None)
        self.vectors.pop(memory_id, None)
        self.trail.pop(memory_id, None)

    @rule(event_id=event_ids)
    def forget_event(self, event_id: str) -> None:
        result = self.send("forget", event_ids=[event_id])["result"]["forgotten"]
        assert result["events"] == (event_id in self.events)
        self.events.pop(event_id, None)
        self.event_vectors.pop(event_id, None)
        self.history = [item for item in self.history if item["event_id"] != event_id]

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def repeat_a_recent_request(self, data: st.DataObject) -> None:
        recent = list(self.sent)[-10:]
        request, result = self.sent[data.draw(st.sampled_from(recent))]
        changes = len(self.changes)
        repeated = self._deliver(request)
        assert repeated["duplicate"] is True
        assert len(self.changes) == changes
        number = int(request["request_id"][1:])
        later = [sent for name, (sent, _) in self.sent.items() if int(name[1:]) > number]
        forgotten_since = any(sent["op"] == "forget" for sent in later)
        if not forgotten_since:
            assert {**result, "duplicate": True} == repeated

    @rule()
    def restart(self) -> None:
        self.states = copy.deepcopy(self.states)
        self.cache = self._cache()

    @rule()
    def drop_from_the_cache(self) -> None:
        self.cache.drop("agent")

    @initialize()
    def begin(self) -> None:
        assert parse_filter("metadata.topic = 'work'").fields

    @invariant()
    def changes_rebuild_the_bank(self) -> None:
        assert [change["sequence"] for change in self.changes] == list(range(1, len(self.changes) + 1))
        bank: dict[str, str] = {}
        for change in self.changes:
            if change["new_memory"] is None:
                bank.pop(change["memory_id"], None)
            else:
                bank[change["memory_id"]] = change["new_memory"]
        assert bank == {name: record["memory"] for name, record in self.memories.items()}

    @staticmethod
    def _compare(result: dict[str, Any], expected: dict[str, float], limit: int) -> None:
        hits = result["result"]["hits"]
        assert len(hits) == min(limit, len(expected))
        best = sorted(expected.values(), reverse=True)[:limit]
        np.testing.assert_allclose([hit["score"] for hit in hits], best, atol=2e-6)
        for hit in hits:
            np.testing.assert_allclose(hit["score"], expected[hit["id"]], atol=2e-6)
        assert len({hit["id"] for hit in hits}) == len(hits)


TestMemoryAgainstPlainModel = MemoryMachine.TestCase
TestMemoryAgainstPlainModel.settings = settings(
    max_examples=int(os.environ.get("MEMORY_MACHINE_EXAMPLES", "60")),
    stateful_step_count=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
