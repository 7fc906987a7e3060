"""Requests made in this process, from arguments and items instead of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from hashlib import blake2b
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from flink_memory.counters import Counters
from flink_memory.errors import RequestError
from flink_memory.items import MemoryItem
from flink_memory.problems import problem

AnyRequest = TypeVar("AnyRequest", bound=BaseModel)

_CHANGEABLE = ("memory", "metadata", "confidence", "importance", "expires_at")
_OWNED = ("metadata", "content")


def direct_request(
    request_type: type[AnyRequest], agent_id: str, counters: Counters, fields: Mapping[str, Any]
) -> AnyRequest:
    """Make a request, checked as one that came over the wire.

    Ids of new items follow from its ``request_id``, and that from where the numbering stands: an input that is
    replayed from a checkpoint makes the same id again. The text is part of it, so that ids do not come back for
    other texts when a memory is cleared and numbered anew.

    Args:
        request_type: One of :data:`flink_memory.requests.REQUEST_TYPES`.
        agent_id: Whose memory.
        counters: Where its numbering stands.
        fields: The others; what they hold may be changed by its owner later on.

    Raises:
        RequestError: ``VALIDATION_ERROR`` with the field at fault.
    """
    given = {name: deepcopy(value) if name in _OWNED else value for name, value in fields.items()}
    text = str(given.get("memory", given.get("content", "")))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    try:
        return request_type(
            request_id=f"{counters.next_ordinal}-{counters.sequence}-{digest}", agent_id=agent_id, **given
        )
    except ValidationError as error:
        name = request_type.__name__.lower()
        worst = problem(error.errors(include_url=False)[0], _names(request_type), f"The method {name}")
    raise RequestError("VALIDATION_ERROR", worst.message, worst.field)


def fields_of_new(memory: str | MemoryItem) -> dict[str, Any]:
    """Fields of an ``add`` that a text or an item stands for."""
    if isinstance(memory, str):
        return {"memory": memory}
    fields = {
        "memory_id": memory.id or None,
        "memory": memory.memory,
        "metadata": memory.metadata,
        "memory_type": memory.memory_type or "fact",
        "confidence": memory.confidence,
        "importance": memory.importance,
        "expires_at": memory.expires_at,
        "timestamp": memory.created_at,
    }
    return fields | ({"session_id": memory.sessions[-1]} if memory.sessions else {})


def fields_of_changed(memory: str | MemoryItem | None) -> dict[str, Any]:
    """Fields of an ``update`` that a text, or what was set of an item, stands for."""
    if memory is None:
        return {}
    if isinstance(memory, str):
        return {"memory": memory}
    return {name: getattr(memory, name) for name in _CHANGEABLE if name in memory.model_fields_set}


def _names(request_type: type[BaseModel]) -> list[str]:
    hidden = ("op", "request_id", "agent_id")
    fields = request_type.model_fields.items()
    return [str(field.validation_alias or name) for name, field in fields if name not in hidden]
