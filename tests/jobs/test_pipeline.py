"""The job around a small memory, on a real Flink, with Python inside the JVM and beside it."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.conftest import Outputs

Job = Callable[..., Outputs]
MODES = pytest.mark.parametrize("execution_mode", ["thread", "process"])


def observe(request_id: str, agent_id: str, content: str = "hello") -> bytes:
    request = {"request_id": request_id, "agent_id": agent_id, "op": "observe", "type": "user_message"}
    return json.dumps(request | {"content": content}, ensure_ascii=False).encode()


def search(request_id: str, agent_id: str, query: str) -> bytes:
    return json.dumps({"request_id": request_id, "agent_id": agent_id, "op": "search", "query": query}).encode()


def by_agent(results: list[dict[str, Any]], agent_of: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    agents = defaultdict(list)
    for result in results:
        agents[agent_of(result["request_id"])].append(result)
    return agents


@MODES
def test_every_request_is_answered_once_and_in_the_order_of_its_agent(echo_job: Job, execution_mode: str) -> None:
    lines = []
    for number in range(300):
        agent_id = f"agent {number % 7} \N{GRINNING FACE}"
        slow = number % 40 == 3
        lines.append((search if slow else observe)(str(number), agent_id, "what?"))
    out = echo_job(b"\n".join(lines), delay_s=0.02, parallelism=2, execution_mode=execution_mode)
    agents = by_agent(out.results, lambda request_id: str(int(request_id) % 7))
    assert len(agents) == 7
    for agent, results in agents.items():
        assert [result["request_id"] for result in results] == [str(n) for n in range(int(agent), 300, 7)]
        assert [result["count"] for result in results] == list(range(1, len(results) + 1))
    assert out.dead_letters == []


@MODES
def test_what_is_no_request_becomes_a_dead_letter_with_its_own_bytes(echo_job: Job, execution_mode: str) -> None:
    broken = [
        b"not json",
        b'{"request_id": "x", "agent_id": "a", "op": "\xff\xfe"}',
        b"\x01looks like our mark",
        b"nul \x00 and \xf0\x9f\x98\x80",
        b'{"request_id": "x", "op": "get"}',
        b'{"request_id": "x", "agent_id": 5, "op": "get"}',
        b'{"request_id": "x", "agent_id": {"a": 1}}',
        b"[" * 5000,
        b"\xef\xbb\xbf{}",
        "\ufffe{}".encode(),
    ]
    lines = [observe("1", "a"), *broken, b"", observe("2", "a")]
    out = echo_job(b"\r\n".join(lines), execution_mode=execution_mode)
    assert sorted(base64.b64decode(letter["raw"]) for letter in out.dead_letters) == sorted(broken)
    assert [result["request_id"] for result in out.results] == ["1", "2"]
    assert out.changelog == [{"observed": "1"}, {"observed": "2"}]


@MODES
def test_the_end_of_the_input_waits_for_slow_answers(echo_job: Job, execution_mode: str) -> None:
    lines = [search("1", "a", "four"), observe("2", "a"), search("3", "a", "unbearable"), search("4", "b", "three")]
    out = echo_job(b"\n".join(lines), delay_s=0.5, execution_mode=execution_mode)
    answers = {result["request_id"]: (result["length"], result["error"]) for result in out.results}
    assert answers["1"] == (4.0, None)
    assert answers["3"] == (None, "The embedding model failed: cannot bear it")
    assert answers["4"] == (5.0, None)
    agents = by_agent(out.results, lambda request_id: "b" if request_id == "4" else "a")
    assert [result["request_id"] for result in agents["a"]] == ["1", "2", "3"]


def test_a_line_of_megabytes_passes_whole_and_an_empty_file_gives_empty_files(echo_job: Job) -> None:
    assert [r["request_id"] for r in echo_job(observe("1", "a", "\N{GRINNING FACE}" * 1_000_000)).results] == ["1"]
    assert echo_job(b"").results == []


def test_a_failure_in_mid_run_repeats_nothing_and_loses_nothing(echo_job: Job, tmp_path: Path) -> None:
    count = 3_000
    lines = []
    for number in range(count):
        agent_id = f"a{number % 11}"
        if number == count * 2 // 3:
            lines.append(b'{"request_id": "fail-once", "agent_id": "other", "op": "get", "memory_id": "x"}')
        if number % 50 == 49:
            lines.append(search(str(number), agent_id, "q" * (number % 9 + 1)))
        elif number % 97 == 0:
            lines.append(b"broken %d" % number)
        else:
            lines.append(observe(str(number), agent_id))
    out = echo_job(
        b"\n".join(lines),
        delay_s=0.1,
        marker=tmp_path / "failed",
        checkpoint_dir=tmp_path / "checkpoints",
        checkpoint_interval_ms=100,
        restart_attempts=1,
        restart_delay_ms=100,
    )
    assert (tmp_path / "failed").exists()
    broken = [number for number in range(count) if number % 97 == 0 and number % 50 != 49]
    assert sorted(base64.b64decode(d["raw"]) for d in out.dead_letters) == sorted(b"broken %d" % n for n in broken)
    agents = by_agent(
        out.results, lambda request_id: "other" if request_id == "fail-once" else str(int(request_id) % 11)
    )
    for agent in range(11):
        asked = [str(number) for number in range(agent, count, 11) if number not in broken]
        assert [result["request_id"] for result in agents[str(agent)]] == asked
        assert [result["count"] for result in agents[str(agent)]] == list(range(1, len(asked) + 1))
    assert len(agents["other"]) == 1
    assert len(out.changelog) == len({change["observed"] for change in out.changelog})
