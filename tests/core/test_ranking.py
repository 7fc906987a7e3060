"""The fusion of vectors and words into one score, and the order it gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flink_memory.errors import ConfigurationError
from flink_memory.lexical import LexicalScores
from flink_memory.ranking import RankingWeights, candidate_count, fuse, top_rows

COSINES = np.array([0.9, -0.2, 0.0, 0.5], np.float32)
WORDS = LexicalScores(np.array([0.0, 0.8, 0.4, 0.4], np.float32), np.array([0.0, 0.8, 0.1, 0.0], np.float32))


def test_by_vector_alone_the_score_is_the_cosine() -> None:
    ranked = fuse(COSINES, None)
    assert ranked.total.tobytes() == ranked.dense.tobytes() == COSINES.tobytes()
    assert not ranked.lexical.any()
    assert not ranked.context.any()


def test_by_words_alone_the_score_is_the_lexical_one() -> None:
    ranked = fuse(None, WORDS)
    np.testing.assert_allclose(ranked.total, WORDS.total)
    assert not ranked.dense.any()


def test_both_count_by_their_shares() -> None:
    ranked = fuse(COSINES, WORDS, RankingWeights(dense=0.25))
    np.testing.assert_allclose(ranked.total, 0.25 * COSINES + 0.75 * WORDS.total, rtol=1e-6)
    np.testing.assert_allclose(ranked.context, 0.75 * (WORDS.total - WORDS.own), rtol=1e-6)


def test_the_parts_add_up_to_the_score() -> None:
    ranked = fuse(COSINES, WORDS)
    np.testing.assert_allclose(ranked.dense + ranked.lexical + ranked.context, ranked.total, atol=1e-7)


def test_a_score_does_not_depend_on_the_other_candidates() -> None:
    some = np.array([3, 1])
    ranked = fuse(COSINES[some], WORDS.at(some))
    assert ranked.total.tobytes() == fuse(COSINES, WORDS).total[some].tobytes()


def test_no_candidates_have_no_scores() -> None:
    nothing = np.zeros(0, np.float32)
    assert len(fuse(nothing, LexicalScores(nothing, nothing)).total) == 0


def test_nothing_to_rank_by_is_an_error() -> None:
    with pytest.raises(ValueError, match="neither"):
        fuse(None, None)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_of_its_range_is_refused(share: float) -> None:
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        RankingWeights(dense=share)


@given(st.lists(st.integers(-4, 4), max_size=30), st.integers(0, 35))
def test_top_rows_are_those_of_a_stable_sort(scores: list[int], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda row: -scores[row])[:k]
    assert top_rows(np.array(scores, np.float32), k).tolist() == expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_candidates_of_each_list_hold_the_best_fused_rows_nearly_always(seed: int, limit: int) -> None:
    """Independent measures are the worst case; even then the best row itself is never missed by much."""
    random = np.random.default_rng(seed)
    dense = random.uniform(-1, 1, 2_000).astype(np.float32)
    words = random.uniform(0, 1, 2_000).astype(np.float32) ** 4
    total = fuse(dense, LexicalScores(words, words)).total
    count = candidate_count(limit)
    candidates = np.union1d(top_rows(dense, count), top_rows(words, count))
    assert total.max() - total[candidates].max() < 0.05
