"""``flink-memory replay``: the memory over a file of requests, without Flink or Java."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from flink_memory.config import MemoryConfig
from flink_memory.connectors.models import load_embedding_model
from flink_memory.effects import Emit
from flink_memory.jobs.inputs import count_lines, read_records
from flink_memory.jobs.local import DeadLetter, LocalRunner, Output
from flink_memory.jobs.meter import Meter
from flink_memory.jobs.outputs import OutputFiles, open_outputs
from flink_memory.jobs.progress import Progress
from flink_memory.jobs.summary import Tally


def replay(inputs: Sequence[str], output: str, config: MemoryConfig) -> tuple[Tally, Meter]:
    """Feed all records of ``inputs`` to the memory, and write what it says.

    Args:
        inputs: Files of JSON lines; ``-`` is standard input.
        output: A folder; ``-`` is standard output, for the results alone.
        config: As the job's.

    Returns:
        What came out, and how long records took, those that waited for a batch of embeddings not counted while
        they waited.
    """
    runner = LocalRunner(config, load_embedding_model(config.embedding))
    tally, meter, progress = Tally(), Meter(), Progress(count_lines(inputs))
    try:
        with open_outputs(output) as files:
            for record in read_records(inputs):
                started_ns = time.perf_counter_ns()
                outcome = runner.feed(record)
                meter.record("record", started_ns, time.perf_counter_ns())
                _write(outcome, files, tally)
                progress.show(meter.records)
            _write(runner.flush(), files, tally)
    finally:
        progress.close()
    return tally, meter


def _write(outcome: Iterable[Output], files: OutputFiles, tally: Tally) -> None:
    for each in outcome:
        kind = "results" if isinstance(each, Emit) else "dead_letters" if isinstance(each, DeadLetter) else "changelog"
        files.write(kind, each.text)
        tally.add(kind, each.text)
