"""Texts that an assistant must say: whole words, and numbers by their value."""

import pytest
from tau_toy import lending_task

from gem_core.agent import ScriptedAgent
from gem_core.errors import ConfigError
from gem_rollout import play_episode
from gem_tau.env import make_dialogue
from gem_tau.mentions import unsaid
from gem_tau.rewards import Evidence, grade
from gem_tau.sources import ListedTasks
from gem_tau.task import Mention

SAID = [
    ("25", "You get **$25.00**."),
    ("1628", "That is $1,628."),
    ("1,628.50", "1628.5 in total"),
    ("10%", "10 percent off"),
    ("10", "10% off"),
    ("54.04", "The difference is -$54.04."),
    ("-5", "minus 5 degrees"),
    ("10", "10, 20 or 30; - 10"),
    ("30", "between $25-$30"),
    ("0.5", ".5 points"),
    ("25", "so _25_, or `25`"),
    ("May 20", "on MAY 20, at noon"),
    ("2024-05-10", "on 2024-05-10."),
    ("gift_card_12", "with (gift_card_12)"),
    ("T-shirt", "a T-Shirt!"),
    ("Don\u2019t", "I don't"),
    ("$", "pay $5"),
]
UNSAID = [
    ("10", "It costs $1.10 or 10.5."),
    ("10", "the 10th"),
    ("10", "order W10, gift_card_10, W-10"),
    ("10", "on 2024-05-10, at 10:30, 10/2"),
    ("10%", "It costs $10."),
    ("-5", "5 degrees"),
    ("5", "$.5"),
    ("May 20", "May 200"),
    ("camera", "cameras"),
    ("blue car", "a blue big car"),
]


@pytest.mark.parametrize(("text", "message"), SAID)
def test_a_text_is_said_in_other_forms(text: str, message: str) -> None:
    assert unsaid([text], ["Hello.", message]) == []


@pytest.mark.parametrize(("text", "message"), UNSAID)
def test_a_text_is_not_said_by_part_of_a_word_or_number(text: str, message: str) -> None:
    assert unsaid([text], [message]) == [text]


def test_the_rule_of_tau_bench_is_an_option() -> None:
    assert unsaid(["10"], ["It costs $100."], "text") == []
    assert unsaid(["25.0"], ["You get $25 back."], "text") == ["25.0"]


@pytest.mark.parametrize(("rule", "part"), [("words", 0.0), ("text", 1.0)])
def test_the_option_decides_the_part_of_the_reward(rule: str, part: float) -> None:
    task = lending_task(communicate=(Mention("10"),), reward_basis=("communicate",))
    evidence = Evidence(task.fresh(), said=["It costs $100."])
    assert grade(task, evidence, mentions=rule).parts == {"communicate": part}
    env = make_dialogue(tasks=ListedTasks([task]), mentions=rule)
    played = play_episode(env, ScriptedAgent(["It costs $100.", *["Is there more?"] * 9]), seed=0)
    assert played.episode_return == part


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ConfigError, match="mentions must be one of words, text"):
        make_dialogue(mentions="word")


def test_a_long_message_is_read_in_one_pass() -> None:
    assert unsaid(["10 crowns"], ["10 " * 50_000]) == ["10 crowns"]
