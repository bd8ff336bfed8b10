"""Log-probabilities in chunks: values and gradients of the plain formula, memory of a chunk."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_train.allocations import Allocations
from gem_train.token_scores import token_scores

VOCABULARY, HIDDEN = 96, 8


def inputs(count, dtype=torch.float64, *, bias=False, vocabulary=VOCABULARY, hidden=HIDDEN):
    generator = torch.Generator().manual_seed(count)

    def normal(*shape):
        made = torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)
        return made.requires_grad_()

    ids = torch.randint(vocabulary, (count,), generator=generator)
    return (
        normal(count, hidden),
        normal(vocabulary, hidden),
        normal(vocabulary) if bias else None,
        ids,
    )


def plain(hidden, weight, bias, ids, temperature):
    logits = torch.nn.functional.linear(hidden, weight, bias).float() / temperature
    if weight.dtype == torch.float64:
        logits = torch.nn.functional.linear(hidden, weight, bias) / temperature
    every = logits.log_softmax(-1)
    return every.gather(1, ids[:, None])[:, 0], -(every.exp() * every).sum(-1)


@settings(max_examples=40 if thorough() else 15)
@given(
    count=st.integers(1, 40),
    rows=st.integers(1, 50),
    temperature=st.sampled_from([1.0, 0.5, 1.7]),
    bias=st.booleans(),
    terms=st.sampled_from([(1, 0), (0, 1), (1, 0.3)]),
)
def test_values_and_gradients_are_those_of_the_plain_formula(count, rows, temperature, bias, terms):
    hidden, weight, offset, ids = inputs(count, bias=bias)
    weights = torch.linspace(-1, 2, count, dtype=torch.float64)

    def loss_of(logprobs, entropies):
        return (weights * (terms[0] * logprobs + terms[1] * entropies)).sum()

    expected = plain(hidden, weight, offset, ids, temperature)
    scores = token_scores(
        hidden, weight, ids, bias=offset, temperature=temperature, chunk_bytes=rows * VOCABULARY * 8
    )
    for found, wanted in zip(scores, expected, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-9, rtol=1e-9)
    into = [one for one in (hidden, weight, offset) if one is not None]
    for found, wanted in zip(
        torch.autograd.grad(loss_of(*scores), into),
        torch.autograd.grad(loss_of(*expected), into),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 2e-2)])
def test_scores_in_a_short_type_agree_up_to_its_rounding(dtype, tolerance):
    hidden, weight, _, ids = inputs(30, dtype)
    hidden = hidden.detach().mul(0.1).requires_grad_()
    scores = token_scores(hidden, weight, ids, chunk_bytes=7 * VOCABULARY * 4)
    expected = plain(hidden, weight, None, ids, 1.0)
    assert scores.logprobs.dtype == torch.float32
    torch.testing.assert_close(scores.logprobs, expected[0], atol=tolerance, rtol=tolerance)
    for found, wanted in zip(
        torch.autograd.grad(scores.logprobs.mean(), [hidden, weight]),
        torch.autograd.grad(expected[0].mean(), [hidden, weight]),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("with_entropy", [False, True])
def test_forward_and_backward_take_the_memory_of_one_chunk(dtype, with_entropy):
    """Everything that is allocated beyond the gradients, counted tensor by tensor."""
    vocabulary, rows = 4096, 64
    hidden, weight, _, ids = inputs(512, dtype, vocabulary=vocabulary)
    chunk = rows * vocabulary * 4
    with Allocations() as forward:
        scores = token_scores(hidden, weight, ids, chunk_bytes=chunk)
    total = scores.logprobs.sum() + (scores.entropies.sum() if with_entropy else 0)
    with Allocations() as backward:
        total.backward()
    gradients = 2 * 4 * weight.numel() + 2 * 4 * hidden.numel()
    assert forward.peak <= 1.2 * chunk
    assert backward.peak - gradients <= 1.2 * chunk
    with Allocations() as whole:
        plain(hidden, weight, None, ids, 1.0)[0].sum().backward()
    assert whole.peak > 12 * chunk


def test_logits_far_apart_stay_finite():
    hidden = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0], [0.0]], requires_grad=True)
    scores = token_scores(hidden, weight, torch.tensor([0, 0]))
    (scores.logprobs.sum() + scores.entropies.sum()).backward()
    assert scores.logprobs.tolist() == [0.0, -2e4]
    assert scores.entropies.tolist() == [0.0, 0.0]
    assert hidden.grad.isfinite().all()
    assert weight.grad.isfinite().all()
