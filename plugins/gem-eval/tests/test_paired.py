"""Tests of pairs against brute force, statsmodels and simulation."""

import itertools
import random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_eval.paired import (
    binary_difference,
    detectable_difference,
    holm,
    mcnemar_exact,
    mean_difference,
    power_of,
    required_pairs,
    sign_flip_test,
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
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=9))
def test_all_sign_flips_of_few_pairs_are_counted(gaps):
    p_value, is_exact = sign_flip_test(gaps)
    observed = abs(sum(gaps))
    sums = [
        abs(sum(sign * gap for sign, gap in zip(signs, gaps, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(gaps))
    ]
    assert is_exact
    assert p_value == pytest.approx(sum(one >= observed - 1e-12 for one in sums) / len(sums))


@pytest.mark.slow
def test_sign_flips_of_many_pairs_are_drawn_from_a_seed():
    rng = random.Random(1)
    gaps = [rng.gauss(0.3, 1) for _ in range(60)]
    first, again, other = sign_flip_test(gaps, 1), sign_flip_test(gaps, 1), sign_flip_test(gaps, 2)
    assert first == again
    assert not first[1]
    assert first[0] == pytest.approx(other[0], abs=0.02)
    assert 0 < sign_flip_test([1.0] * 60)[0] < 0.001


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["few sizes", "all different"])
def test_drawn_signs_agree_with_scipys(kind):
    from scipy import stats

    rng = np.random.default_rng(3)
    few = rng.choice([-0.5, -0.25, 0.25, 0.5, 0.75], 40)
    gaps = few if kind == "few sizes" else rng.normal(0.25, 1, 40)
    expected = stats.permutation_test(
        (gaps,), np.mean, permutation_type="samples", n_resamples=20_000, vectorized=True, rng=5
    )
    p_value, is_exact = sign_flip_test(list(gaps))
    assert not is_exact
    assert 0.01 < p_value < 0.9
    assert p_value == pytest.approx(expected.pvalue, abs=0.02)


def test_equal_agents_do_not_differ_significantly():
    assert sign_flip_test([0.0] * 50) == (1.0, True)
    assert mcnemar_exact(0, 0) == 1.0


@pytest.mark.slow
def test_the_sign_flip_test_keeps_its_level():
    rng = random.Random(2)
    found = sum(
        sign_flip_test([rng.choice([-0.5, 0.0, 0.25, -0.25, 0.5]) for _ in range(8)])[0] < 0.05
        for _ in range(300)
    )
    assert found / 300 < 0.08


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
@given(st.integers(2, 400), st.floats(0.01, 1.5), st.floats(0.1, 2))
def test_power_agrees_with_statsmodels(pairs, difference, deviation):
    from statsmodels.stats.power import TTestPower

    expected = TTestPower().power(difference / deviation, pairs, 0.05, alternative="two-sided")
    if not np.isnan(expected):
        assert power_of(pairs, difference, deviation) == pytest.approx(expected, abs=2e-3)


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


def test_the_power_is_that_of_simulated_experiments():
    rng = np.random.default_rng(0)
    gaps = rng.normal(0.4, 1, size=(4000, 40))
    t = gaps.mean(axis=1) / (gaps.std(axis=1, ddof=1) / np.sqrt(40))
    seen = float(np.mean(np.abs(t) > 2.0226909))
    assert power_of(40, 0.4, 1.0) == pytest.approx(seen, abs=0.025)


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "loss"), [(0.3, 0.1), (0.05, 0.05), (0.02, 0.0)])
def test_the_interval_of_a_binary_difference_covers_the_truth(gain, loss):
    rng = random.Random(4)
    covered = 0
    for _ in range(1500):
        gaps = rng.choices([1.0, -1.0, 0.0], [gain, loss, 1 - gain - loss], k=50)
        estimate = binary_difference(gaps)
        covered += estimate.low <= gain - loss <= estimate.high
    assert covered / 1500 > 0.93


def test_pairs_that_never_differ_still_leave_doubt():
    estimate = binary_difference([0.0] * 20)
    assert estimate.value == 0
    assert estimate.low < 0 < estimate.high
    assert standard_deviation([[0.0]] * 20, binary=True) > 0
    assert standard_deviation([[0.0]] * 20, binary=False) is None


def test_an_interval_ends_where_differences_do():
    estimate = mean_difference([[-1.0], [-0.5], [0.0], [-1.0]], most=1.0)
    assert estimate.low == -1.0
    assert -0.7 < estimate.high < 0.5


def test_the_mean_difference_has_the_paired_t_interval():
    estimate = mean_difference([[1.0], [2.0], [4.0]])
    assert estimate.value == pytest.approx(7 / 3)
    assert estimate.low == pytest.approx(
        7 / 3 - 4.302652729911275 * np.std([1, 2, 4], ddof=1) / 3**0.5
    )
