"""Tests of pairs against statsmodels and simulation."""

import random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough

from gem_core.errors import ConfigError
from gem_eval.paired import (
    binary_difference,
    detectable_difference,
    holm,
    mcnemar_exact,
    mean_difference,
    power_of,
    required_pairs,
    standard_deviation,
)

SHORT = settings(max_examples=40 if thorough() else 15)


@pytest.mark.slow
@SHORT
@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_agrees_with_statsmodels(better, worse):
    from statsmodels.stats.contingency_tables import mcnemar

    expected = mcnemar([[5, worse], [better, 5]], exact=True).pvalue
    assert mcnemar_exact(better, worse) == pytest.approx(expected)


@SHORT
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60))
def test_an_interval_of_binary_pairs_excludes_0_if_and_only_if_mcnemar_rejects(better, worse, same):
    gaps = [1.0] * better + [-1.0] * worse + [0.0] * (same + 1)
    estimate, p_value = binary_difference(gaps)
    assert p_value == mcnemar_exact(better, worse)
    assert (estimate.low <= 0 <= estimate.high) == (p_value >= 0.05)
    assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1


@pytest.mark.slow
@SHORT
@given(st.integers(0, 30), st.integers(1, 30))
def test_without_losses_the_interval_is_clopper_and_pearsons(better, same):
    from scipy.stats import binomtest

    exact = binomtest(better, better + same).proportion_ci(0.95, "exact")
    estimate, _ = binary_difference([1.0] * better + [0.0] * same)
    assert estimate.high == pytest.approx(exact.high)


@pytest.mark.slow
@SHORT
@given(
    st.lists(st.lists(st.floats(-1, 1), min_size=1, max_size=3), min_size=2, max_size=30),
    st.sampled_from([1.0, 2.5, None]),
)
def test_an_interval_of_differences_excludes_0_if_and_only_if_its_test_rejects(clusters, most):
    estimate, p_value = mean_difference(clusters, most=most)
    if estimate.low is None:
        assert p_value == 1
        return
    if abs(p_value - 0.05) > 1e-6:
        assert (estimate.low <= 0 <= estimate.high) == (p_value > 0.05)
    assert estimate.low <= estimate.value <= estimate.high
    if most is not None:
        assert -most <= estimate.low
        assert estimate.high <= most


def test_equal_agents_do_not_differ_significantly():
    assert mean_difference([[0.0]] * 50)[1] == 1.0
    assert mean_difference([[0.0]] * 50, most=1.0)[0].high > 0.05
    assert mcnemar_exact(0, 0) == 1.0


def test_what_no_pair_shows_may_outweigh_a_small_difference():
    """In 20 pairs an outcome in 14 % of them stays unseen with a chance of 5 %."""
    estimate, p_value = mean_difference([[0.1]] * 20, most=1.0)
    assert estimate.low == pytest.approx(0.1 - 1.1 * (1 - 0.05 ** (1 / 20)), abs=1e-6)
    assert p_value > 0.05
    assert mean_difference([[0.1]] * 50, most=1.0)[1] < 0.05


@pytest.mark.slow
@SHORT
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(p_values):
    from statsmodels.stats.multitest import multipletests

    with mock.patch("gc.collect"):  # which it calls every time
        expected = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(expected))


def test_holm_of_no_p_values_has_none():
    assert holm([]) == []


@pytest.mark.slow
@SHORT
@given(st.floats(0.02, 0.5), st.floats(0.2, 1), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_required_number_of_pairs_is_the_smallest_with_that_power(difference, deviation, power):
    pairs = required_pairs(difference, deviation, power)
    assert power_of(pairs, difference, deviation) >= power
    assert pairs == 2 or power_of(pairs - 1, difference, deviation) < power


@pytest.mark.slow
@SHORT
@given(st.integers(3, 2000), st.floats(0.1, 1))
def test_detectable_difference_and_required_pairs_agree(pairs, deviation):
    seen = detectable_difference(pairs, deviation)
    assert power_of(pairs, seen, deviation) == pytest.approx(0.8, abs=1e-6)
    assert required_pairs(seen * 1.0001, deviation) <= pairs + 1


def test_power_refuses_arguments_out_of_range():
    with pytest.raises(ConfigError, match="Power needs"):
        required_pairs(0, 1)
    with pytest.raises(ConfigError, match="More than"):
        required_pairs(1e-12, 1)
    assert detectable_difference(1, 1) is None


@pytest.mark.parametrize("pairs", [20, 50, 200])
def test_the_power_of_mcnemars_test_is_that_of_simulated_experiments(pairs):
    rng = np.random.default_rng(0)
    gains, losses, _ = rng.multinomial(pairs, [0.25, 0.1, 0.65], size=20_000).T
    seen = np.mean(
        [mcnemar_exact(int(b), int(w)) < 0.05 for b, w in zip(gains, losses, strict=True)]
    )
    assert power_of(pairs, 0.15, 0.35**0.5, binary=True) == pytest.approx(seen, abs=0.015)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "deviation"), some([(20, 0.35), (50, 0.3), (50, 0.1), (200, 0.1)])
)
def test_the_power_is_that_of_simulated_experiments(pairs, deviation):
    rng = np.random.default_rng(0)
    difference = 2.8 * deviation / pairs**0.5
    gaps = np.clip(rng.normal(difference, deviation, size=(400, pairs)), -1, 1)
    seen = np.mean([mean_difference([[one] for one in row], most=1.0)[1] < 0.05 for row in gaps])
    assert power_of(pairs, difference, deviation, most=1.0) == pytest.approx(seen, abs=0.08)


def test_the_power_for_many_pairs_continues_that_for_fewer():
    for options in ({}, {"most": 1.0}, {"binary": True}):
        below, above = (power_of(pairs, 0.004, 0.5, **options) for pairs in (100_000, 100_001))
        assert below == pytest.approx(above, abs=2e-4)
        assert 0.5 < below < 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "loss"), [(0.3, 0.1), (0.05, 0.05), (0.02, 0.0)])
def test_the_interval_of_a_binary_difference_covers_the_truth(gain, loss):
    rng = random.Random(4)
    covered = 0
    for _ in range(1500):
        gaps = rng.choices([1.0, -1.0, 0.0], [gain, loss, 1 - gain - loss], k=50)
        estimate, _ = binary_difference(gaps)
        covered += estimate.low <= gain - loss <= estimate.high
    assert covered / 1500 > 0.93


def test_pairs_that_never_differ_still_leave_doubt():
    estimate, _ = binary_difference([0.0] * 20)
    assert estimate.value == 0
    assert estimate.low < 0 < estimate.high
    assert standard_deviation([[0.0]] * 20, binary=True) > 0
    assert standard_deviation([[0.0]] * 20, binary=False) is None


def test_an_interval_ends_where_differences_do():
    estimate, _ = mean_difference([[-1.0], [-0.5], [0.0], [-1.0]], most=1.0)
    assert -1 <= estimate.low < -0.95
    assert -0.6 < estimate.high < 0.7


def test_of_many_spread_differences_the_interval_is_students():
    rng = np.random.default_rng(1)
    gaps = rng.uniform(-0.8, 0.9, size=400)
    estimate, _ = mean_difference([[one] for one in gaps], most=1.0)
    half = 1.966 * gaps.std(ddof=1) / 20
    assert estimate.value == pytest.approx(gaps.mean())
    assert estimate.low == pytest.approx(gaps.mean() - half, abs=0.002)
    assert estimate.high == pytest.approx(gaps.mean() + half, abs=0.002)
