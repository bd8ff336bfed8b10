"""The reference: the initial policy, which a KL penalty keeps the policy close to."""

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from gem_train.batch import Batch
from gem_train.policy import Policy

__all__ = ["Reference"]


class Reference:
    """A frozen copy of the initial policy, for the KL penalty.

    Args:
        policy: The policy. One with adapters is not copied: without its adapters it is its own
            reference.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._is_base = policy.has_adapters
        if not self._is_base:
            frozen = copy.deepcopy(policy.model).requires_grad_(requires_grad=False)
            self._policy = Policy(frozen, policy.processor)

    def logprobs(self, batch: Batch, *, temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probability of each sampled token, in nats, 0 elsewhere; (S, L)."""
        without: AbstractContextManager[Any] = (
            self._policy.model.disable_adapter() if self._is_base else nullcontext()
        )
        with torch.no_grad(), without:
            return self._policy.logprobs(batch, temperature=temperature)
