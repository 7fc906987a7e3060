"""What an operation has at hand while it is carried out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from flink_memory.config import MemoryConfig
from flink_memory.draft import Draft
from flink_memory.effects import Float32Matrix, Float32Vector
from flink_memory.errors import DimensionMismatchError, RequestError
from flink_memory.records import MemoryRecord
from flink_memory.requests import Request
from flink_memory.store import AgentStore

AnyRequest = TypeVar("AnyRequest", bound=Request)


@dataclass(slots=True)
class Execution(Generic[AnyRequest]):
    """One request being carried out on one agent's memory.

    Attributes:
        request: The request.
        store: Read from it; changes go into ``draft``.
        config: The job's configuration.
        draft: What the request changes.
        vectors: Embeddings of :func:`flink_memory.needs.texts_to_embed`, shape ``(n, dim)``.
    """

    request: AnyRequest
    store: AgentStore
    config: MemoryConfig
    draft: Draft
    vectors: Float32Matrix | None

    def vector(self, given: Float32Vector | None, position: int = 0) -> Float32Vector:
        """The vector to store or to search by, scaled as the metric wants it.

        Args:
            given: The request's own vector, shape ``(dim,)``, which goes before an embedding.
            position: Which of the embeddings to take else.

        Raises:
            RequestError: There is neither, or the given one cannot be used.
        """
        if given is not None:
            return self._scaled(self._checked(given), is_given=True)
        if self.vectors is None:
            raise RequestError("INTERNAL", "Expected an embedding of the text, found none. This is a defect.")
        return self._scaled(self.vectors[position], is_given=False)

    def memory(self, memory_id: str) -> MemoryRecord:
        """A memory that has to be there.

        Raises:
            RequestError: ``NOT_FOUND``.
        """
        record = self.store.memory(memory_id)
        if record is None:
            raise RequestError(
                "NOT_FOUND",
                f"Expected the id of a memory of this agent, got {memory_id!r}, which it does not have "
                "(or has no longer). Ask get_all for the ids that there are.",
                "memory_id",
            )
        return record

    def wire(self, record: MemoryRecord) -> dict[str, Any]:
        """A memory as results give it."""
        return record.wire(self.store.access(record.birth))

    def _checked(self, vector: Float32Vector) -> Float32Vector:
        if len(vector) != self.store.dimension:
            raise DimensionMismatchError(self.store.dimension, len(vector))
        return vector

    def _scaled(self, vector: Float32Vector, *, is_given: bool) -> Float32Vector:
        if self.config.index.metric != "cosine":
            return vector
        length = math.sqrt(float(vector @ vector))
        if length > 0 and np.isfinite(length):
            scaled: Float32Vector = vector / np.float32(length)
            return scaled
        if is_given:
            raise RequestError(
                "VALIDATION_ERROR",
                f"Expected a vector with a direction, got one of length {length}, which has no cosine "
                "with any other. Leave it out to have the text embedded.",
                "vector",
            )
        return np.zeros_like(vector)
