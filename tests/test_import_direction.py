"""Dependencies point one way: jobs -> {connectors, state} -> the core; pyflink is for the shells alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHELLS = ("connectors", "jobs", "state")
FORBIDDEN = {
    "core": {"connectors", "jobs", "state"},
    "connectors": {"jobs", "state"},
    "state": {"jobs", "connectors"},
    "jobs": set[str](),
}
MODULES = sorted(
    [*(ROOT / "flink_memory").glob("*.py"), *(path for part in SHELLS for path in (ROOT / part).rglob("*.py"))]
)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_only_what_lies_below(module: Path) -> None:
    layer = layer_of(module)
    # The package's own front door shows what is in the shells, and imports it when it is asked for.
    facade = module.relative_to(ROOT).as_posix() == "flink_memory/__init__.py"
    for name in imported(module.read_text(), top_level_only=facade):
        top, *rest = name.split(".")
        assert top not in SHELLS, f"{module} imports {name}: its name is flink_memory.{name}"
        if top == "flink_memory":
            below = rest[0] if rest else ""
            assert below not in FORBIDDEN[layer], f"{module} imports {name}, which lies above it"
        if top in ("pyflink", "pemja", "py4j"):
            assert may_use_pyflink(module), f"{module} imports {name}: pyflink is for jobs/ and state/flink*.py"


def test_the_parser_sees_every_form_of_import() -> None:
    source = "import a.b\nfrom c import d\ndef f():\n    from flink_memory import e\n"
    assert list(imported(source)) == ["a.b", "c", "c.d", "flink_memory", "flink_memory.e"]
    assert list(imported(source, top_level_only=True)) == ["a.b", "c", "c.d"]


def layer_of(module: Path) -> str:
    folder = module.relative_to(ROOT).parts[0]
    return "core" if folder == "flink_memory" else folder


def may_use_pyflink(module: Path) -> bool:
    return layer_of(module) == "jobs" or (layer_of(module) == "state" and module.name.startswith("flink"))


def imported(source: str, *, top_level_only: bool = False) -> Iterator[str]:
    """Name what ``source`` imports; of ``from a import b`` both ``a`` and ``a.b``, as b may be a module."""
    tree = ast.parse(source)
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they point"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
