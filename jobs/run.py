"""``flink-memory run``: the memory job over a file of requests, on a Flink inside this process's JVM."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from flink_memory.config import MemoryConfig
from flink_memory.connectors.files import file_edges, gather
from flink_memory.connectors.models import load_embedding_model
from flink_memory.jobs.environment import EnvironmentSettings, stream_environment
from flink_memory.jobs.failure import JobFailedError, short_cause
from flink_memory.jobs.inputs import as_one_file, count_lines
from flink_memory.jobs.java import find_java_home
from flink_memory.jobs.memory_job import memory_operator
from flink_memory.jobs.meter import Meter, read_meters
from flink_memory.jobs.outputs import STANDARD_OUTPUT
from flink_memory.jobs.pipeline import build_pipeline
from flink_memory.jobs.progress import Progress
from flink_memory.jobs.summary import Tally, tally_of

_LOOK_EVERY_S = 0.2
SERVICE_TIMES = "service_times.json"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to run on, and how.

    Attributes:
        inputs: Files of JSON lines, read one after the other; ``-`` is standard input.
        output: A folder; ``-`` is standard output, for the results alone.
        parallelism: Subtasks of the operator.
        execution_mode: Python inside the JVM, or beside it.
        state_backend: RocksDB or the heap.
        checkpoint_interval_ms: 0 makes none.
        checkpoint_dir: None for a folder that goes when the job has ended.
        flink_options: Options of Flink's own.
        log_dir: Where Flink's log goes; None for a temporary folder, which stays only when the job fails.
    """

    inputs: tuple[str, ...]
    output: str
    parallelism: int = 1
    execution_mode: Literal["thread", "process"] = "thread"
    state_backend: Literal["rocksdb", "hashmap"] = "rocksdb"
    checkpoint_interval_ms: int = 10_000
    checkpoint_dir: Path | None = None
    flink_options: Mapping[str, str] = field(default_factory=dict)
    log_dir: Path | None = None

    def environment(self, work: Path, log_dir: Path) -> EnvironmentSettings:
        """The settings of the embedded Flink.

        Checkpoints always go to files: the JobManager's memory takes no state of more than 5 MB.
        """
        return EnvironmentSettings(
            parallelism=self.parallelism,
            execution_mode=self.execution_mode,
            state_backend=self.state_backend,
            checkpoint_interval_ms=self.checkpoint_interval_ms,
            checkpoint_dir=self.checkpoint_dir or work / "checkpoints",
            options=self.flink_options,
            log_dir=log_dir,
        )


def run(options: RunOptions, config: MemoryConfig) -> tuple[Tally, Meter]:
    """Run the job to its end, and write what it says.

    Returns:
        What came out, and how long records took in the operator, by ``op``.

    Raises:
        JavaMissingError: There is no Java that can run Flink.
        ConfigurationError: The embedding model cannot be loaded.
        JobFailedError: The job failed; the message names the cause, and the file with the whole log.
    """
    find_java_home()
    load_embedding_model(config.embedding)  # what is wrong with it is better said before Flink starts
    with _work_folder(options.output) as work, _log_folder(options.log_dir) as log_dir:
        requests = as_one_file(options.inputs, work)
        (work / "meters").mkdir()
        env = stream_environment(options.environment(work, log_dir))
        operator = memory_operator(config, str(work / "meters"))
        build_pipeline(env, file_edges(requests, work / "parts"), operator)
        execute(env, work / "meters", count_lines([str(requests)]), log_dir)
        meter = read_meters((work / "meters").glob("*.json"))
        return _deliver(work, options.output, meter), meter


@contextmanager
def _work_folder(output: str) -> Iterator[Path]:
    """A hidden folder beside the results, so that they need not be copied across disks; removed at the end."""
    parent = None if output == STANDARD_OUTPUT else output
    with tempfile.TemporaryDirectory(prefix=".flink-memory-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@contextmanager
def _log_folder(named: Path | None) -> Iterator[Path]:
    """The folder for the log; one of our own stays only when the job has failed, to be read."""
    if named is not None:
        yield named
        return
    folder = Path(tempfile.mkdtemp(prefix="flink-memory-log-"))
    try:
        yield folder
    except JobFailedError:
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def execute(env: Any, meters: Path, total: int | None, log_dir: Path) -> None:
    """Run the job and tell how far it is.

    Args:
        env: The environment with the job wired into it.
        meters: Where the operator's meters are.
        total: Records to come.
        log_dir: Named in errors.
    """
    progress = Progress(total)
    try:
        job = env.execute_async("flink-memory")
        try:
            outcome = job.get_job_execution_result()
            while not outcome.done():
                progress.show(read_meters(meters.glob("*.json")).records)
                time.sleep(_LOOK_EVERY_S)
            outcome.result()
        except KeyboardInterrupt:
            job.cancel().result()
            raise
    except Exception as error:
        raise JobFailedError(short_cause(error), log_dir) from error
    finally:
        progress.close()


def _deliver(work: Path, output: str, meter: Meter) -> Tally:
    """Put the parts that the job wrote where they belong, and count them."""
    folder = work / "output" if output == STANDARD_OUTPUT else Path(output)
    gather(work / "parts", folder)
    if output == STANDARD_OUTPUT:
        with (folder / "results.jsonl").open("rb") as results:
            shutil.copyfileobj(results, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        times = {kind: meter.percentiles_ms(kind) for kind in sorted(meter.classes)}
        (folder / SERVICE_TIMES).write_bytes(orjson.dumps(times, option=orjson.OPT_INDENT_2))
    return tally_of(folder)
