"""Why a job failed, in a sentence rather than in two hundred lines of Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from flink_memory.errors import FlinkMemoryError

# "pemja.core.PythonException: <class 'flink_memory.errors.X'>: text" in thread mode, and the last line of a
# traceback, "flink_memory.errors.X: text", in process mode.
_PYTHON_ERROR = re.compile(
    r"(?:^|\n)(?:[\w.]*PythonException: )?(?:<class ')?"
    r"(?P<name>[A-Za-z_][\w.]*(?:Error|Exception))(?:'>)?: (?P<text>.+)"
)
_OWN = "flink_memory."
_MOST_CAUSES = 50


class JobFailedError(FlinkMemoryError, RuntimeError):
    """The job failed for good.

    Args:
        cause: What went wrong.
        log_dir: Where the whole story is.
    """

    def __init__(self, cause: str, log_dir: Path) -> None:
        logs = sorted(log_dir.glob("*.log"))
        super().__init__(f"The job failed: {cause}\nThe whole log: {logs[0] if logs else log_dir}")


def short_cause(error: BaseException) -> str:
    """Find the cause that tells most: an error of Python's if there is one, else the innermost of Java's."""
    if not isinstance(error, Py4JJavaError):
        return f"{type(error).__name__}: {error}"
    messages = list(_messages(error.java_exception))
    for message in reversed(messages):
        if found := list(_PYTHON_ERROR.finditer(message)):
            return _told(found[-1])
    return messages[-1].strip().splitlines()[0] if messages else "for no reason given"


def _told(found: re.Match[str]) -> str:
    name, text = found["name"], found["text"].strip()
    return text if name.startswith(_OWN) else f"{name}: {text}"


def _messages(throwable: Any) -> Iterator[str]:
    """The messages of an exception of Java's and of its causes, the innermost last."""
    for _ in range(_MOST_CAUSES):
        if throwable is None:
            return
        yield str(throwable.toString())
        throwable = throwable.getCause()
