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
_AHEAD = np.arange(32, dtype=np.uint64)
"""The next random numbers of a row, which are copied to the device together."""


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
        self._device = device
        self._seeds = np.array(seeds, dtype=np.uint64)
        self._counts = np.array(counts, dtype=np.uint64)
        self._ahead: list[torch.Tensor] = []
        temperatures = [request.temperature for request in requests]
        self._all_greedy = not any(temperatures)
        self._some_greedy = not all(temperatures)
        self._has_temperature = bool({*temperatures} - {0, 1})
        self._some_own = not all(request.scaled_logprobs for request in requests)
        cut = [row for row, request in enumerate(requests) if request.top_p < 1]
        self._cut = torch.tensor(cut, device=device) if cut else None
        columns = torch.tensor(
            [
                (one.temperature == 0, one.temperature or 1.0, one.scaled_logprobs, one.top_p)
                for one in requests
            ],
            device=device,
        )
        self._greedy, self._temperature, self._scaled, self._top_p = columns.split(1, -1)

    def sample(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a token for each row and its log-probability in nats, both (rows, 1).

        Args:
            logits: Logits of the next token, (rows, vocabulary).
        """
        logits = logits.float()
        scaled = logits / self._temperature if self._has_temperature else logits
        largest, tokens = scaled.max(-1, keepdim=True)
        probabilities = scaled.softmax(-1)
        log_largest = probabilities.gather(-1, tokens).log()
        if not self._all_greedy:
            drawn = self._drawn(probabilities)
            tokens = torch.where(self._greedy > 0, tokens, drawn) if self._some_greedy else drawn
        # The largest is subtracted first: rounding then does not depend on how large logits are.
        logprobs = scaled.gather(-1, tokens) - largest + log_largest
        if self._has_temperature and self._some_own:
            own = logits.log_softmax(-1).gather(-1, tokens)
            logprobs = torch.where(self._scaled > 0, logprobs, own)
        return tokens, logprobs

    def _drawn(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Sample by inverting the cumulative distribution of each row at a uniform number."""
        if self._cut is not None:
            some, order = probabilities[self._cut].sort(-1, descending=True)
            some = some * (some.cumsum(-1) - some < self._top_p[self._cut])
            kept = torch.zeros_like(some).scatter_(-1, order, some)
            probabilities = probabilities.index_copy(0, self._cut, kept)
        sums = probabilities.cumsum(-1)
        # The first larger sum belongs to a token of positive probability; with NaN there is none.
        tokens = torch.searchsorted(sums, self._uniform() * sums[:, -1:], right=True)
        return tokens.clamp_(max=sums.shape[-1] - 1)

    def _uniform(self) -> torch.Tensor:
        """Return the next random number of each row, (rows, 1)."""
        if not self._ahead:  # a copy to the device waits for it
            counts: npt.NDArray[np.uint64] = self._counts[:, None] + _AHEAD
            numbers = torch.from_numpy(uniforms(self._seeds[:, None], counts))
            self._ahead = list(numbers.to(self._device).split(1, -1))[::-1]
            self._counts += np.uint64(len(_AHEAD))
        return self._ahead.pop()
