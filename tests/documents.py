"""What the tests of the documentation read: pages, code blocks, tables, and the contract's examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flink_memory.jobs.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page.

    Attributes:
        info: What stands behind the opening fence.
        text: Its lines.
        line: Line of the opening fence, from 1.
    """

    info: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Example:
    """Requests of a page, and what the page says comes out.

    Attributes:
        requests: One block of JSON lines.
        expected: The blocks that follow it, by kind of record: ``results``, ``changelog`` or ``deadletters``.
    """

    requests: Block
    expected: dict[str, Block]


def blocks(page: Path) -> list[Block]:
    """List the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["info"].strip(), found["text"], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def code(page: Path) -> str:
    """All code of a page, a piece a line: fenced blocks and spans."""
    return "\n".join([*(block.text for block in blocks(page)), *re.findall(r"`([^`\n]+)`", prose(page))])


def examples(page: Path) -> list[Example]:
    """Pair each block of requests with the blocks of records that follow it."""
    found: list[Example] = []
    for block in blocks(page):
        language, _, kind = block.info.partition(" ")
        if language == "jsonl" and kind == "requests":
            found.append(Example(block, {}))
        elif language == "jsonl":
            found[-1].expected[kind] = block
    return found


def table_under(page: Path, heading: str) -> Iterator[list[str]]:
    """Give the rows of the first table under a heading, as lists of cells without their backticks' outside."""
    section = re.split(r"^#+ ", page.read_text(encoding="utf-8").partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert lines, f"{page.name} has no table under {heading!r}"
    for line in lines[2:]:
        if not line.startswith("| ---"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def check_example(example: Example, folder: Path) -> None:
    """Replay the requests of an example, and compare what comes out with what the page says."""
    requests, output = folder / "requests.jsonl", folder / "results"
    requests.write_text(example.requests.text, encoding="utf-8")
    assert main(["replay", "--input", str(requests), "--output", str(output)]) == 0
    files = {"results": "results.jsonl", "changelog": "changelog.jsonl", "deadletters": "deadletter.jsonl"}
    for kind, block in example.expected.items():
        came = [json.loads(line) for line in (output / files[kind]).read_text(encoding="utf-8").splitlines()]
        said = [json.loads(line) for line in block.text.splitlines()]
        assert len(came) == len(said), f"line {block.line}: {len(said)} {kind} are shown, {len(came)} came: {came}"
        for row, (one_said, one_came) in enumerate(zip(said, came, strict=True)):
            _check_part(one_said, one_came, f"line {block.line + 1 + row}")


def _check_part(said: Any, came: Any, where: str) -> None:
    """Check that what is shown came; pages may leave out fields of objects."""
    if isinstance(said, dict):
        assert isinstance(came, dict), f"{where}: {came!r} is no object"
        for name, value in said.items():
            assert name in came, f"{where}: no field {name!r} in {came}"
            _check_part(value, came[name], f"{where}.{name}")
    elif isinstance(said, list):
        assert isinstance(came, list), f"{where}: {came!r} is no list"
        assert len(said) == len(came), f"{where}: {len(said)} items are shown, {len(came)} came"
        for row, (one_said, one_came) in enumerate(zip(said, came, strict=True)):
            _check_part(one_said, one_came, f"{where}[{row}]")
    elif isinstance(said, float):
        assert came == pytest.approx(said, abs=_TOLERANCE), where
    else:
        assert came == said, f"{where}: {said!r} is shown, {came!r} came"
