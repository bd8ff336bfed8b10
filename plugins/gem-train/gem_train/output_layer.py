"""The body and the output layer of a language model, to score tokens without all of its logits."""

from typing import Any, NamedTuple

import torch

from gem_rollout.models.vision import Vision

__all__ = ["OutputLayer"]


class OutputLayer(NamedTuple):
    """A causal language model in two parts: ``logits = layer(body(ids).last_hidden_state)``.

    Args:
        body: The model without its output layer.
        layer: The output layer, a ``torch.nn.Linear``.
    """

    body: Any
    layer: Any

    def bias(self, vision: Vision | None) -> torch.Tensor | None:
        """Return the bias of the logits, with which tokens of images are never sampled."""
        bias: torch.Tensor | None = self.layer.bias
        if vision is None:
            return bias
        weight = self.layer.weight
        return vision.masked(weight.new_zeros(len(weight)) if bias is None else bias)

    @classmethod
    def of(cls, model: Any) -> "OutputLayer | None":
        """Return the parts of a model; None if its logits are something else.

        Some models scale or bend the logits, and an output layer may have adapters. The logits of
        three tokens are therefore computed in both ways.

        Args:
            model: A causal language model of transformers, without peft's wrapper.
        """
        body, layer = getattr(model, "base_model", None), model.get_output_embeddings()
        if body is None or body is model or type(layer) is not torch.nn.Linear:
            return None
        size = len(layer.weight)
        ids = torch.tensor([[1 % size, 2 % size, 3 % size]], device=layer.weight.device)
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad():
                whole = model(input_ids=ids, use_cache=False)[0]
                hidden = body(input_ids=ids, use_cache=False)[0]
                parts = layer(hidden.to(layer.weight.dtype))
        finally:
            model.train(was_training)
        rounding = torch.finfo(whole.dtype).eps ** 0.5
        return (
            cls(body, layer)
            if bool(torch.allclose(whole, parts, atol=rounding, rtol=rounding))
            else None
        )
