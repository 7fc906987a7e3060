"""Files of JSON lines as the job's edges.

Flink's file sink writes part files, one series for each subtask, and makes them visible by renaming, so
that a restart neither repeats nor loses a line. When the job has ended, the parts become one file of each kind.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from flink_memory.connectors.tables import Edges, SinkEdge, SourceEdge

#: Kind of record -> its file in the output folder.
OUTPUT_FILES = {
    "results": "results.jsonl",
    "changelog": "changelog.jsonl",
    "dead_letters": "deadletter.jsonl",
}
_PART_NAME = re.compile(r"part-.*-(\d+)-(\d+)$")


def file_edges(requests: Path, parts: Path) -> Edges:
    """Read ``requests``, a file of JSON lines, and write part files into a folder of each kind in ``parts``.

    Flink reads one local file in one piece, so the lines of an agent keep their order at any parallelism.
    """
    return Edges(
        requests=SourceEdge(_options(requests), skip_empty=True),
        **{kind: SinkEdge(_options(parts / kind) | _ROLLING) for kind in OUTPUT_FILES},
    )


# One part a subtask is enough: a file is rolled when it is big, not because time has passed.
_ROLLING = {
    "sink.rolling-policy.file-size": "1 gb",
    "sink.rolling-policy.rollover-interval": "1 d",
    "sink.rolling-policy.inactivity-interval": "1 d",
}


def _options(path: Path) -> dict[str, str]:
    return {"connector": "filesystem", "format": "raw", "path": flink_path(path)}


def flink_path(path: Path) -> str:
    """Name a local path as Flink reads it: it escapes by itself, so ``Path.as_uri`` would escape twice."""
    return f"file://{path.absolute()}"


def gather(parts: Path, output: Path) -> None:
    """Make the three output files of the part files of a job that has ended, and remove the parts.

    The lines of one agent stay in order, as one subtask wrote them all. Each file appears at once, by a rename.

    Args:
        parts: The folder that the job wrote to.
        output: The folder for the files; made if it is not there. Files of an earlier run are replaced.
    """
    output.mkdir(parents=True, exist_ok=True)
    for kind, name in OUTPUT_FILES.items():
        unfinished = output / f".{name}.unfinished"
        with unfinished.open("wb") as target:
            for part in part_files(parts / kind):
                with part.open("rb") as source:
                    shutil.copyfileobj(source, target)
        unfinished.replace(output / name)
    shutil.rmtree(parts, ignore_errors=True)


def part_files(folder: Path) -> list[Path]:
    """List the finished part files of one sink, by subtask and then in order of writing; [] without a folder."""
    numbered = ((_PART_NAME.match(path.name), path) for path in folder.glob("part-*"))
    return [path for _, path in sorted(((int(m[1]), int(m[2])), path) for m, path in numbered if m)]
