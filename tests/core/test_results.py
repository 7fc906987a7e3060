"""Records that go out, byte for byte."""

from __future__ import annotations

import base64
import json

from flink_memory.errors import ErrorDetail
from flink_memory.results import (
    MAX_RAW_BYTES,
    change_record,
    dead_letter,
    duplicate_of,
    error_result,
    ok_result,
    ok_result_from_fragment,
)

AT = 1769847330123


def test_an_ok_result_is_as_the_contract_has_it() -> None:
    assert ok_result("r1", "a1", "add", {"memory_id": "m1"}, AT) == (
        '{"request_id":"r1","agent_id":"a1","op":"add","status":"ok","result":{"memory_id":"m1"},'
        '"applied_at":"2026-01-31T08:15:30.123Z"}'
    )


def test_a_spliced_result_is_the_same_text() -> None:
    spliced = ok_result_from_fragment("r1", "a1", "add", b'{"memory_id":"m1"}', AT)
    assert spliced == ok_result("r1", "a1", "add", {"memory_id": "m1"}, AT)


def test_an_error_result_is_as_the_contract_has_it() -> None:
    detail = ErrorDetail("VALIDATION_ERROR", "Expected a number.", "limit")
    assert error_result("r2", "a1", "get", detail, AT) == (
        '{"request_id":"r2","agent_id":"a1","op":"get","status":"error","error":{"code":"VALIDATION_ERROR",'
        '"message":"Expected a number.","field":"limit"},"applied_at":"2026-01-31T08:15:30.123Z"}'
    )


def test_an_error_of_no_field_and_no_operation_has_none() -> None:
    record = json.loads(error_result("r2", "a1", None, ErrorDetail("INTERNAL", "Broken."), AT))
    assert record["op"] is None
    assert record["error"] == {"code": "INTERNAL", "message": "Broken."}


def test_a_duplicate_is_the_stored_result_and_a_mark() -> None:
    stored = ok_result("r1", "a1", "get", {"memory": None}, AT)
    assert json.loads(duplicate_of(stored)) == {**json.loads(stored), "duplicate": True}


def test_a_change_is_as_the_contract_has_it() -> None:
    cause = {"request_id": "r9", "op": "update"}
    assert change_record("a1", 7, "m1", "UPDATE", "tea", "coffee", cause, AT) == (
        '{"agent_id":"a1","sequence":7,"memory_id":"m1","action":"UPDATE","old_memory":"tea","new_memory":"coffee",'
        '"cause":{"request_id":"r9","op":"update"},"at":"2026-01-31T08:15:30.123Z"}'
    )
    assert json.loads(change_record("a1", 1, "m1", "ADD", None, "tea", cause, AT, {"version": 1}))["record"] == {
        "version": 1
    }


def test_a_dead_letter_holds_the_bytes_that_came() -> None:
    letter = json.loads(dead_letter(ErrorDetail("VALIDATION_ERROR", "Not JSON."), b"\xff\x00", AT))
    assert base64.b64decode(letter["raw"]) == b"\xff\x00"
    assert letter["truncated"] is False
    assert letter["error"] == {"code": "VALIDATION_ERROR", "message": "Not JSON."}
    assert letter["received_at"] == "2026-01-31T08:15:30.123Z"


def test_a_long_dead_letter_is_cut() -> None:
    for length, truncated in ((MAX_RAW_BYTES, False), (MAX_RAW_BYTES + 1, True)):
        letter = json.loads(dead_letter(ErrorDetail("VALIDATION_ERROR", "Not JSON."), b"x" * length, AT))
        assert letter["truncated"] is truncated
        assert base64.b64decode(letter["raw"]) == b"x" * MAX_RAW_BYTES
