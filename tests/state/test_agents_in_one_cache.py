"""Several agents in one small cache, asks answered in any order, against each agent run alone.

The lone run of an agent sees the same requests one after the other, each answered at once, and is never
dropped from its cache. Results and changes have to be the same, times of processing apart.
"""

from __future__ import annotations

import copy
import json
import os
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from flink_memory.clock import format_time
from flink_memory.config import CacheConfig, MemoryConfig, parse_config
from flink_memory.effects import Answer, Ask, Emit, Publish, Received, Timer
from flink_memory.embedding import HashingModel
from flink_memory.requests import decode_request
from flink_memory.state.cache import AgentCache
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.handles import AgentStates
from flink_memory.state.store import ModelStamp
from flink_memory.undecodable import Rejected

DIMENSION = 8
START_MS = 1_750_000_000_000
STEP_MS = 1_000

NAMES = ("ada", "bob", "cleo")
agents = st.sampled_from(NAMES)
topics = st.sampled_from(["work", "home"])
memory_ids = st.sampled_from([f"m{number}" for number in range(6)])
event_ids = st.sampled_from([f"e{number}" for number in range(8)])
sessions = st.sampled_from(["", "s1", "s2"])
texts = st.lists(st.sampled_from(["tea", "coffee", "berlin", "dog", "bike", "rust"]), min_size=1, max_size=4).map(
    " ".join
)
filters = st.none() | st.sampled_from(["metadata.topic = 'work'", "access_count > 1", "NOT kind = 'event'"])


def small_config() -> MemoryConfig:
    config = parse_config(
        {
            "embedding": {"model": "hashing", "dimension": DIMENSION},
            "index": {"tail_entries": 4, "merge_fanout": 2, "graph_min_rows": None},
            "sensory": {"max_events": 6, "max_requests": 6},
            "history": {"max_items": 8},
            "memories": {"max_count": 4},
            "audit": {"max_changes": 9},
        }
    )
    return config.model_copy(update={"cache": CacheConfig.model_construct(max_bytes=30_000)})


class Lone:
    """One agent alone: every ask is answered before the next request comes."""

    def __init__(self, agent_id: str, config: MemoryConfig, model: HashingModel) -> None:
        self._agent_id = agent_id
        self._model = model
        states = dictionary_states()
        everything = config.model_copy(update={"cache": CacheConfig()})
        self._cache = AgentCache(lambda _: states, everything, ModelStamp(model.model_id, DIMENSION))

    def carry_out(self, payload: str, now_ms: int, failure: str | None) -> list[dict[str, Any]]:
        todo = self._cache.apply(self._agent_id, received(payload), now_ms)
        outputs: list[dict[str, Any]] = []
        while todo:
            effect = todo.pop(0)
            if isinstance(effect, Ask):
                answer = answer_to(self._model, effect, failure)
                todo = [*self._cache.apply(self._agent_id, answer, now_ms), *todo]
            elif isinstance(effect, (Emit, Publish)):
                outputs.append(without_times(effect.text))
        return outputs


@dataclass
class Sent:
    """A request on its way, and what its ask will come to."""

    payload: str
    failure: str | None = None


@dataclass
class Agent:
    """What is known of one agent outside of it."""

    lone: Lone
    waiting: list[Sent] = field(default_factory=list)
    asked: dict[str, tuple[Ask, Sent]] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    sequence: int = 0


def received(payload: str) -> Received:
    item = decode_request(payload)
    assert not isinstance(item, Rejected)
    return Received(item, payload)


def answer_to(model: HashingModel, ask: Ask, failure: str | None) -> Answer:
    return Answer(ask.ask_id, model.embed(ask.texts)) if failure is None else Answer(ask.ask_id, error=failure)


