"""Which text of a record is embedded, and which one its words are indexed of."""

from __future__ import annotations

from flink_memory.records import EventRecord, MemoryRecord


def embedded_text(record: MemoryRecord | EventRecord) -> str:
    """The text whose embedding stands for a record: a memory as it is, an event led by its producer."""
    return record.memory if isinstance(record, MemoryRecord) else event_text(record.producer, record.text)


def indexed_text(record: MemoryRecord | EventRecord) -> str:
    """The text whose words find a record; the same as :func:`embedded_text`."""
    return embedded_text(record)


def event_text(producer: str | None, text: str) -> str:
    """An event's text, led by who spoke: questions name people whose turns do not."""
    return text if producer is None else f"{producer}: {text}"
