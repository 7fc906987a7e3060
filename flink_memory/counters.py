"""The counters of one agent, part of every entry of its log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Where an agent's numbering stands.

    Attributes:
        sequence: Changes published so far: the ``sequence`` of the last one.
        next_ordinal: Ordinal of the next row of the vector log.
        audit_first: Lowest number that may stand in the audit history.
        audit_next: Number of the next entry of the audit history.
        memories: Memories in the bank.
        events: Events in sensory memory.
        history: Items in the stored short-term history, trimmed ones not yet rewritten included.
    """

    sequence: int = 0
    next_ordinal: int = 0
    audit_first: int = 0
    audit_next: int = 0
    memories: int = 0
    events: int = 0
    history: int = 0

    def copy(self) -> Counters:
        """An independent copy."""
        return Counters(*self.values())

    def values(self) -> tuple[int, ...]:
        """All counters, in the order in which they are declared and encoded."""
        return (
            self.sequence,
            self.next_ordinal,
            self.audit_first,
            self.audit_next,
            self.memories,
            self.events,
            self.history,
        )
