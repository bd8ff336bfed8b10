"""Samples tokens from logits, for all rows of a batch together.

Each row has its own seed, and its n-th random number is a function of the seed and n alone. It does
not depend on the rest of the batch. Only rounding does: batches of other shapes sum in another
order, which sometimes changes a token that was as likely as another.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gem_rollout.tokens.sampler import Request

__all__ = ["RowRNG", "uniforms"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def uniforms(
    seeds: npt.NDArray[np.uint64], numbers: npt.NDArray[np.uint64]
) -> npt.NDArray[np.float32]:
    """Return the n-th random number of each seed, in [0, 1).

    The sequence is SplitMix64's (Steele, Lea and Flood, 2014), truncated to 24 bits.

    Args:
        seeds: The seeds.
        numbers: The index n in the sequence of each seed, from 0.
    """
    state = seeds + (numbers + np.uint64(1)) * _GAMMA
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    state ^= state >> np.uint64(31)
    numbers_24: npt.NDArray[np.float32] = (state >> np.uint64(40)).astype(np.float32)
    return numbers_24 * np.float32(2.0**-24)


class RowRNG:
    """Samples the tokens of a batch with fixed rows, with one random sequence per row.

    Args:
        requests: The sampling parameters of each row.
        seeds: The seed of each row.
        counts: Number of tokens that each row has already sampled.
        device: The device of the logits.
    """

    def __init__(
        self, requests: Sequence[Request], seeds: Sequence[int], counts: Sequence[int], device: Any
    ) -> None:
        def column(values: list[Any]) -> torch.Tensor:
            return torch.tensor(values, device=device)[:, None]

        self._device = device
        self._seeds = np.array(seeds, dtype=np.uint64)
        self._counts = np.array(counts, dtype=np.uint64)
        greedy = [request.temperature == 0 for request in requests]
        self._all_greedy = all(greedy)
        self._greedy = column(greedy) if any(greedy) else None
        self._temperature = self._scaled = None
        if any(request.temperature not in {0, 1} for request in requests):
            self._temperature = column([request.temperature or 1.0 for request in requests])
            self._scaled = column([request.scaled_logprobs for request in requests])
        cut = [row for row, request in enumerate(requests) if request.top_p < 1]
        self._cut = torch.tensor(cut, device=device) if cut else None
        self._top_p = column([requests[row].top_p for row in cut]) if cut else None

    def sample(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a token for each row and its log-probability in nats, both (rows, 1).

        Args:
            logits: Logits of the next token, (rows, vocabulary).
        """
        logits = logits.float()
        own = scaled = logits.log_softmax(-1)
        if self._temperature is not None:
            scaled = (logits / self._temperature).log_softmax(-1)
        tokens = logits.argmax(-1, keepdim=True) if self._greedy is not None else None
        if not self._all_greedy:
            drawn = self._drawn(scaled.exp())
            tokens = drawn if tokens is None else torch.where(self._greedy, tokens, drawn)
        self._counts += np.uint64(1)
        logprobs = own.gather(-1, tokens)
        if self._scaled is not None:
            logprobs = torch.where(self._scaled, scaled.gather(-1, tokens), logprobs)
        return tokens, logprobs

    def _drawn(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Sample by inverting the cumulative distribution of each row at a uniform number."""
        if self._cut is not None:
            some, order = probabilities[self._cut].sort(-1, descending=True)
            some = some * (some.cumsum(-1) - some < self._top_p)
            kept = torch.zeros_like(some).scatter_(-1, order, some)
            probabilities = probabilities.index_copy(0, self._cut, kept)
        sums = probabilities.cumsum(-1)
        uniform = torch.from_numpy(uniforms(self._seeds, self._counts)).to(self._device)
        # The first larger sum belongs to a token of positive probability; with NaN there is none.
        tokens = torch.searchsorted(sums, uniform[:, None] * sums[:, -1:], right=True)
        return tokens.clamp_(max=sums.shape[-1] - 1)
