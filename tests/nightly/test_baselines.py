"""The baselines: the suite has all families, cells are those of ``eval``, the page is theirs."""

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli import gem
from needs import needs

from gem_core import find_envs

ROOT = Path(__file__).resolve().parents[2]
GAME = "game:GuessTheNumber-v0-easy"


@pytest.fixture(autouse=True, scope="module")
def _benchmarks_are_importable() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield
    sys.path.remove(str(ROOT / "benchmarks"))


def load(name):
    return importlib.import_module(f"baselines.{name}")


def test_the_suite_has_environments_of_all_families_that_we_ship():
    envs = load("envs")
    ours = {one.namespace for one in find_envs("*") if one.source.startswith("gem-")}
    found = {envs.family_of(name) for name in envs.factories()}
    assert ours - found == envs.MISSING_FAMILIES.keys()


def test_the_suite_lists_at_least_24_registered_environments_once_each():
    envs = load("envs")
    listed = list(envs.suite().envs)
    assert len(listed) == len(set(listed)) >= 24
    assert set(listed) == envs.factories().keys()
    assert set(listed) <= {one.id for one in find_envs("*")}


def test_the_suite_sets_nothing_that_the_benchmark_ignores():
    assert load("envs").suite().settings.keys() == {"episodes"}


def test_models_are_trained_in_24_environments_and_reasons_given_for_the_rest():
    envs, tiny = load("envs"), load("tiny")
    trained = [cell.task for cell in tiny.CELLS]
    assert len(trained) >= 24
    assert len(set(map(envs.family_of, trained))) >= 5
    others = [env for group in tiny.NOT_TRAINED.values() for env in group]
    assert sorted([*trained, *others]) == sorted(envs.factories())


