"""What goes through Flink comes out as it does without."""

from __future__ import annotations

import base64
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flink_memory.clock import parse_time
from flink_memory.config import MemoryConfig, parse_config
from flink_memory.connectors.files import OUTPUT_FILES, file_edges, gather
from flink_memory.effects import Effect, Received
from flink_memory.embedding import EmbeddingModel
from flink_memory.jobs.demo import SAMPLE
from flink_memory.jobs.environment import EnvironmentSettings, stream_environment
from flink_memory.jobs.memory_job import OpenDoor, OpenMemories
from flink_memory.jobs.operator import MemoryOperator
from flink_memory.jobs.pipeline import build_pipeline
from flink_memory.jobs.replay import replay
from flink_memory.jobs.run import RunOptions, run
from flink_memory.memory import Input
from flink_memory.state.cache import AgentCache
from tests.jobs import contract_requests

# Small bounds, so that logs are sealed and merged, windows are trimmed, and agents are dropped and loaded again.
CONFIG: dict[str, dict[str, Any]] = {
    "embedding": {"model": "hashing", "dimension": contract_requests.DIMENSION},
    "index": {"tail_entries": 8, "merge_fanout": 2},
    "limits": {"max_text_bytes": 1_000},
    "history": {"max_items": 20},
}
ROUNDS = 10
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"')


@dataclass(frozen=True)
class Outcome:
    """What came out: results and changes by agent, in order, dead letters in any; times of processing left out."""

    results: Mapping[str, list[Any]]
    changes: Mapping[str, list[Any]]
    dead_letters: list[Any]


def outcome_of(folder: Path) -> Outcome:
    results, changes, dead = ((folder / name).read_text().splitlines() for name in OUTPUT_FILES.values())
    letters = sorted((json.loads(_timeless(line)) for line in dead), key=lambda letter: str(letter["raw"]))
    return Outcome(_by_agent(results), _by_agent(changes), letters)


def _by_agent(lines: Iterable[str]) -> dict[str, list[Any]]:
    agents = defaultdict(list)
    for line in lines:
        record = json.loads(_timeless(line))
        agents[record["agent_id"]].append(record)
    return dict(agents)


def _timeless(line: str) -> str:
    """Replace times of processing: those of the last hour."""
    recent_ms = time.time() * 1_000 - 3_600_000
    return _TIME.sub(lambda at: '"now"' if recent_ms < parse_time(at[0][1:-1]) < recent_ms + 7_200_000 else at[0], line)


def assert_same(ran: Outcome, replayed: Outcome) -> None:
    assert ran.dead_letters == replayed.dead_letters
    for ours, theirs in ((ran.results, replayed.results), (ran.changes, replayed.changes)):
        assert ours.keys() == theirs.keys()
        for agent_id, records in theirs.items():
            for mine, other in zip(ours[agent_id], records, strict=False):
                assert mine == other
            assert len(ours[agent_id]) == len(records)


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(b"\n".join(contract_requests.lines()) + b"\n")
    return file


@pytest.fixture
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "flink-log"


def replayed(requests: Path, config: MemoryConfig, output: Path) -> Outcome:
    output.mkdir()
    replay([str(requests)], str(output), config)
    return outcome_of(output)


def ran(requests: Path, config: MemoryConfig, output: Path, log_dir: Path, **options: Any) -> Outcome:
    output.mkdir()
    run(RunOptions((str(requests),), str(output), log_dir=log_dir, **options), config)
    return outcome_of(output)


