"""``suite=ID`` stands for a suite's environments and settings."""

import contextlib

import pytest
from cli import gem

from gem_core.errors import ConfigError, DuplicateIdError, UnknownIdError
from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_rollout.commands.environments import named_specs
from gem_rollout.commands.overrides import with_suite
from gem_rollout.commands.suites import BUILT_IN, SUITES

KEYS = ("env", "envs", "episodes", "seed", "tools")


@pytest.fixture
def _acme():
    """A suite of a third party."""
    spec = Spec(
        kind=SUITES,
        id="acme",
        entry_point="gem_rollout.commands.suites:Suite",
        kwargs={
            "envs": ["game:*-easy", {"id": "math:Sample", "shuffle": False}],
            "settings": {"episodes": 7, "tools": ["python"], "colour": "red"},
        },
    )
    with contextlib.suppress(DuplicateIdError):  # by an earlier test
        default_registry().add(spec)


@pytest.mark.usefixtures("_acme")
def test_a_suite_gives_environments_and_the_settings_that_the_command_has():
    assert with_suite(["suite=acme", "seed=1"], KEYS) == [
        "envs=['game:*-easy',{id: 'math:Sample',shuffle: false}]",
        "episodes=7",
        "tools=['python']",
        "seed=1",
    ]


@pytest.mark.usefixtures("_acme")
@pytest.mark.parametrize("word", ["episodes=3", "+episodes=3"])
def test_a_typed_setting_overrides_that_of_the_suite(word):
    overrides = with_suite([word, "suite=acme"], KEYS)
    assert word in overrides
    assert "episodes=7" not in overrides


@pytest.mark.parametrize(
    "words",
    [
        ["suite=quick", "env=math/Sample"],
        ["suite=quick", "envs=[math:Sample]"],
        ["suite=quick", "+env@mixture.a=math/Sample"],
        ["suite=quick", "suite=games"],
    ],
)
def test_a_suite_beside_other_environments_is_an_error(words):
    with pytest.raises(ConfigError, match="given twice"):
        with_suite(words, KEYS)


def test_an_unknown_suite_suggests_near_names():
    with pytest.raises(UnknownIdError, match="Did you mean 'quick'"):
        with_suite(["suite=quik"], KEYS)


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
