"""Reads what several rows begin with once.

Episodes of a group, and all episodes of a game whose rules are always the same, begin with the same
prompt; with short responses it is most of what a model reads. Here the distinct first prompts go
through the model once, their keys and values are handed to every row that begins with them, and the
rows go on from there. Where both are short, they are put behind one another instead, in one
sequence of which each part sees the prompt and itself: one pass costs less than two. It is the same
sum, forwards and backwards.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from gem_train.batch import Batch

__all__ = ["Prefixes", "Rest"]

_LEAST_SAVING = 0.25
"""Share of a batch's tokens that must be saved: two passes cost more than one."""

_WIDEST = 2
"""Most tokens of a sequence of several rows, for each of the model's hidden size: what attention
computes of parts that do not see each other is for nothing."""

_MOST = 1.25
"""Most tokens of one pass for each of two passes."""

_Shared = tuple[list[list[int]], list[int]]
"""The distinct first prompts but for their last token, and the number of each row's."""


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
        self._widest = _WIDEST * getattr(model.config.get_text_config(), "hidden_size", 0)
        self._can: bool | None = None
        self._can_pack: bool | None = None

    def read(self, batch: Batch) -> "Rest | None":
        """Return what is left of the rows; None if they are to be read whole."""
        shared = self._shared(batch)
        if shared is None:
            return None
        packs = self._packs(batch, shared)
        return self._rest(batch, shared) if packs is None else _packed(batch, shared, packs)

    def tokens(self, batch: Batch) -> int:
        """Return how many tokens go through the model at once, with padding."""
        shared = self._shared(batch)
        lengths: list[int] = batch.lengths.tolist()
        if shared is None:
            return len(lengths) * max(lengths)
        packs = self._packs(batch, shared)
        if packs is None:
            return max(_sizes(shared, lengths))
        return len(packs) * _width(packs, shared, lengths)

    def _shared(self, batch: Batch) -> _Shared | None:
        if self._can is False or (shared := _shared(batch)) is None:
            return None
        if self._can is None:
            self._can = self._try(batch, self._rest)
        return shared if self._can else None

    def _packs(self, batch: Batch, shared: _Shared) -> list[list[int]] | None:
        """Return the rows of each sequence of one pass; None if it is to be two passes."""
        if self._can_pack is False:
            return None
        prefixes, owner = shared
        lengths: list[int] = batch.lengths.tolist()
        packs: list[list[int]] = []
        widths: dict[int, int] = {}
        current: dict[int, list[int]] = {}
        for row, number in enumerate(owner):
            left = lengths[row] - len(prefixes[number])
            widths[number] = widths.get(number, self._widest) + left
            if widths[number] > self._widest:
                widths[number] = len(prefixes[number]) + left
                current[number] = []
                packs.append(current[number])
            current[number].append(row)
        widest = _width(packs, shared, lengths)
        if widest > self._widest or len(packs) * widest > _MOST * sum(_sizes(shared, lengths)):
            return None
        if self._can_pack is None:
            self._can_pack = self._try(batch, _packed)
        return packs if self._can_pack else None

    def _try(self, batch: Batch, read: Callable[[Batch, _Shared], "Rest"]) -> bool:
        few = batch.select(torch.arange(min(4, len(batch.ids)), device=batch.ids.device))
        try:
            with torch.no_grad():
                whole = self._model(
                    input_ids=few.ids, attention_mask=few.attention.long(), use_cache=False
                )[0]
                rest = read(few, _first_prompts(few))
                parts = self._model(**rest.inputs)[0]
        except Exception:  # noqa: BLE001 - a model without such a cache fails in its own way
            return False
        layers = getattr(rest.inputs.get("past_key_values"), "layers", ())
        if any(getattr(layer, "is_sliding", False) for layer in layers):
            return False  # the padding of shorter prompts would count as distance
        return rest.agrees(parts, whole)

    def _rest(self, batch: Batch, shared: _Shared) -> "Rest":
        """Read the first prompts, and return what is left.

        Args:
            batch: The rows.
            shared: The first prompts.
        """
        (prefixes, owner), device = shared, batch.ids.device
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
        sampled = there & (batch.turn_of.gather(1, inside) >= 0)
        rows = torch.arange(len(rest), device=device)[:, None].expand_as(rest)
        places = places.masked_fill(~there, batch.ids.shape[1])
        return Rest(rest, sampled, inputs, rows, places)


