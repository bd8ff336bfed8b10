"""What is typed at commands that Hydra configures, before Hydra sees it."""

import pytest
from gem_core.cli.compose import agent_makers, checked_overrides

from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError

OWN = ("episodes", "seed")


def test_the_parameters_of_the_only_agent_are_written_out():
    typed = ["agent=scripted", "agent.actions=[a]", "+agent.repeat=true", "env=null"]
    assert checked_overrides(typed, OWN) == [
        "agent=scripted",
        "agent.scripted.actions=[a]",
        "+agent.scripted.repeat=true",
        "env=null",
    ]


@pytest.mark.parametrize(
    "typed",
    [
        ["agent=scripted", "agent.scripted.actions=[a]"],
        ["agent=[scripted,random]", "agent.scripted.actions=[a]"],
        ["+agent@agent.one=scripted", "agent.one.actions=[a]"],
        ["agent=random", "+agent@agent.one=scripted", "agent.one.actions=[a]"],
    ],
)
def test_names_that_are_written_out_stay(typed):
    assert checked_overrides(typed, OWN) == typed


@pytest.mark.parametrize(
    ("typed", "passed"),
    [
        ("agent=null", "agent='null'"),
        ("agent=[null,random]", "agent=['null',random]"),
        ("agent=[random, null]", "agent=[random, 'null']"),
        ("tools=null", "tools=null"),
    ],
)
def test_the_agent_called_null_is_no_missing_one(typed, passed):
    assert checked_overrides([typed], OWN) == [passed]


@pytest.mark.parametrize(
    ("typed", "error", "message"),
    [
        (["episode=3"], ConfigError, "There is no key 'episode'. Did you mean 'episodes'"),
        (["agent=orcale"], UnknownIdError, "Did you mean 'oracle'"),
        (["agent=scripted", "agent.action=[a]"], UnknownKwargError, "Did you mean 'actions'"),
        (["tools=[pyton]"], UnknownIdError, "Did you mean 'python'"),
        (
            ["env=game/GuessTheNumber-v0-easy", "env.max_turn=3"],
            UnknownKwargError,
            "Did you mean 'max_turns'",
        ),
    ],
)
def test_what_does_not_exist_is_told_with_what_is_near(typed, error, message):
    with pytest.raises(error, match=message):
        checked_overrides(typed, OWN)


def test_agents_are_made_by_name():
    makers = agent_makers({"agent": {"a": {"id": "scripted", "actions": ["x"]}, "random": None}})
    assert makers["a"]().act("", {}) == "x"
    assert set(makers) == {"a", "random"}


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ({}, "agent: give at least one"),
        ({"a": {"actions": ["x"]}}, r"agent\.a needs an id"),
        ({"a": {"id": "scripted", "actions": 3}}, r"agent\.a\.actions: .*got 3"),
    ],
)
def test_agents_that_cannot_be_made_are_told(agents, message):
    with pytest.raises(ConfigError, match=message):
        agent_makers({"agent": agents})
