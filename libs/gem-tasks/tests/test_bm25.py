"""BM25: the ranking of texts by words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import DataError

TEXTS = ["a red lamp", "a blue lamp", "two lamps, red and red", "the garden", ""]


@pytest.fixture(scope="module")
def bm25():
    """The module, which imports scipy."""
    from gem_tasks import bm25

    return bm25


@pytest.fixture
def found(bm25):
    def find(query, topk=10):
        return list(bm25.WordIndex.build(TEXTS).search(query, topk)[0])

    return find


def test_texts_that_share_rare_words_come_first(found):
    assert found("red lamp")[:2] == [2, 0]
    assert found("garden") == [3]


def test_texts_without_a_word_of_the_query_are_left_out(found):
    assert found("lamp") == [0, 1, 2]
    assert found("chair") == found("the") == found("") == []


def test_ties_are_in_the_order_of_the_texts(bm25, found):
    assert found("lamp", topk=1) == [0]
    numbers, scores = bm25.WordIndex.build(["x y"] * 5).search("y", 3)
    assert list(numbers) == [0, 1, 2]
    assert len(set(scores.tolist())) == 1


@settings(max_examples=100 if thorough() else 20)
@given(text=st.text())
def test_words_do_not_depend_on_case(bm25, text):
    assert bm25.words(text.lower()) == bm25.words(text)


def test_a_saved_index_finds_the_same(bm25, tmp_path):
    index = bm25.WordIndex.build(TEXTS)
    index.save(tmp_path)
    loaded = bm25.WordIndex.load(tmp_path)
    assert len(loaded) == 5
    for query in ("red lamp", "garden", "x"):
        assert [part.tolist() for part in loaded.search(query, 3)] == [
            part.tolist() for part in index.search(query, 3)
        ]


def test_texts_without_words_and_a_missing_index_are_refused(bm25, tmp_path):
    with pytest.raises(DataError, match="No text of the shelf has a word"):
        bm25.WordIndex.build(["", "..."], "the shelf")
    with pytest.raises(DataError, match="cannot be read"):
        bm25.WordIndex.load(tmp_path / "nowhere")
