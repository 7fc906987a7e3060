"""The edges of the job, said as Flink tables: any connector by its options, and nothing of Flink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

SinkColumn = Literal["agent_id", "payload"]


@dataclass(frozen=True, slots=True)
class SourceEdge:
    """Where requests come from: a table with one column, ``payload BYTES``, of a connector's ``raw`` format.

    Attributes:
        options: The connector's options, as in a table's ``WITH`` clause.
        skip_empty: Leave out records without a byte in them: blank lines of a file are no mistake.
    """

    options: Mapping[str, str]
    skip_empty: bool = False


@dataclass(frozen=True, slots=True)
class SinkEdge:
    """Where one kind of record goes.

    Attributes:
        options: The connector's options, as in a table's ``WITH`` clause.
        columns: What the table is made of, all ``STRING``. Dead letters have no ``agent_id``.
    """

    options: Mapping[str, str]
    columns: tuple[SinkColumn, ...] = ("payload",)


@dataclass(frozen=True, slots=True)
class Edges:
    """Everything that goes in and out of the job."""

    requests: SourceEdge
    results: SinkEdge
    changelog: SinkEdge
    dead_letters: SinkEdge
