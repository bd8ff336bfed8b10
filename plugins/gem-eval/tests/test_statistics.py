"""Estimates against brute force, against statsmodels, and against the truth by simulation."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_eval.statistics import (
    average,
    cluster_mean,
    mean_estimate,
    pass_all,
    pass_at,
    proportion_estimate,
    wilson,
)

SHORT = settings(max_examples=60 if thorough() else 20)
clustered = st.lists(
    st.lists(st.floats(-10, 10, allow_nan=False), min_size=1, max_size=5), min_size=2, max_size=12
)


@pytest.mark.slow
@SHORT
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_wilson_agrees_with_statsmodels(counts):
    from statsmodels.stats.proportion import proportion_confint

    n, successes = counts
    low, high = wilson(successes / n, n)
    expected = proportion_confint(successes, n, method="wilson")
    assert (low, high) == pytest.approx(expected, abs=1e-9)


def test_wilson_refuses_arguments_out_of_range():
    for arguments in ((1.2, 10), (0.5, 0), (0.5, 10, 1.0)):
        with pytest.raises(ConfigError, match="wilson needs"):
            wilson(*arguments)


@pytest.mark.slow
@SHORT
@given(clustered)
def test_the_clustered_standard_error_agrees_with_statsmodels(clusters):
    from statsmodels.regression.linear_model import OLS

    values = np.array([value for cluster in clusters for value in cluster])
    groups = np.array([i for i, cluster in enumerate(clusters) for _ in cluster])
    model = OLS(values, np.ones(len(values)))
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}) if len(values) > 1 else None
    mean, se = cluster_mean(clusters)
    assert mean == pytest.approx(values.mean(), abs=1e-9)
    assert se == pytest.approx(fit.bse[0], rel=1e-6, abs=1e-7)


@pytest.mark.slow
@SHORT
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30))
def test_with_one_episode_a_task_the_standard_error_is_the_textbooks(values):
    _, se = cluster_mean([[value] for value in values])
    assert se == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9)


def test_episodes_that_repeat_their_task_tell_nothing_new():
    tasks = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    once, often = cluster_mean([[t] for t in tasks]), cluster_mean([[t] * 10 for t in tasks])
    assert often == pytest.approx(once)


def test_a_single_task_has_no_interval():
    estimate = mean_estimate([[1.0, 0.0, 1.0]])
    assert (estimate.low, estimate.high, estimate.se) == (None, None, None)
    assert proportion_estimate([[1.0, 0.0]]).low is None
    assert proportion_estimate([[1.0]]).high == 1.0  # one trial, for which Wilson holds


def test_an_interval_of_returns_stays_in_their_range():
    tenths = sum([0.1] * 10)  # 0.9999999999999999
    for returns, ends in (([tenths] * 2, (-0.1, 1)), ([0.2, 0.9, 1.0], (0, 1)), ([3.0, 5.0], None)):
        estimate = mean_estimate([[one] for one in returns], 0.95, ends)
        assert estimate.low < min(returns)
        assert estimate.low <= estimate.value <= estimate.high
        if ends is not None:
            assert ends[0] <= estimate.low
            assert estimate.high <= ends[1]


ranges = st.sampled_from([(-0.1, 1.0), (0.0, 1.0), (-1.0, 1.0), (-1.5, 10.0), (0.0, 0.1)])


@SHORT
@given(ranges, st.lists(st.lists(st.sampled_from([0, 1, 2, 3, 10]), min_size=1), min_size=1))
def test_returns_at_the_ends_of_their_range_have_an_interval_in_it(ends, tenths):
    low, high = ends
    clusters = [[low + (high - low) * tenth / 10 for tenth in own] for own in tenths]
    found = mean_estimate(clusters, 0.95, ends)
    if len(clusters) > 1:
        assert low <= found.low <= found.value <= found.high <= high
        assert found.low < found.high


def test_equal_returns_are_not_a_certainty():
    seen = mean_estimate([[0.99]] * 20, 0.95, (-1, 1))
    assert seen.low == pytest.approx(0.99 - 1.99 * (1 - 0.05 ** (1 / 20)), abs=1e-6)
    unknown = mean_estimate([[0.99]] * 20)
    assert (unknown.value, unknown.low, unknown.high) == (0.99, None, None)


def test_returns_outside_of_their_range_have_an_interval_as_without_one():
    returns = [[0.5], [1.5], [0.7], [0.9]]
    assert mean_estimate(returns, 0.95, (0, 1)) == mean_estimate(returns)


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 40])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize(
    "shares",
    [
        [(0.0, 0.4), (1.0, 0.4), (0.5, 0.2)],
        [(0.5, 1.0)],
        [(0.0, 0.9), (0.5, 0.1)],
    ],
    ids=["alike within tasks", "independent", "rare"],
)
def test_the_interval_of_the_success_rate_covers_the_truth(count, k, shares):
    rng = random.Random(7)
    truth = sum(rate * share for rate, share in shares)
    rates, weights = zip(*shares, strict=True)
    covered, trials = 0, 1500
    for _ in range(trials):
        tasks = rng.choices(rates, weights, k=count)
        clusters = [[float(rng.random() < rate) for _ in range(k)] for rate in tasks]
        estimate = proportion_estimate(clusters)
        covered += estimate.low <= truth <= estimate.high
    assert covered / trials > 0.925


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5])
def test_without_clusters_the_interval_would_be_too_short(k):
    """What the clusters are for: the plain interval misses far too often."""
    rng = random.Random(3)
    plain = clustered_well = 0
    for _ in range(800):
        tasks = [float(rng.random() < 0.5) for _ in range(30)]
        clusters = [[rate] * k for rate in tasks]
        low, high = wilson(sum(tasks) / 30, 30 * k)
        plain += low <= 0.5 <= high
        estimate = proportion_estimate(clusters)
        clustered_well += estimate.low <= 0.5 <= estimate.high
    assert plain / 800 < 0.87
    assert clustered_well / 800 > 0.93


@pytest.mark.slow
def test_the_interval_of_the_mean_covers_the_truth():
    rng = random.Random(5)
    covered = 0
    for _ in range(1500):
        tasks = [rng.gauss(0, 1) for _ in range(15)]
        clusters = [[rng.gauss(task, 0.5) for _ in range(rng.randint(1, 6))] for task in tasks]
        estimate = mean_estimate(clusters)
        covered += estimate.low <= 0 <= estimate.high
    assert covered / 1500 > 0.925


def test_a_share_of_none_or_all_still_has_an_interval():
    assert proportion_estimate([[0.0] * 4] * 10).high == pytest.approx(wilson(0, 10)[1])
    assert proportion_estimate([[1.0] * 4] * 10).low == pytest.approx(wilson(1, 10)[0])


@pytest.mark.slow
@SHORT
@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_success(outcomes, data):
    k = data.draw(st.integers(1, len(outcomes)))
    subsets = list(itertools.combinations(outcomes, k))
    n, successes = len(outcomes), sum(outcomes)
    assert pass_at(n, successes, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert pass_all(n, successes, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@pytest.mark.parametrize("arguments", [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_pass_at_k_refuses_arguments_out_of_range(arguments):
    for estimator in (pass_at, pass_all):
        with pytest.raises(ConfigError, match="k must be from 1 to n"):
            estimator(*arguments)


def test_the_mean_over_environments_weighs_each_the_same():
    small, large = mean_estimate([[0.0], [1.0]]), mean_estimate([[0.9], [1.1]] * 50)
    both = average([small, large])
    assert both.value == pytest.approx(0.75)
    assert both.se == pytest.approx(math.hypot(small.se, large.se) / 2)
    assert average([small, mean_estimate([[0.5]])]).se is None


@pytest.mark.slow
def test_the_interval_of_the_mean_over_environments_covers_the_truth():
    rng = random.Random(6)
    rates, covered = (0.02, 0.5, 0.95), 0
    for _ in range(1500):
        estimates = [
            proportion_estimate([[float(rng.random() < rate)] for _ in range(25)]) for rate in rates
        ]
        both = average(estimates)
        covered += both.low <= sum(rates) / 3 <= both.high
    assert covered / 1500 > 0.93
    alike = average([proportion_estimate([[1.0]] * 9)] * 4)
    assert 0 < alike.low < alike.high == 1
