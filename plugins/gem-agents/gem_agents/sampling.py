"""Samples from a causal language model of transformers, several prompts at once.

Each prompt has a generator of its own, so its reply does not depend on what else is in the batch,
up to rounding: padding changes sums in their last digits, and now and then a token that was as
likely as another.
"""

import inspect
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Request", "Sampled", "sample"]


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt, and how to go on from it.

    Args:
        ids: Tokens of the prompt.
        max_new_tokens: Most tokens to sample.
        temperature: 0 for the likeliest token, 1 for the model's own distribution.
        top_p: Sample from the likeliest tokens that together have this probability, in (0, 1].
        seed: Seed of the sampling; None for a new one.
    """

    ids: list[int]
    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None


@dataclass(slots=True)
class Sampled:
    """What was sampled.

    Args:
        ids: The tokens, with the one that ended them.
        logprobs: Log-probability of each, in nats, in the model's own distribution (temperature
            1, all tokens), as endpoints have it.
        is_complete: Whether the model ended by itself.
    """

    ids: list[int]
    logprobs: list[float]
    is_complete: bool = False


def sample(
    model: Any, requests: Sequence[Request], *, end_ids: frozenset[int], pad_id: int
) -> list[Sampled]:
    """Return what the model says to each prompt.

    Args:
        model: The model.
        requests: The prompts.
        end_ids: Tokens that end a reply.
        pad_id: The token that fills shorter prompts.
    """
    with torch.inference_mode():
        return _sample(model, requests, end_ids, pad_id)


def _sample(
    model: Any, requests: Sequence[Request], end_ids: frozenset[int], pad_id: int
) -> list[Sampled]:
    device = model.device
    ids, mask = _left_padded(requests, pad_id, device)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    # Logits of a long prompt's every token can be larger than the model.
    last_only = {"logits_to_keep": 1} if _can_keep_last(model) else {}
    generators = [random.Random(request.seed) for request in requests]
    results = [Sampled([], []) for _ in requests]
    running = set(range(len(requests)))
    cache = None
    while running:
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            **last_only,
        )
        cache, logits_B_V = out.past_key_values, out.logits[:, -1].float()  # noqa: N806 - its axes
        chosen_B = _choose(logits_B_V, requests, generators)  # noqa: N806 - likewise
        logprobs_B = logits_B_V.log_softmax(-1).gather(-1, chosen_B[:, None])[:, 0]  # noqa: N806
        for row, token, logprob in zip(
            range(len(requests)), chosen_B.tolist(), logprobs_B.tolist(), strict=True
        ):
            if row in running and _take(results[row], token, logprob, requests[row], end_ids):
                running.discard(row)
        ids = chosen_B[:, None]
        mask = torch.cat([mask, mask.new_ones(len(requests), 1)], dim=-1)
        positions = positions[:, -1:] + 1
    return results


def _take(
    result: Sampled, token: int, logprob: float, request: Request, end_ids: frozenset[int]
) -> bool:
    """Add a token, and return whether it was the last."""
    result.ids.append(token)
    result.logprobs.append(logprob)
    result.is_complete = token in end_ids
    return result.is_complete or len(result.ids) >= request.max_new_tokens


def _left_padded(
    requests: Sequence[Request], pad_id: int, device: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(request.ids) for request in requests)
    missing = [width - len(request.ids) for request in requests]
    rows = [
        [pad_id] * count + request.ids for count, request in zip(missing, requests, strict=True)
    ]
    masks = [[0] * count + [1] * (width - count) for count in missing]
    return torch.tensor(rows, device=device), torch.tensor(masks, device=device)


def _choose(
    logits_B_V: torch.Tensor,  # noqa: N803 - its axes
    requests: Sequence[Request],
    generators: Sequence[random.Random],
) -> torch.Tensor:
    """Return a token for each row, by inverting the distribution's cumulative sum."""
    greedy = [request.temperature == 0 for request in requests]
    if all(greedy):
        return logits_B_V.argmax(-1)

    def column(values: list[float]) -> torch.Tensor:
        return torch.tensor(values, device=logits_B_V.device)[:, None]

    temperature = column([request.temperature or 1.0 for request in requests])
    probabilities, tokens = (logits_B_V / temperature).softmax(-1).sort(-1, descending=True)
    sums = probabilities.cumsum(-1)
    top_p = column([request.top_p for request in requests])
    kept = probabilities * (sums - probabilities < top_p)
    sums = kept.cumsum(-1)
    drawn = column([generator.random() for generator in generators]) * sums[:, -1:]
    place = (sums <= drawn).sum(-1, keepdim=True).clamp(max=sums.shape[-1] - 1)
    place = place.masked_fill(column([float(one) for one in greedy]) > 0, 0)
    return tokens.gather(-1, place)[:, 0]


def _can_keep_last(model: Any) -> bool:
    return "logits_to_keep" in inspect.signature(model.forward).parameters
