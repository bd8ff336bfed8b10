"""Hangman: letters, words, the board, and the oracle."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem_core
from gem_core.errors import ConfigError
from gem_games.hangman import HangmanEnv
from gem_games.words import word_set, words_of_length
from gem_rollout import collect


def started(secret=None, *, seed=0, **kwargs):
    env = HangmanEnv(**{"word_length": len(secret or "APPLE"), **kwargs})
    env.reset(seed=seed)
    if secret:
        env.secret_word = secret
    return env


def guess(env, text):
    return env.step(f"\\boxed{{{text}}}")


def board(info):
    return info["suffix"].splitlines()[2].split()


def test_the_rules_show_a_letter_as_letter_and_another_word_as_word():
    env = HangmanEnv(word_length=3)
    for seed in range(200):
        rules, _ = env.reset(seed=seed)
        letter = re.search(r"\\boxed\{(\w+)\} guesses a letter", rules)[1]
        word = re.search(r"\\boxed\{(\w+)\} guesses a word", rules)[1]
        assert len(letter) == 1
        assert len(word) == 3
        assert word != env.secret_word


def test_the_first_board_is_hidden_under_numbered_columns():
    env = started("APPLE")
    lines = env.render().splitlines()
    assert lines[1:3] == ["C00 C01 C02 C03 C04", "  _   _   _   _   _"]


def test_a_letter_is_shown_at_all_its_positions():
    step = guess(started("APPLE"), "p")
    assert board(step.info) == ["_", "P", "P", "_", "_"]
    assert step.reward == pytest.approx(0.2)
    assert step.observation == "Turn 1: the letter P is in the word 2 times."


def test_a_letter_that_is_absent_earns_nothing():
    step = guess(started("APPLE"), "Z")
    assert (step.reward, step.terminated, step.truncated) == (0.0, False, False)
    assert "not in the word" in step.observation


def test_a_repeated_letter_earns_nothing():
    env = started("APPLE")
    guess(env, "P")
    step = guess(env, "p")
    assert step.reward == 0.0
    assert "before" in step.observation


def test_showing_every_letter_wins_and_earns_the_rest():
    env = started("APPLE")
    rewards = [guess(env, letter).reward for letter in "PAL"]
    last = guess(env, "E")
    assert last.terminated
    assert not last.truncated
    assert last.reward == pytest.approx(0.6)
    assert sum(rewards) + last.reward == pytest.approx(1.0)
    assert "win" in last.observation


def test_the_right_word_earns_the_hidden_places_and_fills_the_board():
    env = started("APPLE")
    guess(env, "P")
    step = guess(env, "apple")
    assert step.terminated
    assert step.reward == pytest.approx(0.8)
    assert board(step.info) == list("APPLE")


def test_a_wrong_word_uses_a_turn_and_may_be_tried_again():
    env = started("APPLE")
    for turn in (1, 2):
        step = guess(env, "GRAPE")
        assert (step.reward, step.terminated) == (0.0, False)
        assert step.observation == f"Turn {turn}: GRAPE is not the word."
    assert board(step.info) == ["_"] * 5


def test_a_word_of_another_length_uses_a_turn():
    step = guess(started("APPLE"), "PEAR")
    assert (step.reward, step.terminated) == (0.0, False)
    assert "4 letters" in step.observation


@pytest.mark.parametrize("action", ["", "P", "\\boxed{}", "\\boxed{a p}", "\\boxed{5}"])
def test_a_malformed_action_ends_the_game(action):
    step = started("APPLE").step(action)
    assert (step.reward, step.terminated, step.truncated) == (-0.1, True, False)


def test_padding_in_the_box_is_accepted():
    assert guess(started("APPLE"), "  apple ").terminated


def test_the_turn_limit_truncates_with_the_turns_own_reward():
    step = guess(started("APPLE", max_turns=1), "P")
    assert (step.terminated, step.truncated) == (False, True)
    assert step.reward == pytest.approx(0.2)


def test_the_random_level_draws_length_and_turns_together():
    env = gem_core.make("game:Hangman-v0-random")
    seen = set()
    for seed in range(100):
        env.reset(seed=seed)
        seen.add((env.word_length, env.max_turns))
    assert seen == {(3, 10), (5, 15), (7, 20)}


def test_given_options_are_kept_on_a_random_level():
    env = gem_core.make("game:Hangman-v0-random", max_turns=4)
    env.reset(seed=0)
    assert env.max_turns == 4
    env = gem_core.make("game:Hangman-v0-random", word_length=9)
    env.reset(seed=0)
    assert (env.word_length, env.max_turns) == (9, 25)


def test_hardcore_draws_rare_words_and_says_so():
    env = HangmanEnv(word_length=8, hardcore=True)
    secrets = set()
    for seed in range(50):
        rules, _ = env.reset(seed=seed)
        assert "rare" in rules
        secrets.add(env.secret_word)
    assert len(secrets - word_set()) > 25
    assert secrets <= set(words_of_length(8, hardcore=True))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"word_length": 2},
        {"word_length": 13},
        {"word_length": 16, "hardcore": True},
        {"max_turns": 0},
        {"hardcore": None},
    ],
)
def test_options_out_of_range_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        HangmanEnv(**kwargs)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), guesses=st.lists(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ")))
@settings(max_examples=60, deadline=None)
def test_rewards_always_add_up_to_what_is_shown(seed, guesses):
    env = started(seed=seed, word_length=7, max_turns=1000)
    assert started(seed=seed, word_length=7).secret_word == env.secret_word
    total = 0.0
    for letter in guesses:
        step = guess(env, letter)
        total += step.reward
        shown = [own if own in env.guessed_letters else "_" for own in env.secret_word]
        assert env.board == board(step.info) == shown
        won = "_" not in shown
        assert step.terminated == won
        assert total == pytest.approx(1.0 if won else 0.5 * (7 - shown.count("_")) / 7)
        if won:
            break


@pytest.mark.slow
def test_the_oracle_finds_rare_words_too():
    played = collect(
        lambda: gem_core.make("game:Hangman-v0-hard", hardcore=True),
        lambda: gem_core.make_agent("oracle"),
        episodes=20,
        seed=0,
    )
    assert [(t.error, t.success) for t in played] == [(None, True)] * 20
