"""Assigns prompts to cache slots, and finds the cached tokens that a prompt can begin with."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gem_agents.prompt_images import PromptImages

__all__ = ["ROUNDS", "Allocation", "PrefixIndex", "Slot", "in_order"]

_LEAST_GAIN = 16
"""Tokens that must be saved for a prompt to wait for another prompt of the same step."""

ROUNDS = 3
"""Most rounds of one step; the prompts of a round are computed after those of the round before."""


class Slot:
    """A slot of the cache, and the job that occupies it.

    Args:
        number: The identity of the slot, which does not change when the slot moves.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.row = number
        """Its current row in the cache."""
        self.cached = 0
        """Number of cached tokens, while it is not being decoded."""
        self.last_used = -1
        """The step in which it was last allocated."""
        self.job: Any = None
        """The job that occupies it; None if it is idle."""


class Allocation(NamedTuple):
    """The slot in which a prompt will be computed.

    Args:
        slot: The slot of the prompt.
        source: The slot that the beginning of the prompt is copied from; ``slot`` itself if the
            beginning is already there.
        shared: Length of this beginning in tokens; the whole prompt if it is a repetition.
        round: The round in which it is computed, after that of its source. Repeated prompts are in
            round ``ROUNDS``, in which nothing is computed.
    """

    slot: Slot
    source: Slot
    shared: int
    round: int

    def without_parts(self, images: PromptImages) -> "Allocation":
        """Return the allocation with a beginning that does not end inside an image."""
        if self.round == ROUNDS:
            return self
        return self._replace(shared=images.whole(self.shared))


class _TokenTable:
    """Token sequences by number."""

    def __init__(self) -> None:
        self._tokens: npt.NDArray[np.int32] = np.zeros((0, 0), dtype=np.int32)
        self.lengths: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def put(self, number: int, ids: Sequence[int], start: int = 0) -> None:
        rows, width = self._tokens.shape
        if number >= rows or len(ids) > width:
            grown = np.zeros((max(rows * 2, number + 1), max(width * 2, len(ids))), dtype=np.int32)
            grown[:rows, :width] = self._tokens
            self._tokens = grown
            self.lengths = np.resize(self.lengths, len(grown))
            self.lengths[rows:] = 0
        self._tokens[number, start : len(ids)] = ids[start:]
        self.lengths[number] = len(ids)

    def common_prefixes(self, ids: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the length of the common prefix of ``ids`` and each sequence."""
        width = min(self._tokens.shape[1], len(ids))
        differs = self._tokens[:, :width] != np.array(ids[:width], dtype=np.int32)
        first = np.where(differs.any(1), differs.argmax(1), width) if width else 0
        common: npt.NDArray[np.int64] = np.minimum(first, self.lengths)
        return common


class PrefixIndex:
    """The tokens that each slot has cached."""

    def __init__(self) -> None:
        self._table = _TokenTable()

    def record(self, slot: Slot, ids: Sequence[int], start: int = 0) -> None:
        """Record the cached tokens of a slot; those before ``start`` are already recorded."""
        self._table.put(slot.number, ids, start)

    def allocate(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[Slot], idle: Iterable[Slot]
    ) -> list[Allocation]:
        """Return a slot for each prompt, and the cached beginning that it can use.

        A prompt that continues everything in an idle slot gets this slot. The others get the slots
        that have been idle for longest, and copy the longest common beginning.

        Args:
            prompts: The prompts of one step, each of at least one token.
            slots: All slots.
            idle: The slots that may be taken, at least as many as prompts.
        """
        by_number = {slot.number: slot for slot in slots}
        free = {
            slot.number: slot for slot in sorted(idle, key=lambda one: (one.last_used, one.row))
        }
        equal: dict[tuple[int, ...], list[int]] = {}
        for number, prompt in enumerate(prompts):
            equal.setdefault(tuple(prompt), []).append(number)
        continued: dict[int, Slot] = {}
        known: list[tuple[Slot | None, int]] = []
        for ids, numbers in equal.items():
            common = self._table.common_prefixes(ids)
            most = int(common.max(initial=0))
            holders = np.flatnonzero(common == most).tolist() if most else []
            whole = (one for one in holders if one in free and self._table.lengths[one] == most)
            taken = list(zip(numbers, whole, strict=False))
            continued |= {number: free.pop(one) for number, one in taken}
            source = next((by_number[one] for one in holders if one in by_number), None)
            known.append((source, min(most, len(ids) - 1)))
        slot_of = [
            continued.get(number) or free.pop(next(iter(free))) for number in range(len(prompts))
        ]
        allocations: dict[int, Allocation] = {}
        firsts, table = list[Allocation](), _TokenTable()
        for (ids, (number, *others)), (source, shared) in zip(equal.items(), known, strict=True):
            slot = slot_of[number]
            first = Allocation(slot, slot if number in continued else source or slot, shared, 0)
            if number not in continued and firsts:
                common = table.common_prefixes(ids)[: len(firsts)]
                first = _share_within_step(common, firsts, first, len(ids) - 1)
            table.put(len(firsts), ids)
            firsts.append(first)
            allocations[number] = first
            repeated = {one: Allocation(slot_of[one], slot, len(ids), ROUNDS) for one in others}
            allocations |= repeated
        return [allocations[number] for number in range(len(prompts))]


def in_order(group: Sequence[Slot], low: int) -> list[Slot]:
    """Return slots in an order for the rows from ``low`` on that moves as few as possible."""
    high = low + len(group)
    order: list[Slot | None] = [None] * len(group)
    moved = []
    for slot in group:
        if low <= slot.row < high:
            order[slot.row - low] = slot
        else:
            moved.append(slot)
    others = iter(moved)
    return [next(others) if slot is None else slot for slot in order]


def _share_within_step(
    common: npt.NDArray[np.int64],
    earlier: Sequence[Allocation],
    allocation: Allocation,
    most: int,
) -> Allocation:
    """Return an allocation with an earlier prompt of the step as source, if that is better.

    Args:
        common: Length of the common prefix with each earlier prompt.
        earlier: The allocations of the earlier prompts.
        allocation: The allocation without them.
        most: Most tokens of the prompt that can be shared.
    """
    allowed = np.array([one.round + 1 < ROUNDS for one in earlier])
    common = np.where(allowed, np.minimum(common, most), 0)
    best = int(common.argmax())
    shared, source = int(common[best]), earlier[best]
    if shared < allocation.shared + _LEAST_GAIN:
        return allocation
    return Allocation(allocation.slot, source.slot, shared, source.round + 1)
