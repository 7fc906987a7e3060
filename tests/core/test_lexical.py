"""The lexical index against a plain oracle, however its rows came to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flink_memory.analysis import ANALYSIS_ID, analyze, day_in_words, session_key
from flink_memory.errors import StateVersionError
from flink_memory.inverted_lists import U16, U64, Postings
from flink_memory.lexical import LexicalBlock, LexicalIndex
from flink_memory.postings import merge_blocks

Row = tuple[list[int], int]

ROWS = st.lists(st.tuples(st.lists(st.integers(0, 12), max_size=8), st.integers(0, 3)), max_size=40)
QUERIES = st.lists(st.integers(0, 14), max_size=6)


def passage(rows: list[Row], removed: set[int], row: int) -> tuple[dict[int, float], float]:
    """Weighted terms and length of a row's passage, by the definition."""
    session = rows[row][1]
    chain = [i for i, (_, key) in enumerate(rows) if key == session and i not in removed] if session else [row]
    at = chain.index(row)
    weights: dict[int, float] = {}
    length = 0.0
    for step in range(-4, 5):
        if 0 <= at + step < len(chain):
            terms = rows[chain[at + step]][0]
            length += 0.5 ** abs(step) * len(terms)
            for term, count in Counter(terms).items():
                weights[term] = weights.get(term, 0.0) + 0.5 ** abs(step) * count
    return weights, length


def bm25(rows: list[Row], removed: set[int], query: list[int]) -> list[float]:
    """Scores of all rows, by the formula in the module's docstring."""
    alive = [i for i in range(len(rows)) if i not in removed]
    passages = {i: passage(rows, removed, i) for i in alive}
    mean = sum(length for _, length in passages.values()) / max(1, len(alive))
    scores = [0.0] * len(rows)
    attainable = 0.0
    for term in set(query):
        holds = sum(min(1.0, weights.get(term, 0.0)) for weights, _ in passages.values())
        idf = log1p((len(alive) - holds + 0.5) / (holds + 0.5))
        attainable += idf
        for row, (weights, length) in passages.items():
            if weight := weights.get(term, 0.0):
                scores[row] += idf * weight / (weight + 0.9 * (0.6 + 0.4 * length / mean))
    return [score / attainable if attainable else 0.0 for score in scores]


def indexed(rows: list[Row], removed: Iterable[int] = ()) -> LexicalIndex:
    index = LexicalIndex()
    for row, (terms, session) in enumerate(rows):
        index.add(row, terms, session)
    for row in sorted(removed):
        index.remove(row)
    return index


@given(ROWS, QUERIES, st.data())
def test_scores_are_those_of_the_formula(rows: list[Row], query: list[int], data: st.DataObject) -> None:
    removed = data.draw(st.sets(st.integers(0, max(0, len(rows) - 1)), max_size=5)) if rows else set()
    scores = indexed(rows, removed).scores(query)
    np.testing.assert_allclose(scores.total, bm25(rows, removed, query), atol=1e-6)
    assert np.all(scores.own <= scores.total + 1e-6)
    assert np.all((scores.total >= 0) & (scores.total < 1))


@settings(max_examples=200)
@given(ROWS, QUERIES, st.data())
def test_scores_do_not_depend_on_how_rows_were_added(rows: list[Row], query: list[int], data: st.DataObject) -> None:
    """Blocks, single rows, removals and searches in any order: the same bits."""
    removed: set[int] = set()
    index = LexicalIndex()
    while index.n_rows < len(rows):
        first = index.n_rows
        step = data.draw(st.sampled_from(["add", "block", "remove", "search", "close"]))
        if step == "block":
            chunk = rows[first : first + data.draw(st.integers(1, 9))]
            block = LexicalBlock.build([terms for terms, _ in chunk], [session for _, session in chunk])
            index.add_block(first, LexicalBlock.decode(block.encode()))
        elif step == "remove" and first:
            removed.add(row := data.draw(st.integers(0, first - 1)))
            index.remove(row)
        elif step == "search":
            index.scores(query)
        elif step == "close":
            index._postings.close()
        else:
            index.add(first, *rows[first])
    expected = indexed(rows, removed).scores(query)
    actual = index.scores(query)
    assert actual.total.tobytes() == expected.total.tobytes()
    assert actual.own.tobytes() == expected.own.tobytes()


