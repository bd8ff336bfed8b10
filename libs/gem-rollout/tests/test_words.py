"""What is typed at commands that Hydra configures, and what Hydra reads."""

import contextlib
import shlex
from dataclasses import replace

import pytest
from cli import gem
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from pydantic.fields import FieldInfo

from gem_core import BaseAgent, Secret
from gem_core.errors import ConfigError, DuplicateIdError, UnknownIdError, UnknownKwargError
from gem_core.plugins import default_registry
from gem_core.registry import Registry
from gem_core.specs import AGENTS, ENVS, TOOLS, WRAPPERS, AgentSpec, Spec
from gem_rollout.commands import agent_makers
from gem_rollout.commands.chosen import Group
from gem_rollout.commands.completion import complete
from gem_rollout.commands.environments import named_specs
from gem_rollout.commands.suites import BUILT_IN, SUITES
from gem_rollout.commands.words import Grammar

GUESS = "env=game/GuessTheNumber-v0-easy"
GRAMMAR = Grammar(
    keys=("env", "envs", "agent", "tools", "wrappers", "episodes", "seed", "optim", "lora", "user"),
    groups={
        "env": Group(ENVS),
        "agent": Group(AGENTS),
        "tools": Group(TOOLS),
        "wrappers": Group(WRAPPERS),
    },
    fields={
        **{
            name: FieldInfo(annotation=int)
            for name in ("optim.lr", "optim.stop", "seed", "episodes")
        },
        "lora": FieldInfo(annotation=dict[str, int] | None, default=None),
        "user": FieldInfo(annotation=dict[str, int], default={"id": "scripted"}),
    },
)


class Vault(BaseAgent):
    """Has a secret, and other parameters."""

    def __init__(self, *, pin: Secret = "", name: str | None = None, size: int = 1) -> None: ...

    def act(self, observation, info):
        return ""


SPECS = [
    AgentSpec(id="words-vault", entry_point=Vault),
    Spec(
        kind=SUITES,
        id="acme",
        entry_point="gem_rollout.commands.suites:Suite",
        kwargs={
            "envs": ["game:*-easy", {"id": "math:Sample", "shuffle": False}],
            "settings": {"episodes": 7, "tools": ["python"], "colour": "red"},
        },
    ),
]


@pytest.fixture(autouse=True)
def _registered():
    with contextlib.suppress(DuplicateIdError):  # by an earlier test
        default_registry().add(*SPECS)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["game:Wordle-v0", "seed=1"], ["env=game/Wordle-v0", "seed=1"]),
        (["game:X-*", "seed=1"], ["envs=['game:X-*']", "seed=1"]),
        (["game:X", "seed=1", "game:Y"], ["envs=['game:X','game:Y']", "seed=1"]),
        (["env=game/Wordle-v0", "~tools"], ["env=game/Wordle-v0", "~tools"]),
        (["agent=scripted", "agent.actions=[a]"], ["agent=scripted", "agent.scripted.actions=[a]"]),
        (["agent=scripted", "+agent.repeat=1"], ["agent=scripted", "+agent.scripted.repeat=1"]),
        (["lora.r=16", "+lora.a=1"], ["++lora.r=16", "+lora.a=1"]),
        (["user=openai", "user.model=x"], ["user.id=openai", "++user.model=x"]),
        (["user={id: openai}", "user=null"], ["++user={id: openai}", "user=null"]),
    ],
)
def test_a_word_may_be_shorter_than_what_hydra_reads(typed, read):
    assert GRAMMAR.overrides(typed) == read


@pytest.mark.parametrize(
    "typed",
    [
        ["agent=scripted", "agent.scripted.actions=[a]"],
        ["agent=[scripted,random]", "agent.scripted.actions=[a]"],
        ["+agent@agent.one=scripted", "agent.one.actions=[a]"],
        ["agent=random", "+agent@agent.one=scripted", "agent.one.actions=[a]"],
        ["optim.lr=1", "optim.stop.after=2", "+optim.new=3"],
        ["agent=words-vault", "agent.words_vault.name=choice(a,b)"],
        ["agent=words-vault", "agent.words_vault.name=null", "agent.words_vault.name=a b:c"],
        ["agent=words-vault", "agent.words_vault.name='12'", "agent.words_vault.size=12"],
    ],
)
def test_everything_else_is_read_as_it_was_typed(typed):
    assert GRAMMAR.overrides(typed) == typed


@pytest.mark.parametrize("override", ["env=game/Wordle-v0", "envs=[game:X]", "+env@envs.a=x"])
def test_environments_that_are_given_twice_are_an_error(override):
    with pytest.raises(ConfigError, match="given twice"):
        GRAMMAR.overrides(["game:Y", override])


def test_each_id_is_looked_up_once(monkeypatch):
    asked = []
    find = Registry.find

    def counted(self, kind, spec_id):
        asked.append(spec_id)
        return find(self, kind, spec_id)

    monkeypatch.setattr(Registry, "find", counted)
    GRAMMAR.overrides([GUESS, "env.max_turns=3", "agent=oracle", "tools=[python]"])
    assert asked == ["game/GuessTheNumber-v0-easy", "oracle", "python"]


