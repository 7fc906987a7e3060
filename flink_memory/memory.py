"""The memory of one agent: inputs in, effects out, and nothing else.

No clock, no network, no randomness: time is passed in, ids follow from the input, and whatever has to
be asked of the world is returned as an effect, whose answer is an input again. So the same inputs give
the same memory, under Flink as in a dictionary.

Requests are carried out in the order in which they arrive. One that needs an embedding waits in state
until the answer comes, and those behind it wait, too: an agent reads what it wrote.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import orjson

from flink_memory import bank, episodes, forgetting, retrieval
from flink_memory.config import MemoryConfig
from flink_memory.counters import Counters
from flink_memory.draft import Draft
from flink_memory.effects import (
    Answer,
    Ask,
    BuildGraph,
    Effect,
    Emit,
    Float32Matrix,
    GraphBuilt,
    Publish,
    Received,
    SetTimer,
    Timer,
)
from flink_memory.errors import ErrorCode, ErrorDetail, FlinkMemoryError, RequestError
from flink_memory.execution import Execution
from flink_memory.needs import check_request, texts_to_embed
from flink_memory.records import NEVER_ACCESSED, Cause, Change, MemoryRecord
from flink_memory.requests import Request, Update, decode_request
from flink_memory.results import change_record, duplicate_of, error_result, ok_result_from_fragment
from flink_memory.retention import DAY_MS, expire, trim
from flink_memory.store import AgentStore
from flink_memory.undecodable import Invalid

Input: TypeAlias = Received | Answer | GraphBuilt | Timer
Operation: TypeAlias = Callable[[Execution[Any]], dict[str, Any]]

_LOG = logging.getLogger(__name__)

_OPERATIONS: Final[dict[str, Operation]] = {
    "observe": episodes.observe,
    "add": bank.add,
    "add_messages": episodes.add_messages,
    "update": bank.update,
    "delete": bank.delete,
    "get": bank.get,
    "get_all": bank.get_all,
    "history": bank.history,
    "get_history": episodes.get_history,
    "search": retrieval.search,
    "end_session": episodes.end_session,
    "forget": forgetting.forget,
}
_READS: Final = frozenset({"get", "get_all", "history", "get_history", "search"})
#: Results that hold texts of memories or events.
_QUOTING: Final = _READS | {"update"}
#: Errors that a later try may not meet: the request may come again under its id.
_PASSING: Final = frozenset({"UNAVAILABLE", "TIMEOUT", "INTERNAL"})
#: A result of more bytes is not kept for a repeat of its request; a read is then carried out again.
_KEPT_RESULT_BYTES: Final = 16 * 1024
_REEMBED: Final = "reembed"
_TRIM_ROUNDS: Final = 4
_DEFECT: Final = "The operation failed by a defect; nothing of it was written. The log of the job tells more."


@dataclass(slots=True)
class _Waiting:
    """A request in the queue."""

    number: int
    arrived_ms: int
    item: Request | Invalid
    ask: Ask | None


class AgentMemory:
    """One agent's memory.

    It has one writer and no locks. What it holds beside its store (the queue, decoded; answers that came
    before their turn) follows from the state, or is asked for again.

    Args:
        agent_id: Whose memory.
        store: Where it is kept.
        config: The job's configuration.
    """

    def __init__(self, agent_id: str, store: AgentStore, config: MemoryConfig) -> None:
        self._agent_id = agent_id
        self._store = store
        self._config = config
        self._queue = deque(self._decoded(*entry) for entry in store.waiting())
        self._answers: dict[str, Answer] = {}
        self._due_ms = store.next_due_ms()
        self._timer_ms: int | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether requests wait for answers."""
        return bool(self._queue)

    def apply(self, item: Input, now_ms: int) -> list[Effect]:
        """Apply one input.

        Args:
            item: A record that arrived, an answer, or a timer.
            now_ms: The time of processing; does not go back.

        Returns:
            What is to be done, in order.
        """
        effects: list[Effect] = []
        self._expire(now_ms, effects)
        if isinstance(item, Received):
            self._receive(item, now_ms, effects)
        elif isinstance(item, Answer):
            self._answer(item, now_ms, effects)
        elif isinstance(item, GraphBuilt):
            self._store.set_graph(item.ask_id, item.graph)
        self._set_timer(now_ms, effects)
        return effects

    def carry_out(self, request: Request, vectors: Float32Matrix | None, now_ms: int) -> dict[str, Any]:
        """Carry out one request at once, for a caller in this process who has its embeddings at hand.

        Of the request itself nothing is kept, so a repeat is not noticed, and reading writes nothing: it is not
        counted as an access.

        Args:
            request: Its ``op`` is one that is carried out here.
            vectors: Embeddings of its :func:`~flink_memory.needs.texts_to_embed`, shape ``(n, dim)``.
            now_ms: The time of processing; does not go back.

        Returns:
            The ``result`` of the wire contract.

        Raises:
            RequestError: It cannot be carried out; it changed nothing.
        """
        effects: list[Effect] = []
        self._expire(now_ms, effects)
        check_request(request, self._config.limits, self._store.dimension)
        draft = self._draft(request, now_ms)
        result = _OPERATIONS[request.op](Execution(request, self._store, self._config, draft, vectors))
        if request.op not in _READS:
            self._write(draft, effects)
            self._trim(now_ms, effects)
        return result

    def catch_up(self, now_ms: int) -> None:
        """Remove what has come to its end by now; for who reads the store beside :meth:`carry_out`."""
        self._expire(now_ms, [])

    def reembedding(self) -> Ask | None:
        """The call to make before all else when the vectors are of another model; :meth:`apply` takes its answer."""
        return self._reembedding() if self._store.needs_vectors else None

    def unanswered(self) -> list[Ask | BuildGraph]:
        """The calls whose answers are still missing: to be made again when they are not under way."""
        if self._store.needs_vectors and self._queue:
            return [self._reembedding()]
        asks = [waiting.ask for waiting in self._queue]
        return [ask for ask in asks if ask is not None and ask.ask_id not in self._answers]

    def _receive(self, item: Received, now_ms: int, effects: list[Effect]) -> None:
        ask_texts = self._texts(item.item)
        if not self._queue and not ask_texts and not self._store.needs_vectors:
            self._carry_out(item.item, now_ms, None, now_ms, effects)
            return
        if self._store.needs_vectors and not self._queue:
            effects.append(self._reembedding())
        number = self._store.enqueue(now_ms, item.payload)
        ask = Ask(str(number), ask_texts) if ask_texts else None
        self._queue.append(_Waiting(number, now_ms, item.item, ask))
        if ask is not None and not self._store.needs_vectors:
            effects.append(ask)

    def _answer(self, answer: Answer, now_ms: int, effects: list[Effect]) -> None:
        if answer.ask_id == _REEMBED:
            self._reembed(answer, effects)
        else:
            self._answers.setdefault(answer.ask_id, answer)
        if self._store.needs_vectors:
            return
        while self._queue:
            first = self._queue[0]
            if first.ask is None and (texts := self._texts(first.item)):
                # It was known when it came, or its result was; what went before it has changed that.
                first.ask = Ask(str(first.number), texts)
                effects.append(first.ask)
                return
            found = None if first.ask is None else self._answers.pop(first.ask.ask_id, None)
            if first.ask is not None and found is None:
                return
            self._queue.popleft()
            self._store.dequeue()
            self._carry_out(first.item, first.arrived_ms, found, now_ms, effects)
        self._answers.clear()

    def _carry_out(
        self,
        item: Request | Invalid,
        arrived_ms: int,
        answer: Answer | None,
        now_ms: int,
        effects: list[Effect],
    ) -> None:
        """Carry out one request, or say why not; either way it gets its one result."""
        self._expire(now_ms, effects)  # also between two that one answer has set free
        known = self._store.outcome(item.request_id)
        if known:
            text = self._head(item) + known.decode()
            _emit(duplicate_of(text), item, _status_of(known), effects)
            return
        draft = self._draft(item, arrived_ms)
        try:
            result = self._result(item, answer, draft, is_repeat=known is not None)
        except RequestError as error:
            self._fail(item, error.detail, arrived_ms, now_ms, effects, is_repeat=known is not None)
            return
        except FlinkMemoryError:
            raise
        except Exception:  # noqa: BLE001  # one request must not end the job; nothing has been written yet
            _LOG.exception("An operation %r failed. Nothing of it was written.", item.op)
            detail = ErrorDetail(
                "INTERNAL", "The operation failed by a defect; nothing of it was written. Its log tells more."
            )
            self._fail(item, detail, arrived_ms, now_ms, effects, is_repeat=known is not None)
            return
        is_repeat = known is not None or bool(result.pop("duplicate", False))
        text = ok_result_from_fragment(item.request_id, self._agent_id, item.op or "", orjson.dumps(result), now_ms)
        if known is None:
            self._write(draft, effects)
            self._remember(item, arrived_ms, text, quotes=item.op in _QUOTING)
            self._trim(now_ms, effects)
            effects.extend(self._store.graphs_due())
        _emit(duplicate_of(text) if is_repeat else text, item, "ok", effects)

    def _result(
        self, item: Request | Invalid, answer: Answer | None, draft: Draft, *, is_repeat: bool
    ) -> dict[str, Any]:
        if isinstance(item, Invalid):
            raise _refused(item.error)
        check_request(item, self._config.limits, self._store.dimension)
        if answer is not None and answer.vectors is None:
            code: ErrorCode = "TIMEOUT" if answer.code == "TIMEOUT" else "UNAVAILABLE"
            raise RequestError(code, f"{answer.error} The request changed nothing; send it again.")
        if is_repeat and item.op not in _READS:
            return self._result_of_repeat(item)
        operation = _OPERATIONS.get(item.op)
        if operation is None:
            raise RequestError(
                "VALIDATION_ERROR",
                f"Expected one of {', '.join(_OPERATIONS)}, got {item.op!r}, which this release does not do yet.",
                "op",
            )
        vectors: Float32Matrix | None = None if answer is None else answer.vectors
        return operation(Execution(item, self._store, self._config, draft, vectors))

    def _result_of_repeat(self, item: Request) -> dict[str, Any]:
        """The result of a change made before, whose own result was not kept."""
        if isinstance(item, Update):
            record = self._store.memory(item.memory_id)
            return {"memory": None if record is None else record.wire(self._store.access(record.birth))}
        return {}

    def _fail(
        self,
        item: Request | Invalid,
        detail: ErrorDetail,
        arrived_ms: int,
        now_ms: int,
        effects: list[Effect],
        *,
        is_repeat: bool,
    ) -> None:
        text = error_result(item.request_id, self._agent_id, item.op, detail, now_ms)
        if is_repeat:
            text = duplicate_of(text)
        elif detail.code not in _PASSING:
            self._remember(item, arrived_ms, text, quotes=False)
        _emit(text, item, "error", effects)

    def _remember(self, item: Request | Invalid, arrived_ms: int, text: str, *, quotes: bool) -> None:
        stored = text.removeprefix(self._head(item)).encode()
        if quotes and len(stored) > _KEPT_RESULT_BYTES:
            stored = b""
        self._store.remember(item.request_id, arrived_ms, stored, quotes=quotes)

    def _head(self, item: Request | Invalid) -> str:
        """How every result of a request begins; what is kept of one leaves it out."""
        ids = {"request_id": item.request_id, "agent_id": self._agent_id}
        return orjson.dumps(ids).decode().removesuffix("}") + ","

    def _trim(self, now_ms: int, effects: list[Effect]) -> None:
        for _ in range(_TRIM_ROUNDS):  # what one round ends may itself be too much for the audit history
            draft = trim(self._store, self._config, now_ms)
            if draft is None:
                return
            self._write(draft, effects)

    def _expire(self, now_ms: int, effects: list[Effect]) -> None:
        if self._due_ms is not None and now_ms >= self._due_ms:
            self._write(expire(self._store, self._config, now_ms), effects)
            self._due_ms = self._store.next_due_ms()

    def _write(self, draft: Draft | None, effects: list[Effect]) -> None:
        """Write a draft and publish its changes."""
        if draft is None:
            return
        self._store.commit(draft)
        for change in draft.changes:
            record = draft.memories.get(change.memory_id)
            effects.append(Publish(self._change_text(change, record)))
        if draft.rows or draft.superseded:
            self._note_dues(draft)

    def _change_text(self, change: Change, record: MemoryRecord | None) -> str:
        is_latest = record is not None and record.last_change.sequence == change.sequence
        return change_record(
            self._agent_id,
            change.sequence,
            change.memory_id,
            change.action,
            change.old_memory,
            change.new_memory,
            bank.cause_fields(change),
            change.at_ms,
            record.wire(NEVER_ACCESSED) if record is not None and is_latest else None,
        )

    def _note_dues(self, draft: Draft) -> None:
        sensory, memories = self._config.sensory.max_age_days, self._config.memories.max_age_days
        history, audit = self._config.history.max_age_days, self._config.audit.max_age_days
        dues = [row.expires_ms for row in draft.rows if row.expires_ms]
        if sensory is not None and draft.events:
            dues.append(draft.arrived_ms + int(sensory * DAY_MS))
        if memories is not None and draft.memories:
            dues.append(draft.arrived_ms + int(memories * DAY_MS))
        if history is not None and draft.history:
            dues.append(draft.arrived_ms + int(history * DAY_MS))
        if audit is not None:
            kept = [change for change in draft.superseded.values() if change is not None]
            dues += [change.arrived_ms + int(audit * DAY_MS) for change in kept]
        if dues:
            self._due_ms = min(dues) if self._due_ms is None else min(self._due_ms, *dues)

    def _set_timer(self, now_ms: int, effects: list[Effect]) -> None:
        if self._due_ms is None:
            return
        if self._timer_ms is None or self._due_ms < self._timer_ms or self._timer_ms <= now_ms:
            self._timer_ms = max(self._due_ms, now_ms + 1)
            effects.append(SetTimer(self._timer_ms))

    def _draft(self, item: Request | Invalid, arrived_ms: int) -> Draft:
        counters: Counters = self._store.counters.copy()
        at_ms = getattr(item, "timestamp_ms", None)
        cause = Cause(item.request_id, item.op or "")
        session_id = getattr(item, "session_id", None) or ""
        return Draft(counters, cause, arrived_ms if at_ms is None else at_ms, arrived_ms, session_id)

    def _texts(self, item: Request | Invalid) -> tuple[str, ...]:
        """What has to be embedded first; nothing for a request that will fail, or was carried out before."""
        if isinstance(item, Invalid) or item.op not in _OPERATIONS:
            return ()
        texts = texts_to_embed(item)
        if not texts or self._store.outcome(item.request_id):
            return ()
        try:
            check_request(item, self._config.limits, self._store.dimension)
        except RequestError:
            return ()
        return texts

    def _decoded(self, number: int, arrived_ms: int, payload: str) -> _Waiting:
        item = decode_request(payload)
        if not isinstance(item, Invalid) and not hasattr(item, "op"):
            raise TypeError(f"Expected a request in the queue, found {type(item).__name__}. This is a defect.")
        texts = self._texts(item)  # type: ignore[arg-type]  # checked above
        return _Waiting(number, arrived_ms, item, Ask(str(number), texts) if texts else None)  # type: ignore[arg-type]

    def _reembedding(self) -> Ask:
        return Ask(_REEMBED, tuple(self._store.texts()))

    def _reembed(self, answer: Answer, effects: list[Effect]) -> None:
        if not self._store.needs_vectors:
            return
        if answer.vectors is None:
            raise FlinkMemoryError(
                f"Expected new embeddings of an agent's memory, got an error: {answer.error} The job stops; "
                "nothing was changed. Restart it when the model answers."
            )
        vectors = answer.vectors
        if len(vectors) != len(self._store.texts()):  # something has expired since they were asked for
            effects.append(self._reembedding())
            return
        if self._config.index.metric == "cosine":
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.where(lengths > 0, lengths, 1).astype(np.float32)
        self._store.replace_vectors(vectors)
        effects.extend(waiting.ask for waiting in self._queue if waiting.ask is not None)


def _status_of(result: bytes) -> str:
    """Status of a result record; quotes inside the ids before it are escaped."""
    return "error" if result.partition(b'"status":"')[2].startswith(b"error") else "ok"


def _emit(text: str, item: Request | Invalid, status: str, effects: list[Effect]) -> None:
    effects.append(Emit(text, item.op or "", status))


def _refused(detail: ErrorDetail) -> RequestError:
    return RequestError(detail.code, detail.message, detail.field)
