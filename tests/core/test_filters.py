"""The filter language: what it says, what it refuses, and a naive evaluator beside it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flink_memory.clock import format_time, parse_time
from flink_memory.errors import RequestError
from flink_memory.filter_fields import FIELD_TYPES
from flink_memory.filters import parse_filter

NEW_YEAR = 1767225600000
MEMORY: dict[str, Any] = {
    "kind": "memory",
    "memory_id": "m1",
    "memory": "it's tea",
    "memory_type": "fact",
    "confidence": 0.5,
    "importance": None,
    "source_sessions": ("s1", "s2"),
    "source_events": (),
    "created_at": NEW_YEAR,
    "access_count": 3,
    "metadata": {
        "topic": "work",
        "n": 1,
        "epoch_ms": NEW_YEAR,
        "yes": True,
        "no": None,
        "due": "2026-01-01T01:00:00+01:00",
        "tags": ["a", 5, "b"],
        "a": {"b": {"c": "deep"}},
        "odd key": "x",
        'say "hi"': "y",
        "größe": 5,
    },
}


@pytest.mark.parametrize(
    "text",
    [
        "memory_type = 'fact'",
        "MEMORY_TYPE = 'x' OR memory_type = 'fact'".replace("MEMORY_TYPE", "memory_id"),
        "memory = 'it''s tea'",
        "memory_type != 'preference'",
        "memory_type <> 'preference'",
        "confidence >= 0.5 and confidence <= 5e-1 AND confidence < +1 AND confidence > -1",
        "access_count = 3.0",
        "created_at >= '2026-01-01T00:00:00Z'",
        "created_at = '2026-01-01T02:00:00+02:00'",
        "metadata.topic IN ('work', 'home')",
        "metadata.topic not in ('garden')",
        "metadata.topic < 'x'",
        "metadata.n = 1",
        "metadata.yes = TRUE",
        "metadata.yes != false",
        "metadata.a.b.c = 'deep'",
        "metadata.\"odd key\" = 'x'",
        'metadata."say ""hi""" = \'y\'',
        "metadata.größe = 5",
        "metadata.due = '2026-01-01T00:00:00Z'",
        "metadata.due < '2026-01-01T00:00:00.001Z'",
        "metadata.due IN ('2026-01-01T00:00:00Z', 'never')",
        "metadata.tags = 'a'",
        "metadata.tags = 5",
        "metadata.tags IN ('z', 'b')",
        "metadata.tags != 'z'",
        "metadata.tags NOT IN ('y', 'z')",
        "source_sessions = 's2'",
        "source_sessions IN ('s2', 's3')",
        "source_events != 'e1'",
        "source_events IS NOT NULL",
        "importance IS NULL",
        "metadata.no IS NULL",
        "metadata.topic.below IS NULL",
        "expires_at is null",
        "NOT metadata.topic = 'home'",
        "NOT (metadata.topic = 'home' OR metadata.n > 1)",
        "NOT NOT memory_type = 'fact'",
        "memory_type = 'fact' OR memory_type = 'x' AND memory_type = 'y'",
        "((memory_type='fact'))",
    ],
)
def test_matches(text: str) -> None:
    assert parse_filter(text).matches(MEMORY)


