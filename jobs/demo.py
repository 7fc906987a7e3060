"""``make run``: three agents live through a few sessions, and are then asked what they remember.

The requests in ``jobs/sample`` go through the main job on an embedded Flink; what comes out is printed the way
a person would tell it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from flink_memory.config import EmbeddingConfig, MemoryConfig
from flink_memory.connectors.files import OUTPUT_FILES
from flink_memory.connectors.models import packaged_minilm
from flink_memory.errors import ConfigurationError, FlinkMemoryError
from flink_memory.jobs.arguments import FAILED, INTERRUPTED, NO_JAVA, OK
from flink_memory.jobs.java import JavaMissingError
from flink_memory.jobs.story import story

SAMPLE = Path(__file__).resolve().parent / "sample"
FILES = tuple(SAMPLE / name for name in ("support.jsonl", "travel.jsonl", "coding.jsonl", "mistakes.jsonl"))

_NEXT = """\
Try next ({bin} is where this environment keeps its programs):
  {bin}/flink-memory replay --input {sample} --output results/
      the same memory without Flink: look at results/results.jsonl
  {bin}/flink-memory run --help
      your own requests, checkpoints, parallelism
  {bin}/python -c 'from flink_memory import LocalMemory; help(LocalMemory)'
      the memory in a notebook"""


def main() -> int:
    """Run the sample and print what became of it; returns an exit code like those of ``flink-memory``."""
    try:
        _run_sample()
    except KeyboardInterrupt:
        return INTERRUPTED
    except FlinkMemoryError as error:
        print(f"error: {error}", file=sys.stderr)
        return NO_JAVA if isinstance(error, JavaMissingError) else FAILED
    return OK


def _run_sample() -> None:
    from flink_memory.jobs.run import RunOptions, run  # pyflink takes its time, in which something can be said

    config, model = configuration()
    requests = [line for file in FILES for line in file.read_bytes().splitlines()]
    print(f"{len(requests)} requests of three agents go through a Flink job, embedded by {model}.")
    print("Flink starts: 10 to 30 seconds ...", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flink-memory-demo-") as folder:
        run(RunOptions(tuple(map(str, FILES)), folder), config)
        seconds = time.monotonic() - started
        results, changes, dead = (decoded(_lines(Path(folder) / name)) for name in OUTPUT_FILES.values())
    for line in story(decoded(requests), results, changes, dead):
        print(line)
    print(f"\n{len(results)} results and {len(changes)} changes of memories in {seconds:.0f} s.\n")
    print(_NEXT.format(bin=_from_here(Path(sys.executable).parent), sample=_from_here(FILES[0])))


def configuration() -> tuple[MemoryConfig, str]:
    """Choose the packaged model where it is installed, and say which one was chosen."""
    try:
        packaged_minilm()
    except ConfigurationError:
        hashing = MemoryConfig(embedding=EmbeddingConfig(model="hashing"))
        return hashing, "hashing, as MiniLM is not installed: words and letters count, meaning does not"
    return MemoryConfig(), "MiniLM"


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines()


def decoded(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Decode the lines that are JSON; one of the sample's is not."""
    found = (_record(line) for line in lines)
    return [record for record in found if record is not None]


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return record


def _from_here(path: Path) -> str:
    return os.path.relpath(path)


if __name__ == "__main__":
    sys.exit(main())
