"""A memory that counts and repeats: enough of a core to test the job around it.

``observe`` is echoed at once with a number that counts the agent's requests. ``search`` is echoed when its
query has been embedded; requests behind it wait. ``get`` of ``fail-once`` raises, one time for each marker file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyflink.common import Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from flink_memory.connectors.door import Call, Door
from flink_memory.effects import Answer, Ask, Effect, Emit, Float32Matrix, Publish, Received, SetTimer
from flink_memory.embedding import EmbeddingModel
from flink_memory.memory import Input
from flink_memory.requests import Observe, Search


class SlowModel:
    """Embeds a text as its length, after a while."""

    model_id = "slow"
    dimension = 1
    batch_size = 4

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        time.sleep(self._delay_s)
        if "unbearable" in texts:
            raise RuntimeError("cannot bear it")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


class EchoMemories:
    """All of an agent's memory is one value: a count, and the requests that wait."""

    def __init__(self, state: Any, marker: Path | None = None) -> None:
        self._state = state
        self._marker = marker

    def apply(self, agent_id: str, item: Input, now_ms: int) -> Iterable[Effect]:
        stored = json.loads(self._state.value() or b'{"count": 0, "waiting": []}')
        effects = list(self._effects(stored, item, now_ms))
        self._state.update(json.dumps(stored).encode())
        return effects

    def unanswered(self, agent_id: str) -> Iterable[Call]:
        stored = json.loads(self._state.value() or b'{"waiting": []}')
        return [Ask(first[0], (first[1],)) for first in stored["waiting"][:1]]

    def _effects(self, stored: dict[str, Any], received: Input, now_ms: int) -> Iterable[Effect]:
        waiting = stored["waiting"]
        if isinstance(received, Answer):
            if waiting and waiting[0][0] == received.ask_id:
                length = None if received.vectors is None else float(received.vectors[0, 0])
                yield self._echo(stored, waiting.pop(0)[0], length, received.error)
            while waiting and waiting[0][1] is None:
                yield self._echo(stored, waiting.pop(0)[0], None)
            if waiting:
                yield Ask(waiting[0][0], (waiting[0][1],))
            return
        if not isinstance(received, Received):
            yield self._echo(stored, "timer", None)
            return
        item = received.item
        if self._marker is not None and item.request_id == "fail-once" and not self._marker.exists():
            self._marker.touch()
            raise RuntimeError("failing on purpose")
        query = item.query if isinstance(item, Search) else None
        if waiting or query is not None:
            waiting.append([item.request_id, query])
            if len(waiting) == 1:
                yield Ask(item.request_id, (str(query),))
            return
        yield self._echo(stored, item.request_id, None)
        if isinstance(item, Observe) and item.content == "wake me":
            yield SetTimer(now_ms + 50)
        if isinstance(item, Observe):
            yield Publish(json.dumps({"observed": item.request_id}))

    @staticmethod
    def _echo(stored: dict[str, Any], request_id: str, length: float | None, error: str | None = None) -> Emit:
        stored["count"] += 1
        text = {"request_id": request_id, "count": stored["count"], "length": length, "error": error}
        return Emit(json.dumps(text, ensure_ascii=False), "echo", "error" if error else "ok")


class OpenEcho:
    """Makes :class:`EchoMemories` over Flink's state."""

    def __init__(self, marker: Path | None = None) -> None:
        self._marker = marker

    def __call__(self, runtime_context: RuntimeContext, model: EmbeddingModel) -> EchoMemories:
        descriptor = ValueStateDescriptor("echo", Types.PICKLED_BYTE_ARRAY())
        return EchoMemories(runtime_context.get_state(descriptor), self._marker)


class OpenSlowDoor:
    """Makes a door with a :class:`SlowModel`."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    def __call__(self) -> Door:
        return Door(SlowModel(self._delay_s))
