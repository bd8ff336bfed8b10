"""What a person sees and types in the terminal."""

import re

import pytest
from cli import gem
from small_shop import do, small_env

from gem_core.errors import ConfigError
from gem_web.human_view import STYLES


def opened(*actions, **options):
    """Return an environment after some actions, and what a person sees then."""
    env = small_env(**options)
    observation, info = env.reset(idx=0)
    if actions:
        observation, *_, info = do(env, *actions)
    return env, env.human_view.screen(observation, info, 80)


RESULTS = ("search[orlo shirt]",)
ITEM = (*RESULTS, "click[b000000000]")


def test_the_search_page_asks_what_to_search_for():
    env, screen = opened()
    assert f"The customer: {env.wish.instruction}\n" in screen
    assert screen.endswith("Turn 1 of 15. Type what to search for.")
    assert "[1]" not in screen


def test_a_page_of_results_has_a_number_and_a_line_for_each_product():
    _, screen = opened(*RESULTS)
    assert "[1] Back to Search\n" in screen
    found = re.findall(r"(?m)^ ?\[(\d+)\] (B\w+)  (.+?)  \$[\d.]+$", screen)
    assert [number for number, *_ in found] == [str(number) for number in range(3, 13)]
    _, screen = opened(*ITEM, "click[< prev]")
    assert "B000000000 (opened before)" in screen


def test_the_page_of_a_product_has_its_title_before_its_options_and_marks_chosen_ones():
    _, screen = opened(*ITEM, "click[sky blue]", observation_mode="html")
    assert screen.index("Price: $10.0") < screen.index("color:  [3] red  [4] *sky blue*\n")
    assert "[7] Description  [8] Features  [9] Reviews  [10] Buy Now\n" in screen


def test_a_refused_action_is_named():
    _, screen = opened(*ITEM, "click[add to cart]")
    assert "That is not possible here: click[add to cart]\nTurn 4 of 15." in screen


def test_the_end_says_what_was_paid():
    _, screen = opened(*ITEM, "click[red]", "click[buy now]")
    assert "options         1 of 2  wanted: red, x-large; chosen: red\n" in screen
    assert screen.endswith("price           1 of 1  wanted: at most $40.00")


def test_an_episode_that_is_cut_off_asks_for_nothing():
    _, screen = opened("search[orlo shirt]", max_turns=1)
    assert "Turn" not in screen


def test_a_person_types_a_number_or_a_name_and_searches_with_any_other_text(subtests):
    for actions, typed, meant in [
        ((), "red shirt", "search[red shirt]"),
        ((), "12", "search[12]"),
        ((), "search[red shirt]", "search[red shirt]"),
        (RESULTS, "2", "click[next >]"),
        (RESULTS, "NEXT >", "click[next >]"),
        (RESULTS, "B000000004", "click[b000000004]"),
        (RESULTS, "orlo mug", "search[orlo mug]"),
        (ITEM, "10", "click[buy now]"),
        (ITEM, " sky blue ", "click[sky blue]"),
        (ITEM, "click[Red]", "click[Red]"),
        (ITEM, "click[", "search[click[]"),
    ]:
        with subtests.test(actions=actions, typed=typed):
            env, _ = opened(*actions)
            assert env.human_view.typed(typed) == meant


@pytest.mark.parametrize("typed", ["0", "13", "07", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 5000])
def test_a_number_that_the_page_does_not_have_is_an_error_that_costs_no_turn(typed):
    env, _ = opened(*RESULTS)
    with pytest.raises(ConfigError, match="The page has the numbers 1 to 12"):
        env.human_view.typed(typed)


def test_every_number_of_a_page_is_a_valid_action():
    for actions in (RESULTS, ITEM, (*ITEM, "click[reviews]")):
        env, screen = opened(*actions)
        for number in re.findall(r"\[(\d+)\] ", screen):
            other = env.fork()
            step = do(other, env.human_view.typed(number))
            assert "format_error" not in step.info


def test_every_style_colours_something():
    pages = ((), RESULTS, (*ITEM, "click[red]"), (*ITEM, "click[moo]"))
    screens = [opened(*actions, show_attrs=True)[1] for actions in pages]
    for pattern in STYLES:
        assert any(re.search(pattern, screen) for screen in screens), pattern


def test_a_visit_can_be_played_over_a_pipe():
    said = "water bottle\n3\n99\n:undo\n:oracle\n:oracle\n:oracle\n:oracle\n:oracle\n"
    played = gem("play", "webshop:Sample", "--seed", "1", stdin=said)
    assert played.returncode == 0, played.stderr
    assert "The page has the numbers 1 to" in played.stdout + played.stderr
    assert "price           1 of 1" in played.stdout
    assert played.stdout.endswith("The episode has ended. Return: 1\n")
