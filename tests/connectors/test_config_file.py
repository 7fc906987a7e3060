"""Reading memory.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from flink_memory.config import MemoryConfig
from flink_memory.connectors.config_file import load_config
from flink_memory.connectors.config_reference import MARKDOWN_FILE, YAML_FILE, render_markdown, render_yaml
from flink_memory.errors import ConfigurationError

ROOT = Path(__file__).parents[2]


def test_without_a_file_there_are_the_defaults() -> None:
    assert load_config() == MemoryConfig()


def test_the_file_that_ships_spells_out_the_defaults() -> None:
    assert load_config(ROOT / YAML_FILE) == MemoryConfig()
    assert (ROOT / YAML_FILE).read_text(encoding="utf-8") == render_yaml(), (
        "conf/memory.yaml is not current: run python -m flink_memory.connectors.config_reference"
    )


def test_the_reference_is_current() -> None:
    assert (ROOT / MARKDOWN_FILE).read_text(encoding="utf-8") == render_markdown(), (
        "docs/configuration.md is not current: run python -m flink_memory.connectors.config_reference"
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "index:\n", "index:\n  # tail_entries: 5\nembedding: {}\n"])
def test_an_empty_file_and_empty_sections_mean_the_defaults(tmp_path: Path, text: str) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text(text)
    assert load_config(file) == MemoryConfig()


def test_a_models_folder_counts_from_the_files_folder(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text("embedding: {model: models/mine}")
    assert load_config(file).embedding.model == str(tmp_path / "models" / "mine")
    file.write_text("embedding: {model: /models/mine}")
    assert load_config(file).embedding.model == "/models/mine"
    file.write_text("embedding: {model: hashing, dimension: 64}")
    assert load_config(file).embedding.model == "hashing"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("index: [", "is not YAML"),
        ("- 1", "Expected sections"),
        ("index: {tail_entries: 1}\nindex: {}", "there twice"),
        ("index: {tail_entries: 1, tail_entries: 2}", "there twice"),
        ("index: {tail_entry: 1}", "did you mean 'tail_entries'?"),
        ("5: {}", "no field '5'"),
        ("[a]: {}", "is not YAML"),
        ("index: !!python/object:os.system {}", "is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_config(file)
    assert str(file) in str(caught.value)
    assert words in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"There is no configuration file .*nothing.yaml"):
        load_config(tmp_path / "nothing.yaml")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_config(tmp_path)
