"""The baselines: the suite has all families, cells are those of ``eval``, the page is theirs."""

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
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


def test_the_cheapest_environments_of_each_family_are_chosen_and_reasons_given_for_the_rest():
    envs, tiny = load("envs"), load("tiny")
    chosen = list(tiny.PLAN.families)
    assert {"game", "logic", "math", "qa", "rg"} == set(map(envs.family_of, chosen))
    others = [env for group in tiny.NOT_CHOSEN.values() for env in group]
    assert sorted([*chosen, *others]) == sorted(envs.factories())


@pytest.mark.parametrize("env", ["math:Sample", "logic:Sample", "qa:Sample", "rg:gcd"])
def test_no_question_that_is_measured_is_learned_from(env):
    envs = load("envs")
    learned, measured = (
        {questions.reset(seed=seed)[1]["task_id"] for seed in range(60)}
        for questions in (envs.other_tasks(env)(), envs.scored_tasks(env)())
    )
    assert len(measured) > 20
    assert not learned & measured


def test_the_best_constant_answer_is_chosen_by_success_on_other_tasks():
    constant = load("constant")
    best = constant.best_constant("rg:letter_counting", 50)
    assert best["text"] == r"\boxed{1}"
    assert best["chosen_on"]["success"] == pytest.approx(0.33, abs=0.15)
    assert best["chosen_on"]["episodes"] == 50
    played = constant.play_constant("rg:letter_counting", best["text"], 0)
    assert played["agent"] == "constant"
    assert played["success"] > constant.play_constant("rg:letter_counting", "9", 0)["success"]


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
    """All of a trained cell, with fewer updates and steps; it takes seconds.

    The warm start does not reach a success of 1, so its demonstrations are doubled once.
    """
    needs("torch")
    tiny, training = load("tiny"), importlib.import_module("learning.training")
    cells = importlib.import_module("learning.cells")
    cell = replace(next(one for one in tiny.CELLS if one.task.endswith(tiny.VARIANT)), steps=1)
    tasks = {name: replace(tiny.PLAN.tasks[name], demonstrations=16) for name in (GAME, cell.task)}
    family = replace(tiny.PLAN.families[GAME], steps=2)
    plan = replace(tiny.PLAN, tasks=tasks, families={GAME: family}, episodes=4, held_out=4)
    plan = replace(plan, least_success=1.0, doublings=1)
    warm = training.make_warm_start(GAME, 0, tmp_path / "warm", plan)
    made = training.train(next(cells.runs_of(cell)), (), tmp_path / "warm", tmp_path / "run", plan)
    assert made["warm_start"] == warm["sha256"]
    assert warm["times"] == 2
    assert 0 <= warm["learned"][0] < 1
    for figures, task in ((warm, GAME), (made, cell.task)):
        found = figures["plays"][task]
        assert -0.1 <= found["return"] <= 1
        assert found["tokens"] > 40
        assert found["entropy"] > 0
        assert 1 <= found["distinct"] <= found["replies"]
        assert figures["cpu_seconds"] > 0
    assert len(made["curves"]["success"]) == 1


@pytest.mark.parametrize(("learned", "ready"), [(0.09, False), (0.1, True)])
def test_no_model_is_trained_from_a_warm_start_without_success(tmp_path, learned, ready):
    needs("torch")
    tiny, schedule = load("tiny"), importlib.import_module("learning.schedule")
    store = importlib.import_module("learning.store").Store(tmp_path)
    cell = replace(tiny.CELLS[0], starts=2)
    for start, value in enumerate((0.5, learned)):
        store.add_warm_start({"family": cell.family, "start": start, "learned": [value]})
    assert schedule.is_ready(store, cell, tiny.PLAN) is ready
    assert schedule.is_ready(store, replace(cell, starts=3), tiny.PLAN) is False


def test_with_success_as_the_reward_only_the_last_turn_of_a_success_is_rewarded():
    needs("torch")
    import torch

    batch = importlib.import_module("gem_train.batch").Batch
    shaper = importlib.import_module("learning.shapers").SuccessReward()
    nothing = torch.zeros(4, 1)
    turns = {
        "reward": torch.tensor([0.0, 1.0, 0.0, 0.9]),
        "done": torch.tensor([False, True, False, True]),
        "episode": torch.tensor([0, 0, 1, 1]),
    }
    rest = {
        one.name: nothing
        for one in fields(batch)
        if one.default is MISSING and one.name not in turns
    }
    assert shaper.shape_rewards(batch(**turns, **rest)).tolist() == [0, 1, 0, 0]


def test_a_model_of_transformers_plays_an_environment_once(tmp_path, capsys):
    needs("torch")
    make_model = importlib.import_module("gem_train.make_model")
    size = make_model.Size(hidden=32, layers=1, heads=2)
    tasks = [load("envs").factories()["math:Sample"]]
    make_model.make_model(tmp_path / "model", tasks, size=size, context=2048, episodes=4)
    real = load("real")
    for _ in range(2):  # the second call finds everything done
        real.play_real(str(tmp_path / "model"), "mine", ["math:Sample"], tmp_path / real.FILE)
    assert capsys.readouterr().out.count("mine in math:Sample: 0") == 1
    [row] = map(json.loads, (tmp_path / real.FILE).read_text(encoding="utf-8").splitlines())
    assert row["episodes"] == real.EPISODES
    assert row["success"] == 0
    assert row["cut"] > 0
    page = page_of(made_up([0.0] * 3), [row])
    assert "| mine | `math:Sample` | 0.00 [0.00, 0.28] |" in page


