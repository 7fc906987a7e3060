"""The configuration of a memory job: one frozen tree, validated once, passed down whole.

Every field has a default, so an empty file is a configuration. Units are in the names. The
reference in ``docs/configuration.md`` and the file ``conf/memory.yaml`` are made of what
stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flink_memory.errors import ConfigurationError
from flink_memory.problems import Problem, problem
from flink_memory.ranking import RankingWeights
from flink_memory.wording import shown

Days = Annotated[float, Field(gt=0, le=36_500, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=100_000_000)]


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, hide_input_in_errors=True
    )


class EmbeddingConfig(_Section):
    """Which model turns text into vectors."""

    model: str = Field(
        default="minilm",
        min_length=1,
        max_length=4096,
        description=(
            "`minilm` (all-MiniLM-L6-v2, packaged), `hashing` (no model: words and letters only), or the path "
            "of a folder in the sentence-transformers layout with an ONNX file."
        ),
    )
    dimension: int = Field(
        default=384, ge=8, le=8192, description="Numbers in a vector of `hashing`; a model's folder knows its own."
    )
    batch_size: int = Field(
        default=32,
        ge=1,
        le=4096,
        description="Texts handed to the model at a time; more does not embed faster on a CPU, but waits longer.",
    )
    threads: int = Field(
        default=1, ge=1, le=256, description="Threads of one model; more TaskManagers scale better than more threads."
    )
    on_model_change: Literal["fail", "reembed"] = Field(
        default="fail",
        description=(
            "When state holds vectors of another model: `fail` stops with the way out, `reembed` embeds every "
            "text again as its agent is loaded."
        ),
    )


class SensoryConfig(_Section):
    """Raw events as they came: a window by count and age, and the memory of what was already done."""

    max_events: Count = Field(default=10_000, description="Events kept for each agent; the oldest go first.")
    max_age_days: Days | None = Field(default=30.0, description="Age at which an event goes; null keeps it.")
    max_requests: int = Field(
        default=1_000,
        ge=0,
        le=10_000_000,
        description="Results kept for each agent, so that a repeated `request_id` changes nothing; 0 notices none.",
    )


class HistoryConfig(_Section):
    """Recent history, as `get_history` gives it."""

    max_items: Count = Field(
        default=1_000, description="Items kept for each agent; up to a quarter more before they are trimmed."
    )
    max_age_days: Days | None = Field(default=None, description="Age at which an item goes; null keeps it.")


class MemoriesConfig(_Section):
    """The memory bank."""

    max_count: Count | None = Field(
        default=None, description="Memories kept for each agent, the longest unchanged go first; null keeps all."
    )
    max_age_days: Days | None = Field(
        default=None, description="Time since the last update after which a memory goes; null keeps it."
    )


class AuditConfig(_Section):
    """What memories were before, and why they changed."""

    max_changes: Count = Field(
        default=10_000, description="Changes kept for each agent; the changelog topic keeps them all."
    )
    max_age_days: Days | None = Field(default=None, description="Age at which a change goes; null keeps it.")


class IndexConfig(_Section):
    """How vectors are kept and searched."""

    metric: Literal["cosine", "inner_product"] = Field(
        default="cosine", description="`cosine` scales vectors to unit length; `inner_product` takes them as they are."
    )
    tail_entries: int = Field(
        default=128, ge=1, le=65_536, description="Vectors appended before they are sealed into a segment."
    )
    merge_fanout: int = Field(
        default=8, ge=2, le=64, description="Segments of one size that are merged into one of the next."
    )
    graph_min_rows: int | None = Field(
        default=6_000,
        ge=256,
        le=100_000_000,
        description="Rows from which a segment gets a graph; below, exact search is as quick. null: never.",
    )
    graph_neighbors: int = Field(
        default=32, ge=4, le=128, description="Links of a row in a graph (HNSW's M): recall against bytes."
    )
    graph_ef_search: int = Field(
        default=64, ge=8, le=4096, description="Candidates kept in a graph search: recall against time."
    )
    graph_ef_construction: int = Field(
        default=40, ge=8, le=4096, description="Candidates kept while a graph is built: recall against building time."
    )


class RankingConfig(_Section):
    """What a score of a search is made of."""

    dense: float = Field(
        default=RankingWeights().dense,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Share of the vectors in the score of a search by text; the words have the rest.",
    )

    @property
    def weights(self) -> RankingWeights:
        """As the ranking takes them."""
        return RankingWeights(dense=self.dense)


class CacheConfig(_Section):
    """The live agents that an operator keeps in memory beside their state."""

    max_bytes: int = Field(
        default=256 * 1024 * 1024,
        ge=1024 * 1024,
        le=2**50,
        description="Bytes of all live agents of one operator (256 MiB); the longest unused are dropped.",
    )


class LimitsConfig(_Section):
    """What one request may hold; above it the result is `TOO_LARGE`."""

    max_text_bytes: int = Field(
        default=256 * 1024, ge=256, le=2**30, description="UTF-8 bytes of one memory, one event or one query (256 KiB)."
    )
    max_metadata_bytes: int = Field(
        default=64 * 1024, ge=256, le=2**30, description="Bytes of one `metadata` as JSON (64 KiB)."
    )
    max_messages: int = Field(default=1_000, ge=1, le=1_000_000, description="Messages of one `add_messages`.")
    max_record_bytes: int = Field(
        default=10 * 1024 * 1024, ge=1024, le=2**30, description="Bytes of one request (10 MiB)."
    )


class AsksConfig(_Section):
    """Embeddings that requests wait for."""

    max_waiting_texts: int = Field(
        default=1_000,
        ge=1,
        le=10_000_000,
        description="Texts of one operator that wait to be embedded before it takes no more records for a while.",
    )


class MemoryConfig(_Section):
    """All of it."""

    embedding: EmbeddingConfig = EmbeddingConfig()
    sensory: SensoryConfig = SensoryConfig()
    history: HistoryConfig = HistoryConfig()
    memories: MemoriesConfig = MemoriesConfig()
    audit: AuditConfig = AuditConfig()
    index: IndexConfig = IndexConfig()
    ranking: RankingConfig = RankingConfig()
    cache: CacheConfig = CacheConfig()
    limits: LimitsConfig = LimitsConfig()
    asks: AsksConfig = AsksConfig()


def parse_config(fields: Mapping[str, Any], source: str = "configuration") -> MemoryConfig:
    """Validate a configuration.

    Args:
        fields: Sections by name; what is left out has its default.
        source: Where it comes from, for messages.

    Raises:
        ConfigurationError: Names every wrong field by its path, what is allowed and what came.
    """
    try:
        return MemoryConfig.model_validate(fields)
    except ValidationError as error:
        lines = [_line(detail) for detail in map(_problem, error.errors(include_url=False))]
    raise ConfigurationError("\n".join([f"{source} is not a valid configuration:", *lines]))


def _problem(detail: Any) -> Problem:
    location = detail["loc"]
    if detail["type"] == "model_type":
        return Problem(".".join(location), f"Expected a section with fields, got {shown(detail['input'])}.")
    owner = f"The section {'.'.join(location[:-1])}" if len(location) > 1 else "The configuration"
    return problem(detail, _fields_at(location[:-1]), owner)


def _fields_at(location: Sequence[str]) -> list[str]:
    section: type[BaseModel] = MemoryConfig
    for name in location:
        inner = section.model_fields[name].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        section = inner
    return list(section.model_fields)


def _line(found: Problem) -> str:
    return f"  {found.field}: {found.message}" if found.field else f"  {found.message}"
