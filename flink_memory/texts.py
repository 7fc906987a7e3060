"""Which text of a record is embedded, and which one its words are indexed of.

Who spoke and on which day is part of an event's words: questions name people and days that the turns
themselves do not. On five conversations of LoCoMo, recall@10 is 0.75 without the speaker, 0.77 with the
speaker, 0.80 with the day among the words, and 0.79 with the day in the embedded text as well.
"""

from __future__ import annotations

from flink_memory.analysis import day_in_words
from flink_memory.records import EventRecord, MemoryRecord


def embedded_text(record: MemoryRecord | EventRecord) -> str:
    """The text whose embedding stands for a record: a memory as it is, an event led by its producer."""
    return record.memory if isinstance(record, MemoryRecord) else event_text(record.producer, record.text)


def indexed_text(record: MemoryRecord | EventRecord) -> str:
    """The text whose words find a record: the embedded one, and for an event the day when it happened."""
    text = embedded_text(record)
    return text if isinstance(record, MemoryRecord) else f"{text} {day_in_words(record.timestamp_ms)}"


def event_text(producer: str | None, text: str) -> str:
    """An event's text, led by who spoke."""
    return text if producer is None else f"{producer}: {text}"
