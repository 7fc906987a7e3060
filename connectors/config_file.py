"""Reading the configuration from a YAML file."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from flink_memory.config import MemoryConfig, parse_config
from flink_memory.connectors.models import PACKAGED_MODELS
from flink_memory.errors import ConfigurationError
from flink_memory.wording import shown


class _StrictLoader(yaml.SafeLoader):
    """Safe loading that does not let the second of two equal keys win in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key {key.value!r} is there twice; keep one of them"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        fields: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return fields


def load_config(path: str | Path | None = None) -> MemoryConfig:
    """Load ``memory.yaml``.

    A relative path in ``embedding.model`` counts from the folder of the file.

    Args:
        path: The file; None for the defaults.

    Raises:
        ConfigurationError: The file is missing, is no YAML, or holds a wrong field.
    """
    if path is None:
        return MemoryConfig()
    file = Path(path)
    fields = _read(file)
    config = parse_config(fields, str(file))
    model = config.embedding.model
    if model in PACKAGED_MODELS or Path(model).is_absolute():
        return config
    folder = str(file.resolve().parent / model)
    return config.model_copy(update={"embedding": config.embedding.model_copy(update={"model": folder})})


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigurationError(
            f"There is no configuration file {file}. Check the path, or leave it out to run with the defaults."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The configuration file {file} cannot be read: {error}.") from error
    try:
        fields = yaml.load(text, Loader=_StrictLoader)  # noqa: S506  # a SafeLoader
    except yaml.YAMLError as error:
        raise ConfigurationError(f"The configuration file {file} is not YAML: {error}") from error
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise ConfigurationError(f"Expected sections such as 'embedding:' in {file}, got {shown(fields)}.")
    # A section whose fields are all left out, or commented out, reads as null.
    return {str(name): {} if section is None else section for name, section in fields.items()}