@pytest.mark.parametrize(
    "text",
    [
        "memory_type = 'FACT'",
        "importance = 1",
        "importance != 1",
        "NOT importance = 1",
        "importance IN (1, 2)",
        "importance NOT IN (1, 2)",
        "metadata.absent != 'x'",
        "NOT metadata.absent = 'x'",
        "NOT (metadata.absent = 'x' AND memory_type = 'fact')",
        "metadata.yes = 1",
        "metadata.n = TRUE",
        "metadata.n != 'x'",
        "metadata.topic != 5",
        "metadata.topic NOT IN ('home', 5)",
        "metadata.epoch_ms = '2026-01-01T00:00:00Z'",
        "metadata.epoch_ms != '2026-01-01T00:00:00Z'",
        "metadata.topic != '2026-01-01T00:00:00Z'",
        "metadata.tags < 'z'",
        "NOT metadata.tags < 'z'",
        "metadata.tags != 'a'",
        "metadata.tags NOT IN ('z', 'b')",
        "metadata.a = 'deep'",
        "memory_type IS NULL",
        "source_events IN ('e1')",
        "(memory_type = 'fact' OR memory_type = 'x') AND memory_type = 'y'",
        "session_id = 's1'",
    ],
)
def test_does_not_match(text: str) -> None:
    assert not parse_filter(text).matches(MEMORY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty filter"),
        ("   ", "empty filter"),
        ("memry_type = 'x'", "did you mean 'memory_type'?"),
        ("memory_type = 'x' AND topic = 'x'", "(character 23)"),
        ("topic = 'x'", "metadata.topic"),
        ("metadata = 'x'", "metadata.topic"),
        ("memory.a = 'x'", "no fields inside"),
        ("memory_type = fact", "single quotes"),
        ('memory_type = "fact"', "single quotes"),
        ("memory_type == 'fact'", "at character 14, got '='"),
        ("memory_type = 'fact", "no end"),
        ('metadata."a = 1', "no end"),
        ("memory_type = 5", "a text in single quotes"),
        ("memory_type = TRUE", "a text in single quotes"),
        ("source_events = 5", "a text in single quotes"),
        ("confidence = '5'", "a number"),
        ("created_at > 5", "RFC 3339"),
        ("created_at > '2026'", "created_at is a time"),
        ("created_at > '2026-01-01T00:00:00'", "offset"),
        ("memory_type = NULL", "IS NULL"),
        ("memory_type IN ('a', NULL)", "IS NULL"),
        ("metadata.a < TRUE", "no order"),
        ("source_sessions > 'x'", "no order"),
        ("memory_type IN ()", "at character 17"),
        ("memory_type IN ('a'", "closing parenthesis"),
        ("memory_type IN 'a'", "a list in parentheses"),
        ("memory_type IS 'a'", "NULL or NOT NULL"),
        ("memory_type NOT 'a'", "Expected IN"),
        ("memory_type LIKE 'a'", "Expected one of"),
        ("memory_type", "Expected one of"),
        ("NOT", "Expected a field"),
        ("AND memory_type = 'a'", "Expected a field"),
        ("memory_type = 'a' AND", "Expected a field"),
        ("'a' = memory_type", "Expected a field"),
        ("(memory_type = 'a'", "closing parenthesis"),
        ("memory_type = 'a')", "end of the filter"),
        ("memory_type = 'a' memory_id = 'b'", "AND, OR"),
        ("metadata.2024 = 1", "double quotes"),
        ('metadata."" = 1', "double quotes"),
        ("metadata. = 1", "double quotes"),
        ("metadata.a = 1e999", "too large"),
        ("metadata.a = ;", "';' at character 14"),
        ("(" * 65 + "memory_type = 'a'" + ")" * 65, "64 levels"),
        ("NOT " * 65 + "memory_type = 'a'", "64 levels"),
        ("memory = '" + "x" * 4096 + "'", "4096 characters"),
        ("metadata.a IN (" + ",".join("1" * 1001) + ")", "1000 items"),
    ],
)
def test_refuses(text: str, words: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_filter(text)
    assert caught.value.code == "VALIDATION_ERROR"
    assert caught.value.field == "filter"
    assert words in caught.value.message


def test_names_the_fields_that_it_reads() -> None:
    text = "kind = 'event' AND NOT (metadata.a.b = 1 OR metadata.c IS NULL) AND role IN ('user', 'tool')"
    assert parse_filter(text).fields == {"kind", "metadata", "role"}
    assert parse_filter(text).text == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("kind='event' AND role='user'", " role = 'user'  and kind = 'event' "),
        ("kind = 'a' OR (kind = 'b' OR kind = 'c')", "(kind = 'c' OR kind = 'a') OR kind = 'b'"),
        ("NOT kind = 'a'", "kind != 'a'"),
        ("NOT confidence < 1", "confidence >= 1.0"),
        ("NOT NOT kind = 'a'", "kind = 'a'"),
        ("role IN ('a', 'b', 'a')", "role IN ('b', 'a')"),
        ("role IN ('a')", "role = 'a'"),
        ("timestamp > '2026-01-01T00:00:00Z'", "timestamp > '2026-01-01T01:00:00+01:00'"),
        ('metadata."a" = 1', "metadata.a = 1"),
    ],
)
def test_filters_that_say_the_same_are_equal(one: str, other: str) -> None:
    assert parse_filter(one) == parse_filter(other)
    assert hash(parse_filter(one)) == hash(parse_filter(other))


def test_filters_that_differ_only_for_python_alike_values_are_not_equal() -> None:
    assert parse_filter("metadata.a = 1") != parse_filter("metadata.a = TRUE")
    assert parse_filter("metadata.a = '1'") != parse_filter("metadata.a = 1")


# --- beside a naive evaluator -------------------------------------------------------------------

_TIMES = st.sampled_from([0, NEW_YEAR, NEW_YEAR + 1])
_VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.sampled_from([0.5, 1.0])
    | st.sampled_from(["a", "b", "it's"])
    | _TIMES.map(format_time)
)
_RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["a", "b", None]),
        "confidence": st.sampled_from([None, 0, 0.5, 1]),
        "created_at": st.none() | _TIMES,
        "source_sessions": st.none() | st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
        "metadata": st.dictionaries(
            st.sampled_from(["x", "y"]),
            _VALUES | st.lists(_VALUES, max_size=2) | st.dictionaries(st.just("z"), _VALUES, max_size=1),
        ),
    },
)
_LITERALS = {
    "text": st.sampled_from(["a", "b", "it's"]),
    "texts": st.sampled_from(["a", "b"]),
    "number": st.sampled_from([-1, 0, 0.5, 1]),
    "time": _TIMES.map(format_time),
    "object": _VALUES.filter(lambda value: value is not None),
}


