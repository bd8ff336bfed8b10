"""The word lists that the games draw from."""

import subprocess
import sys
from collections import Counter

import pytest

from gem_games.words import longest_word, word_set, words, words_between, words_of_length


@pytest.mark.parametrize("hardcore", [False, True])
def test_a_list_is_sorted_distinct_capitals_of_the_stated_lengths(hardcore):
    listed = words(hardcore=hardcore)
    assert list(listed) == sorted(set(listed))
    assert all(word.isascii() and word.isalpha() and word.isupper() for word in listed)
    lengths = Counter(map(len, listed))
    assert min(lengths) == 3
    assert max(lengths) == longest_word(hardcore=hardcore)


def test_the_common_list_has_enough_words_of_each_length():
    lengths = Counter(map(len, words()))
    assert lengths[3] == 150
    assert all(lengths[length] == 300 for length in range(4, 9))
    assert all(lengths[length] >= 30 for length in range(9, 13))


def test_the_long_list_contains_the_common_one_and_is_ten_times_as_long():
    assert word_set() < word_set(hardcore=True)
    assert len(words(hardcore=True)) > 10 * len(words())


def test_words_can_be_selected_by_length():
    assert {len(word) for word in words_of_length(5)} == {5}
    assert {len(word) for word in words_between(4, 6, hardcore=True)} == {4, 5, 6}
    assert set(words_of_length(5)) == {word for word in words() if len(word) == 5}


def test_everyday_words_are_common(subtests):
    for word in ["HOUSE", "WATER", "THE", "BECAUSE"]:
        with subtests.test(word):
            assert word in word_set()


def test_names_and_unfit_words_are_in_neither_list(subtests):
    for word in ["MICHIGAN", "PETER", "JAPAN", "BASTARD", "PISS", "RAPE"]:
        with subtests.test(word):
            assert word not in word_set(hardcore=True)


@pytest.mark.slow
def test_playing_loads_no_word_package():
    code = (
        "import sys, gem_core\n"
        "for game in ('Wordle', 'Hangman', 'Crosswords', 'WordSearch'):\n"
        "    gem_core.make(f'game:{game}-v0-hard').reset(seed=0)\n"
        "sys.exit('wordfreq' in sys.modules or 'english_words' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
