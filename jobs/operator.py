"""The memory operator: the only place in the job where Python runs.

It decodes a record, has the agent's memory apply it, and sends the outcome on. Calls to models go through
the door; their answers are picked up by timers, so that neither a record nor a checkpoint waits for them:

* a processing-time timer polls the door, about when the answer is expected;
* an event-time timer at the end of time fires when a bounded input has ended, where processing-time timers
  no longer do, and waits there for what is still unanswered.

Both are part of the checkpoint. After a restore they find no call under way, and make it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, RuntimeContext

from flink_memory.connectors.conversation import Conversation, Memories, Outcome
from flink_memory.connectors.door import Door
from flink_memory.connectors.payloads import payload_of
from flink_memory.effects import Emit, Publish, Received, SetTimer, Timer
from flink_memory.embedding import EmbeddingModel
from flink_memory.errors import ErrorDetail
from flink_memory.jobs.meter import Meter
from flink_memory.requests import Request, decode_request
from flink_memory.results import dead_letter, error_result
from flink_memory.undecodable import Invalid, Rejected

KEYED_RECORD = Types.TUPLE([Types.STRING(), Types.STRING()])
CHANGELOG = OutputTag("changelog", KEYED_RECORD)
DEAD_LETTERS = OutputTag("dead-letters", Types.STRING())

#: The last instant but one: the watermark passes it only when the input has ended.
END_OF_INPUT_MS = 2**63 - 2

_COUNTED = ("records", "dead_letters", "results_ok", "results_error")
_COUNTED_TOGETHER = 100

Output: TypeAlias = tuple[str, str] | tuple[OutputTag, Any]


class MemoryOperator(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink is not typed
    """Runs the memories of the agents whose key groups this subtask has.

    The functions are called in ``open``, on the worker, and must be importable there.

    Args:
        open_memories: Makes the memories over the keyed state of the given runtime context, for the door's model.
        open_door: Makes the door, with its model.
        most_waiting_texts: With so many texts not yet embedded the stream waits: then it is the model that sets
            the pace, and what waits is bounded.
        max_record_bytes: A request of more is refused; None for no limit.
        meter_folder: A local folder where each subtask tells how many records it has seen, and how long they took.
    """

    def __init__(
        self,
        open_memories: Callable[[RuntimeContext, EmbeddingModel], Memories],
        open_door: Callable[[], Door],
        most_waiting_texts: int = 1_000,
        meter_folder: str | None = None,
        max_record_bytes: int | None = None,
    ) -> None:
        self._max_record_bytes = max_record_bytes
        self._open_memories = open_memories
        self._open_door = open_door
        self._most_waiting_texts = most_waiting_texts
        self._meter_folder = None if meter_folder is None else Path(meter_folder)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Make what is not shipped: handles of state, threads, counters."""
        self._is_closed = False
        self._door = self._open_door()
        self._conversation = Conversation(self._open_memories(runtime_context, self._door.model), self._door)
        self._polled: set[str] = set()  # agents with both timers set by this instance
        # Named at random: in thread mode PyFlink 2.3 cannot tell a subtask its number.
        self._meter = Meter(self._meter_folder and self._meter_folder / f"{uuid4()}.json")
        metrics = runtime_context.get_metrics_group()
        self._counters = {name: metrics.counter(name) for name in _COUNTED}
        self._counts = dict.fromkeys(_COUNTED, 0)

    def close(self) -> None:
        """End the door's threads."""
        self._is_closed = True
        if hasattr(self, "_door"):
            self._door.close()
        if hasattr(self, "_meter"):
            self._meter.write()

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Output]:
        """Apply one record: a request, or something that is none."""
        started_ns = time.perf_counter_ns()
        now_ms = _now_ms()
        self._counts["records"] += 1
        if self._counts["records"] >= _COUNTED_TOGETHER:
            self._bring_counters_up()
        agent_id = ctx.get_current_key()
        payload = payload_of(value)
        item = decode_request(payload, self._max_record_bytes)
        if isinstance(item, Rejected):
            self._counts["dead_letters"] += 1
            yield DEAD_LETTERS, dead_letter(item.error, item.raw, now_ms)
        elif item.agent_id != agent_id:
            yield from self._sent([_not_keyed(item, now_ms)], item.agent_id, ctx)
        else:
            received = Received(item, payload if isinstance(payload, str) else payload.decode())
            self._door.wait_for_room(self._most_waiting_texts)
            yield from self._sent(self._conversation.apply(agent_id, received, now_ms), agent_id, ctx)
            self._watch(agent_id, now_ms, ctx)
        self._meter.record(_kind(item), started_ns, time.perf_counter_ns())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Output]:
        """Pick up answers, or tell the memory that its time has come."""
        if self._is_closed:  # at the end of its input, Flink closes the function and then fires what is just due
            return
        self._bring_counters_up()
        now_ms = _now_ms()
        agent_id = ctx.get_current_key()
        if timestamp == END_OF_INPUT_MS:
            yield from self._sent(self._conversation.drain(agent_id, _now_ms), agent_id, ctx)
            return
        if is_poll(timestamp):
            self._polled.discard(agent_id)
            yield from self._sent(self._conversation.poll(agent_id, now_ms), agent_id, ctx)
        else:
            yield from self._sent(self._conversation.apply(agent_id, Timer(), now_ms), agent_id, ctx)
        if not self._watch(agent_id, now_ms, ctx):
            ctx.timer_service().delete_event_time_timer(END_OF_INPUT_MS)

    def _bring_counters_up(self) -> None:
        """Add to Flink's counters what has been counted here: each of them costs a call into Java."""
        for name, count in self._counts.items():
            if count:
                self._counters[name].inc(count)
                self._counts[name] = 0

    def _watch(self, agent_id: str, now_ms: int, ctx: KeyedProcessFunction.Context) -> bool:
        """Have timers set while an answer is due for ``agent_id``, and say whether one is."""
        if not self._door.is_busy_for(agent_id):
            return False
        if agent_id not in self._polled:
            self._polled.add(agent_id)
            timers = ctx.timer_service()
            timers.register_processing_time_timer(poll_time(now_ms + self._door.expected_delay_ms()))
            timers.register_event_time_timer(END_OF_INPUT_MS)
        return True

    def _sent(self, outcomes: Iterable[Outcome], agent_id: str, ctx: KeyedProcessFunction.Context) -> Iterator[Output]:
        """Turn outcomes into what Flink takes: rows, side outputs and timers."""
        for outcome in outcomes:
            if isinstance(outcome, Emit):
                self._counts[f"results_{outcome.status}"] += 1
                yield agent_id, outcome.text
            elif isinstance(outcome, Publish):
                yield CHANGELOG, (agent_id, outcome.text)
            elif isinstance(outcome, SetTimer):
                ctx.timer_service().register_processing_time_timer(memory_time(outcome.at_ms))


