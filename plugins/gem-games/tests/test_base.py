"""The base class of games: boxes, numbers, the turn limit, rewards."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError, EpisodeEndedError, InvalidActionError
from gem_games.base import DIGITS, Game, boxed, check_range

NUMBER = boxed(rf"([+-]?{DIGITS})")
PADDING = st.text(" \t\n\r\u00a0\u2003", max_size=4)
# Text around a box, with pieces that may confuse a parser.
PROSE = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from(["\\boxed", "{", "}", "\\boxed{}", "\\", "7"])),
    max_size=6,
).map("".join)


class Echo(Game):
    """The reward is a tenth of the digit in the box; 9 ends the game."""

    pattern = boxed(r"(\d)")
    action_format = "\\boxed{digit}"

    def start(self):
        self.max_turns = 3
        return self.opening("Say a digit.")

    def play(self, match):
        digit = int(match[1])
        return f"You said {digit}.", digit / 10, digit == 9

    def render(self):
        return f"Turns so far: {self.turn_count}."


class HalfAtLimit(Echo):
    def reward_at_limit(self, reward):
        return reward + 0.5


def started(cls=Echo):
    env = cls()
    env.reset(seed=0)
    return env


@pytest.mark.slow
@given(before=PROSE, number=st.integers(), left=PADDING, right=PADDING, after=PROSE)
@settings(max_examples=100 if thorough() else 30)
def test_a_box_is_found_in_any_text_and_with_any_padding(before, number, left, right, after):
    text = f"{before}\\boxed{{{left}{number}{right}}}{after.replace('{', '')}"
    assert NUMBER.match(text)[1] == str(number)


@pytest.mark.slow
@given(numbers=st.lists(st.integers(), min_size=1), between=PROSE)
@settings(max_examples=100 if thorough() else 30)
def test_the_last_box_counts(numbers, between):
    text = between.replace("{", "").join(f"\\boxed{{{number}}}" for number in numbers)
    assert NUMBER.match(text)[1] == str(numbers[-1])


@pytest.mark.slow
@given(number=st.integers(), wrong=st.sampled_from(["", "x", "1 2", "1.5", "{3}", "\\text{3}"]))
def test_the_last_box_that_fits_counts_rather_than_the_last_box(number, wrong):
    assert NUMBER.match(f"\\boxed{{{number}}} or \\boxed{{{wrong}}}")[1] == str(number)


@pytest.mark.parametrize(
    "text", ["", "5", "\\boxed5", "\\boxed{5", "boxed{5}", "\\boxed {5}", "\\BOXED{5}", "{5}"]
)
def test_text_without_a_complete_box_does_not_match(text):
    assert NUMBER.match(text) is None


def test_a_box_inside_another_one_is_found():
    assert NUMBER.match("\\boxed{\\boxed{4}}")[1] == "4"


def test_flags_reach_the_pattern():
    word = boxed("(up|down)", re.IGNORECASE)
    assert word.match("\\boxed{UP}")[1] == "UP"
    assert boxed("(up|down)").match("\\boxed{UP}") is None


@pytest.mark.slow
@given(number=st.integers(-(10**30), 10**30), sign=st.booleans())
def test_numbers_are_read_exactly(number, sign):
    text = f"{number:+d}" if sign else str(number)
    assert int(NUMBER.match(f"\\boxed{{{text}}}")[1]) == number


@pytest.mark.slow
@given(length=st.integers(1, 6000), digit=st.sampled_from("0123456789"))
@example(length=4000, digit="9")
@example(length=4001, digit="0")
def test_a_matched_number_is_never_too_long_for_int(length, digit):
    match = NUMBER.match(f"\\boxed{{{digit * length}}}")
    assert (match is not None) == (length <= 4000)
    if match is not None:
        assert str(int(match[1])) == (digit * length).lstrip("0") or digit == "0"


@pytest.mark.parametrize(
    ("digits", "number"), [("٤٢", 42), ("\uff19", 9), ("-१०", -10), ("007", 7)]
)
def test_digits_of_other_scripts_and_leading_zeros_are_numbers(digits, number):
    assert int(NUMBER.match(f"\\boxed{{{digits}}}")[1]) == number


@pytest.mark.parametrize("text", ["²", "½", "Ⅷ", "五"])
def test_other_numeric_characters_do_not_match(text):
    assert NUMBER.match(f"\\boxed{{{text}}}") is None


@pytest.mark.parametrize("value", [None, 1, 3, 5])
def test_values_in_range_and_none_pass(value):
    check_range("turns", value, 1, 5)


@pytest.mark.parametrize("value", [0, 6, -1, 2.0, "3", True, [1], float("nan")])
def test_values_out_of_range_and_of_other_types_are_rejected_by_name(value):
    with pytest.raises(ConfigError, match=r"turns must be a whole number from 1 to 5; got"):
        check_range("turns", value, 1, 5)


def test_the_rules_come_first_with_the_board_beside_them():
    assert Echo().reset(seed=0) == ("Say a digit.", {"suffix": "Turns so far: 0."})


def test_a_move_is_answered_and_the_board_follows_it():
    step = started().step("I say \\boxed{ 4 }.")
    assert step == ("You said 4.", 0.4, False, False, {"suffix": "Turns so far: 1."})


def test_a_reply_without_a_valid_box_ends_the_game_and_names_the_format():
    step = started().step("four")
    assert step[1:4] == (-0.1, True, False)
    assert "Turn 1" in step.observation
    assert "\\boxed{digit}" in step.observation


def test_a_reply_without_a_valid_box_on_the_last_turn_is_not_truncated_either():
    env = started()
    env.step("\\boxed{1}")
    env.step("\\boxed{1}")
    assert env.step("one")[1:4] == (-0.1, True, False)


def test_the_turn_limit_truncates_with_the_reward_of_that_turn():
    env = started()
    steps = [env.step("\\boxed{2}") for _ in range(3)]
    assert [step[1:4] for step in steps] == [(0.2, False, False)] * 2 + [(0.2, False, True)]
    assert "limit of 3 turns" in steps[-1].observation


def test_a_game_may_change_the_reward_at_the_turn_limit():
    env = started(HalfAtLimit)
    rewards = [env.step("\\boxed{2}").reward for _ in range(3)]
    assert rewards == [0.2, 0.2, 0.7]


def test_a_game_that_ends_on_the_last_turn_is_not_truncated():
    env = started(HalfAtLimit)
    env.step("\\boxed{1}")
    env.step("\\boxed{1}")
    assert env.step("\\boxed{9}")[1:4] == (0.9, True, False)


@pytest.mark.parametrize("action", [None, 5, b"\\boxed{5}", ["\\boxed{5}"]])
def test_an_action_that_is_not_text_is_rejected_and_uses_no_turn(action):
    env = started()
    with pytest.raises(InvalidActionError, match="Echo is text"):
        env.step(action)
    assert env.turn_count == 0
    assert env.step("\\boxed{5}").reward == 0.5


def test_a_finished_game_cannot_be_stepped():
    env = started()
    env.step("\\boxed{9}")
    with pytest.raises(EpisodeEndedError):
        env.step("\\boxed{1}")


def test_a_new_episode_counts_its_turns_from_zero():
    env = started()
    env.step("\\boxed{9}")
    env.reset()
    assert env.step("\\boxed{1}").info["suffix"] == "Turns so far: 1."


def test_what_was_only_thought_of_is_no_action():
    env = started()
    assert env.step("<think>Not \\boxed{7}, rather 8.</think> \\boxed{8}").reward == 0.8
    assert env.step("Not \\boxed{7}.</think> \\boxed{1} <think>\\boxed{2}").reward == 0.2
    assert env.step("<think>\\boxed{7}").info["format_error"]


@pytest.mark.parametrize("content", ["8", " 8 ", r"\text{8}", "{8}", "$8$", "8.", r"{\mathrm{8}}."])
def test_what_only_formats_an_action_does_not_matter(content):
    assert started().step(f"First \\boxed{{7}}, then \\boxed{{{content}}}").reward == 0.8


@pytest.mark.parametrize("content", ["88", "8 or 9", "-8", ""])
def test_the_last_box_that_is_an_action_counts(content):
    assert started().step(f"First \\boxed{{7}}, then \\boxed{{{content}}}").reward == 0.7
