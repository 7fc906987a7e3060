"""The workload as files of the wire contract: requests for the project's job to read, and its results read back.

A file has five phases, in this order, told apart by the prefix of ``request_id``:

1. ``warm-add`` and ``warm-search``, interleaved, on agents of their own: the first 10 to 15 seconds of a JVM are
   compilation, and a service runs longer than that.
2. ``warm-forget``: those agents forget everything, so that what lies on disk at the end is the workload's.
3. ``add``: every memory once, with its vector (base64 of little-endian float32), in the order of their numbers.
4. ``search``: all queries, several rounds, with ``vector`` alone and ``limit`` 10.

**How a phase is timed.** By the job's own ``applied_at``: count - 1 over last minus first. The clock ticks in
milliseconds, so a phase must be long, not finely timed: with ten rounds of 500 queries even 10,000 searches a second
take half a second, and a tick is 0.2 % of that. Everything that a request costs in the job, from reading its line to
writing its result, lies between two such times, as source, operator and sink keep step under back-pressure. Starting
and stopping the JVM does not; ``project_flink`` reports it apart.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from bench.measurement import Timing
from bench.workload import (
    NEIGHBOURS,
    Float32Matrix,
    Workload,
    clustered_vectors,
    memory_name,
    memory_number,
    memory_text,
)

SEARCH_ROUNDS = 10


@dataclass(frozen=True)
class WarmUp:
    """How much is done before anything is timed.

    Attributes:
        agents: Agents that exist for the warm-up alone.
        adds: Memories added over all of them.
        searches: Searches over all of them, spread evenly among the adds.
    """

    agents: int = 20
    adds: int = 8_000
    searches: int = 32_000


@dataclass(frozen=True)
class JobResults:
    """What the job answered.

    Attributes:
        adds: Timing of the ``add`` phase; single calls are not timed in a file.
        searches: Timing of the ``search`` phase.
        hits: For each query the numbers of the memories found in the last round, best first.
    """

    adds: Timing
    searches: Timing
    hits: list[list[int]]


class BrokenRunError(RuntimeError):
    """The results do not answer the requests, so no number may be taken from them."""


def write_requests(workload: Workload, path: Path, rounds: int = SEARCH_ROUNDS, warm_up: WarmUp | None = None) -> int:
    """Write the request file of a workload.

    Args:
        workload: What to add and ask.
        path: Where to write; about 2.2 KB a request.
        rounds: How often all queries are asked.
        warm_up: What to do first; None is ``WarmUp()``.

    Returns:
        The number of requests.
    """
    with path.open("w", encoding="utf-8") as file:
        return sum(
            _write_all(file, requests)
            for requests in (_warm_up(warm_up or WarmUp()), _adds(workload), _searches(workload, rounds))
        )


def read_results(path: Path, workload: Workload, rounds: int = SEARCH_ROUNDS) -> JobResults:
    """Read a job's ``results.jsonl``.

    Raises:
        BrokenRunError: A result is an error, or a request of the workload has no result or two.
    """
    added: dict[str, float] = {}
    searched: dict[str, float] = {}
    hits: list[list[int]] = [[] for _ in workload.queries]
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            result = json.loads(line)
            phase = _phase(result)
            if phase == "add":
                _note_time(added, result)
            elif phase == "search":
                _note_time(searched, result)
                hits[int(result["request_id"].rsplit("-", 1)[1])] = _hits(result)
    _expect(len(added), workload.count, "adds")
    _expect(len(searched), rounds * len(workload.queries), "searches")
    return JobResults(_phase_timing(list(added.values())), _phase_timing(list(searched.values())), hits)


def base64_vector(vector: Float32Matrix) -> str:
    """Encode a vector as the contract's ``vector`` text: base64 of little-endian float32."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


Request = dict[str, object]


def _adds(workload: Workload) -> Iterator[Request]:
    for number, text in enumerate(workload.texts):
        agent = workload.memory_agent(number)
        yield _add(f"add-{number}", agent, number, text, workload.vectors[number])


def _searches(workload: Workload, rounds: int) -> Iterator[Request]:
    for repeat in range(rounds):
        for query, vector in enumerate(workload.queries):
            yield _search(f"search-{repeat}-{query}", workload.query_agent(query), vector)


def _warm_up(warm_up: WarmUp) -> Iterator[Request]:
    vectors, queries = clustered_vectors(warm_up.adds, 500, seed=11)
    searches_done = 0
    for number in range(warm_up.adds):
        agent = f"warm-{number % warm_up.agents}"
        yield _add(f"warm-add-{number}", agent, number, memory_text(number), vectors[number])
        due = warm_up.searches * (number + 1) // warm_up.adds
        for search in range(searches_done, due):
            yield _search(f"warm-search-{search}", agent, queries[search % len(queries)])
        searches_done = due
    for number in range(warm_up.agents):
        yield {
            "request_id": f"warm-forget-{number}", "agent_id": f"warm-{number}", "op": "forget", "everything": True,
        }  # fmt: skip


def _add(request_id: str, agent: str, number: int, text: str, vector: Float32Matrix) -> Request:
    return {
        "request_id": request_id, "agent_id": agent, "op": "add", "memory_id": memory_name(number), "memory": text,
        "vector": base64_vector(vector),
    }  # fmt: skip


def _search(request_id: str, agent: str, vector: Float32Matrix) -> Request:
    return {
        "request_id": request_id, "agent_id": agent, "op": "search", "vector": base64_vector(vector),
        "limit": NEIGHBOURS,
    }  # fmt: skip


def _write_all(file: TextIO, requests: Iterator[Request]) -> int:
    count = 0
    for request in requests:
        file.write(json.dumps(request, separators=(",", ":")) + "\n")
        count += 1
    return count


def _phase(result: dict[str, object]) -> str:
    if result["status"] != "ok":
        raise BrokenRunError(f"expected only results that are ok, got {json.dumps(result)[:500]}")
    return str(result["request_id"]).split("-", 1)[0]


def _note_time(times: dict[str, float], result: dict[str, str]) -> None:
    request_id = result["request_id"]
    if request_id in times:
        raise BrokenRunError(f"expected one result for request {request_id}, got two")
    times[request_id] = datetime.fromisoformat(result["applied_at"].replace("Z", "+00:00")).timestamp()


def _hits(result: dict[str, dict[str, list[dict[str, str]]]]) -> list[int]:
    return [memory_number(hit["id"]) for hit in result["result"]["hits"]]


def _expect(got: int, expected: int, what: str) -> None:
    if got != expected:
        raise BrokenRunError(f"expected results for {expected} {what}, got {got}")


def _phase_timing(times: list[float]) -> Timing:
    duration = max(times) - min(times)
    if duration <= 0:
        raise BrokenRunError(f"expected {len(times)} results to take more than a millisecond; make the phase longer")
    return Timing((len(times) - 1) / duration, None, None, len(times))
