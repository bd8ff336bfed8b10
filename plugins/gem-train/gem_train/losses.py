"""Losses of tokens, and the weights that make one number of them.

    loss = sum over tokens of  weight * (policy loss + beta KL - coefficient entropy)

Every function but ``loss_weights`` is of single tokens: it takes tensors of one shape and returns
that shape, in their type. Log-probabilities are in nats and must be finite everywhere; what they
are where nothing was sampled does not matter, as the weight is 0 there. Shapes: S rows, L
positions, V tokens of the vocabulary; what is said of a token stands at the token's own position.
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
    "policy_loss",
    "reinforce_loss",
    "token_logprobs",
]

_MOST_LOG_RATIO = 20.0
_MOST_LOG_RATIO_OF_KL = 40.0


def token_logprobs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each token given those before it; 0 for the first.

    Args:
        logits: The model's, (S, L, V); those at position l are of token l + 1.
        ids: Token ids, (S, L).

    Returns:
        (S, L).
    """
    logits, following = logits[:, :-1], ids[:, 1:]
    chosen = logits.gather(-1, following[..., None])[..., 0]
    return torch.nn.functional.pad(chosen - logits.logsumexp(-1), (1, 0))


def policy_loss(
    logprobs: torch.Tensor,
    old_logprobs: torch.Tensor,
    advantages: torch.Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> torch.Tensor:
    """Return ``max(-A rho, -A clip(rho, 1 - low, 1 + high))`` with ``rho = pi / pi_old``.

    Schulman et al. 2017, "Proximal Policy Optimization Algorithms", equation 7; a higher upper
    limit as in Yu et al. 2025, "DAPO". With ``clip_low=1, clip_high=math.inf`` it is the plain
    importance sampling loss, ``-A rho``.

    Args:
        logprobs: Of the policy that learns.
        old_logprobs: Of the policy when the batch was made, without gradient.
        advantages: Of each token, without gradient.
        clip_low: How far below 1 the ratio still counts, in [0, 1].
        clip_high: How far above 1 it still counts, at least 0.
    """
    # exp(20) is beyond any clip; beyond exp(88) the branch not taken would make gradients NaN.
    log_ratio = (logprobs - old_logprobs).clamp(-_MOST_LOG_RATIO, _MOST_LOG_RATIO)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    return torch.maximum(-advantages * ratio, -advantages * clipped)


def reinforce_loss(logprobs: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    """Return ``-A log pi``.

    Williams 1992. It is right for tokens that the policy has just sampled itself.

    Args:
        logprobs: Of the policy that learns.
        advantages: Of each token, without gradient.
    """
    return -advantages * logprobs


def importance_weights(
    old_logprobs: torch.Tensor, sampler_logprobs: torch.Tensor, cap: float = 2.0
) -> torch.Tensor:
    """Return ``min(pi_old / pi_sampler, cap)``, in [0, cap], without gradient.

    It makes up for a sampler that computes other probabilities than the learner does, with the
    same weights (other kernels, other precision). The loss of each token is multiplied by it.
    Ionides 2008, "Truncated Importance Sampling"; for learner and sampler, Yao et al. 2025, "Your
    Efficient RL Framework Secretly Brings You Off-Policy RL Training".

    Args:
        old_logprobs: The learner's, when the batch was made.
        sampler_logprobs: The sampler's.
        cap: Largest weight, above 0.
    """
    log_weights = (old_logprobs - sampler_logprobs).detach()
    return log_weights.clamp(max=math.log(cap)).exp()


def kl_to_reference(
    logprobs: torch.Tensor, reference_logprobs: torch.Tensor, kind: Literal["k1", "k2", "k3"] = "k3"
) -> torch.Tensor:
    """Return an estimate of ``KL(pi, pi_ref)`` from tokens that pi sampled.

    With ``Delta = log pi_ref - log pi``, between -40 and 40:

        k1 = -Delta        k2 = Delta^2 / 2        k3 = exp(Delta) - 1 - Delta

    Schulman 2020, "Approximating KL Divergence". k1 and k3 have the KL as their mean; k3 is never
    negative and varies less. As a term of a loss, k1 has a gradient that is 0 on average, and k2
    has the gradient of the KL (Tang and Munos 2025, "On a few pitfalls in KL divergence gradient
    estimation for RL").

    Args:
        logprobs: Of the policy that learns.
        reference_logprobs: Of the reference.
        kind: Which estimate.

    Raises:
        ConfigError: There is no such estimate.
    """
    limit = _MOST_LOG_RATIO_OF_KL
    delta = (reference_logprobs - logprobs).clamp(-limit, limit)
    if kind == "k1":
        return -delta
    if kind == "k2":
        return delta**2 / 2
    if kind == "k3":
        return delta.expm1() - delta
    raise ConfigError(f"kind is one of k1, k2, k3; got {kind!r}.")


def entropy(logits: torch.Tensor) -> torch.Tensor:
    """Return ``H = log sum exp(z) - sum p z`` of the distributions, in nats, in [0, log V].

    Args:
        logits: z, (..., V).

    Returns:
        (...). At position l it is the entropy of token l + 1.
    """
    return logits.logsumexp(-1) - (logits.softmax(-1) * logits).sum(-1)


def loss_weights(
    batch: Batch,
    length_norm: Literal["constant", "response", "token"] = "constant",
    *,
    constant: float = 1.0,
    unit: Literal["turn", "episode"] = "turn",
) -> torch.Tensor:
    """Return what a token of each turn weighs in the loss: 0 in turns that are not trained; (N,).

    With M responses that have a token to train, the i-th of n_i such tokens, a token of it weighs

        constant    1 / (M C)        sums, whatever the length    (Liu et al. 2025, Dr. GRPO)
        response    1 / (M n_i)      mean of the responses' means (Shao et al. 2024, GRPO)
        token       1 / sum_i n_i    mean of all tokens           (Yu et al. 2025, DAPO)

    The loss is ``(batch.spread(weights) * losses).sum()``. So a batch may be taken in parts (see
    ``token_batches``): weights of the whole, spread in each part, and gradients added up.

    Args:
        batch: All that one step of the optimiser sees.
        length_norm: How lengths count.
        constant: C, in tokens, above 0; the most tokens of a response, for example.
        unit: What a response is: what was sampled in a turn, or in all turns of an episode.

    Raises:
        ConfigError: There is no such normalisation, or ``constant`` is not above 0.
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
        raise ConfigError(f"length_norm is one of constant, response, token; got {length_norm!r}.")
    return torch.where(sampled_N > 0, weight_N, 0)
