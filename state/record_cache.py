"""Decoded records of one agent in use, read from state when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import orjson

from flink_memory.records import EventRecord, MemoryRecord
from flink_memory.state.handles import MapHandle

Record = TypeVar("Record", MemoryRecord, EventRecord)

#: From this number of missing records on, reading all of the map is quicker than one by one.
_BULK = 64
#: A decoded record takes about this many times its encoded bytes, and this many bytes besides.
_FACTOR, _OVERHEAD = 3, 600
#: Bytes of an encoded hit beside its text.
_HIT_OVERHEAD = 150


class RecordCache(Generic[Record]):
    """Records by id, written through.

    Args:
        state: Where they are kept.
        encode: A record to bytes.
        decode: And back.
        name: The id of a record.
    """

    __slots__ = ("_decode", "_encode", "_hits", "_name", "_records", "_sizes", "_state", "nbytes")

    def __init__(
        self,
        state: MapHandle,
        encode: Callable[[Record], bytes],
        decode: Callable[[bytes], Record],
        name: Callable[[Record], str],
    ) -> None:
        self._state = state
        self._encode: Callable[[Record], bytes] = encode
        self._decode: Callable[[bytes], Record] = decode
        self._name: Callable[[Record], str] = name
        self._records: dict[str, Record] = {}
        self._hits: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}
        self.nbytes = 0

    def get(self, record_id: str) -> Record | None:
        """The record of that id, if there is one."""
        record = self._records.get(record_id)
        if record is None:
            stored = self._state.get(record_id)
            if stored is not None:
                record = self._decode(stored)
                self._hold(record_id, record, len(stored))
        return record

    def hit(self, record_id: str) -> bytes:
        """The ``hit()`` of a record as JSON.

        Raises:
            KeyError: There is no such record.
        """
        hit = self._hits.get(record_id)
        if hit is None:
            record = self.get(record_id)
            if record is None:
                raise KeyError(f"Expected the record of {record_id!r}, as the vector log says; it is not there.")
            hit = self._hits[record_id] = orjson.dumps(record.hit())
            self.nbytes += len(hit) + _HIT_OVERHEAD
        return hit

    def put(self, record_id: str, record: Record | None) -> None:
        """Write a record, or remove it."""
        hit = self._hits.pop(record_id, None)
        if hit is not None:
            self.nbytes -= len(hit) + _HIT_OVERHEAD
        if record is None:
            self._state.remove(record_id)
            self._records.pop(record_id, None)
            self.nbytes -= self._sizes.pop(record_id, 0)
            return
        stored = self._encode(record)
        self._state.put(record_id, stored)
        self._hold(record_id, record, len(stored))

    def fetch(self, record_ids: Iterable[str]) -> None:
        """Read many records ahead of time."""
        missing = [record_id for record_id in record_ids if record_id not in self._records]
        if len(missing) < _BULK:
            for record_id in missing:
                self.get(record_id)
            return
        for stored in self._state.values():
            record = self._decode(stored)
            record_id = self._name(record)
            if record_id not in self._records:
                self._hold(record_id, record, len(stored))

    def drop(self) -> None:
        """Let go of what is held; state keeps it."""
        self._records.clear()
        self._hits.clear()
        self._sizes.clear()
        self.nbytes = 0

    def _hold(self, record_id: str, record: Record, stored_bytes: int) -> None:
        size = _FACTOR * stored_bytes + _OVERHEAD
        self.nbytes += size - self._sizes.get(record_id, 0)
        self._sizes[record_id] = size
        self._records[record_id] = record
