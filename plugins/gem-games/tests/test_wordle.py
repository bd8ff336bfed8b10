"""Wordle: marks, rewards, words, and an oracle that always finds the word."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.wordle import WordleEnv, marks
from gem_games.words import words_of_length

IDS = ["game:Wordle-v0", "game:Wordle-v0-easy", "game:Wordle-v0-hard", "game:Wordle-v0-random"]


def started(secret=None, *, seed=0, **kwargs):
    env = WordleEnv(**{"word_length": len(secret or "CRANE"), **kwargs})
    env.reset(seed=seed)
    if secret:
        env.secret_word = secret
    return env


def guess(env, word):
    return env.step(f"\\boxed{{{word}}}")


@pytest.mark.parametrize(
    ("guessed", "secret", "expected"),
    [
        ("CRANE", "CRANE", "GGGGG"),
        ("SLATE", "CRANE", "XXGXG"),
        ("NACRE", "CRANE", "YYYYG"),
        ("ALLOY", "LLAMA", "YGYXX"),
        ("EERIE", "CRANE", "XXYXG"),
        ("SPEED", "ABIDE", "XXYXY"),
        ("SPEED", "STEAL", "GXGXX"),
        ("AAA", "BAB", "XGX"),
        ("ABA", "AAB", "GYY"),
    ],
)
def test_each_secret_letter_accounts_for_one_mark_greens_first(guessed, secret, expected):
    assert marks(guessed, secret) == expected


letters = st.text("ABC", min_size=1, max_size=6)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=100 if thorough() else 50)
def test_marks_follow_the_count_rule(data):
    secret = data.draw(letters)
    guessed = data.draw(st.text("ABCD", min_size=len(secret), max_size=len(secret)))
    marked = marks(guessed, secret)
    for index, mark in enumerate(marked):
        assert (mark == "G") == (guessed[index] == secret[index])
    for letter in "ABCD":
        explained = sum(
            own == letter and mark != "X" for own, mark in zip(guessed, marked, strict=True)
        )
        assert explained == min(guessed.count(letter), secret.count(letter))
        # Surplus letters are marked from the end: no yellow follows a grey one.
        plain = [m for own, m in zip(guessed, marked, strict=True) if own == letter and m != "G"]
        assert plain == sorted(plain, reverse=True)


def test_the_rules_state_the_level_and_an_example_that_is_not_the_secret():
    env = WordleEnv(word_length=3, max_turns=15)
    for seed in range(300):
        rules, info = env.reset(seed=seed)
        assert "word of 3 letters" in rules
        assert "15 turns" in rules
        assert re.search(r"\\boxed\{(\w+)\}", rules)[1] != env.secret_word
        assert info["suffix"]


def test_feedback_shows_turn_guess_and_spaced_marks():
    step = guess(started("CRANE"), "slate")
    assert step.observation == "Turn 1: you guessed SLATE.\nS L A T E\nX X G X G"
    assert (step.terminated, step.truncated) == (False, False)


def test_the_reward_is_for_greens_seen_for_the_first_time():
    env = started("CRANE")
    assert guess(env, "SLATE").reward == pytest.approx(0.2)
    assert guess(env, "PLATE").reward == 0.0
    assert guess(env, "CLONE").reward == pytest.approx(0.2)
    assert env.milestones == [1, 0, 1, 1, 1]
    last = guess(env, "CRANE")
    assert last.reward == pytest.approx(0.6)
    assert last.terminated
    assert not last.truncated


def test_the_first_reward_is_a_float():
    assert isinstance(guess(started("CRANE"), "GHOST").reward, float)


def test_a_correct_first_guess_earns_one():
    step = guess(started("CRANE"), "CRANE")
    assert step.reward == pytest.approx(1.0)
    assert "win" in step.observation


@pytest.mark.parametrize("word", ["CRAN", "CRANES", "A" * 5000])
def test_a_word_of_another_length_uses_a_turn(word):
    env = started("CRANE")
    step = guess(env, word)
    assert (step.reward, step.terminated, step.truncated) == (0.0, False, False)
    assert "letters" in step.observation
    assert env.turn_count == 1


def test_a_repeated_guess_is_not_marked_again():
    env = started("CRANE")
    guess(env, "SLATE")
    step = guess(env, "slate")
    assert step.reward == 0.0
    assert "before" in step.observation


@pytest.mark.parametrize("text", ["c r a n e", " CRANE ", "cr\tane", "Cra\nne", "c  r  ane"])
def test_white_space_and_case_of_a_guess_do_not_matter(text):
    assert guess(started("CRANE"), text).terminated


def test_any_letters_are_a_guess_unless_only_real_words_are_allowed():
    assert "X X X X X" in guess(started("CRANE"), "ZZZZZ").observation
    step = guess(started("CRANE", only_real_words=True), "ZZZZZ")
    assert "not a word" in step.observation
    assert step.reward == 0.0
    assert "S L A T E" in guess(started("CRANE", only_real_words=True), "SLATE").observation


def test_the_registered_levels_accept_any_letters():
    assert all(not gem_core.make(id_).unwrapped.only_real_words for id_ in IDS)


@pytest.mark.parametrize("action", ["", "crane", "\\boxed{}", "\\boxed{12345}", "\\boxed{cr4ne}"])
def test_a_malformed_action_ends_the_game(action):
    step = started("CRANE").step(action)
    assert (step.reward, step.terminated, step.truncated) == (-0.1, True, False)


def test_the_last_box_that_fits_counts():
    env = started("CRANE")
    assert env.step("\\boxed{slate} or \\boxed{crane}, but not \\boxed{1}").terminated


def test_the_turn_limit_truncates_with_the_turns_own_reward():
    env = started("CRANE", max_turns=2)
    guess(env, "SLATE")
    step = guess(env, "CRATE")
    assert (step.terminated, step.truncated) == (False, True)
    assert step.reward == pytest.approx(0.2)
    assert "2 turns" in step.observation


def test_random_levels_draw_the_length_and_fit_the_turns():
    env = gem_core.make("game:Wordle-v0-random")
    seen = set()
    for seed in range(100):
        env.reset(seed=seed)
        seen.add((env.word_length, env.max_turns))
        assert env.secret_word in words_of_length(env.word_length)
    assert seen == {(3, 15), (4, 20), (5, 25)}


def test_given_options_are_kept_on_a_random_level():
    env = gem_core.make("game:Wordle-v0-random", max_turns=7)
    env.reset(seed=0)
    assert env.max_turns == 7
    env = gem_core.make("game:Wordle-v0-random", word_length=8)
    env.reset(seed=0)
    assert (env.word_length, env.max_turns) == (8, 40)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"word_length": 2},
        {"word_length": 13},
        {"word_length": 5.0},
        {"max_turns": 0},
        {"max_turns": True},
        {"only_real_words": 1},
    ],
)
def test_options_out_of_range_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        WordleEnv(**kwargs)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), length=st.integers(3, 12))
@settings(max_examples=50, deadline=None)
def test_the_same_seed_starts_the_same_game_from_the_list(seed, length):
    env = started(seed=seed, word_length=length)
    assert env.secret_word in env.available_words
    assert started(seed=seed, word_length=length).secret_word == env.secret_word
