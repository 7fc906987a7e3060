"""Conditions of the filter language: a normal form, and their compilation to closures.

The logic is SQL's, of three values: a condition on a field that is absent, null or of another
type than the literal is unknown (None), NOT unknown is unknown, and only true matches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from flink_memory.clock import parse_time

Path: TypeAlias = tuple[str, ...]
Record: TypeAlias = Mapping[str, Any]
Evaluator: TypeAlias = Callable[[Record], "bool | None"]
LiteralKind: TypeAlias = Literal["text", "number", "boolean", "time"]
Comparison: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Value:
    """A literal. Of kind ``time`` it is milliseconds since the epoch, UTC.

    The kind is part of its identity, as Python takes ``1`` and ``True`` for equal.
    """

    kind: LiteralKind
    value: str | float | bool


@dataclass(frozen=True, slots=True)
class Compare:
    """``path operator value``."""

    path: Path
    operator: Comparison
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """``path IN (values)``."""

    path: Path
    values: frozenset[Value]


@dataclass(frozen=True, slots=True)
class IsNull:
    """``path IS NULL``: absent or null. Never unknown."""

    path: Path


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT condition``."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions joined by AND."""

    conditions: frozenset[Condition]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions joined by OR."""

    conditions: frozenset[Condition]


Condition: TypeAlias = Compare | OneOf | IsNull | Not | AllOf | AnyOf

_INVERSE: Mapping[Comparison, Comparison] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_COMPARE: Mapping[Comparison, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def negated(condition: Condition) -> Condition:
    """Negate. Comparisons turn around, which holds in three values as in two."""
    if isinstance(condition, Not):
        return condition.condition
    if isinstance(condition, Compare):
        return Compare(condition.path, _INVERSE[condition.operator], condition.value)
    return Not(condition)


def all_of(conditions: list[Condition]) -> Condition:
    """Join by AND: flat, without repeats, order forgotten."""
    flat = frozenset(
        part for item in conditions for part in (item.conditions if isinstance(item, AllOf) else frozenset((item,)))
    )
    return next(iter(flat)) if len(flat) == 1 else AllOf(flat)


def any_of(conditions: list[Condition]) -> Condition:
    """Join by OR: flat, without repeats, order forgotten."""
    flat = frozenset(
        part for item in conditions for part in (item.conditions if isinstance(item, AnyOf) else frozenset((item,)))
    )
    return next(iter(flat)) if len(flat) == 1 else AnyOf(flat)


def one_of(path: Path, values: list[Value]) -> Condition:
    """Build ``path IN (values)``; of one value, an equality."""
    distinct = frozenset(values)
    return Compare(path, "=", values[0]) if len(distinct) == 1 else OneOf(path, distinct)


def paths_of(condition: Condition) -> frozenset[Path]:
    """List the paths that a condition reads."""
    if isinstance(condition, Not):
        return paths_of(condition.condition)
    if isinstance(condition, (AllOf, AnyOf)):
        return frozenset().union(*map(paths_of, condition.conditions))
    return frozenset((condition.path,))


def compiled(condition: Condition) -> Evaluator:
    """Turn a condition into a function from a record's fields to true, false or unknown (None)."""
    if isinstance(condition, Compare):
        return _compiled_comparison(condition)
    if isinstance(condition, OneOf):
        return _compiled_membership(condition)
    if isinstance(condition, IsNull):
        read = _reader(condition.path)
        return lambda fields: read(fields) is None
    if isinstance(condition, Not):
        return _compiled_negation(compiled(condition.condition))
    parts = tuple(compiled(part) for part in condition.conditions)
    return _compiled_all(parts) if isinstance(condition, AllOf) else _compiled_any(parts)


def _reader(path: Path) -> Callable[[Record], Any]:
    if len(path) == 1:
        (name,) = path
        return lambda fields: fields.get(name)
    if len(path) == 2:
        first, second = path

        def read_two(fields: Record) -> Any:
            node = fields.get(first)
            return node.get(second) if isinstance(node, (dict, Mapping)) else None

        return read_two

    def read(fields: Record) -> Any:
        node: Any = fields
        for part in path:
            if not isinstance(node, (dict, Mapping)):
                return None
            node = node.get(part)
        return node

    return read


def _compiled_comparison(condition: Compare) -> Evaluator:
    read, accept = _reader(condition.path), _acceptor(condition.path, condition.value.kind)
    compare, wanted = _COMPARE[condition.operator], condition.value.value
    contains = {"=": True, "!=": False}.get(condition.operator)

    def evaluate(fields: Record) -> bool | None:
        came = read(fields)
        if came is None:
            return None
        kind = type(came)
        if kind is list or kind is tuple:
            return None if contains is None else _holds(came, accept, (wanted,)) is contains
        comparable = accept(came, kind)
        return None if comparable is None else compare(comparable, wanted)

    return evaluate


def _compiled_membership(condition: OneOf) -> Evaluator:
    read, values = _reader(condition.path), condition.values
    groups = tuple(
        (_acceptor(condition.path, kind), frozenset(value.value for value in values if value.kind == kind))
        for kind in sorted({value.kind for value in values})
    )

    def evaluate(fields: Record) -> bool | None:
        came = read(fields)
        if came is None:
            return None
        kind = type(came)
        if kind is list or kind is tuple:
            return any(_holds(came, accept, wanted) for accept, wanted in groups)
        unknown = False
        for accept, wanted in groups:
            comparable = accept(came, kind)
            if comparable is None:
                unknown = True
            elif comparable in wanted:
                return True
        return None if unknown else False

    return evaluate


def _holds(items: Any, accept: Callable[[Any, type], Any], wanted: Any) -> bool:
    """Whether a list holds one of the wanted values; elements of other types do not count."""
    return any((comparable := accept(item, type(item))) is not None and comparable in wanted for item in items)


def _compiled_negation(part: Evaluator) -> Evaluator:
    def evaluate(fields: Record) -> bool | None:
        outcome = part(fields)
        return None if outcome is None else not outcome

    return evaluate


def _compiled_all(parts: tuple[Evaluator, ...]) -> Evaluator:
    def evaluate(fields: Record) -> bool | None:
        outcome: bool | None = True
        for part in parts:
            came = part(fields)
            if came is False:
                return False
            if came is None:
                outcome = None
        return outcome

    return evaluate


def _compiled_any(parts: tuple[Evaluator, ...]) -> Evaluator:
    def evaluate(fields: Record) -> bool | None:
        outcome: bool | None = False
        for part in parts:
            came = part(fields)
            if came is True:
                return True
            if came is None:
                outcome = None
        return outcome

    return evaluate


def _acceptor(path: Path, kind: LiteralKind) -> Callable[[Any, type], Any]:
    """Choose what takes a value as comparable with a literal of that kind, or as None."""
    # The record's own times are ints; those inside metadata are text.
    return _text_as_time if kind == "time" and len(path) > 1 else _ACCEPT[kind]


def _text_as_time(came: Any, kind: type) -> int | None:
    if kind is not str:
        return None
    try:
        return parse_time(came)
    except ValueError:
        return None


_ACCEPT: Mapping[LiteralKind, Callable[[Any, type], Any]] = {
    "text": lambda came, kind: came if kind is str else None,
    "number": lambda came, kind: came if kind is int or kind is float else None,
    "boolean": lambda came, kind: came if kind is bool else None,
    "time": lambda came, kind: came if kind is int else None,
}
