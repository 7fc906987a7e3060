"""Answering asks in batches, whatever the model does."""

from __future__ import annotations

from collections.abc import Sequence

from flink_memory.effects import Answer, Ask
from flink_memory.embedding import EmbeddingModel


def answer_asks(model: EmbeddingModel, asks: Sequence[Ask]) -> list[Answer]:
    """Embed the texts of all ``asks`` in one call; an answer for each, in order. Never raises.

    When the model fails, the asks are tried one by one, as one text may have spoilt it for all; those that fail
    alone are answered with an error.
    """
    texts = [text for ask in asks for text in ask.texts]
    try:
        vectors = model.embed(texts)
        if vectors.shape != (len(texts), model.dimension):
            raise ValueError(f"expected shape {(len(texts), model.dimension)}, got {vectors.shape}")
    except Exception as error:  # noqa: BLE001 - whatever the model raises becomes an answer
        if len(asks) > 1:
            return [answer_asks(model, [ask])[0] for ask in asks]
        return [Answer(asks[0].ask_id, error=f"The embedding model failed: {error}")]
    answers, start = [], 0
    for ask in asks:
        answers.append(Answer(ask.ask_id, vectors[start : start + len(ask.texts)]))
        start += len(ask.texts)
    return answers