def made_up(gains, floor=0.1):
    """Figures of three environments, in one of which training adds ``gains`` to the success of .2.

    ``floor`` is the success of the best constant answer.
    """
    envs, seeds = [GAME, "math:Sample", "rg:gcd"], list(range(5))
    agents = load("envs").AGENTS
    shown = {"return": 0.25, "success": 0.5, "turns": 2.0, "cpu_seconds": 0.001, "episodes": 20}
    scripted = [
        {"env": env, "agent": agent, "seed": seed, **shown}
        for env in envs
        for agent in agents
        for seed in seeds
    ]
    trained = {"family": GAME, "task": GAME, "cpu_seconds": 1.0, "parameters": 1, "curves": {}}
    trained |= {"learned": [0.3], "times": 1}
    variety = {"entropy": 0.5, "distinct": 3, "replies": 40, "most_frequent": 0.9}

    def plays(value):
        return {GAME: {"return": 0.5, "success": value, "turns": 2.0, "tokens": 50.0, **variety}}

    def constant(env):
        played = {"success": floor, "return": floor}
        return {"env": env, "text": "1", "candidates": 1, "chosen_on": played, "held_out": played}

    return {
        "commands": [],
        "suite": {"envs": envs, "settings": {"episodes": 20}},
        "seeds": seeds,
        "descriptions": dict.fromkeys(envs, ""),
        "versions": [{"python": "3"}],
        "constants": list(map(constant, envs)),
        "scripted": scripted,
        "warm_starts": [{**trained, "start": one, "plays": plays(0.2)} for one in range(3)],
        "runs": [
            {**trained, "start": one, "seed": 0, "plays": plays(0.2 + gain)}
            for one, gain in enumerate(gains)
        ],
    }


def page_of(content, real=()):
    return load("page").details_page(load("figures").Figures(content, real))


@pytest.mark.parametrize(
    ("gains", "floor", "verdict", "trained"),
    [
        ([0.2, 0.21, 0.22], 0.1, "is", "**0.41 ± 0.02**"),
        ([0.2, 0.21, 0.22], 0.4, "cannot be said to be", "0.41 ± 0.02"),
        ([0.4, -0.3, 0.1], 0.0, "cannot be said to be", "0.27 ± 0.87"),
        ([-0.1, -0.1, -0.1], 0.0, "cannot be said to be", "0.10 ± 0.00"),
    ],
)
def test_success_is_bold_only_above_the_best_constant_answer_and_the_warm_start(
    gains, floor, verdict, trained
):
    page = page_of(made_up(gains, floor))
    where = "above both the best constant answer and the warm start in 1 of 1"
    assert f"- Success {verdict} {where}: `{GAME}`" in " ".join(page.split())
    assert f"| {floor:.2f} | 0.20 ± 0.00 | {trained} |" in page


def test_an_environment_whose_warm_start_failed_is_listed_with_its_success():
    content = made_up([0.2, 0.21, 0.22])
    played = {"rg:gcd": {"success": 0.01}}
    failed = {"family": "rg:gcd", "start": 0, "learned": [0.04], "times": 4, "plays": played}
    content["warm_starts"].append({**failed, "parameters": 1, "cpu_seconds": 1.0})
    page = " ".join(page_of(content).split())
    assert "`rg:gcd`: the warm start has success 0.04 on what it learned from" in page
    assert "after 2,400 demonstrations" in page


def test_a_cell_without_figures_is_empty_and_has_its_reason():
    content = made_up([0.0] * 3)
    for one in content["scripted"]:
        if (one["env"], one["agent"]) == ("rg:gcd", "oracle"):
            one["error"] = "ConfigError: no oracle"
    page = page_of(content)
    played = " | ".join(["0.25 ± 0.00 | 0.50 ± 0.00"] * 3)
    assert f"| `rg:gcd` | {played} |  |  |" in page
    assert "- oracle in `rg:gcd`: ConfigError: no oracle" in page


def test_an_environment_is_shown_as_trained_only_with_all_seeds():
    content = made_up([0.0] * 3)
    content["runs"].pop()
    assert load("figures").Figures(content).trained == []
    assert "No model has been trained." in page_of(content)
    assert "No model has been trained." in load("page").baselines_page(
        load("figures").Figures(content)
    )


def test_a_page_can_be_made_before_agents_have_played():
    page = page_of({**made_up([0.1] * 3), "scripted": []})
    assert "- oracle in `rg:gcd`: not played" in page
    assert f"| mean over environments |{'  |' * 8}\n" in page


def test_the_page_holds_the_stored_figures_of_the_suite_as_it_is():
    """``run.py baselines --report-only`` changes nothing that is committed."""
    figures = load("figures").Figures.read(ROOT / "benchmarks" / "results")
    assert figures.content["suite"]["envs"] == list(load("envs").suite().envs)
    assert figures.content["suite"]["settings"] == dict(load("envs").suite().settings)
    page, details = load("page").baselines_page(figures), load("page").details_page(figures)
    assert (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8") == page
    place = ROOT / "benchmarks" / "results" / "baselines-details.md"
    assert place.read_text(encoding="utf-8") == details
