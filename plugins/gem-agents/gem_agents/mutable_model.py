"""A torch model whose weights may change between forward passes, such as one in training."""

import inspect
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from gem_agents.kv_cache import CachedForward, attention_windows, plain_logits
from gem_agents.prompt_images import ImageReader, PromptImages
from gem_rollout.models.pretrained import base_model
from gem_rollout.models.vision import Vision

__all__ = ["MutableModel"]

_COMPARED = 64
"""Numbers of each parameter that are compared to detect changes."""

_can_cache: "weakref.WeakKeyDictionary[Any, bool]" = weakref.WeakKeyDictionary()


class MutableModel:
    """A causal language model of transformers, optionally wrapped by peft.

    Args:
        model: The model.
        vision: How it reads images; None if it reads text only.
    """

    def __init__(self, model: Any, vision: Vision | None = None) -> None:
        self._model = model
        base = base_model(model)
        names = inspect.signature(base.forward).parameters
        # The logits of all tokens of a long prompt can be larger than the model.
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in names else {}
        self._windows = attention_windows(model) if "position_ids" in names else None
        self.reader = None if vision is None else ImageReader(vision, base)
        """Prepares prompts with images; None if the model reads text only."""
        self.version: int | None = None
        """Version of the weights, set by whoever updates them; None if unknown."""
        self._generation = 0
        self._identity: list[tuple[int, int]] = []
        self._heads: list[torch.Tensor] = []
        self._numbers = torch.empty(0)
        self._modules: list[Any] = []

    def _compare_weights(self) -> None:
        """Start a new generation if parameters were replaced or some of their numbers changed."""
        self._modules = list(self._model.modules())
        parameters = list(self._model.parameters())
        self._counted = [one for one in parameters if not one.is_inference()]
        identity = [(id(one), one.data_ptr()) for one in parameters]
        if is_new := identity != self._identity:
            self._identity, self._heads = identity, [_head(one) for one in parameters]
        device = parameters[0].device
        numbers = torch.cat([one.to(device) for one in self._heads])
        if is_new or not torch.equal(numbers, self._numbers):
            self._numbers = numbers
            self._generation += 1

    @contextmanager
    def evaluating(self, *, compare: bool) -> Iterator[object]:
        """Put the model in evaluation mode without gradients inside, and restore its mode.

        Args:
            compare: Whether to compare some of the weights themselves. Otherwise only changes that
                torch counts are seen, which fused optimisers and ``parameter.data`` evade.

        Yields:
            The version of the weights; equal to the last one if the weights have not changed.
        """
        if compare or not self._modules:
            self._compare_weights()
        training = [module for module in self._modules if module.training]
        for module in training:
            module.training = False
        try:
            with torch.inference_mode():
                yield self._generation, sum(one._version for one in self._counted)  # noqa: SLF001
        finally:
            for module in training:
                module.training = True

    @property
    def can_cache(self) -> bool:
        """Whether ``cached_forward`` gives the model's own logits; call it in ``evaluating``.

        It is tested once for each model, because models use caches in different ways.
        """
        if self._windows is None:
            return False
        if self._model not in _can_cache:
            agrees = self._agrees()
            if agrees is None:
                return False
            _can_cache[self._model] = agrees
        return _can_cache[self._model]

    def cached_forward(self, most_tokens: int | None = None) -> CachedForward:
        """Return forward passes with a new, empty cache of about ``most_tokens`` at most."""
        return CachedForward(
            self._model, self._windows or {}, self._last_only, most_tokens, reader=self.reader
        )

    def plain_logits(
        self,
        sequences: Sequence[Sequence[int]],
        images: Sequence[PromptImages | None] = (),
    ) -> torch.Tensor:
        """Return the logits of each sequence's last token, computed without a cache."""
        return plain_logits(self._model, sequences, self._last_only, images, reader=self.reader)

    def _agrees(self) -> bool | None:
        """Compare logits with and without a cache; None if they are not finite."""
        vocabulary = self._model.config.get_text_config().vocab_size
        sequences = [[(7 * n + 1) % vocabulary for n in range(count)] for count in (7, 4)]
        expected = self.plain_logits(sequences)
        if not bool(expected.isfinite().all()):
            return None
        try:
            forward = self.cached_forward()
            forward.prefill(0, [ids[:-2] for ids in sequences], [0, 0])
            forward.prefill(0, [ids[:-1] for ids in sequences], [len(ids) - 2 for ids in sequences])
            forward.begin([ids[-1] for ids in sequences], [len(ids) - 1 for ids in sequences])
            found = forward.decode()
        except (TypeError, ValueError, RuntimeError, AttributeError, IndexError):
            return False
        tolerance = torch.finfo(expected.dtype).eps ** 0.5
        return bool((found - expected).abs().max() <= tolerance * expected.abs().max())


def _head(parameter: torch.Tensor) -> torch.Tensor:
    """Return a view of the first numbers of a parameter."""
    row = torch.atleast_1d(parameter.detach())
    return row[(0,) * (row.dim() - 1)][:_COMPARED]