def test_a_cell_has_the_episodes_of_the_command_eval(tmp_path):
    words = [
        "eval",
        GAME,
        "math:Sample",
        "agent=random",
        "episodes=3",
        "seed=2",
        "--format",
        "json",
    ]
    done = gem(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {one["name"]: one for one in json.loads(done.stdout)["rows"]}
    for env in (GAME, "math:Sample"):
        cell = load("scripted").play(env, "random", 2, 3)
        assert cell["episodes"] == 3
        assert cell["return"] == pytest.approx(rows[env]["mean_return"]["value"], abs=1e-4)
        assert cell["turns"] == pytest.approx(rows[env]["turns"], abs=0.01)
        assert cell["cpu_seconds"] > 0


def test_a_cell_whose_episodes_fail_has_the_error(monkeypatch):
    envs, scripted = load("envs"), load("scripted")
    made = envs.factories()[GAME]
    without_oracle = {GAME: replace(made, spec=replace(made.spec, oracle=None))}
    monkeypatch.setattr(scripted, "factories", lambda: without_oracle)
    cell = scripted.play(GAME, "oracle", 0, 2)
    assert "has no oracle" in cell["error"]
    assert "return" not in cell


def test_a_tiny_model_is_warmed_up_and_trained_in_an_environment_of_the_suite(tmp_path):
    """All of a trained cell, with fewer updates and steps; it takes seconds."""
    needs("torch")
    tiny, training = load("tiny"), importlib.import_module("learning.training")
    cells = importlib.import_module("learning.cells")
    cell = replace(next(one for one in tiny.CELLS if one.task == GAME), steps=1)
    task = replace(tiny.PLAN.tasks[cell.task], demonstrations=16)
    family = replace(tiny.PLAN.families[cell.family], steps=2)
    plan = replace(tiny.PLAN, tasks={cell.task: task}, families={cell.family: family})
    plan = replace(plan, episodes=4, held_out=4)
    warm = training.make_warm_start(cell.family, 0, tmp_path / "warm", plan)
    made = training.train(next(cells.runs_of(cell)), (), tmp_path / "warm", tmp_path / "run", plan)
    assert made["warm_start"] == warm["sha256"]
    for figures in (warm, made):
        assert -0.1 <= figures["plays"][cell.task]["return"] <= 1
        assert figures["plays"][cell.task]["tokens"] > 40
        assert figures["cpu_seconds"] > 0
    assert len(made["curves"]["return"]) == 1


def made_up(gains):
    """Figures of two environments, in which training adds ``gains`` to the return of each seed."""
    envs, seeds = [GAME, "rg:gcd"], list(range(5))
    agents = load("envs").AGENTS
    shown = {"return": 0.25, "success": 0.5, "turns": 2.0, "cpu_seconds": 0.001, "episodes": 20}
    scripted = [
        {"env": env, "agent": agent, "seed": seed, **shown}
        for env in envs
        for agent in agents
        for seed in seeds
    ]
    trained = {"family": GAME, "task": GAME, "cpu_seconds": 1.0, "parameters": 1, "curves": {}}

    def plays(value):
        return {GAME: {"return": value, "success": 0.5, "turns": 2.0, "tokens": 50.0}}

    return {
        "commands": [],
        "suite": {"envs": envs, "settings": {"episodes": 20}},
        "seeds": seeds,
        "descriptions": dict.fromkeys(envs, ""),
        "versions": [{"python": "3"}],
        "scripted": scripted,
        "warm_starts": [{**trained, "start": one, "plays": plays(0.2)} for one in seeds],
        "runs": [
            {**trained, "start": one, "seed": 0, "plays": plays(0.2 + gain)}
            for one, gain in zip(seeds, gains, strict=True)
        ],
    }


def page_of(content):
    return load("page").baselines_page(load("figures").Figures(content))


@pytest.mark.parametrize(
    ("gains", "verdict", "change"),
    [
        ([0.1, 0.2, 0.3, 0.2, 0.2], "rose in 1 of 1", "**+0.20 ± 0.09**"),
        ([-0.1, -0.2, -0.3, -0.2, -0.2], "fell in 1 of 1", "**-0.20 ± 0.09**"),
        ([0.3, -0.3, 0.0, 0.1, -0.1], "shows no change that can be seen in 1 of 1", "+0.00 ± 0.28"),
    ],
)
def test_the_page_says_learned_only_where_the_interval_excludes_zero(gains, verdict, change):
    page = page_of(made_up(gains))
    assert f"- The return {verdict}: `{GAME}`" in page
    assert f"| {change} |" in page


def test_a_cell_without_figures_is_empty_and_has_its_reason():
    content = made_up([0.0] * 5)
    for one in content["scripted"]:
        if (one["env"], one["agent"]) == ("rg:gcd", "oracle"):
            one["error"] = "ConfigError: no oracle"
    page = page_of(content)
    assert "| `rg:gcd` | 0.25 ± 0.00 | 0.50 ± 0.00 | 0.25 ± 0.00 | 0.50 ± 0.00 |  |  |" in page
    assert "- oracle in `rg:gcd`: ConfigError: no oracle" in page


def test_an_environment_is_shown_as_trained_only_with_all_seeds():
    content = made_up([0.0] * 5)
    content["runs"].pop()
    assert load("figures").Figures(content).trained == []
    assert "No model has been trained." in page_of(content)


def test_a_page_can_be_made_before_agents_have_played():
    page = page_of({**made_up([0.1] * 5), "scripted": []})
    assert "- oracle in `rg:gcd`: not played" in page
    assert "| mean over environments |  |  |  |  |  |  |" in page


def test_the_page_holds_the_stored_figures_of_the_suite_as_it_is():
    """``run.py baselines --report-only`` changes nothing that is committed."""
    figures = load("figures").Figures.read(ROOT / "benchmarks" / "results")
    assert figures.content["suite"]["envs"] == list(load("envs").suite().envs)
    assert figures.content["suite"]["settings"] == dict(load("envs").suite().settings)
    page = load("page").baselines_page(figures)
    assert (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8") == page