@given(ROWS, QUERIES, st.data())
def test_scores_are_the_same_after_a_purge(rows: list[Row], query: list[int], data: st.DataObject) -> None:
    keep = np.array([data.draw(st.booleans()) for _ in rows], np.bool_)
    before = indexed(rows, set(np.flatnonzero(~keep).tolist())).scores(query)
    after = indexed([row for row, kept in zip(rows, keep, strict=True) if kept]).scores(query)
    assert before.total[keep].tobytes() == after.total.tobytes()
    assert not before.total[~keep].any()


@given(ROWS, st.data())
def test_a_block_taken_from_the_index_is_the_block_built_from_the_rows(rows: list[Row], data: st.DataObject) -> None:
    index = indexed(rows)
    if data.draw(st.booleans()):
        index._postings.close()
    first = data.draw(st.integers(0, len(rows)))
    count = data.draw(st.integers(0, len(rows) - first))
    chunk = rows[first : first + count]
    built = LexicalBlock.build([terms for terms, _ in chunk], [session for _, session in chunk])
    assert index.block(first, count).encode() == built.encode()


@given(ROWS, ROWS, st.data())
def test_merged_blocks_are_the_block_of_the_kept_rows(left: list[Row], right: list[Row], data: st.DataObject) -> None:
    keep = [np.array([data.draw(st.booleans()) for _ in rows], np.bool_) for rows in (left, right)]
    blocks = [LexicalBlock.build([t for t, _ in rows], [s for _, s in rows]) for rows in (left, right)]
    rows = [row for row, kept in zip(left + right, np.concatenate(keep), strict=True) if kept]
    built = LexicalBlock.build([terms for terms, _ in rows], [session for _, session in rows])
    assert merge_blocks(blocks, keep).encode() == built.encode()


@pytest.mark.parametrize("n_rows", [0, 1, 256, 257, 65_537])
def test_a_block_survives_its_bytes_at_every_width_of_rows(n_rows: int) -> None:
    block = LexicalBlock.build([[row % 7, 2**32 - 1] for row in range(n_rows)], [2**64 - 1] * n_rows)
    data = block.encode()
    read = LexicalBlock.decode(memoryview(data))
    assert read.encode() == data
    assert read.n_rows == n_rows
    assert read.is_current
    assert not read.sessions.flags.owndata


def test_bytes_of_a_block_are_golden() -> None:
    block = LexicalBlock(*_golden_parts(), analysis_id=7)
    assert block.encode().hex() == (
        "4c584231" "07000000" "02000000" "02000000" "03000000" "00000000"
        "0900000000000000" "0000000000000000" "05000000" "06000000" "00000000" "01000000" "03000000"
        "0300" "0100" "000001" "020101"
    )  # fmt: skip
    assert not LexicalBlock.decode(block.encode()).is_current


def test_a_block_of_another_version_or_a_damaged_one_is_refused() -> None:
    data = LexicalBlock.build([[1, 2]], [0]).encode()
    for broken in (b"", b"LXB", b"LXB9" + data[4:], data[:-1], data + b"\0"):
        with pytest.raises(StateVersionError):
            LexicalBlock.decode(broken)


def test_a_block_of_another_analysis_is_not_added() -> None:
    with pytest.raises(ValueError, match="analysis"):
        LexicalIndex().add_block(0, LexicalBlock(*_golden_parts(), analysis_id=ANALYSIS_ID ^ 1))


def test_rows_come_in_order() -> None:
    index = indexed([([1], 0)])
    with pytest.raises(ValueError, match="Expected row 1"):
        index.add(2, [1])
    with pytest.raises(ValueError, match="Expected row 1"):
        index.add_block(0, LexicalBlock.build([[1]], [0]))


