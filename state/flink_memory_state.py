"""Memory as keyed state of anybody's Flink function.

Made in ``open`` as a ``MapState`` is, and then always that of the current key:

    def open(self, runtime_context):
        descriptor = MemoryStateDescriptor("tickets", HashingModel())
        self.tickets = MemoryState.of(runtime_context, descriptor)

    def process_element(self, ticket, ctx):
        similar = self.tickets.search(ticket.text, limit=3)
        self.tickets.add(ticket.text, metadata={"number": ticket.number})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary

from pyflink.common import Row, Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import State, StateDescriptor, ValueStateDescriptor
from typing_extensions import Self

from flink_memory.config import MemoryConfig, parse_config
from flink_memory.embedding import EmbeddingModel
from flink_memory.embedding_function import EmbeddingFunction
from flink_memory.errors import ConfigurationError
from flink_memory.state.flink_states import open_agent_states
from flink_memory.state.keyed_memory import KeyedMemory
from flink_memory.state.store import ModelStamp

_GIVEN = "given"
#: By runtime context and name: a second request for a state gives the first one, as two live copies of one
#: memory would not see each other's changes.
_OPENED: WeakKeyDictionary[RuntimeContext, dict[str, MemoryState]] = WeakKeyDictionary()


class MemoryStateDescriptor(StateDescriptor):  # type: ignore[misc]  # PyFlink is not typed
    """What a memory state is called, and how it turns text into vectors.

    It can be made in ``open``, or before and shipped with the function if what it holds can be pickled: a
    function of an importable module and :class:`~flink_memory.embedding.HashingModel` can, an ONNX model cannot.

    Args:
        name: Unique among the states of the operator; the names of its Flink states begin with it. Fixed for ever
            by the first savepoint.
        embedding: A model, or a function of texts that gives a row of numbers for each, which has to be quick: it
            is called while the element is processed, and everything waits for it. ``None`` when every vector is
            passed by the caller.
        dimension: Numbers in a vector. A model knows its own.
        model_id: Names what a function, or the caller, makes vectors with. State remembers it, and a job that
            comes back with another one stops, or embeds everything anew (``embedding.on_model_change``).
        config: As in ``memory.yaml``, or its sections by name. Of ``embedding`` only ``on_model_change`` counts,
            and ``asks`` and ``sensory.max_requests`` not at all; search is always exact, without graphs.

    Raises:
        ConfigurationError: The parts do not fit.
    """

    def __init__(
        self,
        name: str,
        embedding: EmbeddingModel | Callable[[list[str]], Any] | None = None,
        *,
        dimension: int | None = None,
        model_id: str | None = None,
        config: MemoryConfig | Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"Expected a name for the memory state, got {name!r}.")
        super().__init__(name, Types.PICKLED_BYTE_ARRAY())
        self.config = config if isinstance(config, MemoryConfig) else parse_config(config or {}, f"config of {name!r}")
        self.model = _model(name, embedding, dimension, model_id)
        if self.model is not None:
            self.stamp = ModelStamp(self.model.model_id, self.model.dimension)
        elif dimension is not None and dimension >= 1:
            self.stamp = ModelStamp(model_id or _GIVEN, dimension)
        else:
            raise ConfigurationError(
                f"The memory state {name!r} needs an embedding, or, where every vector is passed, a dimension from "
                f"1 on; got no embedding and the dimension {dimension}."
            )

    def enable_time_to_live(self, ttl_config: Any) -> NoReturn:
        """Refused: Flink would take a memory's record and leave its vector, or the other way round.

        Raises:
            ConfigurationError: Always; it says what to do.
        """
        raise ConfigurationError(
            f"Expected ages in the config of the memory state {self.name!r}, got Flink's time to live, which knows "
            "nothing of what belongs together. Set memories.max_age_days, sensory.max_age_days, history.max_age_days "
            "or audit.max_age_days, or give single memories expires_at."
        )


class MemoryState(KeyedMemory, State):  # type: ignore[misc]  # PyFlink is not typed
    """The memory of the current key, as keyed state of a function.

    It belongs to a key, is part of every checkpoint and savepoint, moves with its key when the job is rescaled,
    and is used by the function's own thread alone, while an element or a timer of a key is processed. See
    :class:`~flink_memory.state.keyed_memory.KeyedMemory` for its methods.
    """

    @classmethod
    def of(cls, runtime_context: RuntimeContext, descriptor: MemoryStateDescriptor) -> Self:
        """Get a memory state, in the ``open`` of a function on a keyed stream.

        Asked for again by the same name, it is the same object.

        Raises:
            ConfigurationError: The stream is not keyed.
        """
        backend = getattr(runtime_context, "_keyed_state_backend", None)
        if backend is None:
            raise ConfigurationError(
                f"Expected a function on a keyed stream for the memory state {descriptor.name!r}, got one without "
                "keyed state. Call key_by before process."
            )
        opened: dict[str, Any] = _OPENED.setdefault(runtime_context, {})
        if descriptor.name not in opened:
            opened[descriptor.name] = cls(
                open_agent_states(runtime_context, f"{descriptor.name}."),
                runtime_context.get_state(ValueStateDescriptor(f"{descriptor.name}.key", Types.PICKLED_BYTE_ARRAY())),
                _current_key_of(backend),
                descriptor.config,
                descriptor.stamp,
                descriptor.model,
            )
        found: Self = opened[descriptor.name]
        return found


def get_memory_state(runtime_context: RuntimeContext, descriptor: MemoryStateDescriptor) -> MemoryState:
    """Get a memory state, as ``runtime_context.get_map_state`` gets a map; see :meth:`MemoryState.of`."""
    return MemoryState.of(runtime_context, descriptor)


def _current_key_of(backend: Any) -> Callable[[], object]:
    """How to ask the keyed state backend for the key that all its states follow at the moment.

    It is the very place from which they take it, in ``process_element`` and in ``on_timer`` alike, so name and
    state cannot differ. In process mode it is a row around the function's key, in thread mode that key itself.
    """
    if hasattr(backend, "set_current_key"):  # process mode: Python tells the backend its key

        def wrapped_key() -> object:
            row = backend.get_current_key()
            return None if row is None else _plain(row[0])

        return wrapped_key
    return lambda: _plain(backend.get_current_key())


def _plain(key: object) -> object:
    """Rows as tuples: composite keys come as the one or the other, by mode."""
    if isinstance(key, (Row, tuple, list)):
        return tuple(_plain(part) for part in key)
    return key


def _model(
    name: str,
    embedding: EmbeddingModel | Callable[[list[str]], Any] | None,
    dimension: int | None,
    model_id: str | None,
) -> EmbeddingModel | None:
    if embedding is None:
        return None
    if not hasattr(embedding, "embed"):
        if dimension is None or dimension < 1 or not callable(embedding):
            raise ConfigurationError(
                f"Expected an embedding model, or a function together with its dimension, for the memory state "
                f"{name!r}, got {embedding!r} and the dimension {dimension}."
            )
        return EmbeddingFunction(embedding, dimension, model_id or "function")
    model = cast("EmbeddingModel", embedding)
    if dimension not in (None, model.dimension) or model_id not in (None, model.model_id):
        raise ConfigurationError(
            f"The embedding model of the memory state {name!r} is {model.model_id!r} with {model.dimension} "
            f"dimensions, got {model_id!r} and {dimension}. Leave both out: a model knows its own."
        )
    return model
