"""Which sequence has which place, and whose cached tokens a prompt can begin with."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["ROUNDS", "Place", "Seating", "Shelf"]

_WORTH = 16
"""Tokens that waiting for another prompt of the same moment must save."""

ROUNDS = 3
"""Most rounds in which prompts of the same moment are computed one after another."""


class Place:
    """A place of the cache, and the job that it is live with.

    Args:
        number: A number that it keeps, wherever it is moved.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.at = number
        """Where it is."""
        self.cached = 0
        """Tokens that are in the cache, while it is not decoded."""
        self.used = -1
        """When it was last taken."""
        self.job: Any = None
        """What it is live with; None if it is idle."""


class Seating(NamedTuple):
    """Where a prompt is going to be computed.

    Args:
        place: The place.
        source: The place that the prompt's beginning is copied from; itself if it is there.
        shared: Tokens of this beginning; all of them if the same prompt has come before.
        round: The round in which it is computed: after its source. Prompts that have come before
            are of round ``ROUNDS``, in which nothing is computed.
    """

    place: Place
    source: Place
    shared: int
    round: int


class _Table:
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

    def shared(self, ids: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return how many tokens each sequence has in common with the beginning of this one."""
        width = min(self._tokens.shape[1], len(ids))
        differs = self._tokens[:, :width] != np.array(ids[:width], dtype=np.int32)
        first = np.where(differs.any(1), differs.argmax(1), width) if width else 0
        shared: npt.NDArray[np.int64] = np.minimum(first, self.lengths)
        return shared


class Shelf:
    """The tokens that places have cached."""

    def __init__(self) -> None:
        self._table = _Table()

    def put(self, place: Place, ids: Sequence[int], start: int = 0) -> None:
        """Note what a place has cached; what is before ``start`` is noted already."""
        self._table.put(place.number, ids, start)

    def seat(
        self, prompts: Sequence[Sequence[int]], places: Sequence[Place], idle: Iterable[Place]
    ) -> list[Seating]:
        """Return where prompts are computed, and what of them is there.

        Args:
            prompts: The prompts that came together, each of at least one token.
            places: All places.
            idle: Those that can be taken, at least as many as prompts.
        """
        by_number = {place.number: place for place in places}
        free = {place.number: place for place in sorted(idle, key=lambda one: (one.used, one.at))}
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, prompt in enumerate(prompts):
            alike.setdefault(tuple(prompt), []).append(number)
        # Who goes on with all that an idle place has takes it; the others share the rest.
        own: dict[int, Place] = {}
        known: list[tuple[Place | None, int]] = []
        for ids, numbers in alike.items():
            common = self._table.shared(ids)
            most = int(common.max(initial=0))
            holders = np.flatnonzero(common == most).tolist() if most else []
            whole = (one for one in holders if one in free and self._table.lengths[one] == most)
            taken = list(zip(numbers, whole, strict=False))
            own |= {number: free.pop(one) for number, one in taken}
            source = next((by_number[one] for one in holders if one in by_number), None)
            known.append((source, min(most, len(ids) - 1)))
        order = [own.get(number) or free.pop(next(iter(free))) for number in range(len(prompts))]
        seatings: dict[int, Seating] = {}
        firsts, table = list[Seating](), _Table()
        for (ids, (number, *others)), (source, shared) in zip(alike.items(), known, strict=True):
            place = order[number]
            first = Seating(place, place if number in own else source or place, shared, 0)
            if number not in own and firsts:
                first = _earlier(table.shared(ids)[: len(firsts)], firsts, first, len(ids) - 1)
            table.put(len(firsts), ids)
            firsts.append(first)
            seatings[number] = first
            seatings |= {one: Seating(order[one], place, len(ids), ROUNDS) for one in others}
        return [seatings[number] for number in range(len(prompts))]


def _earlier(
    common: npt.NDArray[np.int64], seatings: Sequence[Seating], seating: Seating, most: int
) -> Seating:
    """Return a better seating, with one of the prompts before as source, if there is one.

    Args:
        common: Tokens that the prompt has in common with each of them.
        seatings: Where they are computed.
        seating: The seating without them.
        most: Tokens of the prompt that can be shared.
    """
    allowed = np.array([one.round + 1 < ROUNDS for one in seatings])
    common = np.where(allowed, np.minimum(common, most), 0)
    best = int(common.argmax())
    shared, source = int(common[best]), seatings[best]
    if shared < seating.shared + _WORTH:
        return seating
    return Seating(seating.place, source.place, shared, source.round + 1)