@st.composite
def _predicates(draw: st.DrawFn) -> tuple[Any, ...]:
    name = draw(st.sampled_from(["kind", "confidence", "created_at", "source_sessions", "metadata"]))
    path = (name, *draw(st.sampled_from([("x",), ("y",), ("x", "z")]))) if name == "metadata" else (name,)
    form = draw(st.sampled_from(["compare", "in", "null"]))
    if form == "null":
        return ("null", path)
    literal = _LITERALS[FIELD_TYPES[name]]
    if form == "in":
        return ("in", path, draw(st.lists(literal, min_size=1, max_size=3)))
    value = draw(literal)
    unordered = isinstance(value, bool) or name == "source_sessions"
    symbols = ["=", "!="] if unordered else ["=", "!=", "<", "<=", ">", ">="]
    return ("compare", path, draw(st.sampled_from(symbols)), value)


_CONDITIONS = st.recursive(
    _predicates(),
    lambda parts: (
        st.tuples(st.just("not"), parts)
        | st.tuples(st.just("and"), parts, parts)
        | st.tuples(st.just("or"), parts, parts)
    ),
    max_leaves=6,
)


def _written(tree: tuple[Any, ...]) -> str:
    kind, *rest = tree
    if kind == "not":
        return f"NOT ({_written(rest[0])})"
    if kind in ("and", "or"):
        return f"({_written(rest[0])}) {kind} ({_written(rest[1])})"
    path = ".".join(rest[0])
    if kind == "null":
        return f"{path} IS NULL"
    if kind == "in":
        return f"{path} IN ({', '.join(map(_literal, rest[1]))})"
    return f"{path} {rest[1]} {_literal(rest[2])}"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value)
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _naive(tree: tuple[Any, ...], record: dict[str, Any]) -> bool | None:
    kind, *rest = tree
    if kind == "not":
        inner = _naive(rest[0], record)
        return None if inner is None else not inner
    if kind in ("and", "or"):
        sides = [_naive(side, record) for side in rest]
        decisive = kind == "or"
        return decisive if decisive in sides else None if None in sides else not decisive
    own_time = rest[0] == ("created_at",)
    came: Any = record
    for part in rest[0]:
        came = came.get(part) if isinstance(came, dict) else None
    if kind == "null":
        return came is None
    if came is None:
        return None
    if kind == "in":
        if isinstance(came, (list, tuple)):
            return any(_naive_equal(item, literal, own_time) for item in came for literal in rest[1])
        equals = [_naive_equal(came, literal, own_time) for literal in rest[1]]
        return True if True in equals else None if None in equals else False
    symbol, literal = rest[1:]
    if isinstance(came, (list, tuple)):
        if symbol not in ("=", "!="):
            return None
        return any(_naive_equal(item, literal, own_time) for item in came) is (symbol == "=")
    pair = _comparable(came, literal, own_time)
    if pair is None:
        return None
    left, right = pair
    return bool(
        {"=": left == right, "!=": left != right}[symbol]
        if symbol in ("=", "!=")
        else {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[symbol]
    )


def _naive_equal(came: Any, literal: Any, own_time: bool) -> bool | None:
    pair = _comparable(came, literal, own_time)
    return None if pair is None else bool(pair[0] == pair[1])


def _comparable(came: Any, literal: Any, own_time: bool) -> tuple[Any, Any] | None:
    if isinstance(literal, str) and literal.endswith("Z"):
        if isinstance(came, str):
            return (parse_time(came), parse_time(literal)) if came.endswith("Z") else None
        return (came, parse_time(literal)) if own_time else None
    for types in ((bool,), (int, float), (str,)):
        if isinstance(literal, types):
            right_type = isinstance(came, types) and (types == (bool,) or not isinstance(came, bool))
            return (came, literal) if right_type else None
    return None


@settings(max_examples=400)
@example(("compare", ("metadata", "x"), "=", "a"), {"metadata": {"x": {"z": 1}}})
@given(_CONDITIONS, _RECORDS)
def test_agrees_with_a_naive_evaluator(tree: tuple[Any, ...], record: dict[str, Any]) -> None:
    text = _written(tree)
    assert parse_filter(text).matches(record) is (_naive(tree, record) is True), text


@given(st.text(alphabet="metadata.x ='()ANDORNT<>\"1é,", max_size=40))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    with contextlib.suppress(RequestError):
        parse_filter(text).matches(MEMORY)
