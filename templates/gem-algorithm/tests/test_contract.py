"""The conformance kit, and the equations beside literal versions in plain Python."""

import math

import pytest
import torch
from acme_rl.cispo import CISPOLoss
from acme_rl.gspo import GSPOLoss

from gem_core.errors import ConfigError
from gem_core.testing import check_plugin

LOGPROBS = [[-0.5, -1.0, -0.25], [-2.0, -0.125, 0.0]]
OLD = [[-0.75, -0.5, -0.25], [-1.0, -0.25, 0.0]]
ADVANTAGES = [[1.0, 1.0, 1.0], [-2.0, -2.0, 0.0]]
MASK = [[True, True, True], [True, True, False]]


def tensors():
    logprobs = torch.tensor(LOGPROBS, dtype=torch.float64, requires_grad=True)
    old, advantages = (torch.tensor(one, dtype=torch.float64) for one in (OLD, ADVANTAGES))
    return logprobs, old, advantages, torch.tensor(MASK)


def places():
    return [(row, column) for row in range(2) for column in range(3) if MASK[row][column]]


def clip(value, low, high):
    return min(max(value, 1 - low), 1 + high)


def test_the_plugin_keeps_the_contract():
    check_plugin("acme-rl").raise_for_findings()


def test_cispo_is_its_equation_and_its_gradient_is_the_clipped_ratio():
    logprobs, *others = tensors()
    losses = CISPOLoss(clip_low=0.3, clip_high=0.1)(logprobs, *others)
    losses.sum().backward()
    for row, column in places():
        ratio = math.exp(LOGPROBS[row][column] - OLD[row][column])
        weight = clip(ratio, 0.3, 0.1) * ADVANTAGES[row][column]
        assert losses[row, column].item() == pytest.approx(-weight * LOGPROBS[row][column])
        assert logprobs.grad[row, column].item() == pytest.approx(-weight)


def test_gspo_has_one_ratio_for_the_tokens_of_a_row():
    logprobs, *others = tensors()
    losses = GSPOLoss(clip_low=0.01, clip_high=0.02)(logprobs, *others)
    for row, column in places():
        counted = [c for r, c in places() if r == row]
        differences = [LOGPROBS[row][c] - OLD[row][c] for c in counted]
        ratio, advantage = math.exp(sum(differences) / len(counted)), ADVANTAGES[row][column]
        expected = max(-advantage * ratio, -advantage * clip(ratio, 0.01, 0.02))
        assert losses[row, column].item() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [CISPOLoss, GSPOLoss])
def test_limits_out_of_range_are_refused(kind):
    with pytest.raises(ConfigError, match="clip_low must be in"):
        kind(clip_low=2)
