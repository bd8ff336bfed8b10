"""Sequential comparisons whose truth is known: how early they end, and how often they are wrong.

``python plugins/gem-eval/tests/sequence_designs.py`` prints the table of docs/how-many-episodes.md.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gem_eval.anytime import log_capital
from gem_eval.paired import required_pairs
from gem_eval.until import block_size

__all__ = ["SEQUENCES", "Ends", "Sequence", "ends_of", "share_wrong"]

Values = NDArray[np.float64]
ENOUGH = math.log(2 / 0.05)


@dataclass(frozen=True)
class Sequence:
    """A comparison of two agents, task by task.

    Args:
        name: What it is.
        draw: Draws differences of a shape, of which the last axis is the order, with a mean.
        square: The mean square of the differences if their mean is 0.
        aim: The smallest difference that matters.
        binary: Whether each difference is -1, 0 or 1.
    """

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int], float], Values]
    square: float
    aim: float
    binary: bool = False

    @property
    def fixed(self) -> int:
        """The number of pairs with which ``aim`` is found with a power of 0.8."""
        deviation = math.sqrt(self.square - (0 if self.binary else self.aim**2))
        return required_pairs(self.aim, deviation, most=1.0, binary=self.binary)


def discordant(share: float, samples: int = 1) -> Callable[..., Values]:
    """Return differences of success if a share of the tasks is solved by one agent only."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], mean: float) -> Values:
        chances = [(share - mean) / 2, 1 - share, (share + mean) / 2]
        return np.asarray(rng.choice([-1.0, 0.0, 1.0], (samples, *shape), p=chances).mean(axis=0))

    return draw


def skewed(size: float, chance: float) -> Callable[..., Values]:
    """Return small differences with a rare large one, as of returns with a rare penalty."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], mean: float) -> Values:
        return np.where(rng.random(shape) < chance, -size, size * chance / (1 - chance)) + mean

    return draw


def uniform(width: float) -> Callable[..., Values]:
    """Return differences of returns of any size up to a width."""
    return lambda rng, shape, mean: rng.uniform(-width, width, shape) + mean


SEQUENCES = [
    Sequence("success, 30 % of the tasks differ", discordant(0.3), 0.3, 0.05, binary=True),
    Sequence("success, 15 % differ", discordant(0.15), 0.15, 0.05, binary=True),
    Sequence("success, 50 % differ", discordant(0.5), 0.5, 0.1, binary=True),
    Sequence("success, 30 % differ, 3 points", discordant(0.3), 0.3, 0.03, binary=True),
    Sequence("success, 40 % differ, 4 samples", discordant(0.4, 4), 0.1, 0.05),
    Sequence("return, spread over 0.6 of the range", uniform(0.6), 0.12, 0.05),
    Sequence("return, a rare penalty", skewed(0.8, 0.05), 0.8**2 * 0.05 / 0.95, 0.05),
]


@dataclass(frozen=True)
class Ends:
    """How sequences of pairs end.

    Args:
        pairs: The pairs played by each, whole blocks; infinite if it is undecided.
        better: Whether the second agent was called better, of each.
        worse: Whether it was called worse.
        equivalent: Whether both were called equivalent.
    """

    pairs: Values
    better: NDArray[np.bool_]
    worse: NDArray[np.bool_]
    equivalent: NDArray[np.bool_]


def ends_of(values: Values, aim: float) -> Ends:
    """Return how sequences end.

    Args:
        values: Differences in [-1, 1], shape (sequences, pairs).
        aim: The smallest difference that matters.
    """

    def first(mean: float, *, above: bool) -> Values:
        lost = log_capital(values, mean, above=above, aim=aim) >= ENOUGH
        return np.where(lost.any(axis=1), lost.argmax(axis=1) + 1.0, np.inf)

    better, worse = first(0.0, above=True), first(0.0, above=False)
    equivalent = np.maximum(first(-aim, above=True), first(aim, above=False))
    pairs = np.minimum(np.minimum(better, worse), equivalent)
    ended = np.isfinite(pairs)
    blocks = [0]
    while blocks[-1] < values.shape[1]:
        blocks.append(blocks[-1] + block_size(blocks[-1], 16))
    played = np.array([*blocks, np.inf])[np.searchsorted(blocks, pairs)]
    first_of = [ended & (one == pairs) for one in (better, worse, equivalent)]
    return Ends(played, first_of[0], first_of[1], first_of[2])


def share_wrong(values: Values, aim: float) -> float:
    """Return the share of the sequences in which 0, the true mean, was ever left out."""
    sides = (log_capital(values, 0.0, above=above, aim=aim) for above in (True, False))
    peaks = np.maximum(*(side.max(axis=1) for side in sides))
    return float((peaks >= ENOUGH).mean())


def main(repetitions: int) -> None:
    """Print a row of the table for each sequence."""
    print(
        "| differences | fixed | at the difference | known by 1.5 | at twice | at 0 | wrong at 0 |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for one in SEQUENCES:
        rng, shape = np.random.default_rng(0), (repetitions, 3 * one.fixed)
        draws = [one.draw(rng, shape, factor * one.aim) for factor in (1, 2, 0)]
        shares = [ends_of(values, one.aim).pairs / one.fixed for values in draws]
        at, twice, zero = (f"{np.median(share):.2f}" for share in shares)
        known = f"{(shares[0] <= 1.5).mean():.2f}"
        wrong = f"{share_wrong(draws[2], one.aim):.3f}"
        cells = [one.name, f"{one.fixed:,}", at, known, twice, zero, wrong]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