def test_the_requests_cover_the_contract(requests: Path, tmp_path: Path) -> None:
    outcome = replayed(requests, parse_config(CONFIG), tmp_path / "replayed")
    results = [result for agent in outcome.results.values() for result in agent]
    answered = {(result["op"], result["status"]) for result in results}
    done = "observe add add_messages update delete get get_all history get_history search end_session forget"
    assert {(op, "ok") for op in done.split()} <= answered
    assert {("recall", "error"), ("compact", "error"), ("teleport", "error")} <= answered
    actions = {change["action"] for agent in outcome.changes.values() for change in agent}
    assert actions == {"ADD", "UPDATE", "DELETE", "EXPIRE", "FORGET"}
    codes = {result["error"]["code"] for result in results if result["status"] == "error"}
    assert codes == {"VALIDATION_ERROR", "NOT_FOUND", "CONFLICT", "DIMENSION_MISMATCH", "TOO_LARGE"}
    assert any(result.get("duplicate") for result in results)
    raw = sorted(base64.b64decode(letter["raw"]) for letter in outcome.dead_letters)
    assert raw == sorted(contract_requests.DEAD)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="thread"),
        pytest.param({"parallelism": 2, "state_backend": "hashmap"}, id="thread-heap-2"),
        pytest.param({"execution_mode": "process"}, id="process"),
    ],
)
def test_a_run_gives_what_a_replay_gives(
    requests: Path, tmp_path: Path, log_dir: Path, options: dict[str, Any]
) -> None:
    config = parse_config(CONFIG)
    assert_same(
        ran(requests, config, tmp_path / "ran", log_dir, **options), replayed(requests, config, tmp_path / "replayed")
    )


def test_a_run_with_the_packaged_model_gives_what_a_replay_gives(tmp_path: Path, log_dir: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_bytes(b"".join(file.read_bytes() for file in sorted(SAMPLE.glob("*.jsonl"))))
    config = parse_config({"embedding": {"model": "minilm"}})
    assert_same(ran(requests, config, tmp_path / "ran", log_dir), replayed(requests, config, tmp_path / "replayed"))


class FailingOnce:
    """Memories of which one request makes the job fail, one time for each marker file.

    The file then tells how many checkpoints there were.
    """

    def __init__(self, memories: AgentCache, checkpoints: Path, marker: Path) -> None:
        self._memories = memories
        self._checkpoints = checkpoints
        self._marker = marker
        self.unanswered = memories.unanswered

    def apply(self, agent_id: str, item: Input, now_ms: int) -> list[Effect]:
        effects = self._memories.apply(agent_id, item, now_ms)
        if isinstance(item, Received) and item.item.request_id == "fail-once" and not self._marker.exists():
            self._marker.write_text(str(len(list(self._checkpoints.glob("*/chk-*/_metadata")))))
            raise RuntimeError("failing on purpose")
        return effects


class OpenFailingOnce:
    """Makes :class:`FailingOnce` over Flink's state."""

    def __init__(self, config: MemoryConfig, *files: Path) -> None:
        self._open = OpenMemories(config.model_dump_json())
        self._files = files

    def __call__(self, runtime_context: Any, model: EmbeddingModel) -> FailingOnce:
        return FailingOnce(self._open(runtime_context, model), *self._files)


def test_a_failure_in_mid_run_repeats_nothing_and_loses_nothing(tmp_path: Path, log_dir: Path) -> None:
    requests, marker, parts, output = (tmp_path / name for name in ("requests.jsonl", "failed", "parts", "ran"))
    lines = [
        line.replace(b'"request_id": "', b'"request_id": "%d-' % n)
        for n in range(ROUNDS)
        for line in contract_requests.lines()
    ]
    lines.insert(
        len(lines) * 2 // 3, b'{"request_id": "fail-once", "agent_id": "ada", "op": "add", "memory": "I fail."}'
    )
    requests.write_bytes(b"\n".join(lines))
    config, checkpoints = parse_config(CONFIG), tmp_path / "checkpoints"
    settings = EnvironmentSettings(
        state_backend="rocksdb",
        checkpoint_interval_ms=1_000,
        checkpoint_dir=checkpoints,
        restart_attempts=1,
        restart_delay_ms=100,
        log_dir=log_dir,
    )
    env = stream_environment(settings)
    door = OpenDoor(config.embedding.model_dump_json())
    operator = MemoryOperator(OpenFailingOnce(config, checkpoints, marker), door)
    build_pipeline(env, file_edges(requests, parts), operator)
    env.execute("failing once")
    gather(parts, output)
    assert int(marker.read_text()) > 0
    assert_same(outcome_of(output), replayed(requests, config, tmp_path / "replayed"))
