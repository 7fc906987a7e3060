"""The filter language's text: tokens, and a parser by recursive descent.

    or         = and ("OR" and)*
    and        = not ("AND" not)*
    not        = "NOT" not | "(" or ")" | predicate
    predicate  = path ("=" | "!=" | "<>" | "<" | "<=" | ">" | ">=") literal
               | path ["NOT"] "IN" "(" literal ("," literal)* ")"
               | path "IS" ["NOT"] "NULL"
    path       = name ("." (name | '"' any name '"'))*
    literal    = 'text' | number | TRUE | FALSE

Keywords in any case; ``''`` is a quote inside a text, ``""`` one inside a quoted name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, cast

from flink_memory.filter_conditions import (
    Compare,
    Comparison,
    Condition,
    IsNull,
    Path,
    Value,
    all_of,
    any_of,
    negated,
    one_of,
)
from flink_memory.filter_fields import (
    FIELD_TYPES,
    LITERAL_NAMES,
    check_path,
    filter_error,
    number_value,
    takes,
    text_value,
)
from flink_memory.wording import shown

MAX_CHARACTERS = 4096
MAX_LEVELS = 64
MAX_IN_ITEMS = 1000

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<number>[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<symbol><=|>=|!=|<>|[=<>(),.])
    | (?P<end>$)
    )""",
    re.VERBOSE,
)
_COMPARISONS = frozenset({"=", "!=", "<>", "<", "<=", ">", ">="})
_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE"})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def keyword(self) -> str | None:
        return self.text.upper() if self.kind == "name" and self.text.upper() in _KEYWORDS else None


