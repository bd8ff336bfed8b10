"""How often the published intervals cover the truth, and how often equal agents seem to differ.

Each trial draws a dataset from a population of questions, in which every agent has the same chance
to answer a question. The episodes are on the rows that a run plays. The truth is the mean over the
population, not over the dataset.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pytest
from selection import some, thorough

from gem_core.seeding import child_seed
from gem_eval.compare import Candidate, Options, compare
from gem_eval.episodes import EpisodeRecord, tasks_of
from gem_eval.metrics import Figures, figures_of
from gem_rollout import Trajectory, Turn
from gem_rollout.records.runs import Run
from gem_tasks import Grade, RowOptions, TaskEnv

POPULATIONS: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "of all kinds": (lambda rng: rng.betavariate(0.5, 0.5), 0.5),
    "hard": (lambda rng: rng.betavariate(0.4, 1.6), 0.2),
}
"""How the chance of success of a question is drawn, and its mean."""


pytestmark = pytest.mark.slow


class Chances(TaskEnv):
    """Asks questions that are answered correctly by chance."""

    def __init__(self, **rows: Unpack[RowOptions]) -> None:
        super().__init__(columns={"question": str, "chance": float}, **rows)

    def question(self, row: dict[str, Any]) -> str:
        return row["question"]

    def grade(self, action: str) -> Grade:
        correct = float(action) < self.row["chance"]
        return Grade(float(correct), correct)

    def solution(self) -> str:
        return "0"


def dataset(rng: random.Random, kind: str, rows: int, *, repeated: bool) -> list[dict[str, Any]]:
    """Return rows; with ``repeated``, some of them twice or more."""
    draw, _ = POPULATIONS[kind]
    drawn = [{"question": f"{n} {rng.random()}", "chance": draw(rng)} for n in range(rows)]
    return drawn + (rng.choices(drawn, k=rows // 2) if repeated else [])


def played(data: Any, seed: int, groups: int, samples: int, name: str = "") -> list[EpisodeRecord]:
    """Return the episodes of a run, whose rows the environment chooses as in a rollout."""
    env, rng, episodes = Chances(data=data), random.Random(f"{name} {seed}"), []
    for group in range(groups):
        options = env.reset_options(group, seed)
        _, info = env.reset(seed=child_seed(seed, group), **options)
        for sample in range(samples):
            success = rng.random() < env.row["chance"]
            turn = Turn("a", "", "", float(success), True, False, {})
            one = Trajectory("x", "a", group * samples + sample, child_seed(seed, group), [turn])
            one.success, one.reset_info = success, info
            episodes.append(EpisodeRecord.of(one))
    return episodes


def trials(kind: str, rows: int, count: int, *, repeated: bool) -> Iterator[tuple[int, Any]]:
    rng = random.Random(f"{kind} {rows} {repeated}")
    for seed in range(count):
        yield seed, dataset(rng, kind, rows, repeated=repeated)


def figures(
    kind: str, rows: int, groups: int, samples: int, count: int, *, repeated: bool = False
) -> list[Figures]:
    """Return the figures of many evaluations."""
    return [
        figures_of(played(data, seed, groups, samples))
        for seed, data in trials(kind, rows, count, repeated=repeated)
    ]


def coverage(found: list[Figures], truth: float, measure: str) -> float:
    estimates = [getattr(one, measure) for one in found]
    return sum(one.low <= truth <= one.high for one in estimates) / len(found)


def error_rate(
    kind: str, rows: int, groups: int, samples: int, count: int, *, repeated: bool = False
) -> float:
    """Return how often two equal agents differ significantly, at the level 0.05."""
    wrong = 0
    for seed, data in trials(kind, rows, count, repeated=repeated):
        sides = [
            Candidate(name, Run(Path()), name, tasks_of(played(data, seed, groups, samples, name)))
            for name in ("a", "b")
        ]
        _, (one, *_) = compare(sides, Options(("success",)))
        wrong += one.p_value < 0.05
    return wrong / count


CASES = {
    "some rows of many": {"rows": 120, "groups": 20, "samples": 1},
    "every row": {"rows": 30, "groups": 30, "samples": 1},
    "samples": {"rows": 60, "groups": 15, "samples": 4},
    "rows a second time": {"rows": 20, "groups": 30, "samples": 2},
    "repeated questions": {"rows": 24, "groups": 36, "samples": 1, "repeated": True},
}

TRIALS = 200 if thorough() else 80
KINDS = [*((case, "of all kinds") for case in CASES), ("every row", "hard"), ("samples", "hard")]


@pytest.mark.parametrize(("case", "kind"), some(KINDS))
def test_the_intervals_cover_the_population_about_as_often_as_they_say(case, kind):
    """0.95, up to chance: the standard deviation of 200 trials is 0.015."""
    found = figures(kind, **CASES[case], count=TRIALS)
    truth = POPULATIONS[kind][1]
    assert coverage(found, truth, "success") > 0.9
    assert coverage(found, truth, "mean_return") > 0.9


@pytest.mark.parametrize(("case", "kind"), some(KINDS))
def test_equal_agents_seldom_differ_significantly(case, kind):
    """At most 0.05, up to chance: the standard deviation of 100 trials is 0.022."""
    assert error_rate(kind, **CASES[case], count=TRIALS // 2) <= 0.11


def test_the_interval_of_pass_at_k_covers_the_population():
    """With the chance p uniform in [0, 1], pass@2 is the mean of 1 - (1 - p)^2: 2/3."""
    rng, covered = random.Random(4), 0
    for seed in range(TRIALS):
        data = [{"question": f"{seed} {n}", "chance": rng.random()} for n in range(40)]
        estimate = figures_of(played(data, seed, 25, 4)).pass_at[2]
        covered += estimate.low <= 2 / 3 <= estimate.high
    assert covered / TRIALS > 0.9


def test_questions_counted_twice_would_make_the_intervals_too_short():
    """What the ids of tasks are for: without them, repeated rows seem to be more evidence."""
    covered = {"with ids": 0, "without": 0}
    for seed, data in trials("of all kinds", 20, TRIALS, repeated=False):
        known = played(data * 3, seed, 60, 1)
        assert figures_of(known).tasks == 20
        for name, own in (
            ("with ids", known),
            ("without", [replace(one, task_id=None) for one in known]),
        ):
            estimate = figures_of(own).success
            covered[name] += estimate.low <= 0.5 <= estimate.high
    assert covered["with ids"] / TRIALS > 0.9
    assert covered["without"] / TRIALS < 0.88
