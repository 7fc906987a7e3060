"""Part files become the three output files."""

from __future__ import annotations

from pathlib import Path

from flink_memory.connectors.files import gather


def test_parts_are_joined_by_subtask_and_number_and_unfinished_ones_left_out(tmp_path: Path) -> None:
    results = tmp_path / "parts" / "results"
    results.mkdir(parents=True)
    for name, text in {
        "part-0a-b-1-0": "c\n",
        "part-0a-b-0-10": "b\n",
        "part-0a-b-0-9": "a\n",
        ".part-0a-b-0-11.inprogress.77": "never\n",
    }.items():
        (results / name).write_text(text)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "changelog.jsonl").write_text("of an earlier run\n")
    gather(tmp_path / "parts", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "changelog.jsonl",
        "deadletter.jsonl",
        "results.jsonl",
    ]
    assert (tmp_path / "out" / "results.jsonl").read_text() == "a\nb\nc\n"
    assert (tmp_path / "out" / "changelog.jsonl").read_text() == ""
    assert not (tmp_path / "parts").exists()
