"""Requests of the wire contract, decoded."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from flink_memory.requests import (
    FIELDS_BY_OP,
    Add,
    AddMessages,
    Compact,
    Delete,
    EndSession,
    Forget,
    GetAll,
    GetHistory,
    Observe,
    Recall,
    Request,
    Search,
    Update,
    decode_request,
)
from flink_memory.undecodable import Invalid, Rejected


def _request(op: str, **fields: Any) -> Any:
    return decode_request(json.dumps({"request_id": "r1", "agent_id": "a1", "op": op, **fields}))


def _base64(numbers: Any) -> str:
    return base64.b64encode(np.asarray(numbers, dtype="<f4").tobytes()).decode()


SMALLEST: dict[str, dict[str, Any]] = {
    "observe": {"type": "user_message", "content": "hello"},
    "add": {"memory": "likes tea"},
    "add_messages": {"messages": [{"role": "user", "content": "hello"}]},
    "update": {"memory_id": "m1", "memory": "likes coffee"},
    "delete": {"memory_id": "m1"},
    "get": {"memory_id": "m1"},
    "get_all": {},
    "history": {"memory_id": "m1"},
    "get_history": {},
    "search": {"query": "tea"},
    "recall": {"query": "tea"},
    "end_session": {"session_id": "s1"},
    "compact": {},
    "forget": {"everything": True},
}


@pytest.mark.parametrize("op", FIELDS_BY_OP)
def test_every_operation_has_a_smallest_request(op: str) -> None:
    request = _request(op, **SMALLEST[op])
    assert not isinstance(request, (Invalid, Rejected))
    assert (request.op, request.request_id, request.agent_id, request.timestamp_ms) == (op, "r1", "a1", None)


@pytest.mark.parametrize("op", FIELDS_BY_OP)
def test_no_operation_takes_an_unknown_field(op: str) -> None:
    request = _request(op, **SMALLEST[op], colour="red")
    assert isinstance(request, Invalid)
    assert request.error.field == "colour"
    assert request.error.code == "VALIDATION_ERROR"


def test_defaults_are_those_of_the_contract() -> None:
    assert _request("observe", **SMALLEST["observe"]).session_id == "default"
    assert _request("get_all").limit == 100
    assert _request("get_history").n == 10
    assert _request("get_history").session_id is None
    search = _request("search", query="tea")
    assert (search.limit, search.kinds, search.expand_context, search.min_score) == (10, ("memory", "event"), 0, None)
    assert search.explain is False
    assert _request("add_messages", **SMALLEST["add_messages"]).infer is True


def test_requests_are_frozen() -> None:
    request = _request("add", memory="tea")
    with pytest.raises(ValidationError):
        request.memory = "coffee"


def test_times_become_milliseconds() -> None:
    request = _request("add", memory="tea", timestamp="1970-01-01T01:00:01+01:00", expires_at="1970-01-01T00:00:02Z")
    assert isinstance(request, Add)
    assert (request.timestamp_ms, request.expires_at_ms) == (1000, 2000)


def test_python_code_names_times_by_their_attributes() -> None:
    request = Add(request_id="r", agent_id="a", memory="tea", timestamp_ms=5, vector=np.ones(3, dtype=np.float32))
    assert request.timestamp_ms == 5
    assert request.vector is not None
    assert request.vector.dtype == np.float32


def test_the_wire_does_not_know_the_attributes_names() -> None:
    request = _request("add", memory="tea", timestamp_ms=5)
    assert isinstance(request, Invalid)
    assert request.error.field == "timestamp_ms"
    assert "'timestamp'" in request.error.message


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=32))
def test_a_vector_is_the_same_as_list_and_as_base64(numbers: list[float]) -> None:
    as_list, as_text = _request("search", vector=numbers), _request("search", vector=_base64(numbers))
    np.testing.assert_array_equal(as_list.vector, np.array(numbers, dtype=np.float32))
    np.testing.assert_array_equal(as_list.vector, as_text.vector)
    for vector in (as_list.vector, as_text.vector):
        assert (vector.dtype, vector.ndim, vector.flags.writeable) == (np.float32, 1, False)


@pytest.mark.parametrize(
    ("vector", "field"),
    [
        ("!!", "vector"),
        ("AAA=", "vector"),
        ("", "vector"),
        ([], "vector"),
        (5, "vector"),
        ({}, "vector"),
        ([1, True], "vector[1]"),
        ([1.0, "x"], "vector[1]"),
        ([0.0, 1e39], "vector[1]"),
        ([10**400], "vector"),
        (_base64([1.0, np.nan]), "vector[1]"),
        (_base64([np.inf]), "vector[0]"),
        ([0.0, float("nan")], "vector[1]"),
    ],
)
def test_what_is_no_vector_is_refused(vector: Any, field: str) -> None:
    request = _request("search", vector=vector)
    assert isinstance(request, Invalid)
    assert request.error.field == field


def test_large_finite_vectors_pass() -> None:
    assert _request("search", vector=_base64([3e38, 3e38])).vector.shape == (2,)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("", "content"),
        ([], "content"),
        ([{"type": "text", "text": ""}], "content"),
        (None, "content"),
        (5, "content"),
        ([5], "content[0]"),
        ([{"type": "image", "text": "x"}], "content[0].type"),
        ([{"type": "text"}], "content[0].text"),
        ([{"type": "text", "text": "x", "size": 1}], "content[0]"),
        ("\ud800", "content"),
        ([{"type": "text", "text": "\udfff"}], "content[0].text"),
    ],
)
def test_an_event_needs_content(content: Any, field: str) -> None:
    request = _request("observe", type="tool_output", content=content)
    assert isinstance(request, Invalid)
    assert request.error.field == field


def test_an_event_takes_text_blocks() -> None:
    request = _request("observe", type="tool_output", content=[{"type": "text", "text": "a"}] * 2)
    assert isinstance(request, Observe)
    assert request.content == ({"type": "text", "text": "a"}, {"type": "text", "text": "a"})


def test_chat_messages_keep_what_openai_adds() -> None:
    messages = [
        {"role": "developer", "content": "be brief"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}], "refusal": None},
        {"role": "assistant", "content": ""},
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
        {"role": "function", "name": "f"},
    ]
    request = _request("add_messages", messages=messages, infer=False)
    assert isinstance(request, AddMessages)
    assert [json.loads(json.dumps(m.model_dump(exclude_unset=True))) for m in request.messages] == messages
    assert [message.text for message in request.messages] == ["be brief", "see", "", "", "42", ""]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "usr", "content": "x"}, "messages[1].role"),
        ({"content": "x"}, "messages[1].role"),
        ({"role": "user", "content": 5}, "messages[1].content"),
        ({"role": "user", "content": [{"text": "x"}]}, "messages[1].content[0]"),
        ({"role": "user", "content": "x", "name": "\ud800"}, "messages[1].name"),
        ({"role": "user", "content": "x", "score": float("inf")}, "messages[1].score"),
        ("hello", "messages[1]"),
    ],
)
def test_a_wrong_message_is_named_by_its_place(message: Any, field: str) -> None:
    request = _request("add_messages", messages=[{"role": "user", "content": "x"}, message])
    assert isinstance(request, Invalid)
    assert request.error.field == field


def test_an_update_tells_null_from_absent() -> None:
    request = _request("update", memory_id="m", expires_at=None, metadata=None)
    assert isinstance(request, Update)
    assert request.changed_fields == {"expires_at_ms", "metadata"}
    assert request.expires_at_ms is None
    assert _request("update", memory_id="m", confidence=0.5).changed_fields == {"confidence"}


@pytest.mark.parametrize("fields", [{}, {"memory": None}, {"vector": None, "metadata": {}}, {"timestamp": None}])
def test_an_update_changes_something(fields: dict[str, Any]) -> None:
    assert isinstance(_request("update", memory_id="m", **fields), Invalid)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"everything": False},
        {"everything": True, "session_id": "s"},
        {"event_ids": []},
        {"memory_ids": [""]},
        {"memory_ids": "m"},
        {"session_id": None},
    ],
)
def test_forget_takes_exactly_one_selector(fields: dict[str, Any]) -> None:
    assert isinstance(_request("forget", **fields), Invalid)


def test_forget_takes_each_selector() -> None:
    assert _request("forget", session_id="s").session_id == "s"
    assert _request("forget", event_ids=["e"]).event_ids == ("e",)
    forget = _request("forget", memory_ids=["m", "n"])
    assert isinstance(forget, Forget)
    assert (forget.memory_ids, forget.session_id) == (("m", "n"), None)


@pytest.mark.parametrize(
    ("op", "fields", "field"),
    [
        ("search", {}, "query"),
        ("search", {"query": ""}, "query"),
        ("search", {"query": "x", "limit": 0}, "limit"),
        ("search", {"query": "x", "limit": 1001}, "limit"),
        ("search", {"query": "x", "limit": 10**30}, "limit"),
        ("search", {"query": "x", "limit": 5.0}, "limit"),
        ("search", {"query": "x", "limit": "5"}, "limit"),
        ("search", {"query": "x", "limit": True}, "limit"),
        ("search", {"query": "x", "limit": None}, "limit"),
        ("search", {"query": "x", "expand_context": 101}, "expand_context"),
        ("search", {"query": "x", "expand_context": -1}, "expand_context"),
        ("search", {"query": "x", "min_score": float("nan")}, "min_score"),
        ("search", {"query": "x", "min_score": True}, "min_score"),
        ("search", {"query": "x", "kinds": []}, "kinds"),
        ("search", {"query": "x", "kinds": ["memory", "evnt"]}, "kinds[1]"),
        ("search", {"query": "x", "explain": 1}, "explain"),
        ("get_history", {"n": 0}, "n"),
        ("get_history", {"n": 1001}, "n"),
        ("get_all", {"limit": 1001}, "limit"),
        ("get_all", {"cursor": 5}, "cursor"),
        ("add", {"memory": ""}, "memory"),
        ("add", {"memory": "x", "memory_type": "facts"}, "memory_type"),
        ("add", {"memory": "x", "confidence": 1.01}, "confidence"),
        ("add", {"memory": "x", "importance": -0.01}, "importance"),
        ("add", {"memory": "x", "importance": float("inf")}, "importance"),
        ("add", {"memory": "x", "expires_at": "tomorrow"}, "expires_at"),
        ("add", {"memory": "x", "timestamp": 5}, "timestamp"),
        ("add", {"memory": "x", "metadata": []}, "metadata"),
        ("add", {"memory": "x", "metadata": {"a": [1, float("nan")]}}, "metadata.a[1]"),
        ("add", {"memory": "x", "metadata": {"a": 2**64}}, "metadata.a"),
        ("add", {"memory": "x", "metadata": {"a": "\ud800"}}, "metadata.a"),
        ("add", {"memory": "x", "session_id": "s" * 257}, "session_id"),
        ("add", {}, "memory"),
        ("add_messages", {"messages": []}, "messages"),
        ("observe", {"type": "user", "content": "x"}, "type"),
        ("recall", {"query": "x", "include": ["everything"]}, "include[0]"),
        ("recall", {"query": "x", "token_budget": 0}, "token_budget"),
        ("end_session", {}, "session_id"),
        ("compact", {"strategy": "random"}, "strategy"),
        ("compact", {"keep": -1}, "keep"),
    ],
)
def test_a_wrong_field_is_named(op: str, fields: dict[str, Any], field: str) -> None:
    request = _request(op, **fields)
    assert isinstance(request, Invalid)
    assert (request.request_id, request.agent_id, request.op) == ("r1", "a1", op)
    assert request.error.field == field
    assert request.error.message.endswith((".", "?"))


def test_optional_fields_may_be_null() -> None:
    request = _request("search", query="x", vector=None, filter=None, min_score=None, timestamp=None)
    assert isinstance(request, Search)
    assert isinstance(_request("get_history", session_id=None), GetHistory)


def test_of_a_field_given_twice_the_last_counts() -> None:
    request = decode_request(
        '{"request_id":"r","agent_id":"b","agent_id":"a","op":"get","op":"delete","memory_id":"m"}'
    )
    assert isinstance(request, Delete)
    assert request.agent_id == "a"


def test_other_operations_keep_their_fields() -> None:
    recall = _request("recall", query="x", token_budget=100, include=["memories"], knowledge_sources=["wiki"])
    assert isinstance(recall, Recall)
    assert (recall.token_budget, recall.include, recall.knowledge_sources) == (100, ("memories",), ("wiki",))
    compact = _request("compact", strategy="summary", keep=5)
    assert isinstance(compact, Compact)
    assert (compact.strategy, compact.keep) == ("summary", 5)
    page = _request("get_all", filter="memory = 'x'", cursor="c", limit=1000)
    assert isinstance(page, GetAll)
    assert (page.filter, page.cursor, page.limit) == ("memory = 'x'", "c", 1000)
    assert isinstance(_request("end_session", session_id="s"), EndSession)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["r1", "add"]),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=5), items, max_size=3),
    max_leaves=8,
)
_FIELD_NAMES = sorted({name for fields in FIELDS_BY_OP.values() for name in fields})


@given(st.sampled_from(list(FIELDS_BY_OP)), st.dictionaries(st.sampled_from(_FIELD_NAMES), _JSON, max_size=6))
def test_decoding_never_raises_and_always_blames_a_field_there_is(op: str, fields: dict[str, Any]) -> None:
    payload = json.dumps({"request_id": "r", "agent_id": "a", "op": op, **fields})
    request: Request | Invalid | Rejected = decode_request(payload.encode())
    if isinstance(request, (Invalid, Rejected)):
        assert request.error.message
        json.dumps(request.error.message).encode()
    else:
        assert request.agent_id == json.loads(payload)["agent_id"]


@given(st.binary(max_size=60))
def test_decoding_never_raises_on_bytes(payload: bytes) -> None:
    assert isinstance(decode_request(payload), Rejected)
