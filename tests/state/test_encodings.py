"""Every value of state comes back as it went in, whatever it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from flink_memory.counters import Counters
from flink_memory.errors import StateVersionError
from flink_memory.records import Access, Cause, Change, EventRecord, MemoryRecord
from flink_memory.state.accesses import AccessLog, decode_accesses, encode_table, encode_together
from flink_memory.state.chunks import (
    decode_graph,
    decode_rows,
    decode_vectors,
    encode_graph,
    encode_rows,
    encode_vectors,
)
from flink_memory.state.dictionary import dictionary_states
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
from flink_memory.state.log import ROW, LogEntry, Upsert, decode_entry, encode_entry
from flink_memory.state.manifest import Chunk, Manifest, Segment, decode_manifest, encode_manifest
from flink_memory.state.pending import PendingRequests
from tests.state.samples import plain_entry, plain_manifest

texts = st.text(st.characters(codec="utf-8"), max_size=20)
optional_texts = st.none() | texts
times = st.integers(-(2**62), 2**62)
counts = st.integers(0, 2**53)
shares = st.none() | st.floats(0, 1)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=4)
actions = st.sampled_from(["ADD", "UPDATE", "DELETE", "EXPIRE", "COMPACT", "FORGET"])
changes = st.builds(
    Change, sequence=counts, memory_id=texts, action=actions, old_memory=optional_texts, new_memory=optional_texts,
    cause=st.builds(Cause, texts, texts), at_ms=times, arrived_ms=times, session_id=texts, previous=st.none() | counts,
)  # fmt: skip
blocks = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), max_size=3)
events = st.builds(
    EventRecord, event_id=texts, session_id=texts, timestamp_ms=times, type=texts, content=optional_texts | blocks,
    producer=optional_texts, role=optional_texts, metadata=objects, extra=objects, ordinal=counts,
)  # fmt: skip
upserts = st.builds(
    Upsert, ordinal=times, birth=times, arrived_ms=times, expires_ms=times, kind=st.integers(0, 1), row_id=texts,
    session=texts, terms=st.lists(st.integers(0, 2**32 - 1), max_size=5).map(tuple),
)  # fmt: skip
counters = st.lists(times, min_size=len(Counters().values()), max_size=len(Counters().values())).map(
    lambda numbers: Counters(*numbers)
)


@st.composite
def memories(draw: st.DrawFn) -> MemoryRecord:
    memory_id, text, change = draw(texts), draw(texts), draw(changes)
    return MemoryRecord(
        memory_id=memory_id,
        memory=text,
        memory_type=draw(st.none() | st.sampled_from(["fact", "preference", "experience"])),
        metadata=draw(objects),
        confidence=draw(shares),
        importance=draw(shares),
        source_sessions=tuple(draw(st.lists(texts, max_size=3))),
        source_events=tuple(draw(st.lists(texts, max_size=3))),
        created_at_ms=draw(times),
        updated_at_ms=draw(times),
        expires_at_ms=draw(st.none() | times),
        version=draw(counts),
        birth=draw(counts),
        ordinal=draw(counts),
        last_change=Change(
            sequence=change.sequence, memory_id=memory_id, action="UPDATE", old_memory=change.old_memory,
            new_memory=text, cause=change.cause, at_ms=change.at_ms, arrived_ms=change.arrived_ms,
            session_id=change.session_id, previous=change.previous,
        ),
    )  # fmt: skip


@st.composite
def entries(draw: st.DrawFn) -> LogEntry:
    rows = tuple(draw(st.lists(upserts, max_size=4)))
    dimension = draw(st.integers(1, 9))
    shape = (len(rows), dimension)
    vectors = draw(arrays.arrays(np.float32, shape, elements=st.floats(-1, 1, width=32)))
    tombstones = tuple(draw(st.lists(times, max_size=4)))
    return LogEntry(draw(counters), tombstones, rows, vectors, draw(st.integers(0, 2**32 - 1)))


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    def chunk() -> Chunk:
        rows = draw(st.integers(1, 70))
        dead = draw(st.none() | arrays.arrays(np.bool_, rows))
        return Chunk(draw(counts), rows, dead)

    segments = [
        Segment(draw(counts), draw(st.integers(0, 9)), [chunk() for _ in range(draw(st.integers(1, 3)))], draw(counts))
        for _ in range(draw(st.integers(0, 3)))
    ]
    ended = draw(st.dictionaries(texts, times, max_size=3))
    return Manifest(draw(counts), draw(texts), draw(texts), draw(counters), segments, draw(counts), ended)


@given(memories())
def test_a_memory_comes_back(record: MemoryRecord) -> None:
    assert decode_memory(encode_memory(record)) == record


@given(changes)
def test_a_change_comes_back(change: Change) -> None:
    assert decode_change(encode_change(change)) == change


@given(events, times)
def test_an_event_comes_back_alone_and_in_the_history(event: EventRecord, arrived_ms: int) -> None:
    assert decode_event(encode_event(event)) == event
    assert decode_history_item(encode_history_item(arrived_ms, event)) == (arrived_ms, event)


@given(times, st.binary(max_size=40), st.booleans(), texts, times)
def test_small_values_come_back(arrived_ms: int, result: bytes, quotes: bool, payload: str, number: int) -> None:
    assert decode_outcome(encode_outcome(arrived_ms, result, quotes=quotes)) == (arrived_ms, result, quotes)
    assert decode_pending(encode_pending(arrived_ms, payload)) == (arrived_ms, payload)
    assert decode_number(encode_number(number)) == number


@given(entries())
def test_a_log_entry_comes_back(entry: LogEntry) -> None:
    found = decode_entry(encode_entry(entry))
    if entry.upserts:
        assert plain_entry(found) == plain_entry(entry)
    else:
        assert (found.counters, found.tombstones, found.upserts) == (entry.counters, entry.tombstones, ())


@given(st.lists(st.tuples(upserts, st.integers(0, 2)), max_size=6), st.integers(1, 9))
def test_the_rows_of_a_chunk_come_back(found: list[tuple[Upsert, int]], dimension: int) -> None:
    rows = np.array(
        [(row.ordinal, row.birth, row.arrived_ms, row.expires_ms, place, row.kind) for row, place in found], dtype=ROW
    )
    ids, sessions = [row.row_id for row, _ in found], ["", "a", "ü"]
    chunk = decode_rows(encode_rows(rows, ids, sessions))
    assert chunk.rows.tolist() == rows.tolist()
    assert (chunk.ids, chunk.sessions) == (ids, sessions)
    vectors = np.random.default_rng(dimension).normal(size=(len(found), dimension)).astype(np.float32)
    np.testing.assert_array_equal(decode_vectors(encode_vectors(vectors)), vectors)


@given(manifests())
def test_a_manifest_comes_back(manifest: Manifest) -> None:
    assert plain_manifest(decode_manifest(encode_manifest(manifest))) == plain_manifest(manifest)


@given(st.dictionaries(counts, st.builds(Access, st.integers(1, 99), st.integers(1, 2**60))))
def test_a_table_of_accesses_comes_back(table: dict[int, Access]) -> None:
    assert decode_accesses([encode_table(table)]) == (table, 1)


def test_a_large_graph_is_kept_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flink_memory.state.chunks.GRAPH_PIECE_BYTES", 10)
    graph = bytes(range(95))
    pieces = encode_graph(graph)
    assert [len(piece) for piece in pieces] == [11] * 9 + [6]
    assert decode_graph(pieces) == graph


fold_steps = st.tuples(st.integers(0, 2**60), st.lists(st.integers(0, 5), max_size=3)) | st.sampled_from(
    ["fold", "open", "read"]
)


@settings(max_examples=50)
@given(st.lists(fold_steps, max_size=30))
def test_folding_the_log_of_accesses_changes_no_count(steps: list[tuple[int, list[int]] | str]) -> None:
    states = dictionary_states()
    log = AccessLog(states.accesses)
    expected: dict[int, tuple[int, int]] = {}
    for step in steps:
        if step == "fold":
            log.fold()
            assert len(list(states.accesses.get())) <= 1
        elif step == "open":
            log = AccessLog(states.accesses)
        elif step == "read":
            log.of(0)
        elif not isinstance(step, str):
            log.append(*step)
            for birth in step[1]:
                count, last = expected.get(birth, (0, 0))
                expected[birth] = (count + 1, max(last, step[0]))
    for birth in range(6):
        assert log.of(birth) == (Access(*expected[birth]) if birth in expected else Access())


def test_folding_drops_the_accesses_of_memories_that_are_gone() -> None:
    states = dictionary_states()
    log = AccessLog(states.accesses)
    log.append(5, [1, 2])
    log.append(7, [2, 3])
    log.fold([2])
    for opened in (log, AccessLog(states.accesses)):
        assert (opened.of(1), opened.of(2), opened.of(3)) == (Access(), Access(2, 7), Access())
    assert list(states.accesses.get()) == [encode_table({2: Access(2, 7)})]
    with pytest.raises(StateVersionError):
        decode_accesses([b"\x02" + encode_together(1, [1])[1:]])


@given(st.lists(st.sampled_from(["append", "remove", "open"]), max_size=40))
def test_the_queue_of_pending_requests_is_a_queue(steps: list[str]) -> None:
    state = dictionary_states().pending
    pending = PendingRequests(state)
    expected: list[tuple[int, int, str]] = []
    numbers: list[int] = []
    for step in steps:
        if step == "append":
            numbers.append(pending.append(len(numbers), f"payload {len(numbers)}"))
            expected.append((numbers[-1], len(numbers) - 1, f"payload {len(numbers) - 1}"))
        elif step == "open":
            pending = PendingRequests(state)
        elif expected:
            pending.remove_first()
            expected.pop(0)
        assert pending.items() == expected
        assert len(pending) == len(expected)
    assert numbers == sorted(set(numbers))
    assert len(list(state.keys())) <= len(expected) + 1


def test_an_empty_value_is_of_no_known_layout() -> None:
    with pytest.raises(StateVersionError):
        decode_change(b"")
    assert math.isfinite(0)
