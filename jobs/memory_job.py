"""The memory job, made of its configuration: the operator with the core, the state and the model in it."""

from __future__ import annotations

from pyflink.datastream import RuntimeContext

from flink_memory.config import EmbeddingConfig, MemoryConfig
from flink_memory.connectors.door import Door
from flink_memory.connectors.models import load_embedding_model
from flink_memory.effects import BuildGraph, GraphBuilt
from flink_memory.embedding import EmbeddingModel
from flink_memory.jobs.operator import MemoryOperator
from flink_memory.state.cache import AgentCache
from flink_memory.state.flink_states import open_agent_states
from flink_memory.state.store import ModelStamp
from flink_memory.state.vectors import build_graph


def memory_operator(config: MemoryConfig, meter_folder: str | None = None) -> MemoryOperator:
    """Make the job's operator; what it holds until it is opened is text.

    Args:
        config: The job's configuration.
        meter_folder: See :class:`~flink_memory.jobs.operator.MemoryOperator`.
    """
    return MemoryOperator(
        OpenMemories(config.model_dump_json()),
        OpenDoor(config.embedding.model_dump_json()),
        config.asks.max_waiting_texts,
        max_record_bytes=config.limits.max_record_bytes,
        meter_folder=meter_folder,
    )


class OpenMemories:
    """Makes the memories, on the worker.

    Args:
        config_json: The whole configuration.
    """

    def __init__(self, config_json: str) -> None:
        self._config_json = config_json

    def __call__(self, runtime_context: RuntimeContext, model: EmbeddingModel) -> AgentCache:
        """Make them in an operator's ``open``."""
        states = open_agent_states(runtime_context)
        config = MemoryConfig.model_validate_json(self._config_json)
        # The handles are those of whatever key is current, which the operator sees to.
        return AgentCache(lambda _: states, config, ModelStamp(model.model_id, model.dimension))


class OpenDoor:
    """Makes the door with the model, on the worker.

    Args:
        config_json: The configuration's section ``embedding``.
    """

    def __init__(self, config_json: str) -> None:
        self._config_json = config_json

    def __call__(self) -> Door:
        """Make it in an operator's ``open``."""
        config = EmbeddingConfig.model_validate_json(self._config_json)
        return Door(load_embedding_model(config), _built)


def _built(call: BuildGraph) -> GraphBuilt:
    return GraphBuilt(call.ask_id, build_graph(call))