def test_a_very_long_text_counts_the_same_live_and_restored() -> None:
    rows: list[Row] = [([1] * 70_000 + [2], 5), ([2, 3], 5)]
    restored = LexicalIndex()
    restored.add_block(0, indexed(rows).block(0, 2))
    assert restored.scores([1, 2]).total.tobytes() == indexed(rows).scores([1, 2]).total.tobytes()


def test_a_neighbours_words_count_as_context_and_a_strangers_do_not() -> None:
    chat, other = session_key("chat"), session_key("other")
    index = LexicalIndex()
    for row, (text, session) in enumerate([("Did you see Rome?", chat), ("Rome is far", other), ("Yes!", chat)]):
        index.add(row, analyze(text), session)
    scores = index.scores(analyze("Rome"))
    assert scores.total[0] == scores.own[0] > 0
    assert scores.total[2] > scores.own[2] == 0


def test_many_rows_give_many_runs_and_the_same_scores() -> None:
    random = np.random.default_rng(7)
    rows: list[Row] = [(random.integers(0, 500, 12).tolist(), int(random.integers(0, 40))) for _ in range(3_000)]
    whole = LexicalIndex()
    whole.add_block(
        0,
        LexicalBlock.build([terms for terms, _ in rows], [session for _, session in rows]),
    )
    for query in ([1, 2, 3], [499], [600], [5, 600]):
        scores = indexed(rows).scores(query)
        assert scores.total.tobytes() == whole.scores(query).total.tobytes()
    np.testing.assert_allclose(scores.total, bm25(rows, set(), [5, 600]), atol=1e-6)


def test_an_empty_index_and_an_empty_query_score_nothing() -> None:
    assert len(LexicalIndex().scores([1]).total) == 0
    assert not indexed([([1], 0)]).scores([]).total.any()
    assert not indexed([([1], 0)], {0}).scores([1]).total.any()


def test_bytes_grow_with_the_rows() -> None:
    small, large = (
        indexed([([1, 2], 1)]),
        indexed([([row, row + 1], 1) for row in range(1_000)]),
    )
    assert small.nbytes < 4_000 < large.nbytes < 60_000


def test_analysis_brings_forms_of_a_word_together() -> None:
    assert analyze("Hiking, hikes; HIKED") == analyze("hike hike hike")
    assert analyze("Caroline's") == analyze("caroline")
    assert analyze("error_code") == analyze("error code")
    assert analyze("\ufb01ne \u00c9t\u00e9") == analyze("fine \u00e9t\u00e9")


def test_analysis_drops_words_that_say_nothing() -> None:
    assert analyze("") == analyze("What did you do? ... _ !") == []


def test_analysis_pairs_characters_where_no_spaces_part_words() -> None:
    assert len(analyze("東京タワー")) == 4
    assert set(analyze("京タ")) <= set(analyze("東京タワー"))
    assert len(analyze("猫 abc猫")) == 3


@given(st.text(max_size=60))
def test_analysis_takes_any_text_and_is_stable(text: str) -> None:
    terms = analyze(text)
    assert terms == analyze(text)
    assert all(0 <= term < 2**32 for term in terms)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_plain_text_has_the_same_terms_beside_other_letters(text: str) -> None:
    assert analyze(text) == analyze(f"{text} \u4e2d")[:-1]


def test_terms_and_session_keys_are_the_same_in_every_process() -> None:
    assert analyze("memory") == [MEMORY_TERM]
    assert session_key("default") == DEFAULT_SESSION
    assert session_key(None) == 0


def test_a_day_is_found_by_its_words() -> None:
    assert day_in_words(0) == "1 January 1970"
    assert day_in_words(-1) == "31 December 1969"
    assert set(analyze("in May 2023")) <= set(analyze(day_in_words(1_683_554_160_000)))


def _golden_parts() -> tuple[U64, U16, Postings]:
    block = LexicalBlock.build([[5, 5, 6], [6]], [9, 0])
    return block.sessions, block.lengths, block.postings


MEMORY_TERM = 558731774
DEFAULT_SESSION = 8980931550585420017
