"""In CI a test that is skipped has failed: what it needs must be there.

Property tests draw the same examples at every run in CI, and other ones at every run elsewhere.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI") == "true":
    settings.load_profile("ci")

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what was skipped; an expected failure is none."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note modules that were skipped whole."""
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in CI that skipped anything."""
    if _skipped and os.environ.get("CI") == "true":
        print("\nSkipped, which is not allowed in CI: " + ", ".join(_skipped))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
