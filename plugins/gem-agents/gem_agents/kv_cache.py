"""A cache of keys and values for sequences of different lengths, and forward passes that use it.

Each sequence has a row of the cache. The sequences that are being computed have the first rows, so
that a layer attends to a slice and never to a copy. Rows are moved when a sequence begins or ends.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from gem_agents.prompt_images import ImageReader, PromptImages, new_images
from gem_rollout.models.cache_names import cache_name

__all__ = ["CachedForward", "SlotKVCache", "attention_windows", "plain_logits"]

_STEP = 64
"""Capacities are multiples of this, in tokens."""


class SlotKVCache(Cache):  # type: ignore[misc]  # transformers has no types
    """Keys and values: for each layer two tensors of shape (rows, capacity, heads, size).

    Args:
        most_tokens: Most tokens, rows times capacity, beyond which the capacity grows no further
            than is needed; None for no limit.
    """

    def __init__(self, most_tokens: int | None = None) -> None:
        super().__init__(layers=[])
        self.rows = self.capacity = 0
        self._most_tokens = most_tokens
        self._stores: list[list[torch.Tensor]] = []
        self._target_rows = slice(0)
        self._width = 0
        self._written = torch.empty(0)
        self._kept: torch.Tensor | None = None

    def reserve(self, rows: int, capacity: int) -> None:
        """Grow to at least this number of rows, and this capacity in tokens per row."""
        if rows <= self.rows and capacity <= self.capacity:
            return
        old, self.rows = (self.rows, self.capacity), max(rows, self.rows)
        if capacity > self.capacity:  # by half at least, so that it rarely grows
            larger = self.capacity_for(max(capacity, self.capacity * 3 // 2))
            fits = self._most_tokens is None or self.rows * larger <= self._most_tokens
            capacity = larger if fits else self.capacity_for(capacity)
        self.capacity = max(capacity, self.capacity)
        for store in self._stores:
            for kind, tensor in enumerate(store):
                # Masked values are still multiplied, so they must be finite: zeros.
                store[kind] = tensor.new_zeros(self.rows, self.capacity, *tensor.shape[2:])
                store[kind][: old[0], : old[1]] = tensor

    def capacity_for(self, width: int) -> int:
        """Return the least capacity for rows of ``width`` tokens, at least the present one."""
        return max(self.capacity, -(-width // _STEP) * _STEP)

    def move(self, targets: Sequence[int], sources: Sequence[int], width: int) -> None:
        """Copy the first ``width`` tokens of source rows to target rows, simultaneously."""
        if not self._stores or not targets:
            return
        device = self._stores[0][0].device
        into, out_of = torch.tensor([[*targets], [*sources]], device=device)
        for store in self._stores:
            for tensor in store:
                cut = tensor[:, :width]
                cut[into] = cut[out_of]

    def set_targets(
        self,
        rows: slice,
        width: int,
        written: torch.Tensor,
        kept: torch.Tensor | None = None,
    ) -> None:
        """Set the rows and positions that the next forward pass reads and writes.

        Args:
            rows: The rows to attend to.
            width: Number of tokens of each row to attend to, including the new ones.
            written: The positions of the new tokens: row * capacity + position.
            kept: Indices of the new tokens among those of the pass; None if all are new.
        """
        self._target_rows, self._width, self._written, self._kept = rows, width, written, kept

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_args: Any,
        **_kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write a layer's new keys and values, and return those that it attends to."""
        while len(self._stores) <= layer_idx:
            self._stores.append(
                [
                    one.new_zeros(self.rows, self.capacity, one.shape[1], one.shape[3])
                    for one in (key_states, value_states)
                ]
            )
        keys, values = self._stores[layer_idx]
        return self._write(keys, key_states), self._write(values, value_states)

    def _write(self, store: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        new = states.transpose(1, 2).flatten(0, 1)
        if self._kept is not None:
            new = new.index_select(0, self._kept)
        store.flatten(0, 1).index_copy_(0, self._written, new)
        return store[self._target_rows, : self._width].transpose(1, 2)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of tokens that are attended to."""
        return self._width


def attention_windows(model: Any) -> dict[str, int | None] | None:
    """Return the window of each type of attention layer; None if a layer has another kind of cache.

    Args:
        model: A causal language model of transformers.
    """
    config = model.config.get_text_config()
    layers = DynamicCache(config=config).layers
    windows: dict[str, int | None] = {}
    for layer in layers:
        if type(layer) is DynamicLayer:
            windows["full_attention"] = None
        elif type(layer) is DynamicSlidingWindowLayer:
            windows["sliding_attention"] = layer.sliding_window
        else:
            return None
    return windows or None


class CachedForward:
    """Forward passes of a model with a ``SlotKVCache``.

    Args:
        model: The model.
        windows: The result of ``attention_windows`` for the model.
        last_only: Arguments of the forward pass that limit logits to the last token.
        most_tokens: See ``SlotKVCache``.
        reader: Prepares images; None for a model that reads text only.
    """

    def __init__(
        self,
        model: Any,
        windows: dict[str, int | None],
        last_only: dict[str, int],
        most_tokens: int | None = None,
        *,
        reader: ImageReader | None = None,
    ) -> None:
        self.cache = SlotKVCache(most_tokens)
        self._model = model
        self._windows = windows
        self._last_only = last_only
        self._reader = reader
        self._cache_name = cache_name(model) or "past_key_values"
        parameter = next(model.parameters())
        self._device, self._dtype = parameter.device, model.dtype
        self._hidden = torch.finfo(self._dtype).min

    def prefill(
        self,
        first: int,
        sequences: Sequence[Sequence[int]],
        cached: Sequence[int],
        images: Sequence[PromptImages | None] = (),
    ) -> torch.Tensor:
        """Compute the tokens that are not cached; return the logits of the last tokens.

        Args:
            first: The row of the first sequence; the others are in the following rows.
            sequences: The tokens of each sequence.
            cached: Number of cached tokens of each sequence, fewer than all; none ends inside an
                image.
            images: The images of each sequence; empty if there are none.
        """
        count, width = len(sequences), max(map(len, sequences))
        self.cache.reserve(first + count, width)
        known = np.array(cached)
        lengths = np.array([len(ids) for ids in sequences])
        # New tokens are aligned to the right: the last column is the last token of each sequence.
        block = int((lengths - known).max())
        columns = np.arange(block) + (lengths - block)[:, None]
        is_new = columns >= known[:, None]
        tokens = np.zeros((count, block), dtype=np.int64)
        tokens[is_new] = np.concatenate(
            [ids[start:] for ids, start in zip(sequences, cached, strict=True)]
        )
        starts = (np.arange(first, first + count) * self.cache.capacity)[:, None]
        written = self._tensor((starts + columns)[is_new])
        rows = slice(first, first + count)
        self.cache.set_targets(rows, width, written, self._tensor(np.flatnonzero(is_new)))
        positions = self._tensor(np.where(is_new, columns, 0))
        ids, masks = self._tensor(tokens), self._masks(positions, width)
        new = new_images(images, cached)
        given = {} if self._reader is None else self._reader.inputs(ids, new, with_types=False)
        return self._logits(ids, self._axes(positions, images), masks, given)

    def begin(
        self,
        tokens: Sequence[int],
        lengths: Sequence[int],
        images: Sequence[PromptImages | None] = (),
    ) -> None:
        """Prepare to decode the sequences in the first rows, one token at a time.

        Args:
            tokens: The last token of each sequence, which is not cached.
            lengths: Number of cached tokens before it.
            images: The images of each sequence; empty if there are none.
        """
        count, self._width = len(tokens), max(lengths)
        self.cache.reserve(count, self._width + 1)
        shifts = [0 if one is None else one.shift for one in images] or [0] * count
        columns = self._tensor([*zip(tokens, lengths, shifts, strict=True)])
        self._tokens, self._positions, self._shifts = columns.split(1, -1)
        self._begin_masks()

    def _begin_masks(self) -> None:
        capacity = self.cache.capacity
        self._rows = torch.arange(len(self._positions), device=self._device)
        self._starts = self._rows * capacity
        self._open = self._masks(self._positions, capacity)

    def decode(self, tokens: torch.Tensor | None = None) -> torch.Tensor:
        """Compute one more token of each sequence, and return its logits.

        Args:
            tokens: The tokens, (rows, 1); None for those that were passed to ``begin``.
        """
        if tokens is not None:
            self._tokens = tokens
            self._positions = self._positions + 1
            self._width += 1
            if self._width >= self.cache.capacity:
                self.cache.reserve(0, self._width + 1)
                self._begin_masks()
            else:
                self._uncover()
        width = self._width + 1
        written = self._starts + self._positions[:, 0]
        masks = {kind: mask[..., :width] for kind, mask in self._open.items()}
        self.cache.set_targets(slice(len(self._rows)), width, written)
        return self._logits(self._tokens, self._positions + self._shifts, masks)

    def _axes(self, positions: torch.Tensor, images: Sequence[PromptImages | None]) -> torch.Tensor:
        """Return the positions of tokens of prompts by their indices, with axes if it has them."""
        if self._reader is None or not self._reader.has_axes or not any(images):
            return positions
        rows = [
            index.expand(3, -1) if one is None else one.positions(index)
            for index, one in zip(positions, images, strict=True)
        ]
        return torch.stack(rows, dim=1)

    def _uncover(self) -> None:
        """Let each row attend to its newest position, and no longer to those outside its window."""
        for kind, mask in self._open.items():
            mask[self._rows, 0, 0, self._positions[:, 0]] = 0
            window = self._windows[kind]
            if window is not None:
                gone = self._positions - window
                at = gone.clamp(min=0)
                mask[:, 0, 0].scatter_(1, at, self._hidden * (gone >= 0).to(self._dtype))

    def _masks(self, positions: torch.Tensor, width: int) -> dict[str, torch.Tensor]:
        """Return the additive attention masks, (rows, 1, queries, keys), of each layer type."""
        keys = torch.arange(width, device=self._device)
        queries = positions[:, None, :, None]
        masks = {}
        for kind, window in self._windows.items():
            closed = keys > queries
            if window is not None:
                closed |= keys <= queries - window
            mask = torch.zeros(closed.shape, dtype=self._dtype, device=self._device)
            masks[kind] = mask.masked_fill_(closed, self._hidden)
        return masks

    def _logits(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        masks: dict[str, torch.Tensor],
        images: Mapping[str, Any] | None = None,
    ) -> torch.Tensor:
        out = self._model(
            input_ids=tokens,
            attention_mask=masks if len(masks) > 1 else next(iter(masks.values())),
            position_ids=positions,
            use_cache=True,
            **{self._cache_name: self.cache},
            **self._last_only,
            **(images or {}),
        )
        return _masked(out.logits[:, -1], self._reader)

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.tensor(values, device=self._device)


def _masked(logits: torch.Tensor, reader: ImageReader | None) -> torch.Tensor:
    """Return logits without tokens that stand for images."""
    if reader is None:
        return logits
    masked: torch.Tensor = reader.vision.masked(logits)
    return masked


def plain_logits(
    model: Any,
    sequences: Sequence[Sequence[int]],
    last_only: dict[str, int],
    images: Sequence[PromptImages | None] = (),
    *,
    reader: ImageReader | None = None,
) -> torch.Tensor:
    """Return the logits of each sequence's last token, computed without a cache.

    Args:
        model: The model.
        sequences: The tokens of each sequence.
        last_only: Arguments that limit logits to the last token, used if all lengths are equal.
        images: The images of each sequence; empty if there are none.
        reader: Prepares images; None for a model that reads text only.
    """
    device, width = next(model.parameters()).device, max(map(len, sequences))
    # Padding is on the right: a causal model does not see it, and positions do not change.
    ids = torch.tensor([[*ids, *[0] * (width - len(ids))] for ids in sequences], device=device)
    last = torch.tensor([len(ids) - 1 for ids in sequences], device=device)
    mask = (torch.arange(width, device=device) <= last[:, None]).long()
    is_even = all(len(ids) == width for ids in sequences)
    every = new_images(images, [0] * len(images))
    given = {} if reader is None else reader.inputs(ids, every)
    given |= last_only if is_even else {}
    out = model(input_ids=ids, attention_mask=mask, use_cache=False, **given)
    if is_even:
        return _masked(out.logits[:, -1], reader)
    return _masked(out.logits[torch.arange(len(last), device=device), last], reader)
