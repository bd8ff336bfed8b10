"""The objective that is minimised: a policy loss, its weights, the KL and the entropy.

    loss = sum over tokens of  weight * (importance weight * policy loss + beta KL - eta entropy)

Every function except ``loss_weights`` works on single tokens: it takes tensors of one shape and
returns a tensor of this shape and type. Log-probabilities are in nats and must be finite. Their
values where nothing was sampled do not matter, as the weight is 0 there. Shapes: S rows, L
positions, V tokens of the vocabulary. Values of a token are at the token's own position.
"""

import math
from typing import Literal

import torch

from gem_core.errors import ConfigError
from gem_train.batch import Batch

__all__ = [
    "entropy",
    "importance_weights",
    "kl_to_reference",
    "loss_weights",
    "token_logprobs",
]

_MOST_LOG_RATIO_OF_KL = 40.0


def token_logprobs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each token given those before it; 0 for the first.

    Args:
        logits: The model's logits, (S, L, V); position l predicts token l + 1.
        ids: Token ids, (S, L).

    Returns:
        (S, L).
    """
    logits, following = logits[:, :-1], ids[:, 1:]
    chosen = logits.gather(-1, following[..., None])[..., 0]
    return torch.nn.functional.pad(chosen - logits.logsumexp(-1), (1, 0))


def importance_weights(
    old_logprobs: torch.Tensor, sampler_logprobs: torch.Tensor, cap: float = 2.0
) -> torch.Tensor:
    """Return ``min(pi_old / pi_sampler, cap)``, in [0, cap], without gradient.

    The loss of each token is multiplied by its weight. The weights correct for a sampler whose
    probabilities differ from the learner's although the model is the same, because of other kernels
    or another precision. Ionides 2008, "Truncated Importance Sampling"; for learner and sampler,
    Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training".

    Args:
        old_logprobs: The learner's log-probabilities before the first update.
        sampler_logprobs: The sampler's log-probabilities.
        cap: Largest weight, above 0.
    """
    log_weights = (old_logprobs - sampler_logprobs).detach()
    return log_weights.clamp(max=math.log(cap)).exp()


def kl_to_reference(
    logprobs: torch.Tensor, reference_logprobs: torch.Tensor, kind: Literal["k1", "k2", "k3"] = "k3"
) -> torch.Tensor:
    """Return an estimate of ``KL(pi, pi_ref)`` from tokens that pi sampled.

    With ``Delta = log pi_ref - log pi``, clamped to [-40, 40]:

        k1 = -Delta        k2 = Delta^2 / 2        k3 = exp(Delta) - 1 - Delta

    Schulman 2020, "Approximating KL Divergence". The mean of k1 and k3 is the KL; k3 is never
    negative and varies less. As a term of a loss, k1 has a gradient that is 0 on average, and k2
    has the gradient of the KL (Tang and Munos 2025, "On a few pitfalls in KL divergence gradient
    estimation for RL").

    Args:
        logprobs: Log-probabilities of the current policy.
        reference_logprobs: Log-probabilities of the reference.
        kind: The estimator.

    Raises:
        ConfigError: The estimator is unknown.
    """
    limit = _MOST_LOG_RATIO_OF_KL
    delta = (reference_logprobs - logprobs).clamp(-limit, limit)
    if kind == "k1":
        return -delta
    if kind == "k2":
        return delta**2 / 2
    if kind == "k3":
        return delta.expm1() - delta
    raise ConfigError(f"kind must be one of k1, k2, k3; got {kind!r}.")


def entropy(logits: torch.Tensor) -> torch.Tensor:
    """Return ``H = log sum exp(z) - sum p z`` of the distributions, in nats, in [0, log V].

    Args:
        logits: z, (..., V).

    Returns:
        The entropy of each distribution, (...); position l belongs to token l + 1.
    """
    return logits.logsumexp(-1) - (logits.softmax(-1) * logits).sum(-1)


def loss_weights(
    batch: Batch,
    length_norm: Literal["constant", "response", "token"] = "constant",
    *,
    constant: float = 1.0,
    unit: Literal["turn", "episode"] = "turn",
) -> torch.Tensor:
    """Return the weight of a token of each turn in the loss, 0 in turns that are not trained; (N,).

    With M responses that have tokens to train, n_i of them in the i-th, the weight of a token is

        constant    1 / (M C)        sums, whatever the length    (Liu et al. 2025, Dr. GRPO)
        response    1 / (M n_i)      mean of the responses' means (Shao et al. 2024, GRPO)
        token       1 / sum_i n_i    mean of all tokens           (Yu et al. 2025, DAPO)

    The loss is ``(batch.to_tokens(weights) * losses).sum()``. A batch may be processed in parts
    (see ``token_batches``): compute the weights once for the whole batch, and add up the gradients.

    Args:
        batch: Everything that one step of the optimiser sees.
        length_norm: The length normalisation.
        constant: C, in tokens, above 0; for example the most tokens of a response.
        unit: Whether a response is what was sampled in a turn, or in all turns of an episode.

    Raises:
        ConfigError: The normalisation is unknown, or ``constant`` is not above 0.
    """
    if constant <= 0:
        raise ConfigError(f"constant must be above 0, got {constant!r}.")
    sampled_N = torch.bincount(batch.turn_of[batch.mask], minlength=len(batch.turn))
    turns = torch.arange(len(batch.turn), device=batch.turn.device)
    response_N = turns if unit == "turn" else batch.episode
    tokens_N = torch.zeros_like(batch.reward).index_add(0, response_N, sampled_N.to(batch.reward))
    responses = (tokens_N > 0).sum()
    if length_norm == "constant":
        weight_N = torch.ones_like(tokens_N) / (responses * constant)
    elif length_norm == "response":
        weight_N = 1 / (responses * tokens_N[response_N])
    elif length_norm == "token":
        weight_N = torch.ones_like(tokens_N) / tokens_N.sum()
    else:
        raise ConfigError(
            f"length_norm must be one of constant, response, token; got {length_norm!r}."
        )
    return torch.where(sampled_N > 0, weight_N, 0)
