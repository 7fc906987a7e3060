"""The memory of whichever key is current: one object for all keys of an operator, as keyed state is.

It is what :class:`~flink_memory.state.flink_memory_state.MemoryState` adds to PyFlink's ``State``, and knows
nothing of PyFlink itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from pydantic_core import PydanticCustomError

from flink_memory.bank import changes_of
from flink_memory.config import MemoryConfig
from flink_memory.direct_requests import direct_request, fields_of_changed, fields_of_new
from flink_memory.effects import Answer, Float32Matrix
from flink_memory.embedding import EmbeddingModel
from flink_memory.errors import DimensionMismatchError, RequestError
from flink_memory.fields import Float32Vector, decode_vector
from flink_memory.filters import parse_filter
from flink_memory.items import MemoryChange, MemoryItem, change_item, item_of, item_of_hit
from flink_memory.memory import AgentMemory
from flink_memory.needs import texts_to_embed
from flink_memory.recent import recent_items
from flink_memory.records import Kind
from flink_memory.requests import Add, Delete, Observe, Request, Search, Update
from flink_memory.state.cache import AgentCache
from flink_memory.state.handles import AgentStates, ValueHandle
from flink_memory.state.key_marker import check_mark, key_name, set_mark
from flink_memory.state.store import HybridStore, ModelStamp

#: Numbers: an array of shape ``(dim,)``, a list, or the base64 of little-endian float32.
Vector = Float32Vector | list[float] | str
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class _Current:
    """The memory of the current key, while one method looks at it."""

    name: str
    memory: AgentMemory
    store: HybridStore
    now_ms: int


class KeyedMemory:
    """Memory of the current key.

    What is read comes as frozen items; what is changed is in state when the method returns. A mistake of the
    caller (an unknown id, a wrong field, a vector of another dimension) is a
    :class:`~flink_memory.errors.RequestError` and changes nothing.

    Args:
        states: The states of the current key.
        mark: Holds which key they are of.
        current_key: Tells the current key, and from where ``states`` take theirs.
        config: Bounds, retention, index, ranking.
        stamp: Names the model that vectors are of.
        model: Embeds texts; ``None`` when every vector is passed.
        clock_ms: The time of processing, in ms; ``None`` for the system's.
    """

    def __init__(
        self,
        states: AgentStates,
        mark: ValueHandle,
        current_key: Callable[[], object],
        config: MemoryConfig,
        stamp: ModelStamp,
        model: EmbeddingModel | None,
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        self._states = states
        self._mark = mark
        self._current_key = current_key
        self._model = model
        self._clock_ms = clock_ms or _system_clock_ms
        self._cache = AgentCache(self._open, config, stamp)

    def add(self, memory: str | MemoryItem, vector: Vector | None = None, **fields: Any) -> str:
        """Add a memory.

        Args:
            memory: Its text, or an item, whose ``created_at`` and last session are kept when it has them.
            vector: Stands for the embedding of the text; ``None`` has it embedded now.
            **fields: ``memory_id``, ``metadata``, ``memory_type``, ``confidence``, ``importance``,
                ``expires_at``, ``timestamp``, ``session_id``, as an ``add`` of the wire contract has them; times
                also as whole milliseconds since the epoch. They go before those of an item.

        Returns:
            Its id: the same again when the input is replayed from a checkpoint.

        Raises:
            RequestError: A field is wrong, or the id is in use.
        """
        given = fields_of_new(memory) | fields | {"vector": vector}
        return self._use(lambda current: str(self._carry_out(current, Add, given)["memory_id"]))

    def update(
        self, memory_id: str, memory: str | MemoryItem | None = None, vector: Vector | None = None, **fields: Any
    ) -> MemoryItem:
        """Change a memory; what is not given stays as it is.

        Args:
            memory_id: Of the memory.
            memory: A new text, or an item, of which the fields that were set are taken; the type stays.
            vector: Stands for the embedding of the new text.
            **fields: ``metadata``, ``confidence``, ``importance``, ``expires_at`` (which ``None`` clears),
                ``timestamp``, ``session_id``.

        Returns:
            The memory as it is now.

        Raises:
            RequestError: A field is wrong, or there is no such memory.
        """
        given = {"memory_id": memory_id, **fields_of_changed(memory), **fields}
        if vector is not None:
            given["vector"] = vector

        def action(current: _Current) -> MemoryItem:
            self._carry_out(current, Update, given)
            record = current.store.memory(memory_id)
            assert record is not None
            return item_of(record)

        return self._use(action)

    def delete(self, memory_id: str) -> None:
        """Delete a memory; :meth:`history` still tells of it.

        Raises:
            RequestError: There is no such memory.
        """
        self._use(lambda current: self._carry_out(current, Delete, {"memory_id": memory_id}))

    def observe(self, content: str, vector: Vector | None = None, **fields: Any) -> str:
        """Keep an event verbatim: part of the recent history, and found by searches.

        Args:
            content: What was said or done.
            vector: Stands for the embedding of the event.
            **fields: ``type`` (``user_message`` when left out), ``event_id``, ``producer``, ``metadata``,
                ``timestamp``, ``session_id``.

        Returns:
            Its id. The same event once more, by its id, changes nothing.

        Raises:
            RequestError: A field is wrong, or another event has that id.
        """
        given = {"type": "user_message", "content": content, **fields}
        return self._use(lambda current: str(self._carry_out(current, Observe, given, vector)["event_id"]))

    def get(self, memory_id: str) -> MemoryItem | None:
        """A memory, or ``None``."""

        def action(current: _Current) -> MemoryItem | None:
            record = current.store.memory(memory_id)
            return None if record is None else item_of(record)

        return self._use(action)

    def get_all(self, filter: str | None = None) -> list[MemoryItem]:  # noqa: A002  # its name on the wire
        """All memories, or those that a filter matches, in the order in which they were added."""
        condition = None if filter is None else parse_filter(filter)

        def action(current: _Current) -> list[MemoryItem]:
            store = current.store
            records = store.memories_after(-1)
            if condition is None:
                return [item_of(record) for record in records]
            return [item_of(each) for each in records if condition.matches(each.fields(store.access(each.birth)))]

        return self._use(action)

    def get_history(self, n: int = 10, session_id: str | None = None) -> list[MemoryItem]:
        """The last items that were added or observed and are still there, oldest first.

        A memory stands where it was added, with its present text.

        Args:
            n: How many at most, at least 1.
            session_id: Only those of that session.
        """
        if n < 1:
            raise RequestError("VALIDATION_ERROR", f"Expected a number of items from 1 on, got {n}.", "n")
        return self._use(lambda current: [item_of(each) for each in recent_items(current.store, n, session_id)])

    def search(
        self,
        query: str | None = None,
        vector: Vector | None = None,
        limit: int = 10,
        filter: str | None = None,  # noqa: A002  # its name on the wire
        *,
        kinds: Sequence[Kind] = ("memory", "event"),
        min_score: float | None = None,
    ) -> list[MemoryItem]:
        """What fits best, by words and by meaning: best first, each with its score.

        Args:
            query: Its words are searched for, and its embedding, if there is no vector.
            vector: Is searched by in place of the query's embedding; without a query, by it alone.
            limit: How many at most, from 1 to 1,000.
            filter: In the filter language, such as ``metadata.topic = 'work'``.
            kinds: Memories, events or both.
            min_score: What scores less is left out.

        Raises:
            RequestError: An argument is wrong.
        """
        given: dict[str, Any] = {"query": query, "vector": vector, "limit": limit, "filter": filter}
        given |= {"kinds": tuple(kinds), "min_score": min_score}

        def action(current: _Current) -> list[MemoryItem]:
            hits = orjson.loads(orjson.dumps(self._carry_out(current, Search, given)["hits"]))
            return [item_of_hit(hit) for hit in hits]

        return self._use(action)

    def history(self, memory_id: str) -> list[MemoryChange]:
        """What a memory was and why it changed, oldest first, of a deleted one, too; of an unknown one nothing."""
        return self._use(
            lambda current: [change_item(each) for each in reversed(list(changes_of(current.store, memory_id)))]
        )

    def clear(self) -> None:
        """Remove everything of the current key: memories, events, history, audit. Nothing of it stays in state."""
        self._cache.drop(key_name(self._current_key()))
        self._states.clear()
        self._mark.clear()

    def _use(self, action: Callable[[_Current], Outcome]) -> Outcome:
        """Do something with the current key's memory, brought up to date."""
        name = key_name(self._current_key())
        now_ms = self._clock_ms()

        def up_to_date(memory: AgentMemory, store: HybridStore) -> Outcome:
            if (ask := memory.reembedding()) is not None:
                memory.apply(Answer(ask.ask_id, self._embed(ask.texts)), now_ms)
            memory.catch_up(now_ms)
            return action(_Current(name, memory, store, now_ms))

        return self._cache.use(name, up_to_date)

    def _open(self, name: str) -> AgentStates:
        check_mark(self._mark, name, has_memory=self._states.manifest.value() is not None)
        return self._states

    def _carry_out(
        self, current: _Current, request_type: type[Any], fields: dict[str, Any], vector: Vector | None = None
    ) -> dict[str, Any]:
        """Carry out a request; the first that adds anything marks whose memory it is."""
        request: Request = direct_request(request_type, current.name, current.store.counters, fields)
        is_first = not current.store.counters.next_ordinal
        if vector is not None:
            vectors: Float32Matrix | None = _given(vector, current.store.dimension)
        else:
            texts = texts_to_embed(request)
            vectors = self._embed(texts) if texts else None
        result = current.memory.carry_out(request, vectors, current.now_ms)
        if is_first and current.store.counters.next_ordinal:
            set_mark(self._mark, current.name)
        return result

    def _embed(self, texts: Sequence[str]) -> Float32Matrix:
        if self._model is None:
            raise RequestError(
                "VALIDATION_ERROR",
                "Expected a vector with the text, got none, and this memory state has no embedding model. Pass "
                "vector, or give its descriptor an embedding.",
                "vector",
            )
        return self._model.embed(texts)


def _given(vector: Vector, dimension: int) -> Float32Matrix:
    try:
        decoded = decode_vector(vector)
    except PydanticCustomError as error:
        raise RequestError("VALIDATION_ERROR", error.message(), "vector") from None
    assert decoded is not None
    if len(decoded) != dimension:
        raise DimensionMismatchError(dimension, len(decoded))
    return decoded.reshape(1, -1)


def _system_clock_ms() -> int:
    return time.time_ns() // 1_000_000
