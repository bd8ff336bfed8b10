"""Reward shapers and episode filters, compared with literal versions in plain Python."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plays import SOME, batches
from simple_episodes import trajectory

from gem_core.errors import ConfigError
from gem_train.filters import DynamicSampling
from gem_train.shapers import KLPenalty, Overlong

LENGTHS = st.integers(1, 6)


def tokens_of_turns(batch):
    """The places of the sampled tokens of each turn, as (row, column)."""
    found = [[] for _ in batch.reward]
    for row, turns in enumerate(batch.turn_of.tolist()):
        for column, turn in enumerate(turns):
            if turn >= 0:
                found[turn].append((row, column))
    return found


@SOME
@given(batches(), LENGTHS, LENGTHS, st.floats(0, 3))
def test_the_overlong_penalty_grows_over_the_buffer(batch, limit, buffer, penalty):
    buffer = min(buffer, limit)
    shaper = Overlong(limit=limit, buffer=buffer, penalty=penalty)
    expected = []
    for reward, places in zip(batch.reward.tolist(), tokens_of_turns(batch), strict=True):
        length = len(places)
        if length <= limit - buffer:
            share = 0.0
        elif length <= limit:
            share = (length - (limit - buffer)) / buffer
        else:
            share = 1.0
        expected.append(reward - penalty * share)
    assert shaper.shape_rewards(batch).tolist() == pytest.approx(expected)


@SOME
@given(batches(), st.floats(0, 2), st.integers(0, 1000))
def test_kl_in_the_reward_is_the_sum_over_the_tokens_of_a_turn(batch, beta, seed):
    generator = torch.Generator().manual_seed(seed)
    old, reference = (
        -torch.rand(batch.ids.shape, generator=generator, dtype=torch.float64) for _ in range(2)
    )
    filled = replace(batch, old_logprobs=old, reference_logprobs=reference)
    expected = [
        reward - beta * sum((old - reference)[place].item() for place in places)
        for reward, places in zip(batch.reward.tolist(), tokens_of_turns(batch), strict=True)
    ]
    found = KLPenalty(beta=beta, estimator="k1").shape_rewards(filled)
    assert found.tolist() == pytest.approx(expected)


def test_dynamic_sampling_keeps_groups_with_different_results():
    groups = [
        [trajectory(rewards=(0.0, 1.0)), trajectory(rewards=(1.0,))],
        [trajectory(rewards=(0.0,)), trajectory(rewards=(1.0,))],
        [trajectory(rewards=(0.5,))],
        [trajectory(rewards=(0.5,), success=False), trajectory(rewards=(0.25,), success=False)],
    ]
    assert DynamicSampling().filter_groups(groups) == [False, True, False, True]
    by_success = DynamicSampling(metric="success").filter_groups(groups)
    assert by_success == [False, False, False, False]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Overlong(limit=4, buffer=5), "buffer must be in"),
        (lambda: Overlong(limit=4, buffer=0), "buffer must be in"),
        (lambda: Overlong(limit=4, buffer=2, penalty=-1.0), "penalty 0 or more"),
        (lambda: KLPenalty(beta=-0.1), "beta must be 0 or more"),
    ],
)
def test_values_out_of_range_are_refused(make, match):
    with pytest.raises(ConfigError, match=match):
        make()
