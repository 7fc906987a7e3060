"""Where the outcome of a command goes: three files in a folder, or the results alone to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from flink_memory.connectors.files import OUTPUT_FILES
from flink_memory.errors import ConfigurationError

STANDARD_OUTPUT = "-"


class OutputFiles:
    """One open file for each kind of record."""

    def __init__(self, files: dict[str, BinaryIO]) -> None:
        self._files = MappingProxyType(files)

    def write(self, kind: str, text: str) -> None:
        """Write one record; of a kind that has no file, nothing."""
        if kind in self._files:
            self._files[kind].write(text.encode() + b"\n")


@contextmanager
def open_outputs(name: str) -> Iterator[OutputFiles]:
    """Open the files of a folder that :func:`prepare_output` has seen, or standard output; close them at the end."""
    with ExitStack() as stack:
        if name == STANDARD_OUTPUT:
            standard = stack.enter_context(open(sys.stdout.fileno(), "wb", closefd=False))
            yield OutputFiles({"results": standard})
            return
        yield OutputFiles(
            {kind: stack.enter_context((Path(name) / file).open("wb")) for kind, file in OUTPUT_FILES.items()}
        )


def prepare_output(name: str, inputs: Sequence[str]) -> list[str]:
    """Make the folder, and see that the three files can be written.

    Args:
        name: The folder, or ``-``.
        inputs: Files that are read: they must not be among those that are written.

    Returns:
        Files of an earlier run that will be replaced.

    Raises:
        ConfigurationError: The folder cannot be made or written to.
    """
    if name == STANDARD_OUTPUT:
        return []
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(
            f"Expected a folder for the results, got the file {folder}. Choose another: --output DIR"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".flink-memory-can-write"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"The output folder {folder} cannot be written to: {error.strerror}. Choose another: --output DIR"
        ) from error
    existing = [file for file in OUTPUT_FILES.values() if (folder / file).exists()]
    for file in existing:
        if (folder / file).is_dir():
            raise ConfigurationError(f"Expected a file {folder / file}, or none, got a folder. Move it away.")
        for read in inputs:
            if read != "-" and Path(read).samefile(folder / file):
                raise ConfigurationError(
                    f"The input {read} would be replaced by the output. Choose another: --output DIR"
                )
    return existing
