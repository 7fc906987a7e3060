"""Errors carry what a sender needs."""

from __future__ import annotations

import pickle

from flink_memory.errors import DimensionMismatchError, ErrorDetail, FlinkMemoryError, RequestError


def test_a_request_error_is_a_detail_that_can_be_raised() -> None:
    error = RequestError("NOT_FOUND", "There is no such memory.", "memory_id")
    assert error.detail == ErrorDetail("NOT_FOUND", "There is no such memory.", "memory_id")
    assert (error.code, error.message, error.field) == ("NOT_FOUND", "There is no such memory.", "memory_id")
    assert str(error) == "memory_id: There is no such memory."
    assert isinstance(error, FlinkMemoryError)
    assert isinstance(error, ValueError)


def test_a_dimension_mismatch_says_both_dimensions() -> None:
    error = DimensionMismatchError(384, 3)
    assert error.code == "DIMENSION_MISMATCH"
    assert "384" in error.message
    assert "got 3" in error.message


def test_errors_survive_pickling() -> None:
    for error in (RequestError("INTERNAL", "Broken."), DimensionMismatchError(384, 3, "query")):
        assert pickle.loads(pickle.dumps(error)).detail == error.detail
