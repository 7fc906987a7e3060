"""The memory's configuration as a command line gives it: a file, and single settings over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from flink_memory.config import MemoryConfig, parse_config
from flink_memory.connectors.config_file import load_config
from flink_memory.errors import ConfigurationError


def configured(file: str | None, settings: Sequence[str]) -> MemoryConfig:
    """Load ``file``, or the defaults, and apply settings such as ``embedding.model=hashing``.

    Raises:
        ConfigurationError: A file or a setting is wrong; the message names the field.
    """
    config = load_config(None if file is None else Path(file))
    if not settings:
        return config
    fields: dict[str, Any] = config.model_dump()
    for setting in settings:
        section, name, value = _parts(setting)
        fields.setdefault(section, {})[name] = value
    return parse_config(fields, "--set " + " --set ".join(settings))


def _parts(setting: str) -> tuple[str, str, Any]:
    path, equals, text = setting.partition("=")
    section, dot, name = path.partition(".")
    if not (equals and dot and section and name):
        raise ConfigurationError(
            f"Expected --set section.field=value, such as --set embedding.model=hashing, got {setting!r}."
        )
    try:
        return section, name, yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"Expected a value after {path}=, got {text!r}, which is not YAML.") from error


def flink_options(settings: Sequence[str]) -> dict[str, str]:
    """Read options of Flink's own, such as ``taskmanager.memory.managed.size=1g``.

    Raises:
        ConfigurationError: One has no ``=``.
    """
    options = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise ConfigurationError(f"Expected --flink key=value with a key of Flink's, got {setting!r}.")
        options[key] = value
    return options
