"""The configuration: defaults, bounds, and errors that name the field."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import ValidationError

from flink_memory.config import MemoryConfig, RankingConfig, parse_config
from flink_memory.errors import ConfigurationError
from flink_memory.ranking import RankingWeights


def test_nothing_is_a_configuration() -> None:
    assert parse_config({}) == MemoryConfig()
    assert parse_config({"index": {"tail_entries": 8}}).index.tail_entries == 8


def test_it_is_frozen_and_hashable() -> None:
    config = MemoryConfig()
    assert hash(config) == hash(MemoryConfig())
    with pytest.raises(ValidationError):
        config.index.metric = "inner_product"


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"indx": {}}, ["indx: ", "did you mean 'index'?"]),
        ({"index": {"tail": 5}}, ["index.tail: ", "did you mean 'tail_entries'?"]),
        ({"index": {"tail_entries": 0}}, ["index.tail_entries: ", "at least 1", "the number 0"]),
        ({"index": {"tail_entries": 2.5}}, ["index.tail_entries: ", "a whole number", "2.5"]),
        ({"index": {"metric": "cosin"}}, ["index.metric: ", "'cosine' or 'inner_product'", "did you mean 'cosine'?"]),
        ({"embedding": 5}, ["embedding: ", "a section", "the number 5"]),
        ({"sensory": {"max_age_days": "30"}}, ["sensory.max_age_days: ", "a number", "'30'"]),
        ({"sensory": {"max_age_days": float("nan")}}, ["sensory.max_age_days: ", "number"]),
        ({"sensory": {"max_age_days": 0}}, ["sensory.max_age_days: ", "above 0"]),
        ({"cache": {"max_bytes": True}}, ["cache.max_bytes: ", "a whole number", "true"]),
        ({"ranking": {"dense": 1.5}}, ["ranking.dense: ", "at most 1"]),
        (
            {"audit": {"max_changes": 0}, "limits": {"max_messages": 0}},
            ["audit.max_changes: ", "limits.max_messages: "],
        ),
    ],
)
def test_an_error_names_the_field_what_is_allowed_and_what_came(fields: dict[str, Any], lines: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(fields, "memory.yaml")
    message = str(caught.value)
    assert message.startswith("memory.yaml is not a valid configuration:")
    for line in lines:
        assert line in message


def test_every_field_has_a_default_within_its_bounds_and_a_reason() -> None:
    for name in MemoryConfig.model_fields:
        section = getattr(MemoryConfig(), name)
        for field, info in type(section).model_fields.items():
            assert info.description, f"{name}.{field}"
        assert type(section).model_validate(section.model_dump()) == section


def test_the_ranking_has_the_fields_and_defaults_of_its_weights() -> None:
    assert list(RankingConfig.model_fields) == [field.name for field in dataclasses.fields(RankingWeights)]
    assert RankingConfig().weights == RankingWeights()
