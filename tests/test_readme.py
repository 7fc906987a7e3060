"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import ROOT, Block, Example, blocks, check_example, examples

README = ROOT / "README.md"
PYTHON_BLOCKS = [block for block in blocks(README) if block.info == "python"]


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=lambda block: f"line {block.line}")
def test_python_of_the_readme_runs(block: Block) -> None:
    exec(compile(block.text, f"README.md, line {block.line}", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("example", examples(README), ids=lambda example: f"line {example.requests.line}")
def test_requests_of_the_readme_give_the_results_beside_them(example: Example, tmp_path: Path) -> None:
    check_example(example, tmp_path)


def test_the_readme_has_an_example_of_each_kind() -> None:
    assert PYTHON_BLOCKS
    assert examples(README)


def test_the_command_to_test_with_is_make_test() -> None:
    assert "\nmake test\n" in README.read_text(encoding="utf-8")
    assert re.search(r"^test:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
