"""Losses: values of the definitions, gradients, and weights by length."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plays import SOME, batches, episode_of, numbers, plays, turn_of

from gem_core.errors import ConfigError
from gem_train.batch import batch_of, drop_cut, subsample, token_batches
from gem_train.loss import policy_loss, reinforce_loss
from gem_train.objective import (
    entropy,
    importance_weights,
    kl_to_reference,
    loss_weights,
    token_logprobs,
)
from gem_train.transitions import transitions_of

LOGPROBS = st.floats(-15, 0)
ADVANTAGES = st.floats(-5, 5)
NORMS = ("constant", "response", "token")
UNITS = ("turn", "episode")


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def gradient(loss, at, *rest, **options):
    at = at.clone().requires_grad_()
    loss(at, *rest, **options).sum().backward()
    return at.grad


class TestPolicyLoss:
    @SOME
    @given(LOGPROBS, LOGPROBS, ADVANTAGES, st.floats(0, 0.9), st.floats(0, 3))
    def test_the_loss_is_the_larger_of_the_plain_and_the_clipped_one(
        self, new, old, advantage, low, high
    ):
        ratio = math.exp(new - old)
        clipped = min(max(ratio, 1 - low), 1 + high)
        expected = max(-advantage * ratio, -advantage * clipped)
        found = policy_loss(
            tensor(new), tensor(old), tensor(advantage), clip_low=low, clip_high=high
        )
        assert found.item() == pytest.approx(expected)

    @SOME
    @given(LOGPROBS, LOGPROBS, ADVANTAGES, st.floats(1.01, 5))
    def test_a_dual_clip_bounds_the_loss_of_bad_tokens(self, new, old, advantage, dual):
        ratio = math.exp(new - old)
        objective = min(ratio * advantage, min(max(ratio, 0.8), 1.2) * advantage)
        if advantage < 0:
            objective = max(objective, dual * advantage)
        found = policy_loss(tensor(new), tensor(old), tensor(advantage), dual_clip=dual)
        assert found.item() == pytest.approx(-objective)

    def test_a_bad_token_beyond_the_dual_clip_gets_no_gradient(self):
        at, old, advantage = tensor(math.log(4.0)), tensor(0.0), tensor(-1.0)
        assert gradient(policy_loss, at, old, advantage, dual_clip=3.0).item() == 0
        assert gradient(policy_loss, at, old, advantage).item() == pytest.approx(4.0)

    @SOME
    @given(st.lists(st.tuples(LOGPROBS, ADVANTAGES), min_size=1, max_size=8))
    def test_at_ratio_1_the_gradient_is_that_of_reinforce(self, pairs):
        logprobs, weights = (tensor(*column) for column in zip(*pairs, strict=True))
        found = gradient(policy_loss, logprobs, logprobs, weights)
        assert found.tolist() == pytest.approx(gradient(reinforce_loss, logprobs, weights).tolist())
        assert found.tolist() == pytest.approx((-weights).tolist())

    @pytest.mark.parametrize(
        ("ratio", "advantage", "expected"),
        [
            (1.3, 1.0, 0.0),  # a good token that is already likelier by enough
            (0.7, -1.0, 0.0),  # a bad one that is already less likely by enough
            (0.7, 1.0, -0.7),
            (1.3, -1.0, 1.3),
        ],
    )
    def test_only_ratios_beyond_the_limit_are_clipped(self, ratio, advantage, expected):
        found = gradient(policy_loss, tensor(math.log(ratio)), tensor(0.0), tensor(advantage))
        assert found.item() == pytest.approx(expected)

    @SOME
    @given(LOGPROBS, LOGPROBS, ADVANTAGES)
    def test_the_loss_without_limits_is_importance_sampling(self, new, old, advantage):
        found = policy_loss(
            tensor(new), tensor(old), tensor(advantage), clip_low=1.0, clip_high=math.inf
        )
        assert found.item() == pytest.approx(-advantage * math.exp(new - old))

    @pytest.mark.parametrize("advantage", [1.0, -1.0])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_a_token_that_became_very_likely_leaves_the_gradient_finite(self, advantage, dtype):
        new, old, weight = (torch.tensor([x], dtype=dtype) for x in (-0.1, -500.0, advantage))
        assert gradient(policy_loss, new, old, weight).isfinite().all()


class TestImportanceWeights:
    @SOME
    @given(LOGPROBS, LOGPROBS, st.floats(0.5, 10))
    def test_importance_weights_are_ratios_up_to_a_cap(self, old, sampler, cap):
        found = importance_weights(tensor(old), tensor(sampler), cap)
        assert found.item() == pytest.approx(min(math.exp(old - sampler), cap))

    def test_importance_weights_have_no_gradient(self):
        old = tensor(-1.0).requires_grad_()
        assert not importance_weights(old, tensor(-2.0)).requires_grad


class TestKL:
    @SOME
    @given(st.floats(-60, 0), st.floats(-60, 0))
    def test_estimates_of_the_kl_have_the_values_of_their_definitions(self, new, reference):
        delta = min(max(reference - new, -40.0), 40.0)
        for kind, expected in (
            ("k1", -delta),
            ("k2", delta**2 / 2),
            ("k3", math.expm1(delta) - delta),
        ):
            found = kl_to_reference(tensor(new), tensor(reference), kind).item()
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @SOME
    @given(st.floats(-50, 50), st.floats(-30, 2))
    def test_k3_is_never_negative(self, dtype, delta, exponent):
        deltas = torch.tensor([delta, 10**exponent, -(10**exponent), 0.0], dtype=dtype)
        assert (kl_to_reference(torch.zeros(4, dtype=dtype), deltas, "k3") >= 0).all()

    def test_k1_and_k3_have_the_kl_as_their_mean(self):
        p, q = numbers(6, seed=1).log_softmax(-1), numbers(6, seed=2).log_softmax(-1)
        kl = (p.exp() * (p - q)).sum()
        for kind in ("k1", "k3"):
            assert (p.exp() * kl_to_reference(p, q, kind)).sum().item() == pytest.approx(kl.item())

    def test_gradients_are_those_that_the_docstring_says(self):
        """On average: 0 for k1, the gradient of the KL for k2."""
        logits, q = numbers(6, seed=1), numbers(6, seed=2).log_softmax(-1)

        def mean_of(kind):
            at = logits.clone().requires_grad_()
            p = at.log_softmax(-1)
            (p.detach().exp() * kl_to_reference(p, q, kind)).sum().backward()
            return at.grad.tolist()

        at = logits.clone().requires_grad_()
        p = at.log_softmax(-1)
        (p.exp() * (p - q)).sum().backward()
        assert mean_of("k1") == pytest.approx([0.0] * 6, abs=1e-12)
        assert mean_of("k2") == pytest.approx(at.grad.tolist())

    def test_an_unknown_estimate_is_reported(self):
        with pytest.raises(ConfigError, match="k1, k2, k3"):
            kl_to_reference(tensor(0.0), tensor(0.0), "k4")


class TestLogits:
    @SOME
    @given(st.integers(1, 4), st.integers(1, 6), st.integers(2, 7), st.integers(0, 99))
    def test_logprobs_are_those_of_the_token_that_follows(self, rows, length, vocabulary, seed):
        logits = 3 * numbers((rows, length, vocabulary), seed)
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(vocabulary, (rows, length), generator=generator)
        found = token_logprobs(logits, ids)
        assert found.shape == ids.shape
        for row in range(rows):
            assert found[row, 0] == 0
            for l in range(1, length):  # noqa: E741 - the axis
                z = logits[row, l - 1].tolist()
                expected = z[ids[row, l]] - math.log(sum(math.exp(one) for one in z))
                assert found[row, l].item() == pytest.approx(expected)

    @SOME
    @given(st.lists(st.floats(-20, 20), min_size=2, max_size=8))
    def test_entropy_is_the_mean_of_minus_log_p(self, logits):
        total = sum(math.exp(z) for z in logits)
        p = [math.exp(z) / total for z in logits]
        expected = -sum(one * math.log(one) for one in p)
        assert entropy(tensor(*logits)).item() == pytest.approx(expected, abs=1e-9)

    def test_entropy_is_largest_for_a_uniform_distribution(self):
        assert entropy(torch.zeros(3, 5)).tolist() == pytest.approx([math.log(5)] * 3)


def literal_loss(batch, losses, norm, unit, constant):
    """The loss from its definition, by loops over responses."""
    responses = {}
    turns = batch.turn_of.tolist()
    for row, of_row in enumerate(turns):
        for position, turn in enumerate(of_row):
            if turn >= 0 and batch.trained[turn]:
                key = turn if unit == "turn" else batch.episode[turn].item()
                responses.setdefault(key, []).append(losses[row, position].item())
    if not responses:
        return 0.0
    if norm == "token":
        count = sum(len(one) for one in responses.values())
        return sum(sum(one) for one in responses.values()) / count
    by = {"constant": lambda one: constant, "response": len}[norm]
    return sum(sum(one) / by(one) for one in responses.values()) / len(responses)


def some_trained(batch, seed):
    size = 1 + seed % len(batch.turn)
    return drop_cut(subsample(batch, size, torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("norm", NORMS)
class TestLengthNormalisation:
    @SOME
    @given(batch=batches(), seed=st.integers(0, 99))
    def test_weights_make_the_loss_of_the_definition(self, norm, unit, batch, seed):
        batch = some_trained(batch, seed)
        losses = numbers(batch.ids.shape, seed)
        weights = loss_weights(batch, norm, unit=unit, constant=7.0)
        found = (batch.to_tokens(weights) * losses).sum().item()
        assert found == pytest.approx(literal_loss(batch, losses, norm, unit, 7.0), abs=1e-12)

    @SOME
    @given(batch=batches(), budget=st.integers(1, 60), seed=st.integers(0, 99))
    def test_parts_add_up_to_the_whole(self, norm, unit, batch, budget, seed):
        batch = some_trained(batch, seed)
        weights = loss_weights(batch, norm, unit=unit, constant=7.0)
        whole = (batch.to_tokens(weights) * batch.sampler_logprobs).sum().item()
        parts = [batch.select(rows) for rows in token_batches(batch, budget)]
        sums = [(part.to_tokens(weights) * part.sampler_logprobs).sum().item() for part in parts]
        assert sum(sums) == pytest.approx(whole, abs=1e-12)

    @SOME
    @given(transitions=plays())
    def test_rows_of_turns_and_of_episodes_have_the_same_loss(self, norm, unit, transitions):
        found = []
        for rows in ("turns", "episodes"):
            batch = batch_of(transitions, rows=rows, dtype=torch.float64)
            weights = batch.to_tokens(loss_weights(batch, norm, unit=unit))
            advantages = batch.to_tokens(numbers(len(transitions)))
            loss = reinforce_loss(batch.sampler_logprobs, advantages)
            found.append((weights * loss).sum().item())
        assert found[0] == pytest.approx(found[1], abs=1e-12)

    @SOME
    @given(batch=batches(), wider=st.integers(1, 5), fill=st.integers(0, 9))
    def test_padding_changes_nothing(self, norm, unit, batch, wider, fill):
        def pad(x, value):
            return torch.nn.functional.pad(x, (0, wider), value=value)

        padded = replace(
            batch,
            ids=pad(batch.ids, fill),
            attention=pad(batch.attention, False),
            turn_of=pad(batch.turn_of, -1),
            sampler_logprobs=pad(batch.sampler_logprobs, -fill),
        )
        advantages = numbers(len(batch.turn))
        found = []
        for one in (batch, padded):
            weights = one.to_tokens(loss_weights(one, norm, unit=unit))
            loss = reinforce_loss(one.sampler_logprobs, one.to_tokens(advantages))
            found.append([(weights * loss).sum().item(), *one.values(one.ids * 1.0).tolist()])
        assert found[0] == pytest.approx(found[1], abs=1e-12)

    @SOME
    @given(batch=batches(), seed=st.integers(0, 99))
    def test_only_trained_tokens_have_a_gradient(self, norm, unit, batch, seed):
        batch = some_trained(batch, seed)
        logprobs = (-numbers(batch.ids.shape, seed).abs()).requires_grad_()
        advantages = 1 + batch.to_tokens(numbers(len(batch.turn)).abs())
        losses = policy_loss(logprobs, logprobs.detach(), advantages)
        losses = losses + 0.1 * kl_to_reference(logprobs, logprobs.detach() - 1)
        (batch.to_tokens(loss_weights(batch, norm, unit=unit)) * losses).sum().backward()
        assert torch.equal(logprobs.grad != 0, batch.mask)


def test_invalid_normalisations_are_reported():
    batch = batch_of(plays_of_one())
    with pytest.raises(ConfigError, match="constant, response, token"):
        loss_weights(batch, "mean")
    with pytest.raises(ConfigError, match="above 0"):
        loss_weights(batch, constant=0)


def test_a_batch_without_a_trained_token_weighs_nothing():
    batch = drop_cut(batch_of(plays_of_one(cut=True)))
    for norm in NORMS:
        assert loss_weights(batch, norm).tolist() == [0.0]


def plays_of_one(*, cut=False):
    return transitions_of(
        [episode_of([turn_of([1], [2, 3], [-0.5, -1.0], 1.0, extends=False, cut=cut)])]
    )
