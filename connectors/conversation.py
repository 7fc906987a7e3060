"""The loop between memories and the door, shared by the Flink operator and the local runner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from flink_memory.connectors.door import Call, Door
from flink_memory.effects import Ask, BuildGraph, Effect, Emit, Publish, SetTimer
from flink_memory.memory import Input

Outcome: TypeAlias = Emit | Publish | SetTimer

_WAIT_S = 60.0


class Memories(Protocol):
    """The memories of all agents of one operator instance."""

    def apply(self, agent_id: str, item: Input, now_ms: int, /) -> Iterable[Effect]:
        """Apply one input to an agent's memory and say what is to be done."""
        ...

    def unanswered(self, agent_id: str, /) -> Iterable[Call]:
        """List the calls that the agent's state still waits for: after a restart they are made again."""
        ...


class Conversation:
    """Takes inputs to the memories, their calls to the door, and the answers back."""

    def __init__(self, memories: Memories, door: Door) -> None:
        self._memories = memories
        self._door = door

    def apply(self, agent_id: str, item: Input, now_ms: int) -> list[Outcome]:
        """Apply one input; its calls go to the door, the rest is returned in order."""
        outcomes: list[Outcome] = []
        for effect in self._memories.apply(agent_id, item, now_ms):
            if isinstance(effect, (Ask, BuildGraph)):
                self._door.submit(agent_id, effect)
            else:
                outcomes.append(effect)
        return outcomes

    def poll(self, agent_id: str, now_ms: int) -> list[Outcome]:
        """Apply the answers that have come; never blocks.

        When the state waits for calls that are not under way, as after a restart, they are made again.
        """
        outcomes: list[Outcome] = []
        for reply in self._door.collect(agent_id):
            outcomes += self.apply(agent_id, reply, now_ms)
        if not self._door.is_busy_for(agent_id):
            for call in self._memories.unanswered(agent_id):
                self._door.submit(agent_id, call)
        return outcomes

    def drain(self, agent_id: str, clock: Callable[[], int]) -> Iterator[Outcome]:
        """Wait for every answer of ``agent_id``, those to calls made meanwhile included, and apply them."""
        while True:
            yield from self.poll(agent_id, clock())
            if not self._door.is_busy_for(agent_id):
                return
            self._door.wait(agent_id, _WAIT_S)
