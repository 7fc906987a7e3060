"""The command ``flink-memory``: what it is asked to do, what it says, and how it ends."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from flink_memory.errors import ConfigurationError, FlinkMemoryError
from flink_memory.jobs.arguments import FAILED, INTERRUPTED, NO_JAVA, OK, USAGE, command_line
from flink_memory.jobs.inputs import check_inputs
from flink_memory.jobs.java import JavaMissingError
from flink_memory.jobs.outputs import prepare_output
from flink_memory.jobs.settings import configured, flink_options
from flink_memory.jobs.summary import summary_lines


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line and return its exit code; see ``flink-memory --help``.

    Args:
        argv: The arguments; those of this process when None.
    """
    options = command_line().parse_args(argv)
    try:
        _carry_out(options)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # noqa: BLE001 - one message for whatever it is
        if options.debug:
            traceback.print_exc()
        return _complain(error)
    return OK


def _carry_out(options: argparse.Namespace) -> None:
    _require_edges(options)
    check_inputs(options.input)
    config = configured(options.config, options.set)
    if replaced := prepare_output(options.output, options.input):
        _say(f"replacing {', '.join(replaced)} in {options.output}")
    started = time.monotonic()
    # pyflink takes a second to import, and is not needed for a replay.
    if options.command == "replay":
        from flink_memory.jobs.replay import replay

        tally, meter = replay(options.input, options.output, config)
    else:
        from flink_memory.jobs.run import RunOptions, run

        tally, meter = run(
            RunOptions(
                inputs=tuple(options.input),
                output=options.output,
                parallelism=options.parallelism,
                execution_mode=options.mode,
                state_backend=options.state_backend,
                checkpoint_interval_ms=round(options.checkpoint_interval * 1_000),
                checkpoint_dir=None if options.checkpoint_dir is None else Path(options.checkpoint_dir),
                flink_options=flink_options(options.flink),
            ),
            config,
        )
    seconds = time.monotonic() - started
    for line in summary_lines(tally, meter, seconds, options.output):
        print(line, file=sys.stderr)


def _require_edges(options: argparse.Namespace) -> None:
    if getattr(options, "kafka", None) is not None:
        raise ConfigurationError(
            "--kafka is not in this release: it reads and writes files. "
            "Give --input FILE --output DIR, or pipe records in: --input - --output -"
        )
    for name, value in (("--input FILE", options.input), ("--output DIR", options.output)):
        if not value:
            raise ConfigurationError(
                f"Expected {name}, got none. For example: flink-memory {options.command} "
                "--input requests.jsonl --output results/"
            )


def _complain(error: Exception) -> int:
    """Say in one message what went wrong, and return the exit code for it."""
    if isinstance(error, FlinkMemoryError):
        _say(f"error: {error}")
    else:
        _say(f"error: {type(error).__name__}: {error} (--debug shows where)")
    if isinstance(error, JavaMissingError):
        return NO_JAVA
    return USAGE if isinstance(error, ConfigurationError) else FAILED


def _say(text: str) -> None:
    print(f"flink-memory: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
