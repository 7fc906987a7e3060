"""The states of an agent as PyFlink's own keyed state.

PyFlink's handles satisfy the protocols of :mod:`flink_memory.state.handles` as they are: they follow the key
that is being processed, so one set of them serves every agent of an operator.
"""

from __future__ import annotations

from typing import Any

from pyflink.common import Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

from flink_memory.state.handles import STATE_KINDS, AgentStates


def open_agent_states(runtime_context: RuntimeContext, prefix: str = "") -> AgentStates:
    """Open the states of the agents of an operator, in its ``open``.

    Every value is ``bytes``: a type that crosses to Java quickly in both modes, while nothing is pickled by class.

    Args:
        runtime_context: Of a keyed operator.
        prefix: Goes before the names of the states, so that one operator can have several sets of them.
    """
    states = {name: _opened(runtime_context, prefix + name, kind) for name, kind in STATE_KINDS.items()}
    return AgentStates(**states)


def _opened(runtime_context: RuntimeContext, name: str, kind: str) -> Any:
    values = Types.PICKLED_BYTE_ARRAY()
    if kind == "map":
        return runtime_context.get_map_state(MapStateDescriptor(name, Types.STRING(), values))
    if kind == "list":
        return runtime_context.get_list_state(ListStateDescriptor(name, values))
    return runtime_context.get_state(ValueStateDescriptor(name, values))
