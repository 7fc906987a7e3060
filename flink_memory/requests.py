"""The requests of the wire contract, one frozen model for each ``op``, and their decoding.

A payload is decoded once, by pydantic's JSON validator over the union of the models; what goes
wrong is explained only then, by `flink_memory.undecodable`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, Union

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator
from typing_extensions import Self

from flink_memory.content import EventContent, OptionalMessageContent, text_of
from flink_memory.errors import ErrorDetail
from flink_memory.fields import (
    OptionalMetadata,
    OptionalTime,
    OptionalVector,
    refuse,
    require_json,
)
from flink_memory.records import Kind, MemoryType
from flink_memory.undecodable import Invalid, Rejected, explain

RequestId = Annotated[str, StringConstraints(min_length=1, max_length=128)]
# A byte order mark, in either order of its bytes, gets lost between Java and Python at the begin of a text.
AgentId = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern="^[^\ufeff\ufffe]")]
SessionId = Annotated[str, StringConstraints(max_length=256)]
ItemId = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Text = Annotated[str, StringConstraints(min_length=1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
UnitInterval = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
PageSize = Annotated[int, Field(ge=1, le=1000)]

EventType = Literal["user_message", "agent_action", "tool_output", "system_message"]
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
RecallPart = Literal["memories", "events", "history", "summary", "static", "knowledge"]


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        arbitrary_types_allowed=True,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
    )


class _Request(_Model):
    """What every request carries.

    Attributes:
        request_id: The producer's id, by which a repeat is noticed.
        agent_id: Whose memory: the Flink key.
        session_id: A conversation of that agent.
        timestamp_ms: When it happened; None means the time of processing. ``timestamp`` on the wire.
    """

    request_id: RequestId
    agent_id: AgentId
    session_id: SessionId = "default"
    timestamp_ms: OptionalTime = Field(default=None, validation_alias="timestamp")


class Observe(_Request):
    """Keep an event verbatim."""

    op: Literal["observe"] = "observe"
    type: EventType
    content: EventContent
    event_id: ItemId | None = None
    producer: Name | None = None
    metadata: OptionalMetadata = None


class Add(_Request):
    """Put one memory into the bank. ``vector``, if given, stands for the embedding of ``memory``."""

    op: Literal["add"] = "add"
    memory: Text
    memory_id: ItemId | None = None
    memory_type: MemoryType = "fact"
    metadata: OptionalMetadata = None
    confidence: UnitInterval | None = None
    importance: UnitInterval | None = None
    expires_at_ms: OptionalTime = Field(default=None, validation_alias="expires_at")
    vector: OptionalVector = None


class ChatMessage(_Model):
    """A message of the OpenAI chat API; what it holds beyond role and content is kept.

    ``model_dump(exclude_unset=True)`` gives back the object that came.
    """

    model_config = ConfigDict(extra="allow")

    role: Role
    content: OptionalMessageContent = None

    @model_validator(mode="after")
    def _extra_is_json(self) -> Self:
        if self.model_extra:
            for name, value in self.model_extra.items():
                require_json(value, f".{name}")
        return self

    @property
    def text(self) -> str:
        """What is text in the content; ``""`` when there is none, as beside tool calls."""
        return text_of(self.content)


class AddMessages(_Request):
    """Keep chat messages as events and, with ``infer``, extract memories from them."""

    op: Literal["add_messages"] = "add_messages"
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]
    infer: bool = True


class Update(_Request):
    """Change fields of one memory.

    A field that is absent stays as it is; ``metadata``, ``confidence``, ``importance`` and
    ``expires_at`` are cleared by null. `changed_fields` tells the two apart.
    """

    op: Literal["update"] = "update"
    memory_id: ItemId
    memory: Text | None = None
    metadata: OptionalMetadata = None
    confidence: UnitInterval | None = None
    importance: UnitInterval | None = None
    expires_at_ms: OptionalTime = Field(default=None, validation_alias="expires_at")
    vector: OptionalVector = None

    @property
    def changed_fields(self) -> frozenset[str]:
        """Names, as attributes of this class, of the fields to set; those that are None clear."""
        return frozenset(self.model_fields_set & _UPDATABLE)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.model_fields_set.isdisjoint(_UPDATABLE):
            refuse(
                "Expected at least one field to change, got none. Set any of memory, metadata, "
                "confidence, importance, expires_at, vector."
            )
        for name in ("memory", "vector"):
            if name in self.model_fields_set and getattr(self, name) is None:
                refuse("Expected a value, got null. Leave the field out to keep what it is.", f".{name}")
        return self


_UPDATABLE = frozenset({"memory", "metadata", "confidence", "importance", "expires_at_ms", "vector"})


class Delete(_Request):
    """Delete one memory."""

    op: Literal["delete"] = "delete"
    memory_id: ItemId


class Get(_Request):
    """Read one memory."""

    op: Literal["get"] = "get"
    memory_id: ItemId


class GetAll(_Request):
    """Read the memory bank page by page."""

    op: Literal["get_all"] = "get_all"
    filter: Text | None = None
    limit: PageSize = 100
    cursor: Text | None = None


class History(_Request):
    """Read what one memory was, and why it changed."""

    op: Literal["history"] = "history"
    memory_id: ItemId


class GetHistory(_Request):
    """Read the last items; those of all sessions when ``session_id`` is None."""

    op: Literal["get_history"] = "get_history"
    session_id: SessionId | None = None  # type: ignore[assignment]  # here "left out" means all
    n: PageSize = 10


class Search(_Request):
    """Rank memories and events by text, by vector, or by both."""

    op: Literal["search"] = "search"
    query: Text | None = None
    vector: OptionalVector = None
    limit: PageSize = 10
    filter: Text | None = None
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1, max_length=2)] = ("memory", "event")
    expand_context: Annotated[int, Field(ge=0, le=100)] = 0
    min_score: FiniteFloat | None = None
    explain: bool = False

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.query is None and self.vector is None:
            refuse("Expected a query or a vector, got neither. Say what to search for.", ".query")
        return self


class Recall(_Request):
    """Collect one context for a query, within a budget of tokens."""

    op: Literal["recall"] = "recall"
    query: Text
    token_budget: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    include: Annotated[tuple[RecallPart, ...], Field(min_length=1)] | None = None
    knowledge_sources: tuple[Name, ...] | None = None


class EndSession(_Request):
    """Mark a session as over."""

    op: Literal["end_session"] = "end_session"
    session_id: SessionId  # required here: the session to end is never guessed


class Compact(_Request):
    """Make the memory bank smaller, by score or by summaries of similar memories."""

    op: Literal["compact"] = "compact"
    strategy: Literal["score", "summary"] = "score"
    keep: Annotated[int, Field(ge=0, le=10_000_000)] | None = None


class Forget(_Request):
    """Remove for good what one of the four selectors names."""

    op: Literal["forget"] = "forget"
    session_id: SessionId | None = None  # type: ignore[assignment]  # a selector here, no default
    event_ids: Annotated[tuple[ItemId, ...], Field(min_length=1)] | None = None
    memory_ids: Annotated[tuple[ItemId, ...], Field(min_length=1)] | None = None
    everything: Literal[True] | None = None

    @model_validator(mode="after")
    def _selects_one_way(self) -> Self:
        given = [name for name in _SELECTORS if getattr(self, name) is not None]
        if len(given) != 1:
            came = " and ".join(given) if given else "none"
            refuse(f"Expected exactly one of session_id, event_ids, memory_ids, everything, got {came}.")
        return self


_SELECTORS = ("session_id", "event_ids", "memory_ids", "everything")

Request: TypeAlias = Union[  # noqa: UP007  # one line for each
    Observe,
    Add,
    AddMessages,
    Update,
    Delete,
    Get,
    GetAll,
    History,
    GetHistory,
    Search,
    Recall,
    EndSession,
    Compact,
    Forget,
]

REQUEST_TYPES: tuple[type[_Request], ...] = Request.__args__  # type: ignore[attr-defined]
"""The models, in the contract's order."""

