"""Weights in bfloat16 that are trained in float32.

A weight in bfloat16 has 8 significant bits, and most updates are smaller than its last one. The
optimiser therefore changes a copy in float32, the master, and the weight is the rounded master
(Micikevicius et al. 2018, "Mixed Precision Training"). Gradients of the parts of a batch are added
up in float32 as well, each as soon as the backward pass has computed it.

Bytes per trained parameter with AdamW: 2 for the weight, and 4 each for the master, its gradient
and the two moments, 18 in all; 16 in float32.
"""

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["MasterWeights"]


class MasterWeights:
    """The trained parameters of a model, in float32.

    Args:
        model: The model. Its parameters in a shorter type get masters; the others are their own.
        masters: Values of the masters by name, more precise than the parameters; None for the
            parameters' own.
    """

    def __init__(self, model: Any, masters: dict[str, torch.Tensor] | None = None) -> None:
        self.parameters: dict[str, torch.nn.Parameter] = {}
        """The parameters that the optimiser changes, by name."""
        self._short: list[torch.nn.Parameter] = []
        self._masters: list[torch.nn.Parameter] = []
        for name, one in model.named_parameters():
            if not one.requires_grad:
                continue
            self.parameters[name] = one
            if one.dtype in {torch.bfloat16, torch.float16}:
                value = (masters or {}).get(name, one).detach()
                master = torch.nn.Parameter(value.to(one.device, torch.float32))
                self.parameters[name] = master
                self._short.append(one)
                self._masters.append(master)
                one.register_post_accumulate_grad_hook(_adds_to(master))

    @torch.no_grad()  # type: ignore[untyped-decorator] # torch is not read by mypy
    def sync(self) -> None:
        """Round the masters to the weights, after a step of the optimiser."""
        if self._short:
            torch._foreach_copy_(self._short, self._masters)


def _adds_to(master: torch.nn.Parameter) -> Callable[[torch.Tensor], None]:
    def move_gradient(weight: torch.Tensor) -> None:
        if weight.grad is None:
            return
        if master.grad is None:
            master.grad = weight.grad.float()
        else:
            master.grad += weight.grad
        weight.grad = None

    return move_gradient