@dataclass(frozen=True)
class Rest:
    """Rows without the first prompts that they share, or several behind one another with it.

    Args:
        ids: Tokens; of rows, from the last one of the first prompt on; (S', R).
        sampled: Which of them were sampled, bool, (S', R).
        inputs: Arguments of the model's forward pass for them; the last may be left out, which
            nothing comes after.
        rows: Which row they are of, (S', R).
        places: Where they are in it, (S', R); past the end for padding and shared prompts.
    """

    ids: torch.Tensor
    sampled: torch.Tensor
    inputs: dict[str, Any]
    rows: torch.Tensor
    places: torch.Tensor

    def whole(self, x: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        """Return values where they are in the rows, 0 elsewhere; ``shape`` is (S, L)."""
        width, (places, rows) = shape[1], self._at(x)
        inside = places < width
        at = rows * width + places.clamp(max=width - 1)
        flat = x.new_zeros(shape.numel())
        return flat.scatter_add(0, at.flatten(), torch.where(inside, x, 0).flatten()).view(shape)

    def agrees(self, parts: torch.Tensor, whole: torch.Tensor) -> bool:
        """Tell whether what a model says of these is what it says of whole rows, but for rounding.

        Args:
            parts: Of these, (S', R, anything).
            whole: Of the rows, (S, L, anything).
        """
        places, rows = self._at(parts)
        there = places < whole.shape[1]
        worst = (whole[rows[there], places[there]] - parts[there]).abs().float().max()
        rounding = torch.finfo(whole.dtype).eps ** 0.5
        return bool(worst <= rounding * whole.abs().float().max())

    def _at(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.places[:, : x.shape[1]], self.rows[:, : x.shape[1]]


def _packed(batch: Batch, shared: _Shared, packs: list[list[int]] | None = None) -> Rest:
    """Return rows behind one another.

    Args:
        batch: The rows.
        shared: The first prompts.
        packs: The rows of each sequence, which begin with the same prompt; None for all that do.
    """
    (prefixes, owner), device = shared, batch.ids.device
    if packs is None:
        every = range(len(owner))
        packs = [[row for row in every if owner[row] == n] for n in range(len(prefixes))]
    ids, lengths = batch.ids.tolist(), batch.lengths.tolist()
    end = batch.ids.shape[1]
    columns: list[list[tuple[int, int, int, int, int]]] = []
    for rows in packs:
        prefix = prefixes[owner[rows[0]]]
        # Token, position, part of the sequence, row, place in it.
        cells = [(token, at, 0, 0, end) for at, token in enumerate(prefix)]
        for part, row in enumerate(rows, start=1):
            places = range(len(prefix), lengths[row])
            cells += [(ids[row][at], at, part, row, at) for at in places]
        columns.append(cells)
    width = max(map(len, columns))
    padding = (0, 0, -1, 0, end)
    table = torch.tensor([cells + [padding] * (width - len(cells)) for cells in columns])
    tokens, positions, parts, of_rows, places = table.to(device).unbind(-1)
    sees = (parts[:, None, :] == parts[:, :, None]) | (parts[:, None, :] == 0)
    inputs = {
        "input_ids": tokens,
        "attention_mask": sees.tril()[:, None],
        "position_ids": positions,
        "use_cache": False,
    }
    sampled = (places < end) & (batch.turn_of[of_rows, places.clamp(max=end - 1)] >= 0)
    return Rest(tokens, sampled, inputs, of_rows, places)


def _sizes(shared: _Shared, lengths: list[int]) -> tuple[int, int]:
    """Return the tokens of two passes, with padding: of first prompts, and of what is left."""
    prefixes, owner = shared
    known = [len(prefixes[number]) for number in owner]
    left = max(length - read for length, read in zip(lengths, known, strict=True))
    return len(prefixes) * max(known), len(owner) * left


def _width(packs: list[list[int]], shared: _Shared, lengths: list[int]) -> int:
    """Return the tokens of the longest sequence of one pass."""
    prefixes, owner = shared
    known = [len(prefixes[owner[rows[0]]]) for rows in packs]
    return max(
        read + sum(lengths[row] - read for row in rows)
        for read, rows in zip(known, packs, strict=True)
    )


def _shared(batch: Batch) -> _Shared | None:
    """Return the first prompts, and each row's number; None if it is not worth while."""
    prefixes, owner = _first_prompts(batch)
    lengths = list(map(len, prefixes))
    saved = sum(lengths[number] for number in owner) - sum(lengths)
    enough = saved >= _LEAST_SAVING * int(batch.attention.sum())
    return (prefixes, owner) if enough and min(lengths) > 0 else None


def _first_prompts(batch: Batch) -> _Shared:
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