def parse(text: str) -> Condition:
    """Parse a filter.

    Args:
        text: At most 4,096 characters, 64 levels of parentheses and NOT, 1,000 items an IN.

    Returns:
        The condition in its normal form.

    Raises:
        RequestError: ``VALIDATION_ERROR`` of the field ``filter``, with the position.
    """
    if len(text) > MAX_CHARACTERS:
        raise filter_error(f"Expected at most {MAX_CHARACTERS} characters, got {len(text)}. Use IN for many values.")
    return _Parser(_tokens(text)).whole()


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            at = len(text) - len(text[at:].lstrip())
            _refuse_character(text, at)
        kind = cast("str", match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        if kind == "end":
            return tokens
        at = match.end()


def _refuse_character(text: str, at: int) -> NoReturn:
    if text[at] == "'":
        raise filter_error(f"The text from character {at + 1} on has no end. Close it with a single quote.")
    if text[at] == '"':
        raise filter_error(f"The quoted name from character {at + 1} on has no end. Close it with a double quote.")
    raise filter_error(f"Did not expect {shown(text[at])} at character {at + 1}.")


class _Parser:
    """One pass over the tokens; ``level`` counts open parentheses and NOTs."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._level = 0

    def whole(self) -> Condition:
        if self._peek.kind == "end":
            raise filter_error("Expected a condition such as memory_type = 'fact', got an empty filter. Leave it out.")
        condition = self._or()
        if self._peek.kind != "end":
            self._expected("AND, OR or the end of the filter")
        return condition

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek
        self._next += 1
        return token

    def _takes_keyword(self, keyword: str) -> bool:
        found = self._peek.keyword == keyword
        self._next += found
        return found

    def _takes_symbol(self, symbol: str) -> bool:
        found = self._peek.kind == "symbol" and self._peek.text == symbol
        self._next += found
        return found

    def _expected(self, what: str) -> NoReturn:
        token = self._peek
        came = "the end of the filter" if token.kind == "end" else shown(token.text)
        raise filter_error(f"Expected {what} at character {token.at + 1}, got {came}.")

    def _or(self) -> Condition:
        conditions = [self._and()]
        while self._takes_keyword("OR"):
            conditions.append(self._and())
        return any_of(conditions)

    def _and(self) -> Condition:
        conditions = [self._not()]
        while self._takes_keyword("AND"):
            conditions.append(self._not())
        return all_of(conditions)

    def _not(self) -> Condition:
        self._level += 1
        if self._level > MAX_LEVELS:
            raise filter_error(f"Expected at most {MAX_LEVELS} levels of parentheses and NOT. Write it flatter.")
        if self._takes_keyword("NOT"):
            condition = negated(self._not())
        elif self._takes_symbol("("):
            condition = self._or()
            if not self._takes_symbol(")"):
                self._expected("AND, OR or a closing parenthesis")
        else:
            condition = self._predicate()
        self._level -= 1
        return condition

    def _predicate(self) -> Condition:
        path = self._path()
        if self._takes_keyword("IS"):
            is_not = self._takes_keyword("NOT")
            if not self._takes_keyword("NULL"):
                self._expected("NULL" if is_not else "NULL or NOT NULL")
            return negated(IsNull(path)) if is_not else IsNull(path)
        if self._takes_keyword("NOT"):
            if not self._takes_keyword("IN"):
                self._expected("IN")
            return negated(self._membership(path))
        if self._takes_keyword("IN"):
            return self._membership(path)
        return self._comparison(path)

    def _path(self) -> Path:
        first = self._peek
        if first.kind != "name" or first.keyword is not None:
            self._expected("a field such as memory_type or metadata.topic")
        self._take()
        parts = [first.text]
        while self._takes_symbol("."):
            parts.append(self._part())
        check_path(parts, first.at)
        return tuple(parts)

    def _part(self) -> str:
        token = self._peek
        if token.kind == "quoted" and len(token.text) > 2:
            return self._take().text[1:-1].replace('""', '"')
        if token.kind != "name":
            self._expected('a name (in double quotes if it is not a plain word: metadata."my key")')
        return self._take().text

    def _comparison(self, path: Path) -> Condition:
        token = self._peek
        if token.kind != "symbol" or token.text not in _COMPARISONS:
            self._expected("one of = != < <= > >= IN, NOT IN, IS NULL, IS NOT NULL")
        self._take()
        symbol = cast("Comparison", "!=" if token.text == "<>" else token.text)
        literal = self._peek
        value = self._literal(path)
        if symbol not in ("=", "!=") and (value.kind == "boolean" or FIELD_TYPES[path[0]] == "texts"):
            what = "TRUE and FALSE" if value.kind == "boolean" else f"The items of {path[0]}"
            raise filter_error(f"{what} have no order, at character {literal.at + 1}. Compare with = or !=.")
        return Compare(path, symbol, value)

    def _membership(self, path: Path) -> Condition:
        if not self._takes_symbol("("):
            self._expected("a list in parentheses such as ('work', 'home')")
        values = [self._literal(path)]
        while self._takes_symbol(","):
            values.append(self._literal(path))
            if len(values) > MAX_IN_ITEMS:
                raise filter_error(f"Expected at most {MAX_IN_ITEMS} items in a list, got more. Split the request.")
        if not self._takes_symbol(")"):
            self._expected("a comma or a closing parenthesis")
        return one_of(path, values)

    def _literal(self, path: Path) -> Value:
        token = self._peek
        if token.kind == "text":
            value = text_value(token.text[1:-1].replace("''", "'"), path[0], token.at)
        elif token.kind == "number":
            value = number_value(token.text, token.at)
        elif token.keyword in ("TRUE", "FALSE"):
            value = Value("boolean", token.keyword == "TRUE")
        elif token.keyword == "NULL":
            raise filter_error(f"Nothing compares with NULL, at character {token.at + 1}. Use IS NULL or IS NOT NULL.")
        elif token.kind == "quoted" or (token.kind == "name" and token.keyword is None):
            self._expected("a literal (text stands in single quotes, as in 'work')")
        else:
            self._expected("a text in single quotes, a number, TRUE or FALSE")
        if not takes(path[0], value):
            self._expected(f"{LITERAL_NAMES[FIELD_TYPES[path[0]]]}, as {path[0]} is one,")
        self._take()
        return value
