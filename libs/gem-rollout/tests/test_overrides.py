"""What is typed at commands that Hydra configures, before Hydra reads it."""

import pytest

from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_core.registry import Registry
from gem_rollout.commands import agent_makers
from gem_rollout.commands.overrides import checked_overrides, with_environments

OWN = ("env", "agent", "tools", "wrappers", "episodes", "seed")


def test_parameters_of_the_only_agent_get_its_name_in_their_key():
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
def test_keys_with_the_name_of_an_agent_stay_as_they_are(typed):
    assert checked_overrides(typed, OWN) == typed


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["game:X-v0", "seed=1"], ["env=game/X-v0", "seed=1"]),
        (["game:X-*", "seed=1"], ["envs=['game:X-*']", "seed=1"]),
        (["game:X", "seed=1", "game:Y"], ["envs=['game:X','game:Y']", "seed=1"]),
        (["env=game/X-v0", "~tools"], ["env=game/X-v0", "~tools"]),
    ],
)
def test_words_that_are_not_overrides_are_environments(typed, read):
    assert with_environments(typed) == read


@pytest.mark.parametrize("override", ["env=game/X", "envs=[game:X]"])
def test_environments_that_are_given_twice_are_an_error(override):
    with pytest.raises(ConfigError, match="given twice"):
        with_environments(["game:Y", override])


def test_each_id_is_looked_up_once(monkeypatch):
    asked = []
    find = Registry.find

    def counted(self, kind, spec_id):
        asked.append(spec_id)
        return find(self, kind, spec_id)

    monkeypatch.setattr(Registry, "find", counted)
    checked_overrides(
        ["env=game/GuessTheNumber-v0-easy", "env.max_turns=3", "agent=oracle", "tools=[python]"],
        OWN,
    )
    assert asked == ["game/GuessTheNumber-v0-easy", "oracle", "python"]


WRONG_NAMES = [
    (["episode=3"], ConfigError, "There is no key 'episode'. Did you mean 'episodes'"),
    (["agent=null"], ConfigError, "agent that says nothing is 'silent'"),
    (["agent=[oracle,null],random"], ConfigError, "agent that says nothing is 'silent'"),
    (["agent=[null,silent]"], ConfigError, "'silent' is there twice"),
    (["agent=[oracle"], ConfigError, "cannot be parsed"),
    (["agent=random,orcale"], UnknownIdError, "Did you mean 'oracle'"),
    (["agent=orcale"], UnknownIdError, "Did you mean 'oracle'"),
    (["agent=scripted", "agent.action=[a]"], UnknownKwargError, "Did you mean 'actions'"),
    (["tools=[pyton]"], UnknownIdError, "Did you mean 'python'"),
    (["tools=[5]"], UnknownIdError, "'5'"),
    (["wrappers=5"], UnknownIdError, "'5'"),
    (["agent=true"], UnknownIdError, "'True'"),
    (["agent=[7],[oracle]"], UnknownIdError, "'7'"),
    (["agent=[[oracle]]"], ConfigError, "agent= takes ids"),
    (
        ["wrappers=[{id: concat}]"],
        ConfigError,
        r"wrappers= takes ids, such as wrappers=\[A,B\]",
    ),
    (["agent=[oracle,{random: 1}]"], ConfigError, "agent= takes ids"),
    (
        ["env=game/GuessTheNumber-v0-easy", "env.max_turn=3"],
        UnknownKwargError,
        "Did you mean 'max_turns'",
    ),
]


def test_a_name_that_does_not_exist_is_refused_with_near_names(subtests):
    for typed, error, message in WRONG_NAMES:
        with subtests.test(" ".join(typed)), pytest.raises(error, match=message):
            checked_overrides(typed, OWN)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("lr=0.1", r"no key 'lr'\. Did you mean 'optim\.lr'"),
        ("optim.lrr=0.1", r"no key 'optim\.lrr'\. Did you mean 'lr'\? optim has: lr, stop"),
        ("optim.momentum=1", r"no key 'optim\.momentum'\. optim has: lr, stop"),
    ],
)
def test_a_key_in_a_part_is_refused_with_the_keys_that_are_there(typed, message):
    with pytest.raises(ConfigError, match=message):
        checked_overrides([typed], ["optim"], nested=["optim.lr", "optim.stop"])


def test_nested_keys_and_added_keys_are_accepted():
    typed = ["optim.lr=1", "optim.stop.after=2", "+optim.new=3"]
    assert checked_overrides(typed, ["optim"], nested=["optim.lr", "optim.stop"]) == typed


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("agent=[oracle,null]", "agent=[oracle,silent]"),
        ("agent=[null]", "agent=[silent]"),
        ("agent=['oracle',null]", "agent=['oracle',silent]"),
        ("+agent=[null]", "+agent=[silent]"),
    ],
)
def test_null_in_a_list_of_agents_is_the_agent_that_says_nothing(typed, read):
    assert checked_overrides([typed], OWN) == [read]


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
def test_agents_that_cannot_be_made_are_refused(agents, message):
    with pytest.raises(ConfigError, match=message):
        agent_makers({"agent": agents})


@pytest.mark.slow
def test_a_long_override_that_cannot_be_parsed_is_shortened():
    for word in (f"agent.actions={'[' * 1_200}", f"agent.actions=[{'a, ' * 1_200}"):
        with pytest.raises(ConfigError, match="cannot be parsed") as caught:
            checked_overrides([word], OWN)
        assert len(str(caught.value)) < 1_000
