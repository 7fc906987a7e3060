"""One agent driven by hand: what it asks for is answered when the test says so."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from flink_memory.config import MemoryConfig, parse_config
from flink_memory.effects import Answer, Ask, Effect, Emit, Float32Matrix, Publish, Received, SetTimer, Timer
from flink_memory.embedding import HashingModel
from flink_memory.jobs.local import LocalMemory
from flink_memory.requests import decode_request
from flink_memory.state.cache import AgentCache
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.handles import AgentStates
from flink_memory.state.store import ModelStamp
from flink_memory.undecodable import Rejected

START_MS = 1_750_000_000_000
"""2025-06-15T15:06:40Z."""
DAY_MS = 86_400_000
DIMENSION = 16


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, *, days: float = 0, ms: int = 0) -> None:
        self.now_ms += int(days * DAY_MS) + ms


class CountingModel(HashingModel):
    """A hashing model that keeps the texts it was given."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        super().__init__(dimension)
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Float32Matrix:
        self.texts.extend(texts)
        return super().embed(texts)


def config_of(sections: Mapping[str, Any]) -> MemoryConfig:
    return parse_config({"embedding": {"model": "hashing", "dimension": DIMENSION}, **sections})


def open_memory(clock: Clock | None = None, **sections: Any) -> LocalMemory:
    """A memory in this process, of the hashing model; ``sections`` are those of the configuration."""
    return LocalMemory(config_of(sections), model=CountingModel(), clock_ms=clock or Clock())


def states_of(memory: LocalMemory, agent_id: str) -> AgentStates:
    return memory._runner.states[agent_id]


def all_bytes(states: AgentStates) -> bytes:
    """Every key and value of an agent's state, joined."""
    found: list[bytes] = []
    for entry in fields(states):
        handle = getattr(states, entry.name)
        if hasattr(handle, "items"):
            found.extend(part for key, value in handle.items() for part in (key.encode(), value))
        elif hasattr(handle, "value"):
            found.append(handle.value() or b"")
        else:
            found.extend(handle.get())
    return b"\xff".join(found)


def unit_vector(position: int, dimension: int = DIMENSION) -> list[float]:
    return [float(place == position) for place in range(dimension)]


class Driver:
    """One agent whose asks wait until they are answered."""

    def __init__(self, config: MemoryConfig | None = None, model: HashingModel | None = None) -> None:
        self.config = config or config_of({})
        self.model = model or CountingModel()
        self.states = dictionary_states()
        self.clock = Clock()
        self.asks: dict[str, Ask] = {}
        self.results: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.timers: list[int] = []
        self._requests = 0
        self.restart()

    def restart(self, config: MemoryConfig | None = None, model: HashingModel | None = None) -> None:
        """Begin again from the state's bytes; what was asked is asked again."""
        self.config, self.model = config or self.config, model or self.model
        self.states = copy.deepcopy(self.states)
        stamp = ModelStamp(self.model.model_id, self.model.dimension)
        self.cache = AgentCache(lambda _: self.states, self.config, stamp)
        self.asks = {ask.ask_id: ask for ask in self.cache.unanswered("ada") if isinstance(ask, Ask)}

    def send(self, op: str, request_id: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """Send a request; returns the results that came at once."""
        self._requests += 1
        request = {"request_id": request_id or f"r{self._requests}", "agent_id": "ada", "op": op, **fields}
        payload = json.dumps(request)
        item = decode_request(payload)
        assert not isinstance(item, Rejected)
        return self._take(self.cache.apply("ada", Received(item, payload), self.clock()))

    def answer(
        self, ask_id: str | None = None, error: str | None = None, code: str = "UNAVAILABLE"
    ) -> list[dict[str, Any]]:
        """Answer one ask, the first if none is named; returns the results that came of it."""
        ask = self.asks.pop(next(iter(self.asks)) if ask_id is None else ask_id)
        vectors = None if error is not None else self.model.embed(ask.texts)
        return self.deliver(Answer(ask.ask_id, vectors, error, code))

    def deliver(self, answer: Answer) -> list[dict[str, Any]]:
        return self._take(self.cache.apply("ada", answer, self.clock()))

    def fire(self) -> list[dict[str, Any]]:
        return self._take(self.cache.apply("ada", Timer(), self.clock()))

    def answer_all(self) -> list[dict[str, Any]]:
        results = []
        while self.asks:
            results += self.answer()
        return results

    def _take(self, effects: list[Effect]) -> list[dict[str, Any]]:
        results = []
        for effect in effects:
            if isinstance(effect, Emit):
                results.append(json.loads(effect.text))
            elif isinstance(effect, Publish):
                self.changes.append(json.loads(effect.text))
            elif isinstance(effect, Ask):
                self.asks[effect.ask_id] = effect
            elif isinstance(effect, SetTimer):
                self.timers.append(effect.at_ms)
        self.results += results
        return results


def float_bytes(vector: Float32Matrix) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()
