"""Finding Java and this interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flink_memory.errors import ConfigurationError
from flink_memory.jobs import java
from flink_memory.jobs.environment import EnvironmentSettings, import_folders


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("21-ea", 21)])
def test_the_version_of_a_java_is_read(tmp_path: Path, text: str, major: int) -> None:
    assert java.java_version(fake_java(tmp_path, text)) == major


def test_a_java_that_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert java.java_version(tmp_path) is None


def test_java_home_comes_first_and_one_that_is_too_old_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("PATH", f"{new / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert java.find_java_home() == new
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "named", "17.0.1")))
    assert java.find_java_home() == tmp_path / "named"


def test_without_java_the_error_says_what_was_found_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
    monkeypatch.setattr(java, "_package_home", lambda: None)
    with pytest.raises(ConfigurationError, match=r"Java 17 or newer.*Java 11.*flink-memory\[java\]"):
        java.find_java_home()


def test_another_interpreter_with_our_folders_imports_what_we_can() -> None:
    base = os.path.realpath(sys.executable)  # the one the environment was made with: it has no packages of its own
    told = subprocess.run(
        [base, "-S", "-c", "import flink_memory.jobs.operator, pyflink, tests.jobs.echo_memory"],
        env={"PYTHONPATH": os.pathsep.join(import_folders())},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr


def test_the_standard_library_is_not_passed_on() -> None:
    assert not [folder for folder in import_folders() if Path(folder, "asyncio").is_dir()]
    assert not [folder for folder in import_folders() if folder.endswith("lib-dynload")]


def test_further_options_win_over_the_settings() -> None:
    options = EnvironmentSettings(parallelism=3, options={"parallelism.default": "5"}).flink_options()
    assert options["parallelism.default"] == "5"