def without_times(text: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(text)
    record.pop("applied_at", None)
    result = record.get("result", {})
    for change in [record, *result.get("history", ())]:
        if change.get("action") == "EXPIRE":
            del change["at"]
    return record


class AgentsMachine(RuleBasedStateMachine):
    """Requests, answers, evictions and restarts of three agents that share a cache of 30 kB."""

    def __init__(self) -> None:
        super().__init__()
        self.config = small_config()
        self.model = HashingModel(DIMENSION)
        self.states: dict[str, AgentStates] = {}
        self.cache = self._cache()
        self.now_ms = START_MS
        self.requests = 0
        self.agents = {name: Agent(Lone(name, self.config, self.model)) for name in NAMES}

    def _cache(self) -> AgentCache:
        stamp = ModelStamp(self.model.model_id, DIMENSION)
        return AgentCache(lambda agent: self.states.setdefault(agent, dictionary_states()), self.config, stamp)

    def send(self, agent_id: str, op: str, **fields: Any) -> None:
        self.requests += 1
        at = format_time(self.now_ms + STEP_MS)
        request = {"request_id": f"r{self.requests}", "agent_id": agent_id, "op": op, "timestamp": at, **fields}
        self.deliver(agent_id, json.dumps(request))

    def deliver(self, agent_id: str, payload: str) -> None:
        agent = self.agents[agent_id]
        agent.sent.append(payload)
        agent.waiting.append(Sent(payload))
        self.apply(agent_id, received(payload))

    def apply(self, agent_id: str, item: Received | Answer | Timer) -> None:
        self.now_ms += STEP_MS
        agent = self.agents[agent_id]
        newest = agent.waiting[-1] if agent.waiting else None
        for effect in self.cache.apply(agent_id, item, self.now_ms):
            if isinstance(effect, Ask):
                assert effect.ask_id not in agent.asked
                asking = newest if isinstance(item, Received) else agent.waiting[0]
                assert asking is not None
                agent.asked[effect.ask_id] = (effect, asking)
            elif isinstance(effect, (Emit, Publish)):
                agent.outputs.append(without_times(effect.text))
            if isinstance(effect, Emit):
                self._compare(agent)
        self._check_the_bound(agent_id)

    def _compare(self, agent: Agent) -> None:
        """What came since the last result is what the lone run gives for the request that came first."""
        sent = agent.waiting.pop(0)
        expected = agent.lone.carry_out(sent.payload, self.now_ms, sent.failure)
        assert agent.outputs == expected
        for output in expected:
            if "sequence" in output:
                agent.sequence += 1
                assert output["sequence"] == agent.sequence
        agent.outputs.clear()

    def _check_the_bound(self, used: str) -> None:
        live = self.cache._agents
        assert self.cache.nbytes == sum(store.nbytes for _, store in live.values())
        if self.cache.nbytes > self.config.cache.max_bytes:
            assert all(name == used or self.agents[name].waiting for name in live)
        assert all(name in live for name, agent in self.agents.items() if agent.waiting)

    # Requests

    @rule(agent=agents, memory_id=memory_ids, text=texts, topic=topics, life_s=st.none() | st.integers(1, 30))
    def add(self, agent: str, memory_id: str, text: str, topic: str, life_s: int | None) -> None:
        expires = {} if life_s is None else {"expires_at": format_time(self.now_ms + life_s * 1000)}
        self.send(agent, "add", memory=text, memory_id=memory_id, metadata={"topic": topic}, **expires)

    @rule(agent=agents, memory_id=memory_ids, text=st.none() | texts, topic=topics)
    def update(self, agent: str, memory_id: str, text: str | None, topic: str) -> None:
        fields = {} if text is None else {"memory": text}
        self.send(agent, "update", memory_id=memory_id, metadata={"topic": topic}, **fields)

    @rule(agent=agents, memory_id=memory_ids, op=st.sampled_from(["delete", "get", "history"]))
    def address_one_memory(self, agent: str, memory_id: str, op: str) -> None:
        self.send(agent, op, memory_id=memory_id)

    @rule(agent=agents, event_id=event_ids, text=texts, session=sessions)
    def observe(self, agent: str, event_id: str, text: str, session: str) -> None:
        self.send(agent, "observe", type="user_message", content=text, event_id=event_id, session_id=session)

    @rule(agent=agents, said=st.lists(texts, min_size=1, max_size=3), session=sessions)
    def add_messages(self, agent: str, said: list[str], session: str) -> None:
        messages = [{"role": "user", "content": text, "name": "Ann"} for text in said]
        self.send(agent, "add_messages", messages=messages, infer=False, session_id=session)

    @rule(agent=agents, query=texts, condition=filters, limit=st.integers(1, 8), context=st.sampled_from([0, 3]))
    def search(self, agent: str, query: str, condition: str | None, limit: int, context: int) -> None:
        fields = {} if condition is None else {"filter": condition}
        self.send(agent, "search", query=query, limit=limit, expand_context=context, explain=True, **fields)

    @rule(agent=agents, condition=filters, limit=st.integers(1, 3))
    def get_all(self, agent: str, condition: str | None, limit: int) -> None:
        fields = {} if condition is None else {"filter": condition}
        self.send(agent, "get_all", limit=limit, **fields)

    @rule(agent=agents, n=st.integers(1, 8), session=st.none() | sessions)
    def get_history(self, agent: str, n: int, session: str | None) -> None:
        self.send(agent, "get_history", n=n, **({} if session is None else {"session_id": session}))

    @rule(agent=agents, data=st.data())
    def forget(self, agent: str, data: st.DataObject) -> None:
        choices: list[st.SearchStrategy[dict[str, Any]]] = [
            st.fixed_dictionaries({"memory_ids": st.lists(memory_ids, min_size=1, max_size=2)}),
            st.fixed_dictionaries({"event_ids": st.lists(event_ids, min_size=1, max_size=2)}),
            st.fixed_dictionaries({"session_id": sessions}),
            st.just({"everything": True}),
        ]
        self.send(agent, "forget", **data.draw(st.one_of(choices)))

    @rule(agent=agents, session=sessions)
    def end_session(self, agent: str, session: str) -> None:
        self.send(agent, "end_session", session_id=session)

    @rule(agent=agents, back=st.integers(1, 20))
    def send_once_more(self, agent: str, back: int) -> None:
        sent = self.agents[agent].sent
        if sent:
            self.deliver(agent, sent[-min(back, len(sent))])

    # Answers

    @precondition(lambda self: any(agent.asked for agent in self.agents.values()))
    @rule(data=st.data(), failure=st.none() | st.none() | st.just("The model is away."))
    def answer_any(self, data: st.DataObject, failure: str | None) -> None:
        asking = [name for name, agent in self.agents.items() if agent.asked]
        name = data.draw(st.sampled_from(asking))
        agent = self.agents[name]
        ask, sent = agent.asked.pop(data.draw(st.sampled_from(sorted(agent.asked))))
        sent.failure = failure
        answer = answer_to(self.model, ask, failure)
        agent.answers.append(answer)
        self.apply(name, answer)

    @precondition(lambda self: any(agent.asked for agent in self.agents.values()))
    @rule()
    def answer_all(self) -> None:
        for name, agent in self.agents.items():
            while agent.asked:
                ask, sent = agent.asked.pop(next(iter(agent.asked)))
                sent.failure = None
                answer = answer_to(self.model, ask, None)
                agent.answers.append(answer)
                self.apply(name, answer)

    @precondition(lambda self: any(agent.answers for agent in self.agents.values()))
    @rule(data=st.data())
    def an_answer_that_came_before_changes_nothing(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([name for name, agent in self.agents.items() if agent.answers]))
        agent = self.agents[name]
        answer = data.draw(st.sampled_from(agent.answers[-4:]))
        waiting = len(agent.waiting)
        self.apply(name, Answer(answer.ask_id, error="Too late."))
        assert len(agent.waiting) == waiting

    @rule(agent=agents)
    def a_timer_fires(self, agent: str) -> None:
        self.apply(agent, Timer())

    @rule()
    def restart(self) -> None:
        """As after a failure: what was asked is asked again, and answered as it would have been."""
        self.states = copy.deepcopy(self.states)
        self.cache = self._cache()
        for name, agent in self.agents.items():
            agent.answers.clear()
            if not agent.waiting:
                continue
            agent.asked = {}
            for ask in self.cache.unanswered(name):
                assert isinstance(ask, Ask)
                agent.asked[ask.ask_id] = (ask, self._asking(agent, ask))

    def _asking(self, agent: Agent, ask: Ask) -> Sent:
        """The request that an ask belongs to, by its place among those that wait."""
        numbers = [
            number for number, _, _ in self.cache._agents[json.loads(agent.waiting[0].payload)["agent_id"]][1].waiting()
        ]
        return agent.waiting[numbers.index(int(ask.ask_id))]

    @rule(agent=agents)
    def drop_from_the_cache(self, agent: str) -> None:
        if not self.agents[agent].waiting:
            self.cache.drop(agent)

    @invariant()
    def nobody_waits_without_an_ask(self) -> None:
        for agent in self.agents.values():
            assert bool(agent.waiting) == bool(agent.asked)

    def teardown(self) -> None:
        if any(agent.asked for agent in self.agents.values()):
            self.answer_all()
        for name in self.agents:
            self.send(name, "get_all")
        assert not any(agent.waiting for agent in self.agents.values())


TestAgentsInOneCache = AgentsMachine.TestCase
TestAgentsInOneCache.settings = settings(
    max_examples=int(os.environ.get("MEMORY_MACHINE_EXAMPLES", "40")),
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    phases=[Phase.generate],  # shrinking such a story takes longer than reading it
)
