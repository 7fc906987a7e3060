"""Answers to asks when the model works, and when it does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flink_memory.connectors.batches import answer_asks
from flink_memory.effects import Ask, Float32Matrix


class Lengths:
    """Embeds a text as its length, but not a bad one."""

    model_id = "lengths"
    dimension = 1
    batch_size = 4
    calls = 0

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        self.calls += 1
        if "bad" in texts:
            raise RuntimeError("no")
        return np.array([[len(text)] for text in texts], dtype=np.float32).reshape(-1, 2 if "odd" in texts else 1)


def test_one_call_answers_all_in_order() -> None:
    model = Lengths()
    answers = answer_asks(model, [Ask("1", ("a", "bb")), Ask("2", ("cccc",))])
    assert model.calls == 1
    assert [answer.ask_id for answer in answers] == ["1", "2"]
    assert [answer.vectors.tolist() for answer in answers if answer.vectors is not None] == [[[1], [2]], [[4]]]


def test_one_bad_text_spoils_only_its_own_ask() -> None:
    good, bad, other = answer_asks(Lengths(), [Ask("1", ("a",)), Ask("2", ("bad",)), Ask("3", ("bb",))])
    assert (good.error, other.error) == (None, None)
    assert bad.vectors is None
    assert bad.error == "The embedding model failed: no"


def test_vectors_of_a_wrong_shape_are_an_error() -> None:
    (answer,) = answer_asks(Lengths(), [Ask("1", ("odd", "x"))])
    assert answer.error is not None
    assert "expected shape (2, 1), got (1, 2)" in answer.error
