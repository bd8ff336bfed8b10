"""WordSearch: the grids, hits and misses, and the oracle."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.word_search import WordSearchEnv
from gem_games.words import word_set
from gem_rollout import collect

IDS = ["game:WordSearch-v0-easy", "game:WordSearch-v0-hard", "game:WordSearch-v0-random"]


def started(seed=0, **kwargs):
    env = WordSearchEnv(**kwargs)
    env.reset(seed=seed)
    return env


def ends(env, word):
    row, column, direction = env.placed_words[word]
    last = len(word) - 1
    if direction == "across":
        return row, column, row, column + last
    return row, column, row + last, column


def mark(env, row, column, end_row, end_column):
    return env.step(f"\\boxed{{{row} {column} {end_row} {end_column}}}")


def read(grid, row, column, end_row, end_column):
    return "".join(
        grid[r][c] for r in range(row, end_row + 1) for c in range(column, end_column + 1)
    )


def board(info):
    rows = re.findall(r"^R\d\d (.*)$", info["suffix"], re.MULTILINE)
    return [re.findall(r"[\[ ]([A-Z])[\] ]", row) for row in rows]


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    hardcore=st.booleans(),
    num_words=st.integers(1, 30),
    lengths=st.tuples(st.integers(3, 12), st.integers(3, 12)),
)
@settings(max_examples=60 if thorough() else 15)
def test_a_grid_holds_every_word_once(seed, hardcore, num_words, lengths):
    shortest, longest = sorted(lengths)
    given_ = {"hardcore": hardcore, "num_words": num_words, "max_turns": 100}
    try:
        env = WordSearchEnv(**given_, shortest=shortest, longest=longest)
    except ConfigError:
        assume(False)
    env.reset(seed=seed)
    assert len(env.placed_words) == num_words
    lines = ["".join(row) for row in env.game_board]
    lines += ["".join(column) for column in zip(*env.game_board, strict=True)]
    for word in env.placed_words:
        assert word in word_set(hardcore=hardcore)
        assert shortest <= len(word) <= longest
        assert read(env.game_board, *ends(env, word)) == word
        assert sum(line.count(word) for line in lines) == 1


@pytest.mark.slow
@pytest.mark.parametrize("hardcore", [False, True])
def test_every_range_of_lengths_starts_with_the_most_words_or_is_rejected(hardcore):
    longest = 15 if hardcore else 12
    for low in range(3, longest + 1):
        for high in range(low, longest + 1, 3):
            for num_words in (30, 5):
                kwargs = {"hardcore": hardcore, "num_words": num_words, "max_turns": 30}
                try:
                    env = WordSearchEnv(**kwargs, shortest=low, longest=high)
                except ConfigError:
                    continue
                env.reset(seed=low * high)
                assert len(env.placed_words) == num_words


@pytest.mark.slow
def test_the_rules_state_the_level_and_an_example_that_is_not_a_word():
    for seed in range(100):
        env = WordSearchEnv(max_turns=20)
        rules, info = env.reset(seed=seed)
        assert "5 English words" in rules
        assert "20 turns" in rules
        example = re.search(r"\\boxed\{(\d+) (\d+) (\d+) (\d+)\}", rules)
        assert tuple(map(int, example.groups())) not in {ends(env, w) for w in env.placed_words}
        assert board(info) == env.game_board
        assert not any(word in rules.split() for word in env.placed_words)


def test_the_words_are_listed_if_asked_for():
    env = WordSearchEnv(show_words=True)
    rules, _ = env.reset(seed=0)
    listed = re.search(r"The words are: (.*)\.\n", rules)[1].split(", ")
    assert listed == sorted(env.placed_words)


@pytest.mark.parametrize("swap", [False, True])
def test_a_word_is_found_by_its_ends_in_either_order(swap):
    env = started()
    word = next(iter(env.placed_words))
    span = ends(env, word)
    step = mark(env, *(span[2:] + span[:2] if swap else span))
    assert step.reward == pytest.approx(0.2)
    assert word in step.observation
    assert "Found: 1 of 5" in step.info["suffix"]
    assert step.info["suffix"].count("[") == len(word)
    assert board(step.info) == env.game_board


def test_a_word_counts_once_even_with_swapped_ends():
    env = started()
    span = ends(env, next(iter(env.placed_words)))
    mark(env, *span)
    for again in (span, span[2:] + span[:2]):
        step = mark(env, *again)
        assert step.reward == 0.0
        assert "before" in step.observation


def test_misses_are_distinguished():
    env = started()
    side = len(env.game_board)
    for span, why in [
        ((0, 0, 0, side), "not within the grid"),
        ((0, 0, 2, 1), "not across"),
        ((0, 0, 2, 2), "not across"),
        ((0, 0, 0, 1), "none of the hidden words"),
        ((0, 1, 0, 0), "before"),
        ((0, 0, 2, 1), "before"),
    ]:
        step = mark(env, *span)
        assert (step.reward, step.terminated, step.truncated) == (0.0, False, False)
        assert why in step.observation
    assert mark(env, "9" * 4_000, 0, 0, 0).reward == 0.0


def test_a_part_of_a_word_is_a_miss():
    env = started()
    row, column, end_row, end_column = ends(env, max(env.placed_words, key=len))
    across = row == end_row
    part = (row, column, end_row - (not across), end_column - across)
    assert mark(env, *part).reward == 0.0


def test_all_words_win_and_earn_one_in_total():
    env = started(num_words=7, max_turns=None)
    steps = [mark(env, *ends(env, word)) for word in env.placed_words]
    assert sum(step.reward for step in steps) == pytest.approx(1.0)
    assert [step.terminated for step in steps] == [False] * 6 + [True]
    assert "win" in steps[-1].observation


@pytest.mark.parametrize(
    "action", ["", "0 0 0 3", "\\boxed{0 0 0}", "\\boxed{[0 0 0 3]}", "\\boxed{0 0 0 -1}"]
)
def test_a_malformed_action_ends_the_game(action):
    step = started().step(action)
    assert (step.reward, step.terminated, step.truncated) == (-0.1, True, False)


def test_padding_and_repeated_spaces_are_accepted():
    env = started()
    text = "  ".join(map(str, ends(env, next(iter(env.placed_words)))))
    assert env.step(f"\\boxed{{ {text}\n}}").reward > 0


def test_the_turn_limit_truncates_with_the_turns_own_reward():
    env = started(num_words=2, max_turns=2)
    mark(env, 0, 0, 0, 1)
    step = mark(env, *ends(env, next(iter(env.placed_words))))
    assert (step.terminated, step.truncated) == (False, True)
    assert step.reward == pytest.approx(0.5)


def test_the_random_level_draws_both_kinds_and_keeps_given_options():
    env = gem_core.make("game:WordSearch-v0-random")
    kinds = set()
    for seed in range(30):
        env.reset(seed=seed)
        kinds.add(env.hardcore)
        assert (len(env.placed_words), env.max_turns) == (5, 20)
    assert kinds == {True, False}
    env = gem_core.make("game:WordSearch-v0-random", max_turns=3)
    env.reset(seed=0)
    assert (len(env.placed_words), env.max_turns) == (3, 3)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_words": 0},
        {"num_words": 31},
        {"num_words": 6, "max_turns": 5},
        {"hardcore": 1},
        {"show_words": None},
        {"shortest": 2},
        {"longest": 13},
        {"shortest": 8, "longest": 7},
        {"hardcore": None, "longest": 14},
        {"shortest": 12, "longest": 12, "num_words": 30, "max_turns": 40},
    ],
)
def test_invalid_options_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        WordSearchEnv(**kwargs)


@pytest.mark.parametrize("id_", IDS)
def test_random_actions_are_well_formed_and_within_the_grid(id_):
    env = gem_core.make(id_)
    for seed in range(10):
        env.reset(seed=seed)
        while True:
            step = env.step(env.sample_random_action())
            assert step.reward >= 0.0
            assert "not within" not in step.observation
            assert "not across" not in step.observation
            if step.terminated or step.truncated:
                break


@pytest.mark.slow
def test_the_oracle_finds_listed_words_without_a_miss():
    played = collect(
        lambda: gem_core.make("game:WordSearch-v0-hard", show_words=True),
        lambda: gem_core.make_agent("oracle"),
        episodes=30,
        seed=0,
    )
    assert [(t.error, len(t.turns)) for t in played] == [(None, 5)] * 30
