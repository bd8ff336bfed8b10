"""ReBN does not change when a constant is added to every return; REINFORCE does.

The shaper is that of the studies in benchmarks/learning.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from models import batch_for, generator, learner_of, weights_of
from plays import FRACTIONS, SOME, batches

from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.algorithms.grpo import GRPO
from gem_train.algorithms.rebn import REBN
from gem_train.policy import Policy
from gem_train.returns import discounted_returns

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "benchmarks"))
from learning.shapers import ReturnOffset

SHAPER = "learning.shapers:ReturnOffset"
OFFSETS = st.sampled_from([-4.0, -1.0, 0.5, 1.0, 8.0])


def with_offset(batch, offset, gamma):
    return replace(batch, reward=ReturnOffset(offset, gamma).shape_rewards(batch))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@SOME
@given(batches(), st.floats(-5, 5), FRACTIONS)
def test_the_offset_is_added_to_the_discounted_return_of_every_turn(batch, offset, gamma):
    shaped = discounted_returns(with_offset(batch, offset, gamma), gamma)
    expected = discounted_returns(batch, gamma) + offset
    assert shaped.tolist() == pytest.approx(expected.tolist(), abs=1e-9)


@SOME
@given(batches(), OFFSETS, st.sampled_from([0.0, 0.5, 1.0]))
def test_advantages_of_rebn_are_the_same_bit_for_bit_if_returns_are_exact(batch, offset, gamma):
    """Rewards are eighths, and gamma and the offset powers of 2, so no sum is rounded."""
    rebn = REBN(gamma=gamma)
    shaped = rebn.advantages(with_offset(batch, offset, gamma))
    assert torch.equal(shaped, rebn.advantages(batch))


@SOME
@given(batches(), OFFSETS)
def test_advantages_of_grpo_do_not_change_with_a_constant_in_the_return_of_episodes(batch, offset):
    shaped = GRPO().advantages(with_offset(batch, offset, 1.0))
    assert shaped.tolist() == pytest.approx(GRPO().advantages(batch).tolist(), abs=1e-6)


def test_a_constant_in_the_reward_of_each_turn_changes_rebn(folder):
    """It favours turns that many others follow."""
    batch = batch_for(Policy.load(folder, device="cpu"))
    rebn = REBN(gamma=0.5)
    shaped = rebn.advantages(replace(batch, reward=batch.reward + 1))
    assert (shaped - rebn.advantages(batch)).abs().max() > 0.1
    single = REBN(gamma=0.0)  # a return is the reward of its own turn
    shaped = single.advantages(replace(batch, reward=batch.reward + 1))
    assert torch.equal(shaped, single.advantages(batch))


@pytest.mark.parametrize(("algo", "is_same"), [("rebn", True), ("reinforce", False)])
def test_an_update_with_an_offset(folder, algo, is_same):
    """The gradient and the weights of ReBN are the same bit for bit, those of REINFORCE are not."""

    def learned(shapers):
        policy = Policy.load(folder, device="cpu")
        learner = learner_of(policy, algo, {"gamma": 0.5}, shapers=shapers)
        norm = learner.learn(batch_for(policy), generator()).metrics["train/grad_norm"]
        return norm, weights_of(policy)

    norm, weights = learned([])
    norm_offset, weights_offset = learned([{"id": SHAPER, "offset": -2.0, "gamma": 0.5}])
    assert (norm == norm_offset) is is_same
    equal = all(torch.equal(one, weights_offset[name]) for name, one in weights.items())
    assert equal is is_same