WRONG = [
    (["episode=3"], ConfigError, "There is no key 'episode'. Did you mean 'episodes'"),
    (["agent=null"], ConfigError, "agent that says nothing is 'silent'"),
    (["agent=[oracle,null]"], ConfigError, "agent that says nothing is 'silent'"),
    (["agent=[silent,silent]"], ConfigError, "'silent' is there twice"),
    (["agent=[oracle"], ConfigError, "cannot be parsed"),
    (["agent=random,orcale"], UnknownIdError, "Did you mean 'oracle'"),
    (["agent=orcale"], UnknownIdError, "Did you mean 'oracle'"),
    (["agent=scripted", "agent.action=[a]"], UnknownKwargError, "Did you mean 'actions'"),
    (["tools=[python]", "tools.python.timout=3"], UnknownKwargError, "Did you mean 'timeout'"),
    (["tools=[pyton]"], UnknownIdError, "Did you mean 'python'"),
    (["tools=[5]"], UnknownIdError, "'5'"),
    (["wrappers=5"], UnknownIdError, "'5'"),
    (["agent=true"], UnknownIdError, "'True'"),
    (["agent=[7],[oracle]"], UnknownIdError, "'7'"),
    (["agent=[[oracle]]"], ConfigError, "agent= takes ids"),
    (["wrappers=[{id: concat}]"], ConfigError, r"wrappers= takes ids, such as wrappers=\[A,B\]"),
    (["agent=[oracle,{random: 1}]"], ConfigError, "agent= takes ids"),
    ([GUESS, "env.max_turn=3"], UnknownKwargError, "Did you mean 'max_turns'"),
    (["lr=0.1"], ConfigError, r"no key 'lr'\. Did you mean 'optim\.lr'"),
    (["optim.lrr=1"], ConfigError, r"no key 'optim\.lrr'\. Did you mean 'lr'\? optim has: lr, s"),
    (["optim.momentum=1"], ConfigError, r"no key 'optim\.momentum'\. optim has: lr, stop"),
    (["suite=quik"], UnknownIdError, "Did you mean 'quick'"),
    (["math:*", "env.shuffle=false"], ConfigError, r"env.shuffle needs env=ID; with several, 'e"),
    (["agent.actions=[a]"], ConfigError, "agent.actions needs agent=ID."),
    (["seed=1,2"], ConfigError, r"seed has several values. Add -m to run once for each\.$"),
    (["agent=oracle,random"], ConfigError, r"for each, or write 'agent=\[oracle,random\]' for a l"),
    (["seed", "=", "3"], ConfigError, "without spaces around"),
    (["env=[math:Sample,qa:Sample]"], ConfigError, r"env= takes one env.*are envs=\[A,B\]"),
    (["env=math/Sample", "env.rewards={z:s: 0.5}"], ConfigError, r"'env.rewards=\{\"z:s\": 0.5\}'"),
    (["env=math/Sample", "env.rewards.z:s=0.5"], ConfigError, r"'env.rewards=\{\"z:s\": 0.5\}'"),
    (["./no_such.py:MyEnv"], UnknownIdError, "There is no file '.*no_such.py'"),
]


def test_a_word_that_cannot_be_used_is_refused_with_near_names(subtests):
    for typed, error, message in WRONG:
        with subtests.test(" ".join(typed)), pytest.raises(error, match=message):
            GRAMMAR.overrides(typed)


TEXTS = ["a=b", "a\nb", "it's", 'say "a"', "f(x)", "a,b", "#1!", "x\\'", "12", "1e3", "true", "[a]"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("key", ["name", "words_vault.name"])
def test_an_error_ends_with_a_word_to_paste_that_gives_the_text(key, text):
    with pytest.raises(ConfigError) as caught:
        GRAMMAR.overrides(["agent=words-vault", f"agent.{key}={text}"])
    (word,) = shlex.split(str(caught.value).partition("\n  ")[2])
    _, read = GRAMMAR.overrides(["agent=words-vault", word])
    parsed = OverridesParser.create().parse_override(read)
    assert (parsed.key_or_group, parsed.value()) == ("agent.words_vault.name", text)


@pytest.mark.parametrize("text", [*TEXTS, "@x", "${seed}\\${x}", "两行\nand\n\ttab\\"])
def test_the_text_of_a_file_takes_the_place_of_its_name(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "system.txt").write_text(f"{text}\n", "utf-8")
    _, read = GRAMMAR.overrides(["agent=words-vault", "agent.name=@system.txt"])
    override = OverridesParser.create().parse_override(read)
    config = OmegaConf.create({"seed": 1, "name": override.value()})
    assert (override.key_or_group, config.name) == ("agent.words_vault.name", text)
    assert GRAMMAR.overrides(["agent=words-vault", read]) == ["agent=words-vault", read]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere.txt", "No such file"), ("", "Is a directory"), ("bytes", "not text in UTF-8")],
)
def test_a_file_that_cannot_be_read_is_an_error_that_says_how_to_write_an_at(
    tmp_path, monkeypatch, name, reason
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=rf"agent\.name: .*{reason}") as caught:
        GRAMMAR.overrides(["agent=words-vault", f"agent.name=@{name}"])
    (word,) = shlex.split(str(caught.value).partition("quotes: ")[2])
    _, read = GRAMMAR.overrides(["agent=words-vault", word])
    assert OverridesParser.create().parse_override(read).value() == f"@{name}"


