"""Payloads that are no requests: who is told, and what."""

from __future__ import annotations

import json

import pytest

from flink_memory.requests import decode_request
from flink_memory.undecodable import Invalid, Rejected

_HEAD = '{"request_id":"r","agent_id":"a","op":"add","memory":"m"'


@pytest.mark.parametrize(
    ("payload", "field", "words"),
    [
        (b"\xff{}", None, "0xff at offset 0"),
        (_HEAD.encode() + b',"memory_id":"\xed\xa0\x80"}', None, "not UTF-8"),
        (b"\xef\xbb\xbf{}", None, "byte order mark"),
        ("", None, "empty record"),
        ("  \n", None, "empty record"),
        ("null", None, "got null"),
        ("[1]", None, "a list of 1 item"),
        ('"text"', None, "got 'text'"),
        (_HEAD, None, "not JSON"),
        (_HEAD + "} x", None, "not JSON"),
        ("[" * 100_000, None, "levels"),
        (_HEAD + ',"metadata":{"a":' + "[" * 100_000 + "]" * 100_000 + "}}", None, "levels"),
        (_HEAD + ',"metadata":{"a":' + "[" * 300 + "]" * 300 + "}}", None, "levels"),
        (_HEAD + ',"metadata":{"a":' + "[" * 900 + "NaN" + "]" * 900 + "}}", None, "levels"),
        (_HEAD + ',"metadata":{"a":' + "9" * 5000 + "}}", None, "thousands of digits"),
        ("{}", "request_id", "got nothing"),
        ('{"requestId":"r","agent_id":"a"}', "request_id", "'requestId'"),
        ('{"request_id":"r"}', "agent_id", "got nothing"),
        ('{"request_id":"","agent_id":"a"}', "request_id", "1 to 128"),
        ('{"request_id":"' + "r" * 129 + '","agent_id":"a"}', "request_id", "129 characters"),
        ('{"request_id":"r","agent_id":"' + "a" * 257 + '"}', "agent_id", "1 to 256"),
        ('{"request_id":"r","agent_id":5}', "agent_id", "the number 5"),
        ('{"request_id":null,"agent_id":"a"}', "request_id", "null"),
        ('{"request_id":"r","agent_id":"\\ud800","op":"get"}', "agent_id", "surrogate"),
        ('{"request_id":"r","agent_id":"\ud800","op":"get"}', "agent_id", "surrogate"),
    ],
)
def test_without_a_sender_a_payload_is_rejected(payload: str | bytes, field: str | None, words: str) -> None:
    rejected = decode_request(payload)
    assert isinstance(rejected, Rejected)
    assert rejected.error.code == "VALIDATION_ERROR"
    assert rejected.error.field == field
    assert words in rejected.error.message
    assert rejected.raw == (payload if isinstance(payload, bytes) else payload.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("rest", "op", "field", "words"),
    [
        ("", None, "op", "got nothing"),
        (',"op":5', None, "op", "the number 5"),
        (',"op":"serch"', "serch", "op", "did you mean 'search'?"),
        (',"op":"' + "x" * 100 + '"', None, "op", "Known: observe, add"),
        (',"op":"\\ud800"', None, "op", "no operation"),
        (',"op":"add","memry":"tea"', "add", "memry", "did you mean 'memory'?"),
        (',"op":"add"', "add", "memory", "missing"),
        (',"op":"get","memory_id":"\\ud800"', "get", "memory_id", "surrogate"),
        (',"op":"add","memory":"x","metadata":{"\\ud800":1}', "add", "metadata", "surrogate"),
        (',"op":"add","memory":"x","metadata":{"a":1e999}', "add", "metadata.a", "finite"),
        (',"op":"add","memory":"x","metadata":{"a":-Infinity}', "add", "metadata.a", "finite"),
    ],
)
def test_a_known_sender_is_told(rest: str, op: str | None, field: str, words: str) -> None:
    invalid = decode_request('{"request_id":"r","agent_id":"a"' + rest + "}")
    assert isinstance(invalid, Invalid)
    assert (invalid.request_id, invalid.agent_id, invalid.op) == ("r", "a", op)
    assert invalid.error.field == field
    assert words in invalid.error.message


def test_around_the_deepest_nesting_there_is_an_answer_either_way() -> None:
    for levels in range(190, 210):
        payload = _HEAD + ',"metadata":{"a":' + "[" * levels + "]" * levels + "}}"
        request = decode_request(payload)
        assert not isinstance(request, Invalid)
        assert not isinstance(request, Rejected) or "levels" in request.error.message


def test_messages_stay_short_whatever_comes() -> None:
    for value in ("x" * 100_000, list(range(1000)), "\x00" * 1000, 10**4000):
        for name in ("op", "memory", "x" * 10_000):
            fields = {"request_id": "r", "agent_id": "a", "op": "add", "memory": "m", name: value}
            answer = decode_request(json.dumps(fields))
            assert isinstance(answer, (Invalid, Rejected)) or name == "memory"
            if isinstance(answer, (Invalid, Rejected)):
                assert len(answer.error.message) < 600
