"""The arguments of ``flink-memory``, and the help that teaches them."""

from __future__ import annotations

import argparse
from typing import Any

from flink_memory import __version__

EXIT_CODES = {
    0: "all requests were answered (some perhaps with an error: see the summary)",
    1: "the job failed",
    2: "wrong usage, a missing file, a wrong configuration, or an embedding model that cannot be loaded",
    3: "no Java that can run Flink was found",
    130: "interrupted by Ctrl-C",
}
OK, FAILED, USAGE, NO_JAVA, INTERRUPTED = EXIT_CODES

_DESCRIPTION = """\
Memory for AI agents as keyed state of a Flink job.

Requests are JSON lines; every agent has a memory of its own:

  {"request_id": "1", "agent_id": "ada", "op": "add", "memory": "Ada prefers tea to coffee."}
  {"request_id": "2", "agent_id": "ada", "op": "search", "query": "what does Ada drink?"}
"""
_RUN = "Run the Flink job on a cluster inside this process; it ends when every request is answered."
_RUN_EXAMPLES = """\
examples:
  flink-memory run --input requests.jsonl --output results/
  flink-memory run --input monday.jsonl --input tuesday.jsonl --output results/ --parallelism 2
  flink-memory run --input requests.jsonl --output results/ --checkpoint-dir checkpoints/ --checkpoint-interval 5
  flink-memory run --input requests.jsonl --output results/ --config memory.yaml --set cache.max_bytes=100000000
  cat requests.jsonl | flink-memory run --input - --output - > results.jsonl
"""
_REPLAY = "Run the same memory without Flink or Java: quick to start, with the same results."
_REPLAY_EXAMPLES = """\
examples:
  flink-memory replay --input requests.jsonl --output results/
  flink-memory replay --input requests.jsonl --output results/ --set embedding.model=hashing
  cat requests.jsonl | flink-memory replay --input - --output - | jq .result
"""
_OUTPUT = """\
The output folder gets results.jsonl (one result for each request), changelog.jsonl (every change of a
memory) and deadletter.jsonl (what could not be read as a request); run adds service_times.json (median and
99th percentile of the time in the operator, in ms, by op). These are replaced, nothing else in the folder is
touched. Progress and the summary go to standard error.
"""
_EXIT = "exit codes:\n" + "\n".join(f"  {code:<5}{meaning}" for code, meaning in EXIT_CODES.items())


def command_line() -> argparse.ArgumentParser:
    """Make the parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog="flink-memory",
        description=_DESCRIPTION,
        epilog=f"flink-memory run --help and flink-memory replay --help show examples.\n\n{_EXIT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"flink-memory {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="run | replay")
    _add_run_arguments(_add_command(commands, "run", _RUN, _RUN_EXAMPLES))
    _add_command(commands, "replay", _REPLAY, _REPLAY_EXAMPLES)
    return parser


def _add_command(commands: Any, name: str, description: str, examples: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=description,
        description=f"{description}\n\n{_OUTPUT}",
        epilog=f"{examples}\n{_EXIT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add(
        "--input",
        action="append",
        default=[],
        metavar="FILE",
        help="requests as JSON lines; - is standard input; may come again",
    )
    add("--output", metavar="DIR", help="folder for the three files; - is standard output, for the results alone")
    add("--config", metavar="FILE", help="the memory's configuration (conf/memory.yaml); without it, the defaults")
    add("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="one setting, over those of the file")
    add("--debug", action="store_true", help="show where in the program an error arose")
    return command


def _add_run_arguments(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("--parallelism", type=_positive, default=1, metavar="N", help="subtasks of the memory operator (1)")
    add(
        "--mode",
        choices=["thread", "process"],
        default="thread",
        help="Python inside the JVM, or beside it: far slower (thread)",
    )
    add(
        "--state-backend",
        choices=["rocksdb", "hashmap"],
        default="rocksdb",
        help="state on disk, or on the heap (rocksdb)",
    )
    add(
        "--checkpoint-interval",
        type=_seconds,
        default=10.0,
        metavar="S",
        help="seconds between checkpoints; 0: none (10)",
    )
    add("--checkpoint-dir", metavar="DIR", help="folder for checkpoints; without it they go when the job has ended")
    add("--flink", action="append", default=[], metavar="KEY=VALUE", help="an option of Flink's own, passed on")
    add("--kafka", metavar="SERVERS", help="not in this release")


def _positive(text: str) -> int:
    if not text.isdecimal() or (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds, 0 or more, got {text!r}")
    return number
