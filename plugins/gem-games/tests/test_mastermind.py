"""Mastermind: its rules, its parameters, and its oracle."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.mastermind import MastermindEnv, MastermindOracle


def with_code(*code, **parameters):
    env = MastermindEnv(**{"code_length": len(code), **parameters})
    env.reset(seed=0)
    env.game_code = list(code)
    return env


def guess(env, *numbers):
    return env.step(f"I try \\boxed{{{' '.join(map(str, numbers))}}}.")


def pegs_of(step):
    found = re.search(r"Black pegs: (\d+)\. White pegs: (\d+)\.", step.observation)
    return int(found[1]), int(found[2])


def pegs_by_crossing_out(code, numbers):
    """Return black and white pegs by crossing out the counted numbers."""
    code, numbers = list(code), list(numbers)
    black = white = 0
    for place, number in enumerate(numbers):
        if code[place] == number:
            black += 1
            code[place] = numbers[place] = None
    for number in numbers:
        if number is not None and number in code:
            white += 1
            code[code.index(number)] = None
    return black, white


def test_the_rules_come_with_a_request_for_the_first_guess_beside_them():
    rules, info = MastermindEnv(code_length=3, num_numbers=7, max_turns=12).reset(seed=0)
    assert "code of 3 numbers, each from 1 to 7. No number occurs twice." in rules
    assert "12 turns" in rules
    assert info == {"suffix": "Your next guess:"}


def test_the_rules_say_that_numbers_may_repeat_where_they_may():
    rules, _ = MastermindEnv(duplicate_numbers=True).reset(seed=0)
    assert "A number may occur more than once." in rules


def test_a_guess_is_answered_with_its_pegs():
    assert guess(with_code(1, 2, 3, 4), 1, 3, 5, 6)[:4] == (
        "Turn 1: you guessed [1, 3, 5, 6]. Black pegs: 1. White pegs: 1.",
        0.25,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("code", "numbers", "pegs"),
    [
        ((1, 2, 3, 4), (4, 3, 2, 1), (0, 4)),
        ((1, 2, 3, 4), (1, 1, 1, 1), (1, 0)),
        ((1, 2, 3, 4), (5, 1, 1, 5), (0, 1)),
        ((1, 1, 2, 2), (2, 1, 1, 1), (1, 2)),
        ((1, 1, 1, 2), (2, 2, 1, 1), (1, 2)),
        ((1, 2, 3, 4), (5, 6, 5, 6), (0, 0)),
    ],
)
def test_each_number_of_the_code_counts_for_one_number_of_the_guess(code, numbers, pegs):
    assert pegs_of(guess(with_code(*code), *numbers)) == pegs


@given(st.data())
@settings(max_examples=100 if thorough() else 30)
def test_pegs_match_a_count_by_hand(data):
    length = data.draw(st.integers(1, 6))
    codes = st.lists(st.integers(1, 6), min_size=length, max_size=length)
    code, numbers = data.draw(codes), data.draw(codes)
    step = guess(with_code(*code), *numbers)
    if code == numbers:
        assert step[1:4] == (1.0, True, False)
    else:
        assert pegs_of(step) == pegs_by_crossing_out(code, numbers)


def test_only_more_black_pegs_than_before_earn():
    env = with_code(1, 2, 3, 4)
    guesses = [(1, 5, 5, 5), (5, 2, 5, 5), (1, 2, 5, 5), (5, 5, 5, 5), (1, 2, 3, 4)]
    steps = [guess(env, *numbers) for numbers in guesses]
    assert [step.reward for step in steps] == [0.25, 0.0, 0.25, 0.0, 0.5]
    assert steps[-1][2:4] == (True, False)
    assert "win" in steps[-1].observation


def test_the_code_as_the_first_guess_earns_one():
    assert guess(with_code(1, 2, 3, 4), 1, 2, 3, 4)[1:4] == (1.0, True, False)


@pytest.mark.parametrize("text", ["1 5 5 5", "  1   5\t5\n5  ", "01 5 5 005"])
def test_spaces_and_padding_do_not_matter(text):
    step = with_code(1, 2, 3, 4).step(f"\\boxed{{{text}}}")
    assert "[1, 5, 5, 5]" in step.observation


@pytest.mark.parametrize("text", ["1, 2, 3, 4", "[1 2 3 4]", "", "one", "1 2 -3 4", "1.0 2 3 4"])
def test_anything_but_numbers_with_spaces_between_them_ends_the_game(text):
    step = with_code(1, 2, 3, 4).step(f"\\boxed{{{text}}}")
    assert step[1:4] == (-0.1, True, False)
    assert "Turn 1" in step.observation


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((1, 2, 3), "4 numbers, not 3"),
        ((1, 2, 3, 4, 5), "4 numbers, not 5"),
        ((1, 2, 3, 7), "from 1 to 6"),
        ((0, 2, 3, 4), "from 1 to 6"),
        (("9" * 4_000, 2, 3, 4), "from 1 to 6"),
    ],
)
def test_an_invalid_guess_earns_nothing_and_says_why(numbers, reason):
    env = with_code(1, 2, 3, 4)
    step = guess(env, *numbers)
    assert step[1:4] == (0.0, False, False)
    assert step.observation.startswith("Turn 1: ")
    assert reason in step.observation
    assert env.previous_guesses == set()


def test_a_repeated_guess_earns_nothing_and_is_reported():
    env = with_code(1, 2, 3, 4)
    guess(env, 1, 2, 5, 6)
    step = guess(env, 1, 2, 5, 6)
    assert step[1:4] == (0.0, False, False)
    assert "before" in step.observation


def test_the_limit_earns_what_the_turn_earns():
    env = with_code(1, 2, 3, 4, max_turns=2)
    guess(env, 6, 5, 6, 5)
    step = guess(env, 1, 2, 5, 6)
    assert step[1:4] == (0.5, False, True)
    assert "limit of 2 turns" in step.observation


codes_and_ranges = st.tuples(st.integers(1, 10), st.integers(2, 20), st.booleans()).filter(
    lambda task: task[2] or task[0] <= task[1]
)


@given(task=codes_and_ranges, seed=st.integers(0, 10**6))
@settings(max_examples=100 if thorough() else 40)
def test_code_and_example_fit_the_rules_and_differ(task, seed):
    code_length, num_numbers, repeats = task
    env = MastermindEnv(
        code_length=code_length, num_numbers=num_numbers, duplicate_numbers=repeats, max_turns=None
    )
    rules, _ = env.reset(seed=seed)
    example = [int(n) for n in re.search(r"\\boxed\{([\d ]+)\}", rules)[1].split()]
    for code in (env.game_code, example):
        assert len(code) == code_length
        assert set(code) <= set(range(1, num_numbers + 1))
        assert repeats or len(set(code)) == code_length
    assert env.game_code != example


@pytest.mark.slow
def test_every_code_comes_with_every_other_one_as_its_example():
    env = MastermindEnv(code_length=2, num_numbers=3)
    pairs = Counter()
    for seed in range(3000):
        rules, _ = env.reset(seed=seed)
        example = re.search(r"\\boxed\{(\d) (\d)\}", rules)
        pairs[tuple(env.game_code), (int(example[1]), int(example[2]))] += 1
    assert set(pairs) == set(itertools.permutations(itertools.permutations((1, 2, 3), 2), 2))
    assert min(pairs.values()) > 50


def test_the_random_level_draws_one_of_three_tasks():
    env = gem_core.make("game:Mastermind-v0-random")
    drawn = set()
    for seed in range(50):
        env.reset(seed=seed)
        drawn.add((env.code_length, env.num_numbers, env.max_turns))
    assert drawn == {(2, 4, 10), (4, 6, 20), (4, 8, 30)}


@given(
    seed=st.integers(0, 10**6),
    code_length=st.none() | st.integers(1, 10),
    num_numbers=st.none() | st.integers(10, 20) | st.just(2),
    max_turns=st.none() | st.integers(1, 50),
)
@settings(max_examples=100 if thorough() else 30)
def test_given_options_are_kept_and_the_rest_are_drawn(seed, code_length, num_numbers, max_turns):
    env = MastermindEnv(
        code_length=code_length,
        num_numbers=num_numbers,
        max_turns=max_turns,
        duplicate_numbers=(code_length or 1) > (num_numbers or 20),
    )
    env.reset(seed=seed)
    assert code_length in {None, env.code_length}
    assert num_numbers in {None, env.num_numbers}
    assert max_turns in {None, env.max_turns}
    assert env.duplicate_numbers or env.code_length <= env.num_numbers
    assert len(env.game_code) == env.code_length


@pytest.mark.parametrize(
    "parameters",
    [
        {"code_length": 0},
        {"code_length": 11},
        {"num_numbers": 1},
        {"num_numbers": 21},
        {"num_numbers": 4.0},
        {"code_length": 5, "num_numbers": 4},
        {"max_turns": 0},
        {"duplicate_numbers": None},
    ],
)
def test_invalid_options_are_rejected(parameters):
    with pytest.raises(ConfigError):
        MastermindEnv(**parameters)


@given(seed=st.integers(0, 10**6), repeats=st.booleans())
@settings(max_examples=100 if thorough() else 15)
def test_random_actions_are_guesses_that_fit_the_rules(seed, repeats):
    env = MastermindEnv(duplicate_numbers=repeats)
    env.reset(seed=seed)
    ended = False
    while not ended:
        step = env.step(env.sample_random_action())
        assert re.search("guessed|win|limit", step.observation)
        assert step.reward >= 0
        ended = step.terminated or step.truncated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code_length", "num_numbers", "repeats"),
    [(1, 20, False), (10, 2, True), (4, 8, True), (6, 10, True), (8, 8, False), (8, 12, True)],
)
def test_the_oracle_finds_codes_of_other_kinds_too(code_length, num_numbers, repeats):
    env = MastermindEnv(
        code_length=code_length, num_numbers=num_numbers, duplicate_numbers=repeats, max_turns=None
    )
    oracle = MastermindOracle()
    for seed in range(5 if thorough() else 1):
        observation, info = env.reset(seed=seed)
        oracle.reset(env)
        ended = False
        while not ended:
            observation, _, terminated, truncated, info = env.step(oracle.act(observation, info))
            ended = terminated or truncated
        assert env.milestone == code_length


@pytest.mark.slow
def test_the_oracle_answers_if_its_search_runs_out_of_steps():
    env = MastermindEnv(code_length=10, num_numbers=20, duplicate_numbers=True, max_turns=None)
    oracle = MastermindOracle()
    observation, info = env.reset(seed=1)
    oracle.reset(env)
    for _ in range(12):
        observation, _, terminated, _, info = env.step(oracle.act(observation, info))
        assert "you guessed" in observation
        assert not terminated
