"""The benchmark's own parts run; its comparison needs gem-llm and is not run here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
GAME = "game:GuessTheNumber-v0-easy"


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def measure(name, **arguments):
    pairs = [f"{key}={value}" for key, value in arguments.items()]
    done = run("worker.py", "gem_core", name, *pairs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_comparison_explains_itself_with_examples():
    done = run("compare.py", "--help")
    assert done.returncode == 0
    assert "--peer-python" in done.stdout
    assert "examples:" in done.stdout


def test_an_unknown_group_is_refused_and_the_known_ones_are_named():
    done = run("compare.py", "--only", "speed")
    assert done.returncode == 2
    assert "startup" in done.stderr


def test_startup_counts_the_library_and_what_it_imports():
    figures = measure("startup", env_id=GAME)
    assert figures["modules"] > 10
    assert 5 < figures["peak_rss_mib"] < 1000
    assert figures["import_and_make_s"] > 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("game", {"env_id": GAME, "seconds": 0.01}),
        ("vector", {"env_id": GAME, "num_envs": 3, "executor": "threads", "seconds": 0.01}),
        (
            "straggler",
            {"env_id": GAME, "num_envs": 3, "delay": 0.01, "wait_for": 2, "seconds": 0.05},
        ),
        ("history", {"turns": 4, "seconds": 0.01}),
    ],
)
def test_each_measurement_of_speed_returns_positive_figures(name, arguments):
    figures = measure(name, **arguments)
    assert figures
    assert all(value > 0 for value in figures.values())


def test_an_environment_shows_the_same_in_a_vector_as_alone():
    figures = measure("reproducibility", env_id=GAME, executor="threads", num_envs=3, turns=12)
    assert figures == {"first_episode": 3, "across_resets": 3}


def test_a_game_without_known_actions_fails_with_a_hint_instead_of_figures():
    done = run("worker.py", "gem_core", "game", "env_id=game:Nothing-v0", "seconds=0.01")
    assert done.returncode != 0
    assert "Nothing" in done.stderr
    assert done.stdout == ""
