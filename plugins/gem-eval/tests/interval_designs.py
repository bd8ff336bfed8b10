"""Evaluations whose truth is known: how often intervals cover it, and how often tests are wrong.

``python plugins/gem-eval/tests/interval_designs.py`` prints the table of docs/evaluation.md.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gem_eval.paired import binary_difference, mean_difference
from gem_eval.statistics import Estimate, average, mean_estimate, pass_at, proportion_estimate

__all__ = ["DESIGNS", "Design", "Seen", "repeat"]

Rng = random.Random
Play = Callable[[Rng, float], float]
"""Return the outcome of an episode of a task."""


@dataclass(frozen=True)
class Design:
    """An evaluation of an agent, and a comparison with one that is neither better nor worse.

    Args:
        name: What it is.
        tasks: Number of tasks, of each environment.
        draw: Draws a task: a number from which ``play`` makes outcomes.
        play: Plays an episode of a task.
        truth: The mean over all tasks that could be drawn.
        samples: Number of episodes of each task.
        rows: Number of rows of the dataset, drawn anew for each evaluation; tasks beyond repeat
            them. None if there are at least as many rows as tasks.
        ends: Smallest and largest possible outcome; None if they are unknown.
        other: Plays an episode of the other agent; None for that of the first.
        environments: Number of environments, whose means are averaged.
        k: Estimate pass@k; 0 for the mean.
        reason: Why the coverage is not between 0.935 and 0.965; empty if it is.
    """

    name: str
    tasks: int
    draw: Callable[[Rng], float]
    play: Play
    truth: float
    samples: int = 1
    rows: int | None = None
    ends: tuple[float, float] | None = (0.0, 1.0)
    other: Play | None = None
    environments: int = 1
    k: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Seen:
    """What many evaluations have shown.

    Args:
        coverage: Share of the intervals that cover the truth; intervals that are unknown claim
            nothing and count among them.
        wrong: Share of the comparisons in which the agents differ significantly.
        outside: Number of intervals that leave the range.
        contradictions: Number of comparisons whose interval and p-value disagree.
        width: Mean width of the intervals.
    """

    coverage: float
    wrong: float
    outside: int
    contradictions: int
    width: float


def repeat(design: Design, repetitions: int) -> Seen:
    """Return what many evaluations of a design show.

    Args:
        design: The design.
        repetitions: Number of evaluations, and of comparisons.
    """
    rng = Rng(design.name)
    covered = wrong = outside = contradictions = 0
    width = 0.0
    low, high = design.ends or (float("-inf"), float("inf"))
    for _ in range(repetitions):
        envs = [list(_played(design, rng)) for _ in range(design.environments)]
        one = _estimate(design, [[ours for ours, _ in env] for env in envs])
        if one.low is None or one.high is None:
            covered += 1
        else:
            covered += one.low - 1e-9 <= design.truth <= one.high + 1e-9
            outside += one.low < low or one.high > high
            width += (one.high - one.low) / repetitions
        difference, p_value = _difference(design, [pair for env in envs for pair in env])
        wrong += p_value < 0.05
        if difference.low is not None and difference.high is not None:
            contradictions += (difference.low <= 0 <= difference.high) != (p_value >= 0.05)
            outside += max(-difference.low, difference.high) > high - low + 1e-9
    return Seen(covered / repetitions, wrong / repetitions, outside, contradictions, width)


def _played(design: Design, rng: Rng) -> Iterator[tuple[list[float], list[float]]]:
    """Yield the outcomes of both agents on each row."""
    rows = min(design.rows or design.tasks, design.tasks)
    for row in range(rows):
        task = design.draw(rng)
        episodes = design.samples * len(range(row, design.tasks, rows))
        yield (
            [design.play(rng, task) for _ in range(episodes)],
            [(design.other or design.play)(rng, task) for _ in range(episodes)],
        )


def _estimate(design: Design, envs: Sequence[Sequence[list[float]]]) -> Estimate:
    if design.k:
        (clusters,) = envs
        chances = [[pass_at(len(own), int(sum(own)), design.k)] for own in clusters]
        return proportion_estimate(chances, trials=sum(map(len, clusters)))
    each = [mean_estimate(clusters, 0.95, design.ends) for clusters in envs]
    return average(each) if len(each) > 1 else each[0]


def _difference(
    design: Design, pairs: Sequence[tuple[list[float], list[float]]]
) -> tuple[Estimate, float]:
    gaps = [round(sum(two) / len(two) - sum(one) / len(one), 12) for one, two in pairs]
    if all(value in (0, 1) for pair in pairs for own in pair for value in own) and all(
        gap in (-1, 0, 1) for gap in gaps
    ):
        return binary_difference(gaps)
    most = None if design.ends is None else design.ends[1] - design.ends[0]
    return mean_difference([[gap] for gap in gaps], 0.95, most)


def coin(rng: Rng, chance: float) -> float:
    """Return 1 with a chance, else 0."""
    return float(rng.random() < chance)


def rare(often: float, seldom: float, chance: float, rng: Rng, _: float = 0.0) -> float:
    """Return one of two values, the second with a chance."""
    return seldom if rng.random() < chance else often


def credit(rng: Rng, chance: float) -> float:
    """Return ten rewards of 0.1 or 0."""
    return sum(0.1 for _ in range(10) if rng.random() < chance)


def near(spread: float, rng: Rng, task: float) -> float:
    """Return the value of a task, with some noise."""
    return task + rng.uniform(-spread, spread)


def same(_: Rng, task: float) -> float:
    """Return the value of a task."""
    return task


def constant(value: float) -> Callable[[Rng], float]:
    """Return a draw of tasks that are all alike."""
    return lambda _: value


def beta(a: float, b: float) -> Callable[[Rng], float]:
    """Return a draw of tasks of different chances."""
    return lambda rng: rng.betavariate(a, b)


DISCRETE = "few outcomes are possible, so the coverage jumps with the rate"
FEW = "few tasks (in each environment), for which quantiles of t are large"
UNSEEN = "the interval allows for outcomes at the end of the range that no task has shown"

DESIGNS = [
    Design("success, 30 tasks of 30 rows", 30, beta(0.5, 0.5), coin, 0.5, rows=30),
    Design("success, 50 tasks of many rows", 50, beta(0.4, 1.6), coin, 0.2),
    Design("success, 40 tasks of 16 rows", 40, beta(0.5, 0.5), coin, 0.5, rows=16),
    Design("success rate 0.02, 100 tasks", 100, constant(0.02), coin, 0.02),
    Design("success rate 0.97, 30 tasks", 30, constant(0.97), coin, 0.97),
    Design("success, 25 tasks, 4 samples", 25, beta(0.4, 1.6), coin, 0.2, samples=4),
    Design("success, 12 tasks, 8 samples", 12, beta(0.5, 0.5), coin, 0.5, samples=8, reason=FEW),
    Design("success, 20 tasks alike, 2 samples", 20, constant(0.5), coin, 0.5, samples=2),
    Design("pass@2, 40 tasks, 4 samples", 40, beta(1, 1), coin, 2 / 3, samples=4, k=2),
    Design(
        "return 0.99, -1 in 2 %, 20 tasks",
        20,
        constant(0),
        partial(rare, 0.99, -1, 0.02),
        0.9502,
        ends=(-1, 1),
        reason=UNSEEN,
    ),
    Design(
        "return 0.99, -1 in 2 %, 100 tasks",
        100,
        constant(0),
        partial(rare, 0.99, -1, 0.02),
        0.9502,
        ends=(-1, 1),
        reason=UNSEEN,
    ),
    Design(
        "return 0.99, -1 in 20 %, 50 tasks",
        50,
        constant(0),
        partial(rare, 0.99, -1, 0.2),
        0.592,
        ends=(-1, 1),
        reason=DISCRETE,
    ),
    Design("return always 1, 20 tasks", 20, constant(1), same, 1.0, ends=(-0.1, 1), reason=UNSEEN),
    Design(
        "return 0.8 +- 0.02, 20 tasks", 20, constant(0.8), partial(near, 0.02), 0.8, reason=UNSEEN
    ),
    Design(
        "skewed return, 60 tasks",
        60,
        beta(0.3, 1.2),
        same,
        0.2,
        other=lambda rng, _: rng.betavariate(0.3, 1.2),
    ),
    Design("partial credit, 30 tasks", 30, beta(1, 1), credit, 0.5),
    Design("partial credit, 25 tasks, 4 samples", 25, beta(1, 2), credit, 1 / 3, samples=4),
    Design("partial credit, 60 tasks of 25 rows", 60, beta(1, 2), credit, 1 / 3, rows=25),
    Design(
        "return of unknown range, 30 tasks",
        30,
        lambda rng: rng.gauss(3, 2),
        partial(near, 1),
        3.0,
        ends=None,
    ),
    Design(
        "skewed differences, 80 tasks",
        80,
        constant(0.4),
        same,
        0.4,
        other=partial(rare, 0.45, 0.0, 1 / 9),
        reason=UNSEEN,
    ),
    Design(
        "partial credit, 40 environments of 8 tasks",
        8,
        beta(1, 2),
        credit,
        1 / 3,
        environments=40,
        reason=FEW,
    ),
    Design("success, 2 environments of 25 tasks", 25, beta(0.4, 1.6), coin, 0.2, environments=2),
]


def main(repetitions: int = 2000, first: int = 0, last: int | None = None) -> None:
    """Print the table, or the rows of some of the designs."""
    print("| evaluation | coverage | mean width | wrong at 0.05 | why not 0.95 |")
    print("|---|---|---|---|---|")
    for design in DESIGNS[first:last]:
        seen = repeat(design, repetitions)
        figures = f"{seen.coverage:.3f} | {seen.width:.3g} | {seen.wrong:.3f}"
        print(f"| {design.name} | {figures} | {design.reason} |", flush=True)
        if seen.outside or seen.contradictions:
            print(design.name, seen, file=sys.stderr)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
