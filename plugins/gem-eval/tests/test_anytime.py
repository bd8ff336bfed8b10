"""Verdicts on paired differences hold whenever one stops, and come with few pairs."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import thorough
from sequence_designs import (
    SEQUENCES,
    Sequence,
    discordant,
    ends_of,
    share_wrong,
    skewed,
    uniform,
)

from gem_core.errors import ConfigError
from gem_eval.anytime import decide
from gem_eval.sequence import PairedSequence

RUNS = 2000 if thorough() else 200

HARD = {
    "one task in fifty differs": discordant(0.02),
    "a rare loss": skewed(1.0, 0.02),
    "small returns": uniform(0.05),
    "a difference now and then": lambda rng, shape, mean: (
        discordant(0.3)(rng, shape, mean) * (np.arange(shape[1]) % 50 < 10)
    ),
}
"""Further differences with mean 0."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HARD, *(one.name for one in SEQUENCES)])
def test_a_wrong_verdict_is_rare_at_any_time(name: str) -> None:
    draws = {one.name: one.draw for one in SEQUENCES} | HARD
    values = draws[name](np.random.default_rng(0), (RUNS, 2000), 0.0)
    # Three standard errors of a share of .05.
    assert share_wrong(values, 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("one", SEQUENCES[:6], ids=lambda one: one.name)
def test_a_verdict_takes_fewer_pairs_than_a_fixed_design(one: Sequence) -> None:
    rng = np.random.default_rng(1)
    for factor, most in ((1, 0.95), (2, 0.5)):
        ends = ends_of(one.draw(rng, (RUNS, 2 * one.fixed), factor * one.aim), one.aim)
        assert np.median(ends.pairs) <= most * one.fixed
        assert ends.worse.mean() <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / RUNS)


differences = st.lists(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1)), max_size=60)


@given(differences, st.floats(0.01, 0.9), st.floats(0.5, 0.99), st.sampled_from([0.1, 1.0, 7.0]))
def test_verdict_interval_and_p_value_agree(
    values: list[float], difference: float, confidence: float, bound: float
) -> None:
    found = decide(
        [value * bound for value in values],
        difference=difference * bound,
        bound=bound,
        confidence=confidence,
    )
    one = found.estimate
    assert one.low is not None
    assert one.high is not None
    assert -bound <= one.low <= one.value <= one.high <= bound
    assert found.pairs <= len(values)
    close = 1e-6 * bound
    assert (found.verdict == "better") <= (one.low >= -close)
    assert (found.verdict == "worse") <= (one.high <= close)
    if found.verdict == "equivalent":
        edge = difference * bound + close
        assert -edge <= one.low
        assert one.high <= edge
    if found.verdict in {"better", "worse"}:
        assert found.p_value <= 1 - confidence + 1e-9


@given(differences, st.floats(0.01, 0.9))
def test_the_agents_exchanged_give_the_opposite(values: list[float], difference: float) -> None:
    one = decide(values, difference=difference)
    other = decide([-value for value in values], difference=difference)
    opposite = {"better": "worse", "worse": "better"}
    assert other.verdict == opposite.get(one.verdict, one.verdict)
    assert other.pairs == one.pairs
    assert other.estimate.value == pytest.approx(-one.estimate.value)
    assert other.estimate.low == pytest.approx(-(one.estimate.high or 0))


@given(differences, st.lists(st.floats(-1, 1), max_size=20))
def test_pairs_after_a_verdict_do_not_change_it(values: list[float], more: list[float]) -> None:
    found = decide(values, difference=0.2)
    if found.verdict != "undecided":
        assert decide([*values, *more], difference=0.2) == found


def test_few_pairs_suffice_where_one_agent_always_wins() -> None:
    assert decide([1.0] * 40, difference=0.05).pairs < 20
    assert decide([-1.0] * 40, difference=0.05).verdict == "worse"


def test_agents_that_never_differ_are_equivalent() -> None:
    found = decide([0.0] * 200, difference=0.05)
    assert found.verdict == "equivalent"
    assert found.pairs < 100
    assert found.p_value == 1.0


def test_no_pairs_say_nothing() -> None:
    found = decide([], difference=0.05, bound=3.0)
    assert (found.verdict, found.estimate.low, found.estimate.high) == ("undecided", -3.0, 3.0)


@pytest.mark.parametrize(
    ("values", "difference", "bound"), [([2.0], 0.1, 1.0), ([0.0], 0.0, 1.0), ([0.0], 1.0, 1.0)]
)
def test_values_out_of_range_are_refused(
    values: list[float], difference: float, bound: float
) -> None:
    with pytest.raises(ConfigError, match="above"):
        decide(values, difference=difference, bound=bound)


def play(
    sequence: PairedSequence, gap: Callable[[str], float], pairs: int, block: int
) -> list[str]:
    """Play pairs in blocks, and return the environments in their order."""
    order: list[str] = []
    while sequence.pairs < pairs:
        for draw in list(sequence.block(min(block, pairs - sequence.pairs))):
            order.append(draw.env_id)
            sequence.add(gap(draw.env_id))
    return order


def sequence(*names: str, seed: int = 0) -> PairedSequence:
    return PairedSequence(dict.fromkeys(names, 1.0), seed=seed, difference=0.05, confidence=0.95)


def test_tasks_do_not_depend_on_how_many_are_played_at_the_same_time() -> None:
    def order(block: int) -> list[str]:
        rng = random.Random(1)
        results = {name: [rng.choice([-1.0, 0.0, 1.0]) for _ in range(500)] for name in "ab"}
        results["a"] = [0.0] * 500
        return play(sequence("a", "b"), lambda name: results[name].pop(), 500, block)

    assert order(1) == order(7) == order(64) == order(500)


def test_pairs_are_played_where_agents_differ() -> None:
    rng = random.Random(0)
    order = play(
        sequence("same", "different"),
        lambda name: 0.0 if name == "same" else rng.choice([-1.0, 1.0]),
        1000,
        50,
    )
    assert 0.6 < order[500:].count("different") / 500 < 0.9  # half of the chance is even


@pytest.mark.slow
def test_the_mean_over_environments_is_covered_however_pairs_are_allocated() -> None:
    runs, missed, values = 200 if thorough() else 20, 0, []
    chances = {"a": (0.5, 0.2), "b": (0.05, 0.0), "c": (0.3, -0.1)}
    truth = sum(gain for _, gain in chances.values()) / 3
    for seed in range(runs):
        rng = random.Random(seed)

        def gap(name: str, rng: random.Random = rng) -> float:
            share, gain = chances[name]
            weights = [(share - gain) / 2, 1 - share, (share + gain) / 2]
            return rng.choices([-1.0, 0.0, 1.0], weights)[0]

        one = sequence(*chances, seed=seed)
        play(one, gap, 600, 30)
        estimate = one.decision().estimate
        missed += not (estimate.low or 0.0) <= truth <= (estimate.high or 0.0)
        values.append(sum(one.draw(i).weight for i in range(600)) / 600)
    assert missed / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert np.mean(values) == pytest.approx(1.0, abs=0.02)  # weights have mean 1
