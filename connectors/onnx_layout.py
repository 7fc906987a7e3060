"""The sentence-transformers layout of a model's folder, as far as an ONNX file needs it.

    model.onnx or onnx/model.onnx     the network (with model.onnx_data beside it, if it is large)
    tokenizer.json                    the tokenizer of the ``tokenizers`` package
    sentence_bert_config.json         max_seq_length; 256 without it
    modules.json                      the steps after the network; mean pooling and unit length without it
    1_Pooling/config.json             which pooling

Format: https://www.sbert.net/docs/sentence_transformer/usage/custom_models.html
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from flink_memory.errors import ConfigurationError
from flink_memory.wording import listed

Pooling = Literal["mean", "cls", "max"]

DEFAULT_MAX_TOKENS = 256
_CHUNK_BYTES = 1 << 20
_FLAGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}


@dataclass(frozen=True, slots=True)
class OnnxLayout:
    """Where a model's files are, and what follows the network.

    Attributes:
        name: Of the model, for its id.
        model_file: The ONNX file.
        tokenizer_file: The ``tokenizer.json``.
        pooling: How token vectors become one.
        normalize: Whether the one is scaled to unit length.
        max_tokens: Where a text is cut, special tokens included.
    """

    name: str
    model_file: Path
    tokenizer_file: Path
    pooling: Pooling = "mean"
    normalize: bool = True
    max_tokens: int = DEFAULT_MAX_TOKENS

    def model_id(self) -> str:
        """Name the model by its name and a hash of all that shapes its vectors.

        Reads the files whole: about 0.1 s for 23 MB.
        """
        digest = hashlib.sha256(f"{self.pooling} {self.normalize} {self.max_tokens}".encode())
        weights = sorted(self.model_file.parent.glob(f"{self.model_file.name}*"))
        for file in [*weights, self.tokenizer_file]:
            with file.open("rb") as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    digest.update(chunk)
        return f"{self.name}@{digest.hexdigest()[:12]}"


def read_layout(folder: Path) -> OnnxLayout:
    """Find a model's files and settings.

    Args:
        folder: In the layout above.

    Raises:
        ConfigurationError: A file is missing or broken, or asks for a step that is not supported.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"embedding.model: there is no folder {folder}. Expected minilm, hashing, or a folder with "
            "model.onnx and tokenizer.json."
        )
    steps = _steps(folder)
    return OnnxLayout(
        name=folder.resolve().name,
        model_file=_first_of(folder, "model.onnx", "onnx/model.onnx"),
        tokenizer_file=_first_of(folder, "tokenizer.json"),
        pooling=_pooling(folder, steps),
        normalize=steps is None or "normalize" in steps,
        max_tokens=_max_tokens(folder),
    )


def _first_of(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ConfigurationError(
        f"embedding.model: the folder {folder} has no {' or '.join(names)}. Export the model to ONNX, for example "
        "with optimum-cli export onnx, or set embedding.model to minilm or hashing."
    )


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except ValueError as error:
        raise ConfigurationError(f"embedding.model: the file {file} is not JSON: {error}.") from None


def _steps(folder: Path) -> dict[str, str] | None:
    """Read the steps as kind -> folder, the kind being the last word of the class's name."""
    file = folder / "modules.json"
    if not file.is_file():
        return None
    steps = {str(step["type"]).rpartition(".")[2].lower(): str(step.get("path", "")) for step in _json(file)}
    unknown = sorted(steps.keys() - {"transformer", "pooling", "normalize"})
    if unknown:
        raise ConfigurationError(
            f"embedding.model: {file} has steps that are not supported: {listed(unknown)}. Supported are "
            "Transformer, Pooling and Normalize."
        )
    return steps


def _pooling(folder: Path, steps: dict[str, str] | None) -> Pooling:
    file = folder / (steps or {}).get("pooling", "1_Pooling") / "config.json"
    if not file.is_file():
        return "mean"
    settings = _json(file)
    modes = [name for name, wanted in settings.items() if name.startswith("pooling_mode_") and wanted]
    found = [settings["pooling_mode"]] if "pooling_mode" in settings else [_FLAGS.get(name, name) for name in modes]
    if len(found) == 1 and found[0] in _FLAGS.values():
        pooling: Pooling = found[0]
        return pooling
    raise ConfigurationError(
        f"embedding.model: {file} asks for the pooling {listed(map(str, found)) or 'none'}. Supported is one of "
        "mean, cls and max."
    )


def _max_tokens(folder: Path) -> int:
    file = folder / "sentence_bert_config.json"
    limit = _json(file).get("max_seq_length") if file.is_file() else None
    return limit if isinstance(limit, int) and limit > 2 else DEFAULT_MAX_TOKENS
