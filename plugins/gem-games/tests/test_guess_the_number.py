"""GuessTheNumber: its rules, its parameters, and its oracle."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.guess_the_number import GuessTheNumberEnv, GuessTheNumberOracle


def with_secret(secret, **parameters):
    env = GuessTheNumberEnv(**parameters)
    env.reset(seed=0)
    env.game_number = secret
    return env


def guess(env, number):
    return env.step(f"I try \\boxed{{{number}}}.")


def test_a_wrong_guess_is_answered_with_the_side_of_the_secret():
    env = with_secret(7)
    assert guess(env, 3)[:4] == (
        "Turn 1: you guessed 3. The secret number is higher.",
        0.0,
        False,
        False,
    )
    assert guess(env, 12).observation == "Turn 2: you guessed 12. The secret number is lower."


def test_the_secret_earns_one_and_wins():
    step = guess(with_secret(7), 7)
    assert step[1:4] == (1.0, True, False)
    assert "win" in step.observation


@pytest.mark.parametrize("number", [0, 21, -3, 10**30])
def test_a_guess_out_of_range_earns_nothing_and_uses_a_turn(number):
    step = guess(with_secret(7), number)
    assert step[1:4] == (0.0, False, False)
    assert "from 1 to 20" in step.observation


def test_a_repeated_guess_is_reported():
    env = with_secret(7)
    guess(env, 3)
    step = guess(env, 3)
    assert "again" in step.observation
    assert step[1:4] == (0.0, False, False)


def test_zero_and_negative_numbers_are_guesses_where_the_range_has_them():
    env = with_secret(-5, min_number=-10, max_number=0)
    assert "lower" in guess(env, 0).observation
    assert guess(env, "-5").reward == 1.0


@pytest.mark.parametrize(
    ("last", "reward"), [(6, 1 - 1 / 19), (20, 1 - 13 / 19), (3, 1 - 4 / 19), (21, 0.0)]
)
def test_the_limit_earns_the_nearness_of_the_last_guess(last, reward):
    env = with_secret(7, max_turns=2)
    guess(env, 3)
    step = guess(env, last)
    assert step.reward == pytest.approx(reward)
    assert step[2:4] == (False, True)
    assert "limit" in step.observation


def test_a_reply_without_a_valid_box_ends_the_game():
    assert with_secret(7).step("Seven!")[1:4] == (-0.1, True, False)


@given(
    low=st.integers(-100, 100),
    size=st.integers(1, 1000),
    seed=st.integers(0, 10**6),
    data=st.data(),
)
@settings(max_examples=100 if thorough() else 40)
def test_every_hint_is_true(low, size, seed, data):
    env = GuessTheNumberEnv(min_number=low, max_number=low + size)
    rules, _ = env.reset(seed=seed)
    assert f"from {low} to {low + size}" in rules
    secret = env.game_number
    assert low <= secret <= low + size
    number = data.draw(st.integers(low, low + size))
    step = guess(env, number)
    assert ("higher" in step.observation, "lower" in step.observation) == (
        secret > number,
        secret < number,
    )
    assert (step.reward == 1.0) == (number == secret)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
def test_the_example_is_in_range_and_is_not_the_secret(seed):
    env = gem_core.make("game:GuessTheNumber-v0-random")
    rules, _ = env.reset(seed=seed)
    example = int(re.search(r"\\boxed\{(-?\d+)\}", rules)[1])
    assert env.min_number <= example <= env.max_number
    assert example != env.game_number


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
def test_the_random_level_draws_range_and_turns_as_documented(seed):
    env = gem_core.make("game:GuessTheNumber-v0-random")
    env.reset(seed=seed)
    size = env.max_number - env.min_number
    assert 1 <= env.min_number <= 10
    assert 5 <= size <= 50
    assert (env.max_turns - 2) ** 2 < size <= (env.max_turns - 1) ** 2


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    low=st.none() | st.integers(-50, 10),
    high=st.none() | st.integers(16, 99),
    turns=st.none() | st.integers(1, 9),
)
def test_given_options_are_kept_and_the_rest_are_drawn(seed, low, high, turns):
    env = GuessTheNumberEnv(min_number=low, max_number=high, max_turns=turns)
    env.reset(seed=seed)
    assert low in {None, env.min_number}
    assert high in {None, env.max_number}
    assert turns in {None, env.max_turns}
    assert env.min_number < env.max_number
    assert env.min_number <= env.game_number <= env.max_number


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_number": 5, "max_number": 5},
        {"min_number": 9, "max_number": 3},
        {"min_number": None, "max_number": 1},
        {"max_number": 10**7},
        {"min_number": "1"},
        {"max_turns": 0},
        {"max_turns": 2.5},
    ],
)
def test_invalid_options_are_rejected(parameters):
    with pytest.raises(ConfigError):
        GuessTheNumberEnv(**parameters)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
def test_random_actions_are_guesses_in_range(seed):
    env = gem_core.make("game:GuessTheNumber-v0-random")
    env.reset(seed=seed)
    ended = False
    while not ended:
        step = env.step(env.sample_random_action())
        assert "not a number" not in step.observation
        assert step.reward >= 0
        ended = step.terminated or step.truncated


def test_the_oracle_needs_no_more_guesses_than_a_bisection():
    env = gem_core.make("game:GuessTheNumber-v0-hard")
    oracle = GuessTheNumberOracle()
    for secret in range(1, 51):
        observation, info = env.reset(seed=0)
        env.game_number = secret
        oracle.reset(env)
        terminated = False
        while not terminated:
            observation, _, terminated, _, info = env.step(oracle.act(observation, info))
        assert env.turn_count <= 6
