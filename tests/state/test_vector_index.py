"""The FAISS side of an agent against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flink_memory.effects import BuildGraph, Float32Matrix, Float32Vector
from flink_memory.state.log import Upsert
from flink_memory.state.rows import BoolMask, RowNumbers, RowTable
from flink_memory.state.vectors import VectorIndex, build_graph

DENSITIES = (None, 0.0, 0.01, 0.2, 0.26, 0.5, 0.85, 1.0)


def unit_rows(count: int, dimension: int, seed: int, centres: int = 0) -> Float32Matrix:
    """Random unit rows; around as many centres, if any."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, dimension))
    if centres:
        rows = random.normal(size=(centres, dimension))[random.integers(0, centres, count)] + 0.5 * rows
    unit: Float32Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def exact_top(
    vectors: Float32Matrix, query: Float32Vector, k: int, mask: BoolMask | None
) -> tuple[RowNumbers, Float32Vector]:
    """The best rows by a score that is the same for equal rows, the lower row first."""
    scores = np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))
    rows = np.arange(len(vectors)) if mask is None else np.flatnonzero(mask)
    best = rows[np.lexsort((rows, -scores[rows].round(6)))][:k]
    return best, scores[best].astype(np.float32)


def graph_of(vectors: Float32Matrix) -> bytes:
    return build_graph(BuildGraph("graph/0", vectors, 16, 40))


def masks(count: int, seed: int) -> list[BoolMask | None]:
    random = np.random.default_rng(seed)
    return [None if share is None else random.random(count) < share for share in DENSITIES]


def assert_exact(index: VectorIndex, vectors: Float32Matrix, seed: int) -> None:
    assert index.count == len(vectors)
    np.testing.assert_array_equal(index.slice(0, len(vectors)), vectors)
    for number, mask in enumerate(masks(len(vectors), seed)):
        query = unit_rows(1, index.dimension, seed + number)[0]
        for k in (1, 7, len(vectors) + 5):
            rows, scores = index.top(query, k, mask)
            expected, expected_scores = exact_top(vectors, query, k, mask)
            np.testing.assert_allclose(scores, expected_scores, atol=2e-6)
            if k < 10:
                np.testing.assert_array_equal(rows, expected)
            assert set(rows.tolist()) == set(expected.tolist())
            np.testing.assert_array_equal(np.sort(scores)[::-1], scores)
            np.testing.assert_array_equal(index.scores(query, np.sort(rows))[np.argsort(np.argsort(rows))], scores)


@pytest.mark.parametrize("dimension", [8, 37, 384])
def test_a_flat_search_is_exact_under_masks_of_every_density(dimension: int) -> None:
    vectors = unit_rows(400, dimension, 1)
    index = VectorIndex(dimension, 64)
    for start in range(0, 400, 50):
        index.add(vectors[start : start + 50])
    assert_exact(index, vectors, 2)


def test_an_empty_index_finds_nothing() -> None:
    index = VectorIndex(8, 64)
    rows, scores = index.top(unit_rows(1, 8, 1)[0], 3, None)
    assert (rows.tolist(), scores.tolist()) == ([], [])
    assert index.scores(unit_rows(1, 16, 1)[0], np.empty(0, dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("k", [1, 3, 10, 99, 120, 250])
def test_ties_go_to_the_lower_row_also_where_they_are_cut(k: int, density: float | None) -> None:
    random = np.random.default_rng(k)
    kinds = unit_rows(5, 16, 3)
    choice = random.integers(0, 5, 300)
    index = VectorIndex(16, 64)
    index.load([kinds[choice[:170]], kinds[choice[170:]]])
    mask = None if density is None else random.random(300) < density
    rows, _ = index.top(kinds[0], k, mask)
    expected, _ = exact_top(kinds[choice], kinds[0], k, mask)
    np.testing.assert_array_equal(rows, expected)


def test_parts_with_graphs_are_exact_where_a_mask_leaves_few_rows() -> None:
    vectors = unit_rows(900, 16, 4)
    index = VectorIndex(16, 64)
    index.add(vectors)
    index.set_graph(300, 600, graph_of(vectors[300:600]))
    query = unit_rows(1, 16, 5)[0]
    for share in (0.01, 0.2, 0.5, 0.7):
        mask = np.random.default_rng(6).random(900) < share
        rows, _ = index.top(query, 10, mask)
        np.testing.assert_array_equal(rows, exact_top(vectors, query, 10, mask)[0])
    assert index.has_graph


def test_recall_of_a_graph_on_clustered_data_is_99_percent() -> None:
    vectors, queries = np.split(unit_rows(4100, 32, 7, centres=40), [4000])
    index = VectorIndex(32, 64)
    index.load([vectors], build_graph(BuildGraph("graph/0", vectors, 32, 40)))
    almost_all = np.random.default_rng(8).random(4000) < 0.9
    for mask in (None, almost_all):
        found = [
            np.isin(index.top(query, 10, mask)[0], exact_top(vectors, query, 10, mask)[0]).sum() for query in queries
        ]
        assert sum(found) / 1000 >= 0.99
        if mask is not None:
            assert all(mask[index.top(query, 10, mask)[0]].all() for query in queries)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "keep", "graph", "load"]), st.integers(0, 999)), max_size=12))
def test_whatever_was_done_rows_and_vectors_stay_together(steps: list[tuple[str, int]]) -> None:
    vectors = np.empty((0, 8), dtype=np.float32)
    index = VectorIndex(8, 4096)
    for step, seed in steps:
        random = np.random.default_rng(seed)
        fresh = unit_rows(int(random.integers(1, 60)), 8, seed)
        if step == "add":
            index.add(fresh)
            vectors = np.concatenate([vectors, fresh])
        elif step == "load":
            index.load([fresh], graph_of(fresh) if seed % 2 else None)
            vectors = np.concatenate([vectors, fresh])
        elif step == "keep":
            mask = random.random(len(vectors)) < (1.0 if seed % 5 == 0 else 0.7)
            mask[: len(mask) // 2] |= seed % 3 == 0
            index.keep(mask)
            vectors = vectors[mask]
        elif len(vectors):
            start = int(random.integers(0, len(vectors)))
            end = int(random.integers(start, len(vectors))) + 1
            index.set_graph(start, end, graph_of(vectors[start:end]))
        assert index.count == len(vectors)
        np.testing.assert_array_equal(index.slice(0, len(vectors)), vectors)
        query = unit_rows(1, 8, seed + 1)[0]
        rows, _ = index.top(query, 5, None)
        np.testing.assert_array_equal(rows, exact_top(vectors, query, 5, None)[0])


def test_rows_are_found_by_ordinal_while_they_live() -> None:
    table = RowTable()
    for ordinal in range(0, 200, 3):
        session = ["", "a", "b"][ordinal % 3 if ordinal % 2 else 1]
        table.append(Upsert(ordinal, ordinal, 0, 0, ordinal % 2, f"id{ordinal}", session, ()))
    assert [table.find(ordinal) for ordinal in (0, 3, 198, 1, -1, 201)] == [0, 1, 66, None, None, None]
    table.kill(1)
    assert (table.find(3), table.dead, table.count) == (None, 1, 67)
    mask = table.alive.copy()
    mask[10:20] = False
    table.keep(mask)
    assert (table.dead, table.count, len(table.ids)) == (0, 56, 56)
    for ordinal in (0, 6, 60, 198):
        row = table.find(ordinal)
        assert row is not None
        assert table.ids[row] == f"id{ordinal}"
    assert table.find(30) is None
