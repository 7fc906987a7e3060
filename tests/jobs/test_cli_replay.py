"""The command line, as far as it needs no Flink."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from flink_memory import __version__
from flink_memory.jobs.arguments import EXIT_CODES
from flink_memory.jobs.cli import main

COMMAND = [sys.executable, "-m", "flink_memory.jobs.cli"]
ROOT = Path(__file__).parents[2]
HASHING = ("--set", "embedding.model=hashing")
REQUESTS = """\
{"request_id": "1", "agent_id": "ada", "op": "add", "memory": "Ada prefers tea to coffee."}
{"request_id": "2", "agent_id": "bob", "op": "search", "query": "tea"}

not json
{"request_id": "3", "agent_id": "ada", "op": "get", "memory_id": "x", "limt": 3}
"""


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    file = tmp_path / "requests.jsonl"
    file.write_text(REQUESTS)
    return file


def command(arguments: Sequence[str | Path], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, env=environment)


def names_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_replay_writes_three_files_and_sums_up(
    requests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new" / "results"
    assert main(["replay", "--input", str(requests), "--output", str(output), *HASHING]) == 0
    assert names_of(output) == ["changelog.jsonl", "deadletter.jsonl", "results.jsonl"]
    results = [json.loads(line) for line in (output / "results.jsonl").read_text().splitlines()]
    assert sorted((result["request_id"], result["status"]) for result in results) == [
        ("1", "ok"), ("2", "ok"), ("3", "error"),
    ]  # fmt: skip
    told = capsys.readouterr()
    assert told.out == ""
    assert "4 records of 2 agents" in told.err
    assert "2 ok, 1 error (1 VALIDATION_ERROR)" in told.err
    assert "dead letters   1" in told.err
    assert "p50" in told.err
    assert "p99" in told.err


def test_the_files_are_there_even_when_nothing_goes_into_them(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert main(["replay", "--input", str(empty), "--output", str(tmp_path / "out"), *HASHING]) == 0
    assert [(tmp_path / "out" / name).read_bytes() for name in names_of(tmp_path / "out")] == [b""] * 3


def test_several_inputs_are_read_one_after_the_other(requests: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_bytes(b'{"request_id": "9", "agent_id": "ada", "op": "get_all"}')
    output = tmp_path / "out"
    inputs = ["--input", str(requests), "--input", str(more)]
    assert main(["replay", *inputs, "--output", str(output), *HASHING]) == 0
    results = {result["request_id"]: result for result in map(json.loads, (output / "results.jsonl").open())}
    assert [memory["memory"] for memory in results["9"]["result"]["memories"]] == ["Ada prefers tea to coffee."]


def test_standard_input_and_output_carry_requests_and_results_alone() -> None:
    told = command(["replay", "--input", "-", "--output", "-", *HASHING], REQUESTS.encode())
    assert told.returncode == 0, told.stderr
    assert {json.loads(line)["request_id"] for line in told.stdout.splitlines()} == {"1", "2", "3"}
    assert b"4 records" in told.stderr


def test_an_earlier_output_is_replaced_and_everything_else_in_the_folder_stays(
    requests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.jsonl").write_text("old")
    assert main(["replay", "--input", str(requests), "--output", str(tmp_path), *HASHING]) == 0
    assert "replacing results.jsonl in" in capsys.readouterr().err
    assert "old" not in (tmp_path / "results.jsonl").read_text()
    assert requests.read_text() == REQUESTS


WRONG = [
    "a missing file", "a folder as input", "a packed input", "standard input twice", "a file as output",
    "an output below a file", "the input as output", "no input", "no output", "no configuration",
    "a wrong configuration", "a wrong setting", "a setting of no section", "a model that is none",
]  # fmt: skip


def wrong(tmp_path: Path) -> dict[str, tuple[list[str], str]]:
    requests, out = str(tmp_path / "requests.jsonl"), str(tmp_path / "out")
    (tmp_path / "bad.yaml").write_text("embedding:\n  modle: minilm\n")
    (tmp_path / "no model").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "packed.jsonl.gz").touch()
    (tmp_path / "results.jsonl").touch()
    edges = ["--input", requests, "--output", out]
    return {
        "a missing file": (["--input", out, "--output", out], "There is no input file"),
        "a folder as input": (["--input", str(tmp_path), "--output", out], "got the folder"),
        "a packed input": (["--input", str(tmp_path / "packed.jsonl.gz"), "--output", out], "compressed"),
        "standard input twice": (["--input", "-", "--input", "-", "--output", out], "--input - twice"),
        "a file as output": (["--input", requests, "--output", str(tmp_path / "file")], "got the file"),
        "an output below a file": (["--input", requests, "--output", str(tmp_path / "file" / "x")], "be written to"),
        "the input as output": (
            ["--input", str(tmp_path / "results.jsonl"), "--output", str(tmp_path)], "would be replaced",
        ),
        "no input": (["--output", out], "Expected --input FILE"),
        "no output": (["--input", requests], "Expected --output DIR"),
        "no configuration": ([*edges, "--config", str(tmp_path / "none.yaml")], "no configuration file"),
        "a wrong configuration": ([*edges, "--config", str(tmp_path / "bad.yaml")], "embedding.modle"),
        "a wrong setting": ([*edges, "--set", "cache.max_bytes=many"], "cache.max_bytes"),
        "a setting of no section": ([*edges, "--set", "model=hashing"], "section.field=value"),
        "a model that is none": ([*edges, "--set", f"embedding.model={tmp_path / 'no model'}"], "embedding.model"),
    }  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_message_that_names_it(
    requests: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, message = wrong(tmp_path)[name]
    assert main(["replay", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith("flink-memory: error: ")
    assert message in told
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists() or not names_of(tmp_path / "out")


def test_kafka_is_said_not_to_be_there_yet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--kafka", "localhost:9092"]) == 2
    assert "not in this release" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--parallelism", "0"], ["--parallelism", "two"], ["--checkpoint-interval", "-1"], ["--mode", "fast"]]
)
def test_a_wrong_number_or_choice_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments])
    assert ended.value.code == 2
    assert repr(arguments[1]) in capsys.readouterr().err


def test_debug_shows_where_an_error_arose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--input", str(tmp_path), "--output", str(tmp_path), "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_help_teaches_with_examples_and_tells_the_exit_codes() -> None:
    for arguments in (["--help"], ["run", "--help"], ["replay", "--help"]):
        told = command(arguments)
        assert told.returncode == 0
        text = told.stdout.decode()
        assert "requests.jsonl" in text or "run --help" in text
        assert all(meaning in text for meaning in EXIT_CODES.values())


def test_the_version_is_told() -> None:
    assert command(["--version"]).stdout.decode() == f"flink-memory {__version__}\n"


def test_a_replay_needs_neither_java_nor_pyflink(requests: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from flink_memory.jobs.cli import main; "
        f"code = main(['replay', '--input', {str(requests)!r}, '--output', {str(tmp_path / 'out')!r}, "
        "'--set', 'embedding.model=hashing']); assert 'pyflink' not in sys.modules; sys.exit(code)"
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "JAVA_HOME": "/nowhere"}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert told.returncode == 0, told.stderr


def heeding_interrupts() -> None:
    """A shell has what it starts in the background ignore interrupts, and so all that is started from there."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_a_replay_with_its_own_exit_code() -> None:
    arguments = [*COMMAND, "replay", "--input", "-", "--output", "-", *HASHING]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, preexec_fn=heeding_interrupts
    ) as running:
        time.sleep(5.0)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert running.stderr is not None
        assert running.stderr.read().decode() == "flink-memory: interrupted\n"


def test_a_reader_that_has_seen_enough_is_no_defect() -> None:
    many = b"".join(b'{"request_id": "%d", "agent_id": "ada", "op": "get_all"}\n' % n for n in range(20_000))
    arguments = [*COMMAND, "replay", "--input", "-", "--output", "-", *HASHING]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        with suppress(BrokenPipeError):
            running.stdin.write(many)
            running.stdin.close()
        assert running.wait(60) == 1
        assert b"Traceback" not in running.stderr.read()
