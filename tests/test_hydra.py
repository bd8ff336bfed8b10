"""Hydra applications that know nothing of gem-core compose its environments."""

import pytest
import yaml

APP = """
import hydra
from omegaconf import OmegaConf


@hydra.main(version_base=None, config_path=None)
def main(config):
    print(OmegaConf.to_yaml(config, resolve=True))


main()
"""
BUILDING_APP = APP.replace(
    "print(OmegaConf.to_yaml(config, resolve=True))",
    "from gem_core.config import build; env = build(config); print(env.reset(seed=1)[0])",
)
pytestmark = pytest.mark.slow

GUESS = "+env=game/GuessTheNumber-v0-easy"
COMPLETED = "python app.py +env=game/GuessTheNumber-v0-h"
MISTYPED = [
    ("+env=game/Wordel-v0", "\tgame/Wordle-v0\n", "Did you mean 'game:Wordle-v0'"),
    ("+agent=oracel", "", "Did you mean 'oracle'"),
    ("+wrappers=[conat]", "", "Did you mean 'concat'"),
    ("+sandbox=warn", "\twarm", "Did you mean 'warm'"),
    ("+env=nothing/like/it", "", "Unknown environment 'nothing:like/it'"),
]
LINES = {
    "parameters": f"app.py {GUESS} env.max_turns=9",
    "lists": "app.py +wrappers=[time_limit,concat,episode_tracking] "
    "wrappers.time_limit.max_steps=3",
    "mixture": "app.py +env@mixture.easy=game/GuessTheNumber-v0-easy "
    "+env@mixture.hard=game/GuessTheNumber-v0-hard +mixture.hard.weight=3",
    "build": f"build.py {GUESS} env.max_turns=9 +wrappers=[concat]",
    "no parameter": f"app.py {GUESS} env.max_turn=9",
    "no option": "app.py +env=game/NoSuchGame-v0",
    "wrong type": f"build.py {GUESS} env.max_turns=many",
    "sweep": f"build.py -m {GUESS},game/GuessTheNumber-v0-hard hydra.sweep.dir=sweep/a",
    "help": "app.py --help",
    "completion": "app.py -sc query=bash",
    "pattern": "app.py -m +env=glob(game/GuessTheNumber-v0-*) hydra.sweep.dir=sweep/b",
    **{override: f"app.py {override}" for override, *_ in MISTYPED},
}
"""The command line of each application."""


@pytest.fixture(scope="module")
def ran(run_programs, tmp_path_factory):
    """Run all applications in one process, as each takes long to start; return what they print."""
    folder = tmp_path_factory.mktemp("apps")
    (folder / "app.py").write_text(APP)
    (folder / "build.py").write_text(BUILDING_APP)
    environ = {"COMP_LINE": COMPLETED, "COMP_POINT": str(len(COMPLETED))}
    programs = [
        (line.split(), environ if name == "completion" else {}) for name, line in LINES.items()
    ]
    done = dict(zip(LINES, run_programs(programs, cwd=folder), strict=True))
    for one in done.values():
        one.stdout, one.stderr = one.stdout.decode(), one.stderr.decode()
    return done


def shown(ran, name):
    assert ran[name].returncode == 0, ran[name].stderr
    return ran[name].stdout


def test_an_environment_composes_with_all_its_parameters(ran):
    assert yaml.safe_load(shown(ran, "parameters")) == {
        "env": {
            "id": "game:GuessTheNumber-v0-easy",
            "min_number": 1,
            "max_number": 10,
            "max_turns": 9,
        }
    }


def test_lists_keep_their_order_and_parameters_can_be_overridden(ran):
    config = yaml.safe_load(shown(ran, "lists"))
    assert list(config["wrappers"]) == ["time_limit", "concat", "episode_tracking"]
    assert config["wrappers"]["time_limit"] == {"id": "time_limit", "max_steps": 3}


def test_a_mixture_composes_with_weights(ran):
    config = yaml.safe_load(shown(ran, "mixture"))
    assert config["mixture"]["easy"]["max_number"] == 10
    assert config["mixture"]["hard"]["weight"] == 3


def test_what_was_composed_can_be_built(ran):
    assert "9 turns" in shown(ran, "build")


def test_what_does_not_exist_is_an_error_that_names_it(ran):
    for name, text in (("no parameter", "env.max_turn"), ("no option", "env/game/NoSuchGame-v0")):
        assert ran[name].returncode != 0
        assert text in ran[name].stderr


def test_a_value_of_a_wrong_type_is_reported_in_one_clear_line(ran):
    assert ran["wrong type"].returncode != 0
    assert "env.max_turns: Input should be a valid integer" in ran["wrong type"].stderr


def test_multirun_sweeps_environments(ran):
    assert "from 1 to 10" in shown(ran, "sweep")
    assert "from 1 to 50" in shown(ran, "sweep")


def test_help_lists_what_is_installed(ran):
    assert "GuessTheNumber-v0-easy" in shown(ran, "help")
    assert "episode_tracking" in shown(ran, "help")


def test_tab_completion_offers_ids(ran):
    assert shown(ran, "completion").split() == [
        "+env=game/GuessTheNumber-v0-hard",
        "+env=game/GuessTheNumber-v0-hard-no-max-turn",
    ]


def test_multirun_takes_patterns_of_environments(ran):
    assert shown(ran, "pattern").count("id: game:GuessTheNumber") == 4


@pytest.mark.parametrize(("override", "near", "advice"), MISTYPED)
def test_a_mistyped_option_is_answered_with_near_names(ran, override, near, advice):
    assert ran[override].returncode != 0
    assert near in ran[override].stderr
    assert advice in ran[override].stderr
    assert len(ran[override].stderr.splitlines()) < 20
