"""The critic: a model that predicts returns, for algorithms such as PPO."""

import copy
from collections.abc import Mapping
from typing import Any

import torch

from gem_rollout.models.pretrained import base_model
from gem_train.batch import Batch
from gem_train.image_inputs import image_inputs
from gem_train.master_weights import MasterWeights
from gem_train.policy import Policy
from gem_train.shared_prefixes import SharedPrefixes

__all__ = ["Critic"]


class Critic(torch.nn.Module):  # type: ignore[misc] # torch is not read by mypy
    """Predicts the value of a prompt: a copy of the policy's body with a linear head of zeros.

    For a policy with adapters, the critic has adapters of its own and shares the frozen weights.

    Args:
        policy: The policy whose body is copied.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        base = base_model(policy.model)
        shared = {id(one): one for one in policy.model.parameters() if not one.requires_grad}
        self.body = copy.deepcopy(base.base_model, shared)
        width = base.config.get_text_config().hidden_size
        self._prefixes = SharedPrefixes(self.body, {})
        self._vision = policy.vision
        self.head = torch.nn.Linear(width, 1)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        self.to(policy.device)
        self._weights = MasterWeights(self)

    def trained(self) -> list[torch.nn.Parameter]:
        """Return the trained parameters; call ``sync`` after each step of the optimiser."""
        return list(self._weights.parameters.values())

    def sync(self) -> None:
        """Give the critic the weights that an optimiser has changed."""
        self._weights.sync()

    def trained_state(self) -> dict[str, torch.Tensor]:
        """Return its weights by name, in float32."""
        return {name: one.detach() for name, one in self._weights.parameters.items()}

    def load_trained_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Load weights that ``trained_state`` returned."""
        for name, one in self.trained_state().items():
            one.copy_(state[name])
        self.sync()

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the value at each position from a row's first state on, (S, L)."""
        suffixes = self._prefixes.split(batch)
        if suffixes is None:
            images = image_inputs(self._vision, batch, self.body.dtype)
            attention = batch.attention.long()
            return self._values(input_ids=batch.ids, attention_mask=attention, **images)
        return suffixes.to_rows(self._values(**suffixes.inputs), batch.ids.shape[1])

    def _values(self, **inputs: Any) -> torch.Tensor:
        hidden = self.body(**{"use_cache": False, **inputs}).last_hidden_state
        values: torch.Tensor = self.head(hidden.to(self.head.weight.dtype))[..., 0]
        return values
