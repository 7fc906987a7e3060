"""What ends by itself: memories whose time is over, and what is too old or too much.

Ages count from arrival, not from the time that a request states, so that a conversation of last
year can be imported without vanishing at once.
"""

from __future__ import annotations

from typing import Final

from flink_memory.config import MemoryConfig
from flink_memory.draft import Draft
from flink_memory.records import Cause
from flink_memory.store import AgentStore

DAY_MS: Final = 86_400_000
#: Items by which the short-term history may exceed its bound before it is rewritten, as a share.
_HISTORY_SLACK: Final = 0.25
_EXPIRY: Final = Cause("", "expire")
_RETENTION: Final = Cause("", "retention")


def expire(store: AgentStore, config: MemoryConfig, now_ms: int) -> Draft | None:
    """Remove what has reached its time or its age; ``None`` when nothing has."""
    draft = _draft(store, _EXPIRY, now_ms)
    for memory_id in store.expired_memories(now_ms):
        _end_memory(draft, store, memory_id)
    if config.memories.max_age_days is not None:
        before_ms = now_ms - int(config.memories.max_age_days * DAY_MS)
        for memory_id in store.oldest_memories(store.counters.memories, before_ms + 1):
            if memory_id not in draft.memories:
                _end_memory(draft, store, memory_id)
    if config.sensory.max_age_days is not None:
        before_ms = now_ms - int(config.sensory.max_age_days * DAY_MS)
        for event_id, ordinal in store.oldest_events(store.counters.events, before_ms + 1):
            draft.remove_event(event_id, ordinal)
    _drop_old_history(draft, store, config, now_ms)
    _drop_old_changes(draft, store, config, now_ms)
    return None if draft.is_empty else draft


def trim(store: AgentStore, config: MemoryConfig, now_ms: int) -> Draft | None:
    """Remove what exceeds a count; ``None`` when nothing does. Costs a few comparisons then."""
    counters = store.counters
    excess_events = counters.events - config.sensory.max_events
    excess_memories = counters.memories - (config.memories.max_count or counters.memories)
    excess_changes = counters.audit_next - counters.audit_first - config.audit.max_changes
    excess_history = counters.history - int(config.history.max_items * (1 + _HISTORY_SLACK))
    if excess_events <= 0 and excess_memories <= 0 and excess_changes <= 0 and excess_history <= 0:
        return None
    draft = _draft(store, _RETENTION, now_ms)
    if excess_events > 0:
        for event_id, ordinal in store.oldest_events(excess_events):
            draft.remove_event(event_id, ordinal)
    if excess_memories > 0:
        for memory_id in store.oldest_memories(excess_memories):
            _end_memory(draft, store, memory_id)
    if excess_changes > 0:
        _drop_changes(draft, store, excess_changes)
    if excess_history > 0:
        draft.history_kept = list(store.history()[-config.history.max_items :])
        draft.counters.history = len(draft.history_kept)
    return draft


def _draft(store: AgentStore, cause: Cause, now_ms: int) -> Draft:
    return Draft(store.counters.copy(), cause, at_ms=now_ms, arrived_ms=now_ms)


def _end_memory(draft: Draft, store: AgentStore, memory_id: str) -> None:
    record = store.memory(memory_id)
    if record is not None:
        draft.remove_memory(record, "EXPIRE")


def _drop_old_history(draft: Draft, store: AgentStore, config: MemoryConfig, now_ms: int) -> None:
    if config.history.max_age_days is None:
        return
    oldest_ms = now_ms - int(config.history.max_age_days * DAY_MS)
    items = store.history()
    kept = [item for item in items if item[0] > oldest_ms]
    if len(kept) < len(items):
        draft.history_kept = kept
        draft.counters.history = len(kept)


def _drop_old_changes(draft: Draft, store: AgentStore, config: MemoryConfig, now_ms: int) -> None:
    if config.audit.max_age_days is None:
        return
    oldest_ms = now_ms - int(config.audit.max_age_days * DAY_MS)
    count = 0
    for number in range(store.counters.audit_first, store.counters.audit_next):
        change = store.change(number)
        if change is not None and change.arrived_ms > oldest_ms:
            break
        count += 1
    if count:
        _drop_changes(draft, store, count)


def _drop_changes(draft: Draft, store: AgentStore, count: int) -> None:
    """Remove the oldest entries of the audit history."""
    first = draft.counters.audit_first
    for number in range(first, first + count):
        change = store.change(number)
        if change is not None and change.new_memory is None and store.end_of(change.memory_id) == number:
            draft.ends.setdefault(change.memory_id, None)
        draft.superseded.setdefault(number, None)
    draft.counters.audit_first = first + count
