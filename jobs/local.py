"""The memory without Flink or Java: the same core and the same state layout, over dictionaries.

:class:`LocalRunner` takes records as they come from a file, and :class:`LocalMemory` is the same for
people in a notebook or a test. Nothing is written to disk; what is in it goes with the process.
"""

from __future__ import annotations

import base64
import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import orjson

from flink_memory.config import MemoryConfig, parse_config
from flink_memory.connectors.batches import answer_asks
from flink_memory.connectors.models import load_embedding_model
from flink_memory.effects import Ask, BuildGraph, Effect, Emit, GraphBuilt, Publish, Received, SetTimer, Timer
from flink_memory.embedding import EmbeddingModel
from flink_memory.errors import RequestError
from flink_memory.requests import decode_request
from flink_memory.results import dead_letter
from flink_memory.state.cache import AgentCache
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.handles import AgentStates
from flink_memory.state.store import ModelStamp
from flink_memory.state.vectors import build_graph
from flink_memory.undecodable import Rejected


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that is no request. ``text`` is the JSON record that says so."""

    text: str


Output: TypeAlias = Emit | Publish | DeadLetter


class LocalRunner:
    """Feeds records to the memories of any number of agents.

    Embeddings are made in batches: a request that needs one is answered when a batch has gathered, or
    at :meth:`flush`. Results of one agent come in the order of its requests. One thread; the same input
    gives the same output, times apart.

    Args:
        config: As the job's.
        model: Embeds the texts.
        clock_ms: The time of processing, in ms.
    """

    def __init__(self, config: MemoryConfig, model: EmbeddingModel, clock_ms: Callable[[], int] | None = None) -> None:
        self.states: dict[str, AgentStates] = {}
        self.cache = AgentCache(self._open_states, config, ModelStamp(model.model_id, model.dimension))
        self._config = config
        self._model = model
        self._clock_ms = clock_ms or _system_clock_ms
        self._asks: list[tuple[str, Ask]] = []
        self._waiting_texts = 0
        self._timers: list[tuple[int, str]] = []
        self._timers_set: set[tuple[int, str]] = set()

    def feed(self, payload: str | bytes) -> list[Output]:
        """Take one record; returns what has become ready, also of earlier ones."""
        now_ms = self._clock_ms()
        outputs = self._fire_timers(now_ms)
        item = decode_request(payload, self._config.limits.max_record_bytes)
        if isinstance(item, Rejected):
            return [*outputs, DeadLetter(dead_letter(item.error, item.raw, now_ms))]
        text = payload if isinstance(payload, str) else payload.decode()
        outputs += self._perform(item.agent_id, self.cache.apply(item.agent_id, Received(item, text), now_ms))
        if self._waiting_texts >= self._model.batch_size:
            outputs += self.flush()
        return outputs

    def flush(self) -> list[Output]:
        """Answer all that waits."""
        outputs: list[Output] = []
        while self._asks:
            asks, self._asks, self._waiting_texts = self._asks, [], 0
            answers = answer_asks(self._model, [ask for _, ask in asks])
            for (agent_id, _), answer in zip(asks, answers, strict=True):
                outputs += self._perform(agent_id, self.cache.apply(agent_id, answer, self._clock_ms()))
        return outputs

    def _open_states(self, agent_id: str) -> AgentStates:
        return self.states.setdefault(agent_id, dictionary_states())

    def _fire_timers(self, now_ms: int) -> list[Output]:
        outputs: list[Output] = []
        while self._timers and self._timers[0][0] <= now_ms:
            timer = heapq.heappop(self._timers)
            self._timers_set.remove(timer)
            agent_id = timer[1]
            outputs += self._perform(agent_id, self.cache.apply(agent_id, Timer(), now_ms))
        return outputs

    def _perform(self, agent_id: str, effects: Iterable[Effect]) -> list[Output]:
        outputs: list[Output] = []
        for effect in effects:
            if isinstance(effect, (Emit, Publish)):
                outputs.append(effect)
            elif isinstance(effect, Ask):
                self._asks.append((agent_id, effect))
                self._waiting_texts += len(effect.texts)
            elif isinstance(effect, BuildGraph):
                built = GraphBuilt(effect.ask_id, build_graph(effect))
                outputs += self._perform(agent_id, self.cache.apply(agent_id, built, self._clock_ms()))
            elif isinstance(effect, SetTimer):
                timer = (effect.at_ms, agent_id)
                if timer not in self._timers_set:
                    self._timers_set.add(timer)
                    heapq.heappush(self._timers, timer)
        return outputs


class LocalMemory:
    """Memory of agents in this process, with one method for each thing to do.

    Example:
        >>> memory = LocalMemory({"embedding": {"model": "hashing"}})
        >>> memory_id = memory.add("ada", "Ada prefers tea to coffee.", memory_type="preference")
        >>> memory.search("ada", "tea")[0]["text"]
        'Ada prefers tea to coffee.'

    Args:
        config: A configuration, or its fields as in ``memory.yaml``; ``None`` for the defaults.
        model: Embeds the texts; ``None`` for the configured one.
        clock_ms: The time of processing, in ms; ``None`` for the system's.
    """

    def __init__(
        self,
        config: MemoryConfig | Mapping[str, Any] | None = None,
        model: EmbeddingModel | None = None,
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        if not isinstance(config, MemoryConfig):
            config = parse_config(config or {})
        self._runner = LocalRunner(config, model or load_embedding_model(config.embedding), clock_ms)
        self._numbers = count(1)
        self.changes: list[dict[str, Any]] = []
        """All records of the changelog so far."""

    @property
    def cache(self) -> AgentCache:
        """The agents in use."""
        return self._runner.cache

    def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one request of the wire contract, and return its result record.

        Args:
            request: As on the wire; ``request_id`` may be left out, and ``vector`` may be an array.

        Raises:
            RequestError: It has no ``agent_id`` that could be read: there is nobody to answer.
        """
        record = {"request_id": f"local-{next(self._numbers)}", **request}
        vector = record.get("vector")
        if isinstance(vector, np.ndarray):
            record["vector"] = base64.b64encode(vector.astype("<f4").tobytes()).decode()
        payload = orjson.dumps(record)
        result: dict[str, Any] | None = None
        for output in (*self._runner.feed(payload), *self._runner.flush()):
            if isinstance(output, DeadLetter):
                error = orjson.loads(output.text)["error"]
                raise RequestError(error["code"], error["message"], error.get("field"))
            if isinstance(output, Publish):
                self.changes.append(orjson.loads(output.text))
            else:
                result = orjson.loads(output.text)
        if result is None:
            raise RequestError("INTERNAL", "Expected a result, got none. This is a defect.")
        return result

    def observe(self, agent_id: str, content: str | Sequence[Mapping[str, str]], **fields: Any) -> str:
        """Keep an event; returns its id. ``type`` is ``user_message`` when left out."""
        fields = {"type": "user_message", "content": content, **fields}
        return str(self._result("observe", agent_id, fields)["event_id"])

    def add(self, agent_id: str, memory: str, **fields: Any) -> str:
        """Put a memory into the bank; returns its id."""
        return str(self._result("add", agent_id, {"memory": memory, **fields})["memory_id"])

    def add_messages(self, agent_id: str, messages: Sequence[Mapping[str, Any]], **fields: Any) -> list[str]:
        """Keep chat messages as events; returns their ids."""
        fields = {"messages": list(messages), "infer": False, **fields}
        event_ids: list[str] = self._result("add_messages", agent_id, fields)["event_ids"]
        return event_ids

    def update(self, agent_id: str, memory_id: str, **fields: Any) -> dict[str, Any]:
        """Change fields of a memory; returns the record."""
        record: dict[str, Any] = self._result("update", agent_id, {"memory_id": memory_id, **fields})["memory"]
        return record

    def delete(self, agent_id: str, memory_id: str) -> None:
        """Delete a memory."""
        self._result("delete", agent_id, {"memory_id": memory_id})

    def get(self, agent_id: str, memory_id: str) -> dict[str, Any] | None:
        """A memory's record, or ``None``."""
        record: dict[str, Any] | None = self._result("get", agent_id, {"memory_id": memory_id})["memory"]
        return record

    def get_all(self, agent_id: str, **fields: Any) -> Iterator[dict[str, Any]]:
        """All memories in the order of their creation, read page by page."""
        cursor: dict[str, str] = {}
        while True:
            page = self._result("get_all", agent_id, {**fields, **cursor})
            yield from page["memories"]
            if page["cursor"] is None:
                return
            cursor = {"cursor": page["cursor"]}

    def history(self, agent_id: str, memory_id: str) -> list[dict[str, Any]]:
        """What a memory was, and why it changed, oldest first."""
        changes: list[dict[str, Any]] = self._result("history", agent_id, {"memory_id": memory_id})["history"]
        return changes

    def get_history(self, agent_id: str, n: int = 10, **fields: Any) -> list[dict[str, Any]]:
        """The last ``n`` events, oldest first."""
        items: list[dict[str, Any]] = self._result("get_history", agent_id, {"n": n, **fields})["items"]
        return items

    def search(self, agent_id: str, query: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """Memories and events that fit, best first."""
        if query is not None:
            fields["query"] = query
        hits: list[dict[str, Any]] = self._result("search", agent_id, fields)["hits"]
        return hits

    def end_session(self, agent_id: str, session_id: str) -> None:
        """Note that a session is over."""
        self._result("end_session", agent_id, {"session_id": session_id})

    def forget(self, agent_id: str, **fields: Any) -> dict[str, int]:
        """Remove for good what ``fields`` name; returns how much of each kind."""
        counts: dict[str, int] = self._result("forget", agent_id, fields)["forgotten"]
        return counts

    def _result(self, op: str, agent_id: str, fields: Mapping[str, Any]) -> Any:
        record = self.send({**fields, "op": op, "agent_id": agent_id})
        if record["status"] == "ok":
            return record["result"]
        error = record["error"]
        raise RequestError(error["code"], error["message"], error.get("field"))


def _system_clock_ms() -> int:
    return time.time_ns() // 1_000_000
