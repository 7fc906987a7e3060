"""The sample, and the story that is told of it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from flink_memory.config import parse_config
from flink_memory.connectors.files import OUTPUT_FILES
from flink_memory.connectors.models import packaged_minilm
from flink_memory.errors import ConfigurationError
from flink_memory.jobs import demo
from flink_memory.jobs.replay import replay
from flink_memory.jobs.story import story
from flink_memory.requests import decode_request
from flink_memory.undecodable import Invalid, Rejected


def told(tmp_path: Path, model: str) -> str:
    config = parse_config({"embedding": {"model": model}})
    replay([str(file) for file in demo.FILES], str(tmp_path), config)
    lines = [line for file in demo.FILES for line in file.read_bytes().splitlines()]
    results, changes, dead = (
        [orjson.loads(line) for line in (tmp_path / name).read_bytes().splitlines()] for name in OUTPUT_FILES.values()
    )
    return "\n".join(story(demo.decoded(lines), results, changes, dead))


def test_the_sample_has_no_mistakes_but_those_on_purpose() -> None:
    for file in demo.FILES:
        decoded = [decode_request(line) for line in file.read_bytes().splitlines()]
        wrong = [item for item in decoded if isinstance(item, (Invalid, Rejected))]
        assert len(wrong) == (2 if file.name == "mistakes.jsonl" else 0)


def test_the_story_tells_what_was_remembered_found_changed_and_refused(tmp_path: Path) -> None:
    text = told(tmp_path, "hashing")
    for agent_id in ("support-desk", "travel-planner", "coding-companion"):
        assert f"=== {agent_id} " in text
    assert "2025-03-09 UPDATE  Nadia wants to be reached by e-mail" in text
    assert "1 expired" in text
    assert "did you mean 'query'?" in text
    assert '"mistake-02"' in text
    assert max(map(len, text.splitlines())) < 140


def test_the_packaged_model_finds_what_a_person_would(tmp_path: Path) -> None:
    lines = told(tmp_path, "minilm").splitlines()
    first = {line.removeprefix("asked: "): lines[n + 1] for n, line in enumerate(lines) if line.startswith("asked: ")}
    assert "e-mail" in first["How should we contact Nadia?"]
    assert "peanuts" in first["who must not eat peanuts?"]
    assert "Kinosaki" in first["where did they like it most?"]
    assert "idempotency key" in first["how do we avoid charging a customer twice?"]


def test_without_the_packaged_model_hashing_takes_its_place_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ConfigurationError("not installed")

    assert demo.configuration()[0].embedding.model == "minilm"
    assert packaged_minilm()
    monkeypatch.setattr(demo, "packaged_minilm", missing)
    config, told = demo.configuration()
    assert config.embedding.model == "hashing"
    assert "MiniLM is not installed" in told