FIELDS_BY_OP: dict[str, tuple[str, ...]] = {
    model.model_fields["op"].default: tuple(
        str(field.validation_alias or name) for name, field in model.model_fields.items()
    )
    for model in REQUEST_TYPES
}
"""The names on the wire of the fields of each ``op``."""

_VALIDATOR: Any = TypeAdapter(Annotated[Request, Field(discriminator="op")]).validator


def decode_request(payload: str | bytes, max_bytes: int | None = None) -> Request | Invalid | Rejected:
    """Decode one record of the requests' topic or file. Never raises, whatever comes.

    Args:
        payload: One JSON object, UTF-8.
        max_bytes: A request of more is ``Invalid``, ``TOO_LARGE``; None for no limit.

    Returns:
        The request; or ``Invalid``, when who asked is known but not what (an error result is
        due); or ``Rejected``, when not even that is known (a dead letter is due). Of a field
        that is there twice, the last counts.
    """
    try:
        request: Request = _VALIDATOR.validate_json(payload, by_alias=True, by_name=False)
    except ValidationError as error:
        return explain(payload, error, FIELDS_BY_OP)
    if max_bytes is not None and (size := _bytes_of(payload, max_bytes)) > max_bytes:
        return Invalid(request.request_id, request.agent_id, request.op, _too_large(size, max_bytes))
    return request


def _bytes_of(payload: str | bytes, max_bytes: int) -> int:
    """Bytes of a payload in UTF-8; of a short text its characters, which are cheaper to count."""
    if isinstance(payload, bytes) or 4 * len(payload) <= max_bytes:
        return len(payload)
    return len(payload.encode("utf-8", "surrogatepass"))


def _too_large(size: int, max_bytes: int) -> ErrorDetail:
    return ErrorDetail(
        "TOO_LARGE",
        f"Expected a request of at most {max_bytes} bytes, got {size}. Send it in parts, or raise "
        "limits.max_record_bytes.",
    )
