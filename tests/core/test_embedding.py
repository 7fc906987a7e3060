"""The hashing model: the same everywhere, whatever else is in the batch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flink_memory.embedding import EmbeddingModel, HashingModel


def test_the_vectors_are_those_they_always_were() -> None:
    vector = HashingModel(16).embed(["I love Python, python!"])[0]
    golden = [
        0.0,
        0.071982,
        -0.071982,
        0.0,
        -0.215945,
        0.0,
        0.143963,
        0.0,
        0.287926,
        0.0,
        0.143963,
        0.071982,
        -0.791797,
        0.0,
        0.431889,
        0.0,
    ]
    np.testing.assert_array_equal(np.round(vector.astype(np.float64), 6), golden)


def test_rows_are_unit_float32_and_in_order() -> None:
    model: EmbeddingModel = HashingModel(64, batch_size=4)
    rows = model.embed(["tea", "coffee", "tea"])
    assert rows.shape == (3, 64)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[2])
    assert (model.dimension, model.batch_size, model.model_id) == (64, 4, "hashing-v1-64")


def test_nothing_and_no_words_have_their_shapes() -> None:
    assert HashingModel(64).embed([]).shape == (0, 64)
    np.testing.assert_array_equal(HashingModel(64).embed(["", " ?! "]), np.zeros((2, 64)))


def test_texts_that_share_words_are_nearer() -> None:
    rows = HashingModel().embed(["I love programming in Python", "She programs in python", "cold weather in Berlin"])
    assert rows[0] @ rows[1] > 1.5 * (rows[0] @ rows[2])


def test_a_dimension_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 8"):
        HashingModel(4)


@given(st.lists(st.text(max_size=30), max_size=6))
def test_a_vector_does_not_depend_on_the_batch(texts: list[str]) -> None:
    model = HashingModel(32)
    together = model.embed(texts)
    for row, text in enumerate(texts):
        np.testing.assert_array_equal(together[row], model.embed([text])[0])


def test_another_process_with_another_hash_seed_agrees() -> None:
    code = "from flink_memory.embedding import HashingModel; print(HashingModel().embed(['a cat']).tobytes().hex())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
