"""Crosswords: the clues, the grids and the oracle."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.crossword_clues import EASY, HARD
from gem_games.crosswords import CrosswordsEnv
from gem_games.word_grid import cells_of, place_words

IDS = ["game:Crosswords-v0-easy", "game:Crosswords-v0-hard", "game:Crosswords-v0-random"]


def started(seed=0, **kwargs):
    env = CrosswordsEnv(**kwargs)
    env.reset(seed=seed)
    return env


def move(env, row, column, letter):
    return env.step(f"\\boxed{{{row} {column} {letter}}}")


def letter_cells(env):
    return {
        (row, column): letter
        for row, line in enumerate(env.solution)
        for column, letter in enumerate(line)
        if letter != "."
    }


def runs(solution):
    """Return all runs of two letters or more, across and down."""
    lines = ["".join(row) for row in solution] + ["".join(c) for c in zip(*solution, strict=True)]
    return sorted(run for line in lines for run in line.split(".") if len(run) > 1)


def board(info):
    return [line[5::4] for line in re.findall(r"^R\d\d.*$", info["suffix"], re.MULTILINE)]


@pytest.mark.parametrize(("table", "shortest", "longest"), [(EASY, 3, 11), (HARD, 5, 16)])
def test_words_are_capitals_and_clues_do_not_contain_them(table, shortest, longest):
    assert len(table) >= 100
    for word, clue in table.items():
        assert re.fullmatch(f"[A-Z]{{{shortest},{longest}}}", word)
        assert word not in re.findall(r"[A-Z]+", clue.upper())
        assert not re.search(r"\bletters\)|\(\d+\)", clue)
        assert clue.strip() == clue
        assert "\n" not in clue


def test_all_words_and_clues_differ():
    assert not EASY.keys() & HARD.keys()
    assert len({*EASY.values(), *HARD.values()}) == len(EASY) + len(HARD)


@pytest.mark.parametrize("id_", IDS)
def test_the_letters_never_outnumber_the_turns(id_):
    env = gem_core.make(id_)
    for seed in range(200):
        env.reset(seed=seed)
        assert len(letter_cells(env)) == env.total_letter_cells <= env.max_turns


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    hardcore=st.sampled_from([True, False, None]),
    num_words=st.integers(1, 20),
)
@settings(max_examples=60 if thorough() else 15)
def test_a_grid_reads_as_exactly_its_words(seed, hardcore, num_words):
    env = started(seed, hardcore=hardcore, num_words=num_words, max_turns=250)
    assert len(env.placed_words) == num_words
    assert runs(env.solution) == sorted(env.placed_words)
    for word, place in env.placed_words.items():
        assert [env.solution[r][c] for r, c in cells_of(len(word), place)] == list(word)
    table = HARD if env.hardcore else EASY
    assert env.clues == {word: table[word] for word in env.placed_words}


@given(seed=st.integers(0, 10**6), num_words=st.integers(1, 20), spare=st.integers(0, 20))
@settings(max_examples=40 if thorough() else 10)
def test_tight_turns_draw_words_that_fit(seed, num_words, spare):
    fewest = sum(sorted(map(len, HARD))[:num_words])
    env = started(seed, hardcore=True, num_words=num_words, max_turns=fewest + spare)
    assert len(env.placed_words) == num_words
    assert env.total_letter_cells <= env.max_turns


def test_most_words_cross():
    crossing = 0
    for seed in range(50):
        env = started(seed, num_words=5)
        crossing += sum(map(len, env.placed_words)) - env.total_letter_cells
    assert crossing > 150


def test_a_word_longer_than_the_grid_is_not_placed():
    assert place_words(random.Random(0), ["LONG"], 3, crossword=True) is None


def test_the_rules_state_grid_turns_and_an_example_that_is_wrong():
    for seed in range(100):
        env = CrosswordsEnv(num_words=3, max_turns=30)
        rules, _ = env.reset(seed=seed)
        assert f"{len(env.board)} rows" in rules
        assert "30 turns" in rules
        example = re.search(r"\\boxed\{(\d+) (\d+) (\w)\}", rules)
        assert env.solution[int(example[1])][int(example[2])] != example[3]


def test_the_board_shows_unknown_cells_and_grows_by_right_letters():
    env = started()
    (row, column), letter = next(iter(letter_cells(env).items()))
    before = board({"suffix": env.render()})
    assert before == ["".join("_" if c != "." else "." for c in line) for line in env.solution]
    step = move(env, row, column, letter.lower())
    assert step.reward == pytest.approx(1 / env.total_letter_cells)
    assert board(step.info)[row][column] == letter
    assert "correct" in step.observation
    assert env.render().splitlines()[1].startswith("    C00 C01")


def test_a_clue_tells_direction_start_and_letters():
    env = started()
    lines = re.findall(r"^\d+\. .*$", env.render(), re.MULTILINE)
    assert len(lines) == 5
    for line, (word, (row, column, way)) in zip(lines, env.placed_words.items(), strict=True):
        assert f"{way.capitalize()} from row {row}, column {column}, {len(word)} letters" in line
        assert line.endswith(env.clues[word])


def test_a_wrong_letter_leaves_the_board():
    env = started()
    (row, column), letter = next(iter(letter_cells(env).items()))
    before = env.render()
    step = move(env, row, column, "A" if letter != "A" else "B")
    assert (step.reward, step.terminated, step.info["suffix"]) == (0.0, False, before)
    assert "incorrect" in step.observation


def test_filled_unused_and_outside_cells_use_a_turn():
    env = started()
    cells = letter_cells(env)
    (row, column), letter = next(iter(cells.items()))
    side = len(env.board)
    unused = next((r, c) for r in range(side) for c in range(side) if (r, c) not in cells)
    move(env, row, column, letter)
    for cell, why in [((row, column), "filled"), (unused, "not used"), ((side, 0), "outside")]:
        step = move(env, *cell, letter)
        assert (step.reward, step.terminated, step.truncated) == (0.0, False, False)
        assert why in step.observation
    assert move(env, "9" * 4_000, 0, "A").reward == 0.0


def test_all_letters_win_and_earn_one_in_total():
    env = started(max_turns=100)
    steps = [move(env, *cell, letter) for cell, letter in letter_cells(env).items()]
    assert sum(step.reward for step in steps) == pytest.approx(1.0)
    assert [step.terminated for step in steps] == [False] * (len(steps) - 1) + [True]
    assert "win" in steps[-1].observation


@pytest.mark.parametrize(
    "action", ["", "1 2 A", "\\boxed{1 2}", "\\boxed{1 2 AB}", "\\boxed{-1 2 A}", "\\boxed{A 1 2}"]
)
def test_a_malformed_action_ends_the_game(action):
    step = started().step(action)
    assert (step.reward, step.terminated, step.truncated) == (-0.1, True, False)


def test_padding_and_repeated_spaces_are_accepted():
    env = started()
    (row, column), letter = next(iter(letter_cells(env).items()))
    assert env.step(f"\\boxed{{  {row}   {column}\t{letter} }}").reward > 0


def test_the_turn_limit_truncates_with_the_turns_own_reward():
    env = started(num_words=1, hardcore=True, max_turns=5)
    (row, column), letter = next(iter(letter_cells(env).items()))
    for _ in range(4):
        move(env, 0, 99, "A")
    step = move(env, row, column, letter)
    assert (step.terminated, step.truncated) == (False, True)
    assert step.reward == pytest.approx(0.2)


def test_the_random_level_draws_both_kinds_and_keeps_given_options():
    env = gem_core.make("game:Crosswords-v0-random")
    kinds = set()
    for seed in range(30):
        env.reset(seed=seed)
        kinds.add(env.hardcore)
        assert (len(env.placed_words), env.max_turns) == (3, 20)
    assert kinds == {True, False}
    env = gem_core.make("game:Crosswords-v0-random", num_words=12)
    env.reset(seed=0)
    assert (len(env.placed_words), env.max_turns) == (12, 80)
    env = gem_core.make("game:Crosswords-v0-random", max_turns=9, hardcore=True)
    env.reset(seed=0)
    assert (len(env.placed_words), env.max_turns) == (1, 9)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_words": 0},
        {"num_words": 21},
        {"max_turns": 0},
        {"hardcore": "yes"},
        {"num_words": 3, "max_turns": 8},
        {"num_words": 3, "max_turns": 14, "hardcore": True},
        {"num_words": None, "max_turns": 4, "hardcore": None},
    ],
)
def test_invalid_options_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        CrosswordsEnv(**kwargs)
