"""Reads what several rows begin with once.

Episodes of a group, and all episodes of a game whose rules are always the same, begin with the same
prompt; with short responses it is most of what a model reads. Here the distinct first prompts go
through the model once, their keys and values are handed to every row that begins with them, and the
rows go on from there. It is the same sum, forwards and backwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from gem_train.batch import Batch

__all__ = ["Prefixes", "Rest"]

_LEAST_SAVING = 0.25
"""Share of a batch's tokens that must be saved: two passes cost more than one."""


class Prefixes:
    """Reads first prompts once, with a model that can go on from them.

    Which models can is tried, not listed, when there is something to share: both ways are compared
    on a few rows. One that computes activations again, or drops some by chance, cannot.

    Args:
        model: A model of transformers, or of peft.
        last_only: Arguments for logits of the last token only.
    """

    def __init__(self, model: Any, last_only: Mapping[str, int]) -> None:
        self._model = model
        self._last_only = last_only
        self._can: bool | None = None

    def read(self, batch: Batch) -> "Rest | None":
        """Return what is left of the rows; None if they are to be read whole."""
        shared = self._shared(batch)
        return None if shared is None else self._rest(batch, *shared)

    def tokens(self, batch: Batch) -> int:
        """Return how many tokens go through the model at once, with padding."""
        shared = self._shared(batch)
        lengths: list[int] = batch.lengths.tolist()
        if shared is None:
            return len(lengths) * max(lengths)
        prefixes, owner = shared
        read = [len(prefixes[number]) for number in owner]
        left = [length - known for length, known in zip(lengths, read, strict=True)]
        return max(len(left) * max(left), len(prefixes) * max(read))

    def _shared(self, batch: Batch) -> tuple[list[list[int]], list[int]] | None:
        if self._can is False or (shared := _shared(batch)) is None:
            return None
        if self._can is None:
            self._can = self._try(batch)
        return shared if self._can else None

    def _try(self, batch: Batch) -> bool:
        few = batch.select(torch.arange(min(4, len(batch.ids)), device=batch.ids.device))
        try:
            with torch.no_grad():
                whole = self._model(
                    input_ids=few.ids, attention_mask=few.attention.long(), use_cache=False
                )[0]
                rest = self._rest(few, *_first_prompts(few))
                parts = self._model(**rest.inputs)[0]
        except Exception:  # noqa: BLE001 - a model without such a cache fails in its own way
            return False
        layers = rest.inputs["past_key_values"].layers
        if any(getattr(layer, "is_sliding", False) for layer in layers):
            return False  # the padding of shorter prompts would count as distance
        places = rest.places[:, : parts.shape[1]]
        inside = places.clamp(max=few.ids.shape[1] - 1)
        there = few.attention.gather(1, inside) & (places < few.ids.shape[1])
        same = whole.gather(1, inside[..., None].expand_as(parts))
        worst = (same - parts).abs().float()[there].max()
        rounding = torch.finfo(whole.dtype).eps ** 0.5
        return bool(worst <= rounding * whole.abs().float().max())

    def _rest(self, batch: Batch, prefixes: list[list[int]], owner: list[int]) -> "Rest":
        """Read the first prompts, and return what is left.

        Args:
            batch: The rows.
            prefixes: The distinct first prompts but for their last token, P of them.
            owner: Number of each row's, S of them in [0, P).
        """
        device = batch.ids.device
        lengths = torch.tensor([len(one) for one in prefixes], device=device)
        ids = pad_sequence([torch.tensor(one) for one in prefixes], batch_first=True).to(device)
        known = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        read = self._model(
            input_ids=ids, attention_mask=known.long(), use_cache=True, **self._last_only
        )
        cache, owner_S = read.past_key_values, torch.tensor(owner, device=device)
        cache.batch_select_indices(owner_S)

        starts = lengths[owner_S]
        width = int((batch.lengths - starts).max())
        places = starts[:, None] + torch.arange(width, device=device)
        inside = places.clamp(max=batch.ids.shape[1] - 1)
        there = (places < batch.ids.shape[1]) & batch.attention.gather(1, inside)
        rest, but_last = batch.ids.gather(1, inside), slice(max(1, width - 1))
        inputs = {
            "input_ids": rest[:, but_last],
            "attention_mask": torch.cat([known[owner_S], there[:, but_last]], dim=1).long(),
            "position_ids": places[:, but_last],
            "past_key_values": cache,
            "use_cache": True,
        }
        return Rest(rest, there & (batch.turn_of.gather(1, inside) >= 0), inputs, places)


@dataclass(frozen=True)
class Rest:
    """Rows without the first prompts that they share.

    Args:
        ids: Tokens from the last one of the first prompt on, (S, R).
        sampled: Which of them were sampled, bool, (S, R).
        inputs: Arguments of the model's forward pass for them, but for the last, which nothing
            comes after.
        places: Where they are in the rows, (S, R); past the end for padding.
    """

    ids: torch.Tensor
    sampled: torch.Tensor
    inputs: dict[str, Any]
    places: torch.Tensor

    def whole(self, x_S_R: torch.Tensor, width: int) -> torch.Tensor:
        """Return values where they are in the rows, 0 elsewhere; (S, ``width``)."""
        places = self.places[:, : x_S_R.shape[1]]
        inside = places < width
        x_S_L = x_S_R.new_zeros(len(x_S_R), width)
        return x_S_L.scatter_add(1, places.clamp(max=width - 1), torch.where(inside, x_S_R, 0))


def _shared(batch: Batch) -> tuple[list[list[int]], list[int]] | None:
    """Return the first prompts, and each row's number; None if it is not worth while."""
    prefixes, owner = _first_prompts(batch)
    lengths = list(map(len, prefixes))
    saved = sum(lengths[number] for number in owner) - sum(lengths)
    enough = saved >= _LEAST_SAVING * int(batch.attention.sum())
    return (prefixes, owner) if enough and min(lengths) > 0 else None


def _first_prompts(batch: Batch) -> tuple[list[list[int]], list[int]]:
    """Return the distinct first prompts but for their last token, and each row's number of it.

    The last token belongs to what follows: what is said of the first response stands there.
    """
    sampled = batch.turn_of >= 0
    ends = torch.where(sampled.any(1), sampled.int().argmax(1), 1).tolist()
    numbers: dict[tuple[int, ...], int] = {}
    owner = [
        numbers.setdefault(tuple(row[: end - 1]), len(numbers))
        for row, end in zip(batch.ids.tolist(), ends, strict=True)
    ]
    return [list(one) for one in numbers], owner