def poll_time(at_ms: int) -> int:
    """Round up to an odd instant: those of polls are odd and those of memories even.

    Flink gives a timer back by its time alone; so the two are told apart without any state, after a restore too.
    """
    return at_ms | 1


def memory_time(at_ms: int) -> int:
    """Round up to an even instant; see :func:`poll_time`."""
    return at_ms + (at_ms & 1)


def is_poll(timestamp: int) -> bool:
    """Whether a processing-time timer is one of :func:`poll_time`."""
    return timestamp & 1 == 1


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _kind(item: Request | Invalid | Rejected) -> str:
    """Under which name the time of a record is counted: an ``op`` only where it is one."""
    return "refused" if isinstance(item, (Invalid, Rejected)) else item.op


def _not_keyed(item: Any, now_ms: int) -> Emit:
    """Answer a request whose key Flink read otherwise than we do: its memory is not under this key."""
    error = (
        item.error
        if isinstance(item, Invalid)
        else ErrorDetail(
            "VALIDATION_ERROR",
            "Expected a record whose agent_id Flink's JSON functions read as Python does, got one where they differ. "
            "Write agent_id once, near the start, and nest and number plainly.",
            "agent_id",
        )
    )
    return Emit(error_result(item.request_id, item.agent_id, item.op, error, now_ms), item.op, "error")
