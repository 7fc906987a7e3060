"""Memory for AI agents as keyed state of a Flink job.

:class:`LocalMemory` is the same memory in this process, over dictionaries.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flink_memory.jobs.local import LocalMemory

try:
    __version__ = version("flink-memory")
except PackageNotFoundError:  # run from a folder of sources
    __version__ = "0+unknown"

__all__ = ["LocalMemory", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what the shells offer when it is asked for (PEP 562): the core itself stands on nothing above it."""
    if name == "LocalMemory":
        from flink_memory.jobs.local import LocalMemory

        return LocalMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
