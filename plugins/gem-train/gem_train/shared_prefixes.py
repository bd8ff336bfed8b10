"""Shared prefixes: run a prompt that several rows begin with through the model once.

The episodes of a group begin with the same prompt, and so do all episodes of a game whose rules
never change. With short responses, this prompt is most of what a model reads. Each distinct first
prompt goes through the model once, its keys and values are copied to every row that begins with it,
and the rows continue from there. Values and gradients are those of reading each row as a whole.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from gem_rollout.models.cache_names import cache_name
from gem_rollout.models.pretrained import base_model
from gem_train.batch import Batch

__all__ = ["SharedPrefixes", "Suffixes"]

_LEAST_SAVING = 0.25
"""Share of a batch's tokens that sharing must save: two passes cost more than one."""

_Prefixes = tuple[list[list[int]], list[int]]
"""The distinct first prompts without their last token, and the index of each row's prompt."""


class SharedPrefixes:
    """Splits rows into shared prefixes and suffixes.

    This needs a model whose layers all attend to the whole sequence and which takes positions, in
    evaluation mode: dropout and gradient checkpointing, which act in training mode, need whole
    rows. The first batch is computed both ways. If the outputs differ by more than rounding, whole
    rows are read from then on.

    Args:
        model: A model of transformers or peft.
        last_only: Arguments of the forward pass that limit logits to the last token.
    """

    def __init__(self, model: Any, last_only: Mapping[str, int]) -> None:
        self._model = model
        self._last_only = last_only
        self._cache_name = cache_name(model) or ""
        self._is_usable = _has_full_cache(model)
        self._is_checked = False

    def split(self, batch: Batch) -> "Suffixes | None":
        """Read the shared prefixes and return the suffixes; None to read whole rows."""
        prefixes = self._worthwhile(batch)
        return None if prefixes is None else self._suffixes(batch, prefixes)

    def _worthwhile(self, batch: Batch) -> _Prefixes | None:
        """Return the first prompts if the model can share them and it saves enough tokens.

        Rows with images are read whole: their prompts are not known by their tokens alone.
        """
        if not self._is_usable or self._model.training or batch.images is not None:
            return None
        prompts, prompt_of = _first_prompts(batch)
        lengths = list(map(len, prompts))
        saved = sum(lengths[index] for index in prompt_of) - sum(lengths)
        if saved < _LEAST_SAVING * int(batch.attention.sum()) or min(lengths) == 0:
            return None
        if not self._is_checked:
            self._is_checked, self._is_usable = True, self._agrees(batch)
        return (prompts, prompt_of) if self._is_usable else None

    def _agrees(self, batch: Batch) -> bool:
        """Return whether some rows have the same outputs, up to rounding, split and as a whole."""
        few = batch.select(torch.arange(min(4, len(batch.ids)), device=batch.ids.device))
        with torch.no_grad():
            whole = self._model(
                input_ids=few.ids, attention_mask=few.attention.long(), use_cache=False
            )[0]
            suffixes = self._suffixes(few, _first_prompts(few))
            parts = self._model(**suffixes.inputs)[0]
        columns = suffixes.columns[:, : parts.shape[1]]
        rows, places = torch.where(columns < whole.shape[1])
        worst = (whole[rows, columns[rows, places]] - parts[rows, places]).abs().float().max()
        rounding = torch.finfo(whole.dtype).eps ** 0.5
        return bool(worst <= rounding * whole.abs().float().max())

    def _suffixes(self, batch: Batch, prefixes: _Prefixes) -> "Suffixes":
        (prompts, prompt_of), device = prefixes, batch.ids.device
        lengths = torch.tensor([len(one) for one in prompts], device=device)
        ids = pad_sequence([torch.tensor(one) for one in prompts], batch_first=True).to(device)
        known = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        read = self._model(
            input_ids=ids, attention_mask=known.long(), use_cache=True, **self._last_only
        )
        cache, prompt_S = read[self._cache_name], torch.tensor(prompt_of, device=device)
        cache.batch_select_indices(prompt_S)

        starts, end = lengths[prompt_S], batch.ids.shape[1]
        width = int((batch.lengths - starts).max())
        columns = starts[:, None] + torch.arange(width, device=device)
        inside = columns.clamp(max=end - 1)
        is_token = (columns < end) & batch.attention.gather(1, inside)
        suffix = batch.ids.gather(1, inside)
        but_last = slice(max(1, width - 1))
        inputs = {
            "input_ids": suffix[:, but_last],
            "attention_mask": torch.cat([known[prompt_S], is_token[:, but_last]], dim=1).long(),
            "position_ids": columns[:, but_last],
            self._cache_name: cache,
            "use_cache": True,
        }
        sampled = is_token & (batch.turn_of.gather(1, inside) >= 0)
        return Suffixes(suffix, sampled, inputs, columns.masked_fill(~is_token, end))


@dataclass(frozen=True)
class Suffixes:
    """Rows without the prefixes that they share.

    Args:
        ids: Token ids, from the last token of the first prompt on, (S, R).
        sampled: Which of them were sampled, bool, (S, R).
        inputs: Arguments of the model's forward pass. They leave the last column out, as nothing
            follows it.
        columns: The column of each token in the batch, (S, R); L for padding.
    """

    ids: torch.Tensor
    sampled: torch.Tensor
    inputs: dict[str, Any]
    columns: torch.Tensor

    def to_rows(self, x_S_R: torch.Tensor, width: int) -> torch.Tensor:
        """Return values at the columns of their tokens, and 0 elsewhere; (S, ``width``)."""
        rows = x_S_R.new_zeros(len(x_S_R), width + 1)
        return rows.scatter(1, self.columns[:, : x_S_R.shape[1]], x_S_R)[:, :width]


def _has_full_cache(model: Any) -> bool:
    """Return whether each layer keeps the keys and values of all positions."""
    from transformers.cache_utils import DynamicCache, DynamicLayer  # noqa: PLC0415 - optional

    base = base_model(model)
    parameters = inspect.signature(base.forward).parameters
    if "position_ids" not in parameters or cache_name(model) is None:
        return False
    layers = DynamicCache(config=base.config.get_text_config()).layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def _first_prompts(batch: Batch) -> _Prefixes:
    """Return the distinct first prompts without their last token, and the index of each row's.

    The last token belongs to the suffix: the model predicts the first sampled token there.
    """
    sampled = batch.turn_of >= 0
    ends = torch.where(sampled.any(1), sampled.int().argmax(1), 1).tolist()
    index: dict[tuple[int, ...], int] = {}
    prompt_of = [
        index.setdefault(tuple(row[: end - 1]), len(index))
        for row, end in zip(batch.ids.tolist(), ends, strict=True)
    ]
    return [list(one) for one in index], prompt_of
