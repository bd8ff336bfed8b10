"""A sequential comparison: which tasks to play next, and what the pairs so far say.

A pair is a task that both agents play. What is estimated is the mean over the environments, with
equal weights, of the mean difference over the tasks of each.

With several environments, pair ``t`` belongs to one that is drawn at random: environment ``e`` with
probability ``q_e``, which grows with the root mean square of the differences seen in it, so that
pairs are played where agents differ. The difference is then weighted by ``1 / (E q_e)``, which
leaves its mean as it was (W. G. Cochran (1977), "Sampling Techniques", sec. 5.5; J. Neyman, 1934).
Half of ``q_e`` does not depend on results, which bounds the weights.

``q_e`` is computed from pairs before ``t / 2`` only, so that the tasks of a run follow from its
seed and its results: they do not depend on how many episodes run at the same time.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_eval.anytime import Decision, decide

__all__ = ["Draw", "PairedSequence"]

_EVEN = 64
"""Pairs that are drawn before any result counts."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A task that was drawn.

    Args:
        env_id: Its environment.
        number: How many tasks of this environment were drawn before.
        weight: What its difference is multiplied by.
    """

    env_id: str
    number: int
    weight: float


class PairedSequence:
    """Draws the tasks of a sequential comparison, and decides from their differences.

    Args:
        widths: For each environment, the largest difference that is possible: 1 for success, the
            width of the range for returns.
        seed: Seed of the draws.
        difference: The smallest difference that matters, as a share of the mean width.
        confidence: In (0, 1).

    Raises:
        ConfigError: There is no environment, or a width or the difference is out of its range.
    """

    def __init__(
        self, widths: Mapping[str, float], *, seed: int, difference: float, confidence: float
    ) -> None:
        if not widths or not all(width > 0 for width in widths.values()):
            raise ConfigError(f"A comparison needs widths above 0; got {dict(widths)}.")
        self._widths = dict(widths)
        self._seed = seed
        self._confidence = confidence
        self._total = sum(widths.values())
        mean = self._total / len(widths)
        self.difference = difference * mean
        """The smallest difference that matters, in the unit of the differences."""
        self._bound = mean if len(widths) == 1 else 2 * mean
        self._draws: list[Draw] = []
        self._counts: Counter[str] = Counter()
        self._differences: list[float] = []
        self._shares: dict[int, dict[str, float]] = {}

    @property
    def pairs(self) -> int:
        """The number of pairs that were played."""
        return len(self._differences)

    def draw(self, index: int) -> Draw:
        """Return pair ``index``, from 0; it must be below twice the number of pairs, or below 64.

        Raises:
            ConfigError: Too few of the pairs before it were played.
        """
        while len(self._draws) <= index:
            self._draws.append(self._next(len(self._draws)))
        return self._draws[index]

    def _next(self, index: int) -> Draw:
        shares = self._shares_at(index)
        rng = Random(child_seed(self._seed, "pair", index))
        (env_id,) = rng.choices(list(shares), list(shares.values()))
        number = self._counts[env_id]
        self._counts[env_id] += 1
        return Draw(env_id, number, 1 / (len(shares) * shares[env_id]))

    def _shares_at(self, index: int) -> dict[str, float]:
        """Return the probability of each environment for a pair."""
        even = {env_id: width / self._total for env_id, width in self._widths.items()}
        if index < _EVEN or len(even) == 1:
            return even
        known = 1 << (index.bit_length() - 2)  # a power of 2, above index / 4 and up to index / 2
        if known > self.pairs:
            raise ConfigError(f"Pair {index} depends on {known} pairs; {self.pairs} were played.")
        if known not in self._shares:
            squares, counts = Counter[str](), Counter[str]()
            for one, gap in zip(self._draws[:known], self._differences, strict=False):
                squares[one.env_id] += gap**2  # type: ignore[assignment]
                counts[one.env_id] += 1
            # As if each environment had four more pairs, with a quarter of the largest square.
            sizes = {
                env_id: ((squares[env_id] + width**2) / (counts[env_id] + 4)) ** 0.5
                for env_id, width in self._widths.items()
            }
            total = sum(sizes.values())
            self._shares[known] = {
                env_id: (even[env_id] + size / total) / 2 for env_id, size in sizes.items()
            }
        return self._shares[known]

    def block(self, most: int) -> Iterator[Draw]:
        """Yield the next pairs to be played, at most ``most``."""
        first = self.pairs
        for index in range(first, min(first + most, max(_EVEN, 2 * first))):
            yield self.draw(index)

    def add(self, difference: float) -> None:
        """Take the next pair's difference, in the order of the draws: second agent minus first."""
        self._differences.append(difference)

    def decision(self) -> Decision:
        """Return what the pairs say.

        Raises:
            ConfigError: A difference is larger than it can be.
        """
        pairs = zip(self._draws, self._differences, strict=False)
        return decide(
            [one.weight * difference for one, difference in pairs],
            difference=self.difference,
            bound=self._bound,
            most=self._total / len(self._widths),
            confidence=self._confidence,
        )
