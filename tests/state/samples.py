"""One sample of every value of state, for golden bytes; nothing in here may ever change."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from flink_memory.counters import Counters
from flink_memory.embedding import HashingModel
from flink_memory.jobs.local import LocalMemory
from flink_memory.lexical import LexicalBlock
from flink_memory.records import Access, Cause, Change, EventRecord, MemoryRecord
from flink_memory.state.accesses import decode_accesses, encode_table, encode_together
from flink_memory.state.chunks import (
    decode_graph,
    decode_rows,
    decode_vectors,
    encode_graph,
    encode_rows,
    encode_vectors,
)
from flink_memory.state.encoding import (
    decode_change,
    decode_event,
    decode_history_item,
    decode_memory,
    decode_number,
    decode_outcome,
    decode_pending,
    encode_change,
    encode_event,
    encode_history_item,
    encode_memory,
    encode_number,
    encode_outcome,
    encode_pending,
)
from flink_memory.state.handles import AgentStates
from flink_memory.state.log import ROW, LogEntry, Upsert, decode_entry, encode_entry
from flink_memory.state.manifest import Chunk, Manifest, Segment, decode_manifest, encode_manifest

AT_MS = 1_750_000_000_123
_CHANGE = Change(
    sequence=7, memory_id="m-ü", action="UPDATE", old_memory="Tea.", new_memory="Grüner Tee 🍵.",
    cause=Cause("r7", "update"), at_ms=AT_MS, arrived_ms=AT_MS + 5, session_id="s1", previous=3,
)  # fmt: skip
_MEMORY = MemoryRecord(
    memory_id="m-ü", memory="Grüner Tee 🍵.", memory_type="preference", metadata={"a": [1, None, {"b": True}]},
    confidence=0.25, importance=None, source_sessions=("s1", ""), source_events=("e1",), created_at_ms=AT_MS - 1,
    updated_at_ms=AT_MS, expires_at_ms=AT_MS + 9, version=2, birth=4, ordinal=6, last_change=_CHANGE,
)  # fmt: skip
_EVENT = EventRecord(
    event_id="e1", session_id="s1", timestamp_ms=AT_MS, type="user_message",
    content=[{"type": "text", "text": "Hallo"}], producer="Änn", role="user", metadata={"n": 1.5},
    extra={"tool_calls": []}, ordinal=5,
)  # fmt: skip
_COUNTERS = Counters(*range(11, 11 + len(fields(Counters))))
_VECTORS = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
_UPSERTS = (
    Upsert(5, 5, AT_MS, 0, 1, "e1", "s1", (17, 4_000_000_000)),
    Upsert(6, 4, AT_MS + 1, AT_MS + 9, 0, "m-ü", "", ()),
)
_ENTRY = LogEntry(_COUNTERS, (2, 3), _UPSERTS, _VECTORS, analysis_id=99)
_ROWS = np.array([(5, 5, AT_MS, 0, 1, 1), (6, 4, AT_MS + 1, AT_MS + 9, 0, 0)], dtype=ROW)
_DEAD = np.array([True, False, False, False, False, False, False, False, True, False])
_MANIFEST = Manifest(
    dimension=4,
    metric="cosine",
    model="a model",
    counters=_COUNTERS,
    segments=[Segment(9, 1, [Chunk(3, 10, _DEAD), Chunk(4, 2)], graph_pieces=2), Segment(11, 0, [Chunk(10, 1)])],
    next_number=12,
    ended_sessions={"s1": AT_MS},
)
_BLOCK = LexicalBlock.build([[1, 2, 2], [], [2]], [5, 5, 0])


@dataclass(frozen=True)
class Sample:
    """A value, its bytes, and how one is made of the other.

    Attributes:
        write: Makes the bytes.
        read: Makes something of the bytes that can be compared.
        expected: What ``read`` has to give.
    """

    write: Callable[[], bytes]
    read: Callable[[bytes], Any]
    expected: Any


def plain_entry(entry: LogEntry) -> tuple[Any, ...]:
    return entry.counters, entry.tombstones, entry.upserts, entry.vectors.tolist(), entry.analysis_id


def plain_manifest(manifest: Manifest) -> dict[str, Any]:
    segments = [
        (part.number, part.level, part.graph_pieces, [(c.number, c.rows, c.living.tolist()) for c in part.chunks])
        for part in manifest.segments
    ]
    return {field.name: getattr(manifest, field.name) for field in fields(manifest)} | {"segments": segments}


def plain_rows(data: bytes) -> tuple[Any, ...]:
    chunk = decode_rows(data)
    return chunk.rows.tolist(), chunk.ids, chunk.sessions


def plain_block(data: bytes) -> tuple[Any, ...]:
    block = LexicalBlock.decode(data)
    found = block.postings
    postings = found.terms.tolist(), found.offsets.tolist(), found.rows.tolist(), found.frequencies.tolist()
    return block.sessions.tolist(), block.lengths.tolist(), postings


def block_without_analysis() -> bytes:
    """The block, its analysis (which is of the installed stemmer) set to 7."""
    data = bytearray(_BLOCK.encode())
    data[4:8] = (7).to_bytes(4, "little")
    return bytes(data)


SAMPLES: dict[str, Sample] = {
    "memory": Sample(lambda: encode_memory(_MEMORY), decode_memory, _MEMORY),
    "change": Sample(lambda: encode_change(_CHANGE), decode_change, _CHANGE),
    "event": Sample(lambda: encode_event(_EVENT), decode_event, _EVENT),
    "history_item": Sample(lambda: encode_history_item(-5, _EVENT), decode_history_item, (-5, _EVENT)),
    "outcome": Sample(lambda: encode_outcome(AT_MS, b"{}", quotes=True), decode_outcome, (AT_MS, b"{}", True)),
    "pending": Sample(lambda: encode_pending(AT_MS, '{"a":"ü"}'), decode_pending, (AT_MS, '{"a":"ü"}')),
    "number": Sample(lambda: encode_number(42), decode_number, 42),
    "pending_range": Sample(lambda: struct.pack("<Bqq", 1, 3, 9), lambda data: struct.unpack("<Bqq", data), (1, 3, 9)),
    "log_entry": Sample(
        lambda: encode_entry(_ENTRY), lambda data: plain_entry(decode_entry(data)), plain_entry(_ENTRY)
    ),
    "chunk_rows": Sample(
        lambda: encode_rows(_ROWS, ["e1", "m-ü"], ["", "s1"]), plain_rows, (_ROWS.tolist(), ["e1", "m-ü"], ["", "s1"])
    ),
    "chunk_vectors": Sample(
        lambda: encode_vectors(_VECTORS), lambda data: decode_vectors(data).tolist(), _VECTORS.tolist()
    ),
    "lexical_block": Sample(
        block_without_analysis, plain_block, ([5, 5, 0], [3, 0, 1], ([1, 2], [0, 1, 3], [0, 0, 2], [1, 2, 1]))
    ),
    "graph_piece": Sample(lambda: encode_graph(b"graph")[0], lambda data: decode_graph([data]), b"graph"),
    "manifest": Sample(
        lambda: encode_manifest(_MANIFEST),
        lambda data: plain_manifest(decode_manifest(data)),
        plain_manifest(_MANIFEST),
    ),
    "accesses_together": Sample(
        lambda: encode_together(AT_MS, [4, 9, 4]),
        lambda data: decode_accesses([data]),
        ({4: Access(2, AT_MS), 9: Access(1, AT_MS)}, 1),
    ),
    "accesses_table": Sample(
        lambda: encode_table({4: Access(2, AT_MS), 9: Access(1, 5)}),
        lambda data: decode_accesses([data]),
        ({4: Access(2, AT_MS), 9: Access(1, 5)}, 1),
    ),
}

STORY_CONFIG = {
    "embedding": {"model": "hashing", "dimension": 8},
    "index": {"tail_entries": 4, "merge_fanout": 2, "graph_min_rows": None},
}


def tell_the_story() -> AgentStates:
    """The states of one agent after a fixed story."""
    memory = LocalMemory(STORY_CONFIG, model=HashingModel(8), clock_ms=lambda: AT_MS)
    for number in range(9):
        memory.add("ada", f"Ada has {number} apples.", memory_id=f"m{number}", metadata={"n": number})
        memory.observe("ada", f"Here is apple {number}.", event_id=f"e{number}", session_id=f"s{number % 2}")
    memory.update("ada", "m3", memory="Ada ate them.", expires_at="2040-01-01T00:00:00Z")
    memory.delete("ada", "m4")
    memory.delete("ada", "m8")
    memory.add("ada", "Ada found one.", memory_id="m4")
    memory.get("ada", "m1")
    memory.search("ada", "apples", limit=2)
    memory.end_session("ada", "s0")
    memory.forget("ada", memory_ids=["m0"])
    memory.add("ada", "Pears are fine, too.", memory_id="m9")
    return memory._runner.states["ada"]


def pack_states(states: AgentStates, without: Sequence[str] = ()) -> bytes:
    """All of an agent's state, but for some states, in one file: name, key, value, each led by its length, u32."""
    parts: list[bytes] = []
    for entry in fields(states):
        if entry.name in without:
            continue
        handle = getattr(states, entry.name)
        if hasattr(handle, "items"):
            found = sorted((key.encode(), value) for key, value in handle.items())
        elif hasattr(handle, "value"):
            found = [] if handle.value() is None else [(b"", handle.value())]
        else:
            found = [(b"", value) for value in handle.get()]
        for key, value in found:
            parts.extend((entry.name.encode(), key, value))
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def unpack_states(data: bytes, states: AgentStates) -> AgentStates:
    """Put what :func:`pack_states` wrote into empty states."""
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        parts.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    for name, key, value in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        handle = getattr(states, name.decode())
        if hasattr(handle, "items"):
            handle.put(key.decode(), value)
        elif hasattr(handle, "value"):
            handle.update(value)
        else:
            handle.add(value)
    return states
