"""The documentation speaks of what is there."""

from __future__ import annotations

import argparse
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from flink_memory.config import MemoryConfig
from flink_memory.counters import Counters
from flink_memory.errors import ErrorCode
from flink_memory.filter_fields import FIELD_TYPES
from flink_memory.jobs.arguments import EXIT_CODES, command_line
from flink_memory.requests import FIELDS_BY_OP
from flink_memory.state.handles import STATE_KINDS
from flink_memory.state.log import ROW
from tests.documents import PAGES, ROOT, Example, check_example, code, examples, prose, table_under

DOCS = ROOT / "docs"
WIRE_CONTRACT = DOCS / "wire-contract.md"
STATE_LAYOUT = DOCS / "state-layout.md"
COMMON_FIELDS = {"request_id", "agent_id", "op", "session_id", "timestamp"}
UNAVAILABLE_OPS = {"recall", "compact"}
FORBIDDEN = re.compile(r"/work\b|\bshared/|\bhelper|\bthe lead\b|\bissue #?\d|TODO|FIXME|pypi\.org", re.IGNORECASE)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{page.name} links to {target}, which has no such heading"


@every_page
def test_options_exist(page: Path) -> None:
    known = set(options_of(command_line())) | options_of_benchmarks()
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code(page)):
        assert option in known, f"{page.name} names {option}"


@every_page
def test_settings_exist(page: Path) -> None:
    names = "|".join(MemoryConfig.model_fields)
    for section, field in re.findall(rf"(?<![\w./])({names})\.([a-z_]+)\b(?!\.)", code(page)):
        assert field in settings_of(section), f"{page.name} names {section}.{field}"


@every_page
def test_targets_and_modules_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^\s*make ([a-z-]+)", code(page), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name} names make {target}"
    for module in re.findall(r"python -m ([\w.]+)", code(page)):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), f"{page.name} names {module}"


@every_page
def test_pages_speak_of_the_project_alone(page: Path) -> None:
    found = FORBIDDEN.search(page.read_text(encoding="utf-8"))
    assert found is None, f"{page.name} says {found}"


@pytest.mark.parametrize("example", examples(WIRE_CONTRACT), ids=lambda example: f"line {example.requests.line}")
def test_examples_of_the_contract_give_what_they_say(example: Example, tmp_path: Path) -> None:
    check_example(example, tmp_path)


def test_the_contract_has_every_operation_with_its_fields() -> None:
    rows = {
        row[0].strip("`"): set(re.findall(r"`([a-z_]+)\??`", row[1])) for row in table_under(WIRE_CONTRACT, "Requests")
    }
    assert rows.keys() == FIELDS_BY_OP.keys() - UNAVAILABLE_OPS
    for op, named in rows.items():
        assert named | COMMON_FIELDS == set(FIELDS_BY_OP[op]) | COMMON_FIELDS, op


def test_the_contract_has_every_code() -> None:
    assert {row[0].strip("`") for row in table_under(WIRE_CONTRACT, "Results")} == set(get_args(ErrorCode))


def test_the_contract_has_every_field_of_filters() -> None:
    rows = table_under(WIRE_CONTRACT, "Filters")
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", re.sub(r"\(.*?\)", "", row[1]))}
    assert named == FIELD_TYPES.keys()


def test_the_layout_has_every_state_with_its_kind() -> None:
    rows = {row[0].strip("`"): row[1] for row in table_under(STATE_LAYOUT, "The states")}
    assert rows == STATE_KINDS


def test_the_layout_has_the_counters_in_their_order() -> None:
    text = " ".join(STATE_LAYOUT.read_text(encoding="utf-8").split())
    listed = ", ".join(f"`{field.name}`" for field in fields(Counters))
    assert f"The counters are, in order: {listed}." in text


def test_the_layout_has_the_size_of_a_row() -> None:
    assert f"of {ROW.itemsize} bytes each" in STATE_LAYOUT.read_text(encoding="utf-8")


def test_operations_has_every_exit_code() -> None:
    assert [int(row[0]) for row in table_under(DOCS / "operations.md", "Exit codes")] == list(EXIT_CODES)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def settings_of(section: str) -> set[str]:
    model = MemoryConfig.model_fields[section].annotation
    assert isinstance(model, type)
    assert issubclass(model, BaseModel)
    return set(model.model_fields)


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    own = [option for action in parser._actions for option in action.option_strings]
    choices = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return own + [option for commands in choices for command in commands.values() for option in options_of(command)]


def options_of_benchmarks() -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "bench").glob("*.py")]
    return {option for source in sources for option in re.findall(r'"(--[a-z-]+)"', source)}
