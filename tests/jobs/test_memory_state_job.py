"""A memory state in somebody's own function, on a real Flink, with Python inside the JVM and beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

from flink_memory.jobs.environment import EnvironmentSettings, stream_environment
from flink_memory.jobs.example_memory_state import TICKETS, recalled
from tests.jobs.notebook import FailingNotebook, Notebook, TwoSidedNotebook

MODES = pytest.mark.parametrize("execution_mode", ["thread", "process"])
Environment = Callable[..., StreamExecutionEnvironment]


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    log_dir = tmp_path_factory.getbasetemp() / "flink-log"

    def made(**settings: Any) -> StreamExecutionEnvironment:
        chosen: dict[str, Any] = {"restart_attempts": 0, "checkpoint_interval_ms": 0, "log_dir": log_dir} | settings
        return stream_environment(EnvironmentSettings(**chosen))

    return made


def run(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as lines:
        return [json.loads(line) for line in lines]


STEPS = [*(("add", f"note {n}") for n in range(12)), ("observe", "something else"), ("search", "note"), ("clear", "")]
STEPS += [("search", "note"), ("add", "note 12"), ("observe", "the end"), ("add", "note 13"), ("search", "the end")]


KEYS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "text": (Types.STRING(), lambda n: f"agent {n} \N{GRINNING FACE}"),
    "tuple": (Types.TUPLE([Types.STRING(), Types.LONG()]), lambda n: ("agent", n)),
    "pickled": (None, lambda n: n * 0.5),
}


@MODES
def test_interleaved_keys_each_have_their_own_memory(environment: Environment, execution_mode: str) -> None:
    count = 9
    records = [(n, op, f"{text} of {n}") for op, text in STEPS for n in range(count)]
    env = environment(execution_mode=execution_mode, parallelism=2)
    source = env.from_collection(records, Types.TUPLE([Types.LONG(), Types.STRING(), Types.STRING()]))
    text, *others = [
        source.key_by(lambda record, key_of=key_of: key_of(record[0]), key_type).process(Notebook(kind), Types.STRING())
        for kind, (key_type, key_of) in KEYS.items()
    ]
    by_key: dict[str, list[Any]] = {}
    for line in run(text.union(*others)):
        by_key.setdefault(json.dumps([line.pop("kind"), line.pop("key")]), []).append(line)
    assert len(by_key) == count * len(KEYS)
    for kind, (_, key_of) in KEYS.items():
        for n in range(count):
            first, second, third, last = by_key[json.dumps([kind, key_of(n)])]
            assert sorted(first["found"]) == sorted(
                [*(f"note {i} of {n}" for i in range(12)), f"something else of {n}"]
            )
            assert second["found"] == []
            assert third["found"][0] == f"the end of {n}"
            assert last["history"] == [f"note 12 of {n}", f"the end of {n}", f"note 13 of {n}"]
            assert last["notes"] == [f"note 12 of {n}", f"note 13 of {n}"]
            assert last["changes"] == ["ADD", "ADD"]
            assert last["other"] == [f"other note {i} of {n}" for i in range(14)]


@MODES
def test_after_a_failure_memory_is_as_if_there_had_been_none(
    environment: Environment, execution_mode: str, tmp_path: Path
) -> None:
    count, fail_at = 1_400, 1_000
    env = environment(
        execution_mode=execution_mode,
        checkpoint_dir=tmp_path / "checkpoints",
        checkpoint_interval_ms=100,
        restart_attempts=1,
        restart_delay_ms=100,
    )
    source = env.from_source(
        NumberSequenceSource(0, count - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    keyed = source.key_by(lambda number: number % 7, Types.LONG())
    said = run(keyed.process(FailingNotebook(fail_at, tmp_path), Types.STRING()).uid("notebook"))
    starts = [int(line) for line in (tmp_path / "starts").read_text().split()]
    assert starts[0] == 0
    assert 0 < starts[1] <= fail_at, "the second start must go on from a checkpoint"
    assert sorted(line["key"] for line in said) == list(range(7))
    for line in said:
        numbers = range(line["key"], count, 7)
        assert line["notes"] == [f"note {n}, changed" if n % 5 == 0 else f"note {n}" for n in numbers]
        assert line["audited"] == len(numbers) + len([n for n in numbers if n % 5 == 0])


@MODES
def test_the_example_recalls_the_customers_own_tickets(environment: Environment, execution_mode: str) -> None:
    env = environment(execution_mode=execution_mode)
    with recalled(env, TICKETS).execute_and_collect() as lines:
        said = list(lines)
    assert len([line for line in said if line.startswith(("ada", "bob"))]) == len(TICKETS)
    recalls = [line for line in said if line.startswith("    like ticket")]
    assert any("like ticket 1" in line and "courier" in line for line in recalls)
    assert said[-1] == "bob opened ticket 6: Charged twice again", "what is forgotten is not recalled"


@MODES
def test_a_function_of_two_streams_has_one_memory_for_both(environment: Environment, execution_mode: str) -> None:
    env = environment(execution_mode=execution_mode)
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    sides = [
        env.from_collection([(n % 5, f"{side} {n}") for n in range(50)], pair).key_by(
            lambda record: Row(record[0], "row"), Types.ROW([Types.LONG(), Types.STRING()])
        )
        for side in ("told", "asked")
    ]
    said = run(sides[0].connect(sides[1]).process(TwoSidedNotebook(), Types.STRING()))
    assert len(said) == 100
    for key, seen in said:
        assert set(seen) <= {f"told {n}" for n in range(key, 50, 5)}
    assert [max(len(seen) for key, seen in said if key == each) for each in range(5)] == [10] * 5
