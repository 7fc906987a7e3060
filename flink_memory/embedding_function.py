"""A plain function as an embedding model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flink_memory.embedding import Float32Matrix
from flink_memory.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class EmbeddingFunction:
    """Makes an :class:`~flink_memory.embedding.EmbeddingModel` of a function.

    Attributes:
        function: Takes texts, and gives a row of numbers for each: an array, or lists. The same text gives the
            same row.
        dimension: Numbers in a row.
        model_id: Names what the function does; state remembers it, so give it a new name when its vectors change.
        batch_size: How many texts it is to be given at a time.
    """

    function: Callable[[list[str]], Any]
    dimension: int
    model_id: str = "function"
    batch_size: int = 32

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        """Embed texts; see :meth:`flink_memory.embedding.EmbeddingModel.embed`.

        Raises:
            ConfigurationError: The function gives another shape, or numbers that are not finite.
        """
        vectors = np.ascontiguousarray(self.function(list(texts)), dtype=np.float32)
        if vectors.shape != (len(texts), self.dimension):
            raise ConfigurationError(
                f"Expected vectors of shape {(len(texts), self.dimension)} from the embedding function, got "
                f"{vectors.shape}. Return a row of {self.dimension} numbers for each text, or correct the dimension."
            )
        if not np.isfinite(vectors).all():
            raise ConfigurationError("Expected finite numbers from the embedding function, got NaN or infinity.")
        return vectors
