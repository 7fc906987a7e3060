"""What can go wrong, as one family of exceptions and one plain record.

An error has a class of its own only where somebody catches it. The message says what was
expected, what came, and what to do; it is read by the person who sent the request or who
starts the job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ErrorCode = Literal[
    "VALIDATION_ERROR",
    "NOT_FOUND",
    "CONFLICT",
    "DIMENSION_MISMATCH",
    "TOO_LARGE",
    "FORBIDDEN",
    "UNAVAILABLE",
    "TIMEOUT",
    "INTERNAL",
]


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """The ``error`` object of a result or a dead letter.

    Attributes:
        code: One of the codes of the wire contract.
        message: What was expected, what came, what to do.
        field: Path of the field at fault, such as ``messages[2].content``; None if there is none.
    """

    code: ErrorCode
    message: str
    field: str | None = None


class FlinkMemoryError(Exception):
    """Root of every error that this package raises on purpose."""


class RequestError(FlinkMemoryError, ValueError):
    """A request cannot be carried out; its sender gets an error result.

    Args:
        code: One of the codes of the wire contract.
        message: What was expected, what came, what to do.
        field: Path of the field at fault, if it is one field's.
    """

    def __init__(self, code: ErrorCode, message: str, field: str | None = None) -> None:
        super().__init__(code, message, field)
        self.detail = ErrorDetail(code, message, field)

    @property
    def code(self) -> ErrorCode:
        """The code of the wire contract."""
        return self.detail.code

    @property
    def message(self) -> str:
        """The sentence for the sender."""
        return self.detail.message

    @property
    def field(self) -> str | None:
        """Path of the field at fault, if it is one field's."""
        return self.detail.field

    def __str__(self) -> str:
        """The message, led by the field."""
        return self.message if self.field is None else f"{self.field}: {self.message}"


class DimensionMismatchError(RequestError):
    """A vector has another number of elements than the memory's vectors.

    Args:
        expected: Dimension of the vectors in memory.
        actual: Dimension of the vector that came.
        field: Where it came from.
    """

    def __init__(self, expected: int, actual: int, field: str | None = "vector") -> None:
        message = (
            f"Expected a vector of {expected} numbers, got {actual}. Embed with the model that "
            "this memory is configured with, or leave the vector out and let the job embed the text."
        )
        RequestError.__init__(self, "DIMENSION_MISMATCH", message, field)
        self.expected = expected
        self.actual = actual

    def __reduce__(self) -> tuple[type[DimensionMismatchError], tuple[int, int, str | None]]:
        """Pickle by the three arguments, not by those of the parent."""
        return type(self), (self.expected, self.actual, self.field)


class ConfigurationError(FlinkMemoryError, ValueError):
    """The configuration is wrong; the job does not start."""


class StateVersionError(FlinkMemoryError, RuntimeError):
    """State was written in a layout that this code does not read; the job stops."""


class EmbeddingModelChangedError(FlinkMemoryError, RuntimeError):
    """State was written with another embedding model than the configured one; the job stops."""
