"""The door between a memory and slow computations: calls go out, answers are picked up later.

A call never holds up the thread that makes it. Embedding runs in one worker thread, which takes whatever
has gathered, of any agent, as one batch; building a graph, which takes far longer, runs in another.
Answers are kept until their agent collects them. All methods may be called from any thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from flink_memory.connectors.batches import answer_asks
from flink_memory.effects import Answer, Ask, BuildGraph, GraphBuilt
from flink_memory.embedding import EmbeddingModel

Call: TypeAlias = Ask | BuildGraph
Reply: TypeAlias = Answer | GraphBuilt
GraphBuilder: TypeAlias = Callable[[BuildGraph], GraphBuilt]

SHORTEST_DELAY_MS = 2
LONGEST_DELAY_MS = 1_000
_SMOOTHING = 0.2


class Door:
    """Hands calls to worker threads, and keeps their answers by agent.

    What is in here is lost when the process dies: who asks keeps the ask in state, and asks again.

    Args:
        model: Embeds the texts of an :class:`Ask`; used by one thread only.
        build_graph: Answers a :class:`BuildGraph`; without it such a call is never answered.
    """

    def __init__(self, model: EmbeddingModel, build_graph: GraphBuilder | None = None) -> None:
        self.model = model
        self._build_graph = build_graph
        self._changed = threading.Condition()
        self._asks: deque[tuple[str, Ask]] = deque()
        self._builds: deque[tuple[str, BuildGraph]] = deque()
        self._unanswered: dict[str, set[str]] = {}
        self._replies: dict[str, list[Reply]] = {}
        self._waiting_texts = 0
        self._batch_s = 0.0
        self._text_s = 0.0
        self._closed = False
        self._failure: BaseException | None = None
        self._threads = [self._start(self._embed_batches, "embedding")]
        if build_graph is not None:
            self._threads.append(self._start(self._build_graphs, "graph-building"))

    def submit(self, agent_id: str, call: Call) -> None:
        """Start ``call``; does nothing if it is under way, or answered and not collected."""
        with self._changed:
            open_calls = self._unanswered.setdefault(agent_id, set())
            if call.ask_id in open_calls or self._is_answered(agent_id, call.ask_id):
                return
            open_calls.add(call.ask_id)
            if isinstance(call, Ask):
                self._asks.append((agent_id, call))
                self._waiting_texts += len(call.texts)
            else:
                self._builds.append((agent_id, call))
            self._changed.notify_all()

    def collect(self, agent_id: str) -> list[Reply]:
        """Take the answers that are there for ``agent_id``, in the order in which they came; each is given once.

        Raises:
            RuntimeError: A worker thread has died; no more answers will come.
        """
        with self._changed:
            self._require_workers()
            return self._replies.pop(agent_id, [])

    def is_busy_for(self, agent_id: str) -> bool:
        """Whether a call of ``agent_id`` is under way, or answered and not collected."""
        return bool(self._unanswered.get(agent_id)) or agent_id in self._replies

    def wait(self, agent_id: str, timeout_s: float) -> bool:
        """Block until there is something to collect for ``agent_id``, and say whether there is.

        Comes back at once when nothing is under way for that agent.

        Raises:
            RuntimeError: The door is closed, or a worker thread has died.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: agent_id in self._replies or not self._unanswered.get(agent_id) or self._is_over(), timeout_s
            )
            self._require_workers()
            return agent_id in self._replies

    def wait_for_room(self, most_texts: int) -> None:
        """Block while ``most_texts`` or more wait to be embedded: a stream is not to outrun its model for ever."""
        if self._waiting_texts < most_texts:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_texts < most_texts or self._is_over())
            self._require_workers()

    @property
    def waiting_texts(self) -> int:
        """How many texts are not embedded yet."""
        return self._waiting_texts

    def expected_delay_ms(self) -> int:
        """Estimate when a call made now will be answered, from what waits and how long batches took."""
        expected_s = self._batch_s + self._waiting_texts * self._text_s
        return min(max(round(expected_s * 1_000), SHORTEST_DELAY_MS), LONGEST_DELAY_MS)

    def close(self) -> None:
        """End the worker threads after what they are at; what waits is dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _is_over(self) -> bool:
        return self._closed or self._failure is not None

    def _require_workers(self) -> None:
        if self._is_over():
            raise RuntimeError("no answers will come: the door is closed, or a thread of it died") from self._failure

    def _run(self, work: Callable[[], None]) -> None:
        """Run a worker thread; what ends it too early ends the job, rather than have it wait for ever."""
        try:
            work()
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()
            raise

    def _is_answered(self, agent_id: str, ask_id: str) -> bool:
        return any(reply.ask_id == ask_id for reply in self._replies.get(agent_id, ()))

    def _embed_batches(self) -> None:
        while batch := self._next_batch():
            started = time.perf_counter()
            answers = answer_asks(self.model, [ask for _, ask in batch])
            self._learn_speed(time.perf_counter() - started, sum(len(ask.texts) for _, ask in batch))
            self._deliver([(agent_id, answer) for (agent_id, _), answer in zip(batch, answers, strict=True)])

    def _next_batch(self) -> list[tuple[str, Ask]]:
        """Wait for asks, and take as many as fit into a batch, at least one; [] when the door is closed."""
        batch: list[tuple[str, Ask]] = []
        texts = 0
        with self._changed:
            self._changed.wait_for(lambda: self._asks or self._closed)
            while self._asks and not self._closed and (not batch or texts < self.model.batch_size):
                batch.append(self._asks.popleft())
                texts += len(batch[-1][1].texts)
        return batch

    def _learn_speed(self, batch_s: float, texts: int) -> None:
        self._batch_s += _SMOOTHING * (batch_s - self._batch_s)
        self._text_s += _SMOOTHING * (batch_s / max(texts, 1) - self._text_s)
        with self._changed:
            self._waiting_texts -= texts

    def _build_graphs(self) -> None:
        assert self._build_graph is not None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._builds or self._closed)
                if self._closed:
                    return
                agent_id, build = self._builds.popleft()
            self._deliver([(agent_id, self._build_graph(build))])

    def _deliver(self, replies: list[tuple[str, Reply]]) -> None:
        with self._changed:
            for agent_id, reply in replies:
                self._replies.setdefault(agent_id, []).append(reply)
                open_calls = self._unanswered[agent_id]
                open_calls.discard(reply.ask_id)
                if not open_calls:
                    del self._unanswered[agent_id]
            self._changed.notify_all()

    def _start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=self._run, args=(work,), name=f"flink-memory-{name}", daemon=True)
        thread.start()
        return thread
