"""The agents in use: memories of an operator instance, the longest unused dropped first.

What is dropped stays in state, and is read again when its agent is next addressed. An agent is never
shown another's memory: it is found by its id alone, and the states it is read from are those of its key.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from flink_memory.config import MemoryConfig
from flink_memory.effects import Ask, BuildGraph, Effect
from flink_memory.errors import RequestError
from flink_memory.memory import AgentMemory, Input
from flink_memory.state.handles import AgentStates
from flink_memory.state.store import HybridStore, ModelStamp
from flink_memory.state.vectors import compute_alone

Outcome = TypeVar("Outcome")


class AgentCache:
    """Memories by agent, bounded in bytes.

    The bound may be exceeded by the one agent that is being used, and by agents with requests that wait,
    whose number the operator bounds.

    Made and used in one thread.

    Args:
        open_states: The states of an agent; under Flink, the handles of the current key, which must be it.
        config: The job's configuration.
        model: The embedding model in use.
    """

    def __init__(self, open_states: Callable[[str], AgentStates], config: MemoryConfig, model: ModelStamp) -> None:
        compute_alone()
        self._open_states = open_states
        self._config = config
        self._model = model
        self._agents: OrderedDict[str, tuple[AgentMemory, HybridStore]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self.nbytes = 0
        self.loads = 0

    def __len__(self) -> int:
        return len(self._agents)

    def apply(self, agent_id: str, item: Input, now_ms: int) -> list[Effect]:
        """Apply one input to an agent's memory."""
        memory, store = self._agent(agent_id)
        try:
            effects = memory.apply(item, now_ms)
        except BaseException:
            self.drop(agent_id)
            raise
        self._account(agent_id, store.nbytes)
        return effects

    def use(self, agent_id: str, action: Callable[[AgentMemory, HybridStore], Outcome]) -> Outcome:
        """Do something with an agent's memory.

        Args:
            agent_id: Whose memory.
            action: What to do; whatever it raises beside a :class:`RequestError` has the agent read anew from
                its state when it is next used.
        """
        memory, store = self._agent(agent_id)
        try:
            outcome = action(memory, store)
        except RequestError:
            raise
        except BaseException:
            self.drop(agent_id)
            raise
        self._account(agent_id, store.nbytes)
        return outcome

    def unanswered(self, agent_id: str) -> list[Ask | BuildGraph]:
        """The calls that an agent's memory still waits for."""
        memory, store = self._agent(agent_id)
        self._account(agent_id, store.nbytes)
        return memory.unanswered()

    def load(self, agent_id: str) -> None:
        """Read an agent from its state, if it is not in use already."""
        _, store = self._agent(agent_id)
        self._account(agent_id, store.nbytes)

    def drop(self, agent_id: str) -> None:
        """Let go of an agent; its state stays."""
        self._agents.pop(agent_id, None)
        self.nbytes -= self._sizes.pop(agent_id, 0)

    def _agent(self, agent_id: str) -> tuple[AgentMemory, HybridStore]:
        found = self._agents.get(agent_id)
        if found is None:
            store = HybridStore(self._open_states(agent_id), self._config, self._model)
            found = AgentMemory(agent_id, store, self._config), store
            self._agents[agent_id] = found
            self.loads += 1
        else:
            self._agents.move_to_end(agent_id)
        return found

    def _account(self, agent_id: str, nbytes: int) -> None:
        self.nbytes += nbytes - self._sizes.get(agent_id, 0)
        self._sizes[agent_id] = nbytes
        if self.nbytes <= self._config.cache.max_bytes:
            return
        for candidate in list(self._agents):
            if self.nbytes <= self._config.cache.max_bytes or candidate == agent_id:
                return
            if not self._agents[candidate][0].is_waiting:
                self.drop(candidate)