@pytest.mark.parametrize(
    "word", ["agent.pin=a=planted", "agent.api_key=x,planted", "unknown=(planted"]
)
@pytest.mark.parametrize("more", [[], ["agent=words-vault"]])
def test_an_error_repeats_no_value_that_may_be_secret(word, more):
    with pytest.raises((ConfigError, UnknownKwargError)) as caught:
        GRAMMAR.overrides([*more, word])
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize("key", ['"z:s"', "'z:s'", r"z\:s"])
def test_a_key_of_a_mapping_may_have_a_colon(key):
    words = GRAMMAR.overrides(["env=math/Sample", f"env.rewards={{{key}: 0.5, a: 'b:c: 1'}}"])
    read = OverridesParser.create().parse_override(words[-1])
    assert read.value() == {"z:s": 0.5, "a": "b:c: 1"}


def test_a_suite_gives_environments_and_the_settings_that_the_command_has():
    assert GRAMMAR.overrides(["suite=acme", "seed=1"]) == [
        "envs=['game:*-easy',{id: 'math:Sample',shuffle: false}]",
        "episodes=7",
        "tools=['python']",
        "seed=1",
    ]


@pytest.mark.parametrize("word", ["episodes=3", "+episodes=3"])
def test_a_typed_setting_overrides_that_of_the_suite(word):
    overrides = GRAMMAR.overrides([word, "suite=acme"])
    assert word in overrides
    assert "episodes=7" not in overrides


@pytest.mark.parametrize("word", ["math:Sample", "env=math/Sample", "envs=[math:Sample]",
                                  "+env@mixture.a=math/Sample", "suite=games"])  # fmt: skip
def test_a_suite_beside_other_environments_is_an_error(word):
    with pytest.raises(ConfigError, match="given twice"):
        GRAMMAR.overrides(["suite=quick", word])


def test_a_command_may_add_words_and_give_the_first_id_another_meaning():
    further = lambda values: [f"seed={len(values)}", "tools=[python]"]  # noqa: E731
    grammar = replace(GRAMMAR, subject="agent", further=further)
    typed = ["episodes=3", "oracle", "game:Wordle-v0", "tools=[]"]
    read = ["seed=4", "env=game/Wordle-v0", "agent=oracle", "episodes=3", "tools=[]"]
    assert grammar.overrides(typed) == read


def offered(*words):
    *typed, start = words
    return [item.value for item in complete(GRAMMAR, typed, start)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ep"], ["episodes="]),
        (["+se"], ["+seed="]),
        (["op"], ["optim."]),
        (["optim."], ["optim.lr=", "optim.stop="]),
        (["game:GuessTheNumber-v0-e"], ["game:GuessTheNumber-v0-easy"]),
        (["agent=[random,orac"], ["agent=[random,oracle"]),
        (["suite=q"], ["suite=quick"]),
        ([GUESS, "env.max_t"], ["env.max_turns="]),
        (["game:GuessTheNumber-v0-easy", "env.min"], ["env.min_number="]),
        (["agent=words-vault", "agent.na"], ["agent.name="]),
        (["agent=[words-vault,random]", "agent.w"], ["agent.words_vault."]),
        (["agent=words-vault", "agent.words_vault.s"], ["agent.words_vault.size="]),
        (["agent=scripted", "agent.repeat="], ["agent.repeat=true", "agent.repeat=false"]),
        (["agent=orcale", "agent.x"], []),
        (["agent=[oracle", "episodes="], []),
    ],
)
def test_ids_keys_parameters_and_choices_are_completed(words, found):
    assert offered(*words) == found


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
def test_a_long_word_that_cannot_be_parsed_is_shortened():
    for word in (f"agent.actions={'[' * 1_200}", f"agent.actions=[{'a, ' * 1_200}"):
        with pytest.raises(ConfigError, match="cannot be parsed") as caught:
            GRAMMAR.overrides([word])
        assert len(str(caught.value)) < 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_environment_of_our_suites_exists_and_takes_its_parameters(name):
    assert len(named_specs(BUILT_IN[name][0])) >= 2


@pytest.mark.slow
def test_a_command_plays_a_suite(tmp_path):
    words = ["run", "suite=quick", "agent=oracle", "episodes=1", "--format", "json"]
    done = gem(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "game:Sudoku-v0-easy" in done.stdout
    assert "tau:Retail-Sample" in done.stdout
