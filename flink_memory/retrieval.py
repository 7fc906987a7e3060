"""Search: the nearest by vector, the best by words, and one order of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from flink_memory.effects import Float32Vector
from flink_memory.execution import Execution
from flink_memory.filters import parse_filter
from flink_memory.ranking import RankedScores, candidate_count, fuse, top_rows
from flink_memory.records import EventRecord
from flink_memory.requests import Search
from flink_memory.store import BoolMask, RowNumbers


def search(run: Execution[Search]) -> dict[str, Any]:
    """Rank memories and events by text, by vector, or by both.

    By vector alone the score is the inner product (the cosine, under that metric), and the order is
    exact wherever the index is flat. By text the score is :func:`flink_memory.ranking.fuse`'s. Of equal
    scores the older row comes first.

    Raises:
        RequestError: ``VALIDATION_ERROR`` for a bad filter, ``DIMENSION_MISMATCH`` for the vector.
    """
    request, store = run.request, run.store
    query = run.vector(request.vector)
    mask = store.select(request.kinds, None if request.filter is None else parse_filter(request.filter))
    if request.query is None:
        rows, scores = store.nearest(query, request.limit, mask)
        ranked = fuse(scores, None)
    else:
        rows, ranked = _fused(run, query, request.query, mask)
    places = _best(run, rows, ranked)
    found = rows[places]
    run.draft.accesses.extend(store.memory_births(found))
    hits = store.hits(found.tolist())
    if request.explain or request.expand_context:
        pairs = zip(places.tolist(), found.tolist(), strict=True)
        ends = [_measured(run, ranked, place, row, mask) for place, row in pairs]
    else:
        ends = _scores(ranked, places)
    joined = b",".join([hit[:-1] + end for hit, end in zip(hits, ends, strict=True)])
    return {"hits": orjson.Fragment(b"[" + joined + b"]")}


def _scores(ranked: RankedScores, places: RowNumbers) -> list[bytes]:
    """How a hit ends that has no more than a score; an infinite one is null."""
    if not len(places):
        return []
    numbers = orjson.dumps(ranked.total[places].tolist())[1:-1].split(b",")
    return [b',"score":' + number + b"}" for number in numbers]


def _measured(run: Execution[Search], ranked: RankedScores, place: int, row: int, mask: BoolMask | None) -> bytes:
    """How a hit ends: the part that depends on the search."""
    fields: dict[str, Any] = {"score": float(ranked.total[place])}
    if run.request.explain:
        fields["explain"] = _explanation(ranked, place)
    if run.request.expand_context and isinstance(run.store.records([row])[0], EventRecord):
        fields["context"] = _context(run, row, mask)
    return b"," + orjson.dumps(fields)[1:]


def _fused(
    run: Execution[Search], query: Float32Vector, text: str, mask: BoolMask | None
) -> tuple[RowNumbers, RankedScores]:
    """Candidates by vector and by words, and their fused scores."""
    store = run.store
    count = candidate_count(run.request.limit)
    nearest, similarities = store.nearest(query, count, mask)
    words = store.words(text)
    if words is None:
        return nearest, fuse(similarities, None)
    lexical = words.total if mask is None else np.where(mask, words.total, np.float32(0))
    wordy = top_rows(lexical, count)
    rows = np.union1d(nearest, wordy[lexical[wordy] > 0])
    return rows, fuse(store.similarity(query, rows), words.at(rows), run.config.ranking.weights)


def _best(run: Execution[Search], rows: RowNumbers, ranked: RankedScores) -> RowNumbers:
    """Places of the hits among the candidates, best first."""
    places: RowNumbers = np.lexsort((run.store.births(rows), -ranked.total))[: run.request.limit]
    if run.request.min_score is None:
        return places
    good: RowNumbers = places[ranked.total[places] >= run.request.min_score]
    return good


def _explanation(ranked: RankedScores, place: int) -> dict[str, float]:
    return {
        "dense": float(ranked.dense[place]),
        "lexical": float(ranked.lexical[place]),
        "context": float(ranked.context[place]),
    }


def _context(run: Execution[Search], row: int, mask: BoolMask | None) -> list[dict[str, Any]]:
    """Events around an event in its session, in order: a third before it, the rest after it.

    Events that the search may not return are passed over.
    """
    previous, following = run.store.neighbours()
    wanted = run.request.expand_context
    before = _walk(previous, row, wanted // 3, mask)
    after = _walk(following, row, wanted - wanted // 3, mask)
    records = run.store.records([*reversed(before), *after])
    return [record.wire() for record in records if isinstance(record, EventRecord)]


def _walk(links: RowNumbers, row: int, steps: int, mask: BoolMask | None) -> list[int]:
    found: list[int] = []
    row = int(links[row])
    while row >= 0 and len(found) < steps:
        if mask is None or mask[row]:
            found.append(row)
        row = int(links[row])
    return found
