"""BM25: the ranking of texts by words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_core.errors import DataError
from gem_tasks.bm25 import WordIndex, words

TEXTS = ["a red lamp", "a blue lamp", "two lamps, red and red", "the garden", ""]


def found(query: str, topk: int = 10) -> list[int]:
    return list(WordIndex.build(TEXTS).search(query, topk)[0])


def test_texts_that_share_rare_words_come_first() -> None:
    assert found("red lamp")[:2] == [2, 0]
    assert found("garden") == [3]


def test_texts_without_a_word_of_the_query_are_left_out() -> None:
    assert found("lamp") == [0, 1, 2]
    assert found("chair") == found("the") == found("") == []


def test_ties_are_in_the_order_of_the_texts() -> None:
    assert found("lamp", topk=1) == [0]
    numbers, scores = WordIndex.build(["x y"] * 5).search("y", 3)
    assert list(numbers) == [0, 1, 2]
    assert len(set(scores.tolist())) == 1


@given(st.text())
def test_words_do_not_depend_on_case(text: str) -> None:
    assert words(text.lower()) == words(text)


def test_a_saved_index_finds_the_same(tmp_path) -> None:
    index = WordIndex.build(TEXTS)
    index.save(tmp_path)
    loaded = WordIndex.load(tmp_path)
    assert len(loaded) == 5
    for query in ("red lamp", "garden", "x"):
        assert [part.tolist() for part in loaded.search(query, 3)] == [
            part.tolist() for part in index.search(query, 3)
        ]


def test_texts_without_words_and_a_missing_index_are_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="No text of the shelf has a word"):
        WordIndex.build(["", "..."], "the shelf")
    with pytest.raises(DataError, match="cannot be read"):
        WordIndex.load(tmp_path / "nowhere")
