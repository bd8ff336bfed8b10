"""Hydra applications that know nothing of gem-core compose its environments."""

import subprocess
import sys

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


@pytest.fixture
def app(tmp_path):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "build.py").write_text(BUILDING_APP)

    def run(*overrides, script="app.py", check=True):
        done = subprocess.run(
            [sys.executable, script, *overrides],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


def composed(done):
    return yaml.safe_load(done.stdout)


def test_an_environment_composes_with_all_its_parameters(app):
    assert composed(app("+env=game/GuessTheNumber-v0-easy", "env.max_turns=9")) == {
        "env": {
            "id": "game:GuessTheNumber-v0-easy",
            "min_number": 1,
            "max_number": 10,
            "max_turns": 9,
        }
    }


def test_lists_keep_their_order_and_parameters_can_be_overridden(app):
    config = composed(
        app("+wrappers=[time_limit,concat,episode_tracking]", "wrappers.time_limit.max_steps=3")
    )
    assert list(config["wrappers"]) == ["time_limit", "concat", "episode_tracking"]
    assert config["wrappers"]["time_limit"] == {"id": "time_limit", "max_steps": 3}


def test_a_mixture_composes_with_weights(app):
    config = composed(
        app(
            "+env@mixture.easy=game/GuessTheNumber-v0-easy",
            "+env@mixture.hard=game/GuessTheNumber-v0-hard",
            "+mixture.hard.weight=3",
        )
    )
    assert config["mixture"]["easy"]["max_number"] == 10
    assert config["mixture"]["hard"]["weight"] == 3


def test_what_was_composed_can_be_built(app):
    done = app(
        "+env=game/GuessTheNumber-v0-easy",
        "env.max_turns=9",
        "+wrappers=[concat]",
        script="build.py",
    )
    assert "9 turns" in done.stdout


def test_a_parameter_that_does_not_exist_is_an_error(app):
    done = app("+env=game/GuessTheNumber-v0-easy", "env.max_turn=9", check=False)
    assert done.returncode != 0
    assert "env.max_turn" in done.stderr


def test_an_option_that_does_not_exist_is_an_error(app):
    done = app("+env=game/NoSuchGame-v0", check=False)
    assert done.returncode != 0
    assert "env/game/NoSuchGame-v0" in done.stderr


def test_a_value_of_a_wrong_type_is_one_clear_line(app):
    done = app(
        "+env=game/GuessTheNumber-v0-easy", "env.max_turns=many", script="build.py", check=False
    )
    assert done.returncode != 0
    assert "env.max_turns: Input should be a valid integer" in done.stderr


def test_multirun_sweeps_environments(app, tmp_path):
    done = app(
        "-m",
        "+env=game/GuessTheNumber-v0-easy,game/GuessTheNumber-v0-hard",
        f"hydra.sweep.dir={tmp_path}/sweep",
        script="build.py",
    )
    assert "from 1 to 10" in done.stdout
    assert "from 1 to 50" in done.stdout


def test_help_lists_what_is_installed(app):
    listed = app("--help").stdout
    assert "GuessTheNumber-v0-easy" in listed
    assert "episode_tracking" in listed


def test_tab_completion_offers_ids(app, monkeypatch):
    line = "python app.py +env=game/GuessTheNumber-v0-h"
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    assert app("-sc", "query=bash").stdout.split() == [
        "+env=game/GuessTheNumber-v0-hard",
        "+env=game/GuessTheNumber-v0-hard-no-max-turn",
    ]


def test_multirun_takes_patterns_of_environments(app, tmp_path):
    done = app("-m", "+env=glob(game/GuessTheNumber-v0-*)", f"hydra.sweep.dir={tmp_path}/sweep")
    assert done.stdout.count("id: game:GuessTheNumber") == 4


@pytest.mark.parametrize(
    ("override", "near", "advice"),
    [
        ("+env=game/Wordel-v0", "\tgame/Wordle-v0\n", "Did you mean 'game:Wordle-v0'"),
        ("+agent=oracel", "", "Did you mean 'oracle'"),
        ("+wrappers=[conat]", "", "Did you mean 'concat'"),
        ("+sandbox=warn", "\twarm", "Did you mean 'warm'"),
        ("+env=nothing/like/it", "", "Unknown environment 'nothing:like/it'"),
    ],
)
def test_a_mistyped_option_is_answered_with_near_names(app, override, near, advice):
    shown = app(override, check=False).stderr
    assert near in shown
    assert advice in shown
    assert len(shown.splitlines()) < 20
