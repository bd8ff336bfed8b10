"""Keys and values of many sequences of unlike lengths, and the forward pass that uses them.

Each sequence has a place. Those that are computed have the first places, so that what a layer
attends to is a slice, never a copy: places are moved instead, when a sequence begins or ends.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

__all__ = ["CachedForward", "PlaceCache", "attention_windows", "plain_logits"]

_STEP = 64
"""Capacities are multiples of this, in tokens."""


class PlaceCache(Cache):  # type: ignore[misc]  # transformers has no types
    """Keys and values, one tensor (places, capacity, heads, size) of each for every layer."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.places = self.capacity = 0
        self._stores: list[list[torch.Tensor]] = []
        self._rows: slice | torch.Tensor = slice(0)
        self._width = 0
        self._written = torch.empty(0)
        self._kept: torch.Tensor | None = None

    def reserve(self, places: int, capacity: int) -> None:
        """Make room for so many sequences of so many tokens."""
        if places <= self.places and capacity <= self.capacity:
            return
        if capacity > self.capacity:  # half as much again, so that growing stays rare
            capacity = -(-max(capacity, self.capacity * 3 // 2) // _STEP) * _STEP
        old, self.places = (self.places, self.capacity), max(places, self.places)
        self.capacity = max(capacity, self.capacity)
        for store in self._stores:
            for kind, tensor in enumerate(store):
                # Zeros, as what is masked is still multiplied, and must be finite.
                store[kind] = tensor.new_zeros(self.places, self.capacity, *tensor.shape[2:])
                store[kind][: old[0], : old[1]] = tensor

    def move(self, targets: Sequence[int], sources: Sequence[int], width: int) -> None:
        """Give places the first tokens that others have, all at once."""
        if not self._stores or not targets:
            return
        device = self._stores[0][0].device
        into = torch.tensor(targets, device=device)
        out_of = torch.tensor(sources, device=device)
        for store in self._stores:
            for tensor in store:
                cut = tensor[:, :width]
                cut[into] = cut[out_of]

    def aim(
        self,
        rows: slice | torch.Tensor,
        width: int,
        written: torch.Tensor,
        kept: torch.Tensor | None = None,
    ) -> None:
        """Say what the next forward pass is of.

        Args:
            rows: The places; what they have is copied if these are numbers.
            width: How many tokens of each are attended to, with the new ones.
            written: Where the new tokens go: place * capacity + position.
            kept: Which of the pass's tokens these are; None for all.
        """
        self._rows, self._width, self._written, self._kept = rows, width, written, kept

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_args: Any,
        **_kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write a layer's new keys and values, and return all that it attends to."""
        while len(self._stores) <= layer_idx:
            self._stores.append(
                [
                    one.new_zeros(self.places, self.capacity, one.shape[1], one.shape[3])
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
        seen, rows = store[:, : self._width], self._rows
        seen = seen[rows] if isinstance(rows, slice) else seen.index_select(0, rows)
        return seen.transpose(1, 2)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return how many tokens are attended to."""
        return self._width


def attention_windows(model: Any) -> dict[str, int | None] | None:
    """Return the window of each type of attention layers, None where a layer has another cache.

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
    """Forward passes of a model with a ``PlaceCache``.

    Args:
        model: The model.
        windows: What ``attention_windows`` says of it.
        last_only: Arguments for logits of the last token only.
    """

    def __init__(
        self, model: Any, windows: dict[str, int | None], last_only: dict[str, int]
    ) -> None:
        self.cache = PlaceCache()
        self._model = model
        self._windows = windows
        self._last_only = last_only
        parameter = next(model.parameters())
        self._device, self._dtype = parameter.device, model.dtype
        self._hidden = torch.finfo(self._dtype).min
        self._lengths: list[int] = []

    def prefill(
        self, first: int, sequences: Sequence[Sequence[int]], cached: Sequence[int]
    ) -> torch.Tensor:
        """Compute what of some sequences is not cached; return the logits of their last tokens.

        Args:
            first: The place of the first; the others follow.
            sequences: Their tokens.
            cached: How many of each are cached, fewer than all.
        """
        count, width = len(sequences), max(map(len, sequences))
        self.cache.reserve(first + count, width)
        known = np.array(cached)
        lengths = np.array([len(ids) for ids in sequences])
        # New tokens end a block, so that the last column is the last token of each.
        block = int((lengths - known).max())
        places = np.arange(block) + (lengths - block)[:, None]
        is_new = places >= known[:, None]
        tokens = np.zeros((count, block), dtype=np.int64)
        tokens[is_new] = np.concatenate(
            [ids[start:] for ids, start in zip(sequences, cached, strict=True)]
        )
        starts = (np.arange(first, first + count) * self.cache.capacity)[:, None]
        written = self._tensor((starts + places)[is_new])
        rows = slice(first, first + count)
        self.cache.aim(rows, width, written, self._tensor(np.flatnonzero(is_new)))
        positions = self._tensor(np.where(is_new, places, 0))
        return self._logits(self._tensor(tokens), positions, self._masks(positions, width))

    def begin(self, tokens: Sequence[int], lengths: Sequence[int]) -> None:
        """Get ready to decode the first sequences, one token at a time.

        Args:
            tokens: The last token of each, not cached.
            lengths: How many tokens before it are cached.
        """
        count, self._width = len(tokens), max(lengths)
        self.cache.reserve(count, self._width + 1)
        self._tokens = self._tensor(tokens)[:, None]
        self._positions = self._tensor(lengths)[:, None]
        self._begin_masks()

    def _begin_masks(self) -> None:
        capacity = self.cache.capacity
        self._rows = torch.arange(len(self._positions), device=self._device)
        self._starts = self._rows * capacity
        self._open = self._masks(self._positions, capacity)

    def decode(
        self, tokens: torch.Tensor | None = None, alike: Sequence[int] | None = None
    ) -> torch.Tensor:
        """Compute one more token of each sequence, and return its logits.

        Args:
            tokens: The tokens, (rows, 1); None for those that ``begin`` was given.
            alike: For each sequence the first one that is the same, which is computed for it; None
                to compute all.
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
        if alike is None:
            self.cache.aim(slice(len(self._rows)), width, written)
            return self._logits(self._tokens, self._positions, masks)
        numbers = {row: number for number, row in enumerate(dict.fromkeys(alike))}
        rows, owners = self._tensor(list(numbers)), self._tensor([numbers[row] for row in alike])
        self.cache.aim(rows, width, written, owners)
        masks = {kind: mask.index_select(0, rows) for kind, mask in masks.items()}
        tokens, positions = (one.index_select(0, rows) for one in (self._tokens, self._positions))
        return self._logits(tokens, positions, masks).index_select(0, owners)

    def _uncover(self) -> None:
        """Let each row attend to its newest position, and not to what leaves its window."""
        for kind, mask in self._open.items():
            mask[self._rows, 0, 0, self._positions[:, 0]] = 0
            window = self._windows[kind]
            if window is not None:
                gone = self._positions - window
                at = gone.clamp(min=0)
                mask[:, 0, 0].scatter_(1, at, self._hidden * (gone >= 0).to(self._dtype))

    def _masks(self, positions: torch.Tensor, width: int) -> dict[str, torch.Tensor]:
        """Return what is added to scores, (rows, 1, queries, keys), for each type of layers."""
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
        self, tokens: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        out = self._model(
            input_ids=tokens,
            attention_mask=masks if len(masks) > 1 else next(iter(masks.values())),
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
            **self._last_only,
        )
        logits: torch.Tensor = out.logits[:, -1]
        return logits

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.tensor(values, device=self._device)


def plain_logits(
    model: Any, sequences: Sequence[Sequence[int]], last_only: dict[str, int]
) -> torch.Tensor:
    """Return the logits of each sequence's last token, with nothing cached.

    Args:
        model: The model.
        sequences: The tokens.
        last_only: Arguments for logits of the last token only; used where lengths are alike.
    """
    device, width = next(model.parameters()).device, max(map(len, sequences))
    # Padding stands behind, where a causal model does not see it and nothing else moves.
    ids = torch.tensor([[*ids, *[0] * (width - len(ids))] for ids in sequences], device=device)
    last = torch.tensor([len(ids) - 1 for ids in sequences], device=device)
    mask = (torch.arange(width, device=device) <= last[:, None]).long()
    is_even = all(len(ids) == width for ids in sequences)
    out = model(
        input_ids=ids, attention_mask=mask, use_cache=False, **(last_only if is_even else {})
    )
    if is_even:
        even: torch.Tensor = out.logits[:, -1]
        return even
    logits: torch.Tensor = out.logits[torch.arange(len(last), device=device), last]
    return logits
