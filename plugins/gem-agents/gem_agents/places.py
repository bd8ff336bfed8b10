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
        shared: Tokens of this beginning.
        round: The round in which it is computed: after the sources of later rounds.
    """

    place: Place
    source: Place
    shared: int
    round: int


class Shelf:
    """The tokens that places have cached."""

    def __init__(self) -> None:
        self._tokens: npt.NDArray[np.int32] = np.zeros((0, 0), dtype=np.int32)
        self._lengths: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def put(self, place: Place, ids: Sequence[int], start: int = 0) -> None:
        """Note what a place has cached; what is before ``start`` is noted already."""
        rows, width = self._tokens.shape
        if place.number >= rows or len(ids) > width:
            grown = np.zeros(
                (max(rows * 2, place.number + 1), max(width * 2, len(ids))), dtype=np.int32
            )
            grown[:rows, :width] = self._tokens
            self._tokens = grown
            self._lengths = np.resize(self._lengths, len(grown))
            self._lengths[rows:] = 0
        self._tokens[place.number, start : len(ids)] = ids[start:]
        self._lengths[place.number] = len(ids)

    def seat(
        self, prompts: Sequence[Sequence[int]], places: Sequence[Place], idle: Iterable[Place]
    ) -> list[Seating]:
        """Return where prompts are computed, and what of them is there.

        Args:
            prompts: The prompts that came together, each of at least one token.
            places: All places.
            idle: Those that can be taken, at least as many as prompts.
        """
        arrays = [np.array(prompt, dtype=np.int32) for prompt in prompts]
        by_number = {place.number: place for place in places}
        free = {place.number: place for place in sorted(idle, key=lambda one: (one.used, one.at))}
        # Who goes on with all that an idle place has takes it; the others share the rest.
        taken: list[tuple[Place | None, Place | None, int]] = []
        for prompt in arrays:
            own, source, most = None, None, 0
            if len(self._lengths):
                common = self._shared(prompt)
                most = int(common.max())
                for number in np.flatnonzero(common == most).tolist() if most else ():
                    source = source or by_number.get(number)
                    if number in free and self._lengths[number] == most:
                        own = free.pop(number)
                        break
            taken.append((own, source, most))
        seatings: list[Seating] = []
        for prompt, (own, source, most) in zip(arrays, taken, strict=True):
            place = free.pop(next(iter(free))) if own is None else own
            known = Seating(place, own or source or place, min(most, len(prompt) - 1), 0)
            seatings.append(
                self._earlier(arrays, prompt, seatings, known) if own is None else known
            )
        return seatings

    def _earlier(
        self,
        arrays: Sequence[npt.NDArray[np.int32]],
        prompt: npt.NDArray[np.int32],
        seatings: Sequence[Seating],
        seating: Seating,
    ) -> Seating:
        """Return a better seating, with one of the prompts before as source, if there is one."""
        needed, most = seating.shared + _WORTH, len(prompt) - 1
        for before, other in zip(arrays, seatings, strict=False):
            width = min(len(before), most)
            if width < needed or other.round + 1 >= ROUNDS:
                continue
            differs = before[:width] != prompt[:width]
            common = int(differs.argmax()) if differs.any() else width
            if common >= needed:
                seating = Seating(seating.place, other.place, common, other.round + 1)
                needed = common + 1
            if common == most:
                break
        return seating

    def _shared(self, prompt: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return how many tokens each place, by number, has in common with a prompt's begin."""
        width = min(self._tokens.shape[1], len(prompt))
        differs = self._tokens[:, :width] != prompt[:width]
        first = np.where(differs.any(1), differs.argmax(1), width)
        shared: npt.NDArray[np.int64] = np.minimum(first, self._lengths)
        return shared
