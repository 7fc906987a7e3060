"""What a request needs before it can be carried out, and what it may not exceed."""

from __future__ import annotations

import orjson

from flink_memory.config import LimitsConfig
from flink_memory.errors import DimensionMismatchError, RequestError
from flink_memory.records import content_text
from flink_memory.requests import Add, AddMessages, ChatMessage, Observe, Request, Search, Update
from flink_memory.texts import event_text


def texts_to_embed(request: Request) -> tuple[str, ...]:
    """The texts whose embeddings the request needs, in order; none when it brings its vector."""
    if isinstance(request, Observe):
        return (event_text(request.producer, content_text(request.content)),)
    if isinstance(request, AddMessages):
        if request.infer:
            return ()  # it is refused as long as there is no language model
        return tuple(event_text(name_of(message), message.text) for message in request.messages)
    if isinstance(request, (Add, Update)):
        return () if request.vector is not None or request.memory is None else (request.memory,)
    if isinstance(request, Search):
        return () if request.vector is not None or request.query is None else (request.query,)
    return ()


def name_of(message: ChatMessage) -> str | None:
    """Who spoke, where a chat message says so."""
    name = (message.model_extra or {}).get("name")
    return name if isinstance(name, str) and name else None


def check_request(request: Request, limits: LimitsConfig, dimension: int) -> None:
    """Check what does not depend on what is remembered.

    Raises:
        RequestError: ``TOO_LARGE`` or ``DIMENSION_MISMATCH``, with the field.
    """
    for field, text in _texts(request):
        _check_size(field, len(text.encode("utf-8", "surrogatepass")), limits.max_text_bytes, "max_text_bytes")
    metadata = getattr(request, "metadata", None)
    if metadata:
        _check_size("metadata", len(orjson.dumps(metadata)), limits.max_metadata_bytes, "max_metadata_bytes")
    if isinstance(request, AddMessages) and len(request.messages) > limits.max_messages:
        raise RequestError(
            "TOO_LARGE",
            f"Expected at most {limits.max_messages} messages, got {len(request.messages)}. Send them in "
            "several requests, or raise limits.max_messages.",
            "messages",
        )
    vector = getattr(request, "vector", None)
    if vector is not None and len(vector) != dimension:
        raise DimensionMismatchError(dimension, len(vector))


def _texts(request: Request) -> list[tuple[str, str]]:
    if isinstance(request, Observe):
        return [("content", content_text(request.content))]
    if isinstance(request, AddMessages):
        return [(f"messages[{at}].content", message.text) for at, message in enumerate(request.messages)]
    if isinstance(request, (Add, Update)):
        return [] if request.memory is None else [("memory", request.memory)]
    if isinstance(request, Search):
        return [] if request.query is None else [("query", request.query)]
    return []


def _check_size(field: str, size: int, limit: int, setting: str) -> None:
    if size > limit:
        raise RequestError(
            "TOO_LARGE",
            f"Expected at most {limit} bytes, got {size}. Shorten it, or raise limits.{setting}.",
            field,
        )
