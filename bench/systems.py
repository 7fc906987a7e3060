"""The systems that are compared, and how each is started; the one place to add another.

Every system is measured in processes of its own and gives back the same record (see ``one_by_one.measure``).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.project_flink import measure_job
from bench.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
RIVALS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"


@dataclass(frozen=True)
class Task:
    """One measurement to make.

    Attributes:
        workload: What to add and ask.
        workload_folder: The same as files.
        folder: Empty, for the system's own files.
        add_seconds: Where systems that add one by one stop doing so.
    """

    workload: Workload
    workload_folder: Path
    folder: Path
    add_seconds: float


Record = dict[str, object]
Measure = Callable[[Task], Record]


class UnavailableError(RuntimeError):
    """A system cannot be measured here; the message says what is missing. The others go on without it."""


def systems() -> Mapping[str, Measure]:
    """Return what can be measured, by name, in the order of the table: the project first, the floor last."""
    return {
        "flink": _flink,
        "local": _module(sys.executable, "bench.project_local", "local"),
        "mem0": _module(str(RIVALS_PYTHON), "bench.rivals", "mem0"),
        "chroma": _module(str(RIVALS_PYTHON), "bench.rivals", "chroma"),
        "chroma-filter": _module(str(RIVALS_PYTHON), "bench.rivals", "chroma-filter"),
        "faiss-flat": _module(sys.executable, "bench.faiss_baseline", "faiss-flat"),
    }


def _flink(task: Task) -> Record:
    task.folder.mkdir(parents=True, exist_ok=True)
    try:
        return measure_job(task.workload, task.folder)
    except NotImplementedError as error:
        raise UnavailableError(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"flink-memory run failed with code {error.returncode}:\n{error.output}") from error


def _module(python: str, module: str, system: str) -> Measure:
    def measure(task: Task) -> Record:
        if not Path(python).exists():
            raise UnavailableError(f"{python} is missing; make it with bench/setup_rivals.sh")
        command = [python, "-m", module, system, str(task.workload_folder), str(task.folder)]
        done = subprocess.run(
            [*command, "--add-seconds", str(task.add_seconds)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise UnavailableError(_last_line(done.stderr) or f"{' '.join(command)} ended with {done.returncode}")
        record: Record = json.loads(done.stdout.splitlines()[-1])
        return record

    return measure


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
