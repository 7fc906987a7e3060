"""Where requests come from on a command line: files of JSON lines, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from flink_memory.errors import ConfigurationError

STANDARD_INPUT = "-"
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".deflate")
_CHUNK_BYTES = 1024 * 1024


def check_inputs(names: Sequence[str]) -> None:
    """See that every input is there and can be read, before anything is started.

    Raises:
        ConfigurationError: Says which one, and why not.
    """
    if names.count(STANDARD_INPUT) > 1:
        raise ConfigurationError("Expected standard input once, got --input - twice.")
    for path in (Path(name) for name in names if name != STANDARD_INPUT):
        if path.is_dir():
            raise ConfigurationError(
                f"Expected a file of requests, got the folder {path}. Name its files: --input {path}/one.jsonl"
            )
        if path.suffix in _COMPRESSED:
            raise ConfigurationError(
                f"Expected plain JSON lines, got {path}, which seems compressed. Unpack it on the way: "
                f"zcat {path} | flink-memory ... --input -"
            )
        try:
            with path.open("rb"):
                pass
        except FileNotFoundError:
            raise ConfigurationError(f"There is no input file {path}. Check the path given to --input.") from None
        except OSError as error:
            raise ConfigurationError(f"The input file {path} cannot be read: {error.strerror}.") from error


def read_records(names: Sequence[str]) -> Iterator[bytes]:
    """Read the records of all inputs, one after the other: lines that are not empty, without their ends.

    A line ends as Flink's file source has it: with a line feed, before which one carriage return is dropped.
    """
    for name in names:
        with _opened(name) as source:
            for line in source:
                record = line.removesuffix(b"\n").removesuffix(b"\r")
                if record:
                    yield record


def count_lines(names: Sequence[str]) -> int | None:
    """Count the lines of all inputs; about a second for each gigabyte. None when it cannot be known before."""
    if STANDARD_INPUT in names:
        return None
    lines = 0
    for name in names:
        with Path(name).open("rb") as source:
            while chunk := source.read(_CHUNK_BYTES):
                lines += chunk.count(b"\n")
    return lines


def as_one_file(names: Sequence[str], folder: Path) -> Path:
    """Give one file that holds all inputs in order: the file itself, or a copy in ``folder``.

    Flink passes over files whose names begin with a dot or an underscore, so these are copied too.
    """
    if len(names) == 1 and names[0] != STANDARD_INPUT:
        only = Path(names[0])
        if only.is_file() and not only.name.startswith((".", "_")):
            return only
    joined = folder / "requests.jsonl"
    with joined.open("wb") as target:
        for name in names:
            last = b"\n"
            with _opened(name) as source:
                while chunk := source.read(_CHUNK_BYTES):
                    target.write(chunk)
                    last = chunk[-1:]
            if last != b"\n":
                target.write(b"\n")
    return joined


def _opened(name: str) -> BinaryIO:
    return open(sys.stdin.fileno(), "rb", closefd=False) if name == STANDARD_INPUT else Path(name).open("rb")
