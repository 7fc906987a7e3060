"""Text to vectors: what a model must offer, and one that needs no model file."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Float32Matrix = npt.NDArray[np.float32]

_WORD = re.compile(r"\w+")
_MAX_GRAM_CHARACTERS = 64


class EmbeddingModel(Protocol):
    """Turns texts into vectors.

    The same text gives the same vector on the same machine, whatever else is in the batch:
    a replay depends on it.
    """

    @property
    def model_id(self) -> str:
        """Names the model and its version; it changes whenever the vectors would."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    @property
    def batch_size(self) -> int:
        """How many texts to hand over at a time."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        """Embed texts.

        Args:
            texts: Any number, also none; also the empty text.

        Returns:
            Shape ``(len(texts), dimension)``, C-contiguous, a row for each text in its order.
        """
        ...


class HashingModel:
    """Signed feature hashing of words and of the letters inside them. No model file, no download.

    It knows spelling, not meaning: texts are near when they share words or parts of words. Each
    feature adds a signed weight to one element, chosen by CRC-32; weights grow with the
    logarithm of the count; rows have unit length (that of a text without letters or digits is
    zero). Sums are of whole numbers, so a vector is the same on every platform.

    After Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.

    Args:
        dimension: Numbers in a vector, at least 8.
        batch_size: How many texts to be handed at a time.
    """

    def __init__(self, dimension: int = 384, batch_size: int = 32) -> None:
        if dimension < 8:
            raise ValueError(f"Expected a dimension of at least 8, got {dimension}.")
        self._dimension = dimension
        self._batch_size = batch_size

    @property
    def model_id(self) -> str:
        """Names the scheme and its dimension."""
        return f"hashing-v1-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._dimension

    @property
    def batch_size(self) -> int:
        """How many texts to hand over at a time."""
        return self._batch_size

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        """Embed texts; see `EmbeddingModel.embed`. Some 60 us for a sentence."""
        rows = np.zeros((len(texts), self._dimension), dtype=np.float64)
        for row, text in enumerate(texts):
            rows[row] = self._sums(text)
        norms = np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
        np.divide(rows, norms, out=rows, where=norms > 0)
        return np.ascontiguousarray(rows, dtype=np.float32)

    def _sums(self, text: str) -> npt.NDArray[np.float64]:
        elements, weights = [], []
        for feature, weight in _features(text):
            code = zlib.crc32(feature.encode("utf-8", "replace"))
            # The lowest bit is the sign, the others choose the element.
            elements.append((code >> 1) % self._dimension)
            weights.append(weight if code & 1 else -weight)
        if not elements:
            return np.zeros(self._dimension)
        return np.bincount(elements, weights, minlength=self._dimension).astype(np.float64, copy=False)


_WORD_WEIGHT = 4
_GRAM_WEIGHT = 1


def _features(text: str) -> list[tuple[str, int]]:
    """List features with whole weights: words whole, and their runs of three letters."""
    weighted = []
    for word, count in Counter(_WORD.findall(text.casefold())).items():
        strength = count.bit_length()
        weighted.append((word, _WORD_WEIGHT * strength))
        bounded = f"<{word[:_MAX_GRAM_CHARACTERS]}>"
        weighted += [(bounded[at : at + 3], _GRAM_WEIGHT * strength) for at in range(len(bounded) - 2)]
    return weighted
