"""Filters over the fields of a memory or an event, as ``get_all`` and ``search`` take them.

    memory_type = 'fact' AND metadata.topic IN ('work', 'home') AND created_at >= '2026-01-01T00:00:00Z'

* The logic is SQL's: a field that is absent, null or of another type than the literal makes a
  condition unknown, also under NOT, and only what is true matches. ``x != 1`` does not match
  where ``x`` is absent; ``x IS NULL`` does.
* Text compares by code points; booleans are not numbers.
* Times compare with RFC 3339 literals. Under ``metadata``, a literal that is such a time
  compares with texts that are times, whatever their offsets, and with nothing else.
* On a list, ``=`` and ``IN`` mean "contains", ``!=`` and ``NOT IN`` mean "does not contain", and
  an order is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from flink_memory.filter_conditions import Condition, Evaluator, compiled, paths_of
from flink_memory.filter_grammar import parse


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter. Two are equal that say the same in another order, case or spacing.

    Attributes:
        text: As it was written.
        condition: Its normal form, by which filters compare and hash.
        fields: Names of the record's fields that it reads, such as ``metadata``.
    """

    text: str = field(compare=False)
    condition: Condition
    fields: frozenset[str] = field(compare=False)
    _evaluate: Evaluator = field(compare=False, repr=False)

    def matches(self, record_fields: Mapping[str, object]) -> bool:
        """Say whether a record matches; well under a microsecond for a simple condition.

        Args:
            record_fields: By their names on the wire; times as milliseconds since the epoch,
                ``metadata`` as a dict. What is absent counts as null.
        """
        return self._evaluate(record_fields) is True


@lru_cache(maxsize=1024)
def parse_filter(text: str) -> Filter:
    """Parse a filter; the last 1,024 are kept.

    Args:
        text: At most 4,096 characters, 64 levels of parentheses and NOT, 1,000 items an IN.

    Raises:
        RequestError: ``VALIDATION_ERROR`` of the field ``filter``: where, what was expected,
            what came.
    """
    condition = parse(text)
    return Filter(text, condition, frozenset(path[0] for path in paths_of(condition)), compiled(condition))
