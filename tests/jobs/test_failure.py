"""One sentence out of a chain of Java's exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from flink_memory.jobs.failure import JobFailedError, short_cause


class Throwable:
    """An exception of Java's, as py4j shows it."""

    _target_id = "o1"

    def __init__(self, *messages: str) -> None:
        self._message = messages[0]
        self._cause = Throwable(*messages[1:]) if messages[1:] else None

    def toString(self) -> str:  # noqa: N802 - Java's name
        return self._message

    def getCause(self) -> Throwable | None:  # noqa: N802 - Java's name
        return self._cause


TRACEBACK = """\
java.lang.RuntimeException: Error received from SDK harness for instruction 4: Traceback (most recent call last):
  File "sdk_worker.py", line 1, in execute
    response = task()
ValueError: an earlier one

During handling of the above exception, another exception occurred:

flink_memory.errors.EmbeddingModelChangedError: The vectors are of another model. Set embedding.on_model_change.
"""
OWN = "pemja.core.PythonException: <class 'flink_memory.errors.StateVersionError'>: Expected layout 1, got 9."


@pytest.mark.parametrize(
    ("messages", "cause"),
    [
        (("JobExecutionException: Job execution failed.", OWN), "Expected layout 1, got 9."),
        (("Job failed.", "pemja.core.PythonException: <class 'KeyError'>: 'x'", "at the end"), "KeyError: 'x'"),
        (("Job failed.", TRACEBACK), "The vectors are of another model. Set embedding.on_model_change."),
        (("Job failed.", "java.io.IOException: disk full\n\tat somewhere"), "java.io.IOException: disk full"),
    ],
)
def test_the_cause_that_tells_most_is_found(messages: tuple[str, ...], cause: str) -> None:
    assert short_cause(Py4JJavaError("An error occurred", Throwable(*messages))) == cause


def test_an_error_of_this_process_is_told_as_it_is() -> None:
    assert short_cause(ValueError("x")) == "ValueError: x"


def test_the_log_is_named(tmp_path: Path) -> None:
    assert str(JobFailedError("why", tmp_path)) == f"The job failed: why\nThe whole log: {tmp_path}"
    (tmp_path / "flink.log").touch()
    assert str(JobFailedError("why", tmp_path)).endswith("flink.log")
