"""The observations of an episode, kept and written as what is new in each of them.

Under a history wrapper an observation is the whole episode so far. Kept whole, the observations of
an episode grow with the square of its turns. So a text or a list of images that begins like the one
before is kept as the number of characters or images that they share, and what follows; a dict, as
this for each of its values. It is put together again when it is read.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from gem_core.content import Image
from gem_core.observation import Observation

__all__ = ["Continued", "Observations", "kept_turns", "new_in", "whole", "whole_turns"]

_LEAST = 256
"""Characters that two texts must share; texts that share fewer are kept whole."""


class Continued(NamedTuple):
    """A text or list that begins like the one before.

    Args:
        log: The first value, with 0; then for each value how many characters or items it shares
            with the one before, and the rest. All values refer to the same list, which grows.
        place: The place of this value in the log.
    """

    log: list[tuple[int, Any]]
    place: int

    @property
    def value(self) -> Any:
        """The whole text or list."""
        parts: list[Any] = []
        wanted = sys.maxsize
        for shares, rest in reversed(self.log[: self.place + 1]):
            if shares < wanted:
                parts.append(rest[: wanted - shares])
                wanted = shares
        parts.reverse()
        return "".join(parts) if isinstance(parts[0], str) else list(chain.from_iterable(parts))

    def follows(self, before: Any) -> bool:
        """Return whether a kept value is the one before this one in the log."""
        if isinstance(before, Continued):
            return before.log is self.log and before.place == self.place - 1
        first = self.log[0][1]
        is_first = first == before if type(first) is list else first is before
        return self.place == 1 and is_first


class Observations:
    """Keeps the observations that one agent is shown in an episode, one after another."""

    def __init__(self) -> None:
        self._before: Any = None
        self._log: list[tuple[int, Any]] = [(0, "")]
        self._values: dict[Any, Observations] = defaultdict(Observations)

    def keep(self, observation: Observation) -> Any:
        """Return what to keep of an observation; ``whole`` returns the observation again.

        It takes time that is linear in the length of a text: that of comparing it.
        """
        if type(observation) is dict:
            return _each(observation, lambda key, value: self._values[key].keep(value))
        if type(observation) is list:
            observation = list(observation)  # an environment may append to its own
        before, self._before = self._before, observation
        shares = _shared(before, observation)
        rest = observation[shares:] if shares else observation
        if shares and not (_can_be_written(rest) and _can_be_written(self._log[0][1])):
            shares, rest = 0, observation
        return self._add(shares, rest)

    def read(self, rest: Any, shares: Any = 0) -> Any:
        """Return what to keep of an observation that was written as ``new_in`` returns it.

        Args:
            rest: What is new in it.
            shares: How much it shares with the one before.

        Raises:
            ValueError: It shares more than the one before has, or not a number of characters.
        """
        if type(rest) is dict:
            found = shares or {}
            return _each(rest, lambda key, value: self._values[key].read(value, found.get(key, 0)))
        if shares:
            begun, before = self._log[-1]
            is_alike = type(shares) is int and type(before) is type(rest) in (str, list)
            if not is_alike or not 0 < shares <= begun + len(before):
                raise ValueError(f"an observation cannot share {shares!r} with the one before")
        return self._add(shares, rest)

    def _add(self, shares: int, rest: Any) -> Any:
        if not shares:
            self._log = [(0, rest)]
            return list(rest) if type(rest) is list else rest  # for its turn, which may change it
        self._log.append((shares, rest))
        return Continued(self._log, len(self._log) - 1)


def _each(mapping: dict[Any, Any], change: Callable[[Any, Any], Any]) -> dict[Any, Any]:
    """Return a dict with its values changed; the dict itself if none of them has changed."""
    changed = {key: change(key, value) for key, value in mapping.items()}
    return mapping if all(changed[key] is mapping[key] for key in mapping) else changed


def _shared(before: Any, value: Any) -> int:
    """Return how many characters or images at their beginning two values should share."""
    if type(before) is str and type(value) is str:
        return _shared_characters(before, value)
    if type(before) is list and type(value) is list:
        pairs = zip(before, value, strict=False)
        differing = (at for at, pair in enumerate(pairs) if not _is_same_image(*pair))
        return next(differing, min(len(before), len(value)))
    return 0


def _is_same_image(one: Any, other: Any) -> bool:
    """Return whether two items of lists are the same image, perhaps as the text of a URL."""
    is_image = isinstance(one, Image) or (isinstance(one, str) and len(one) >= _LEAST)
    return is_image and type(one) is type(other) and one == other


def _shared_characters(before: str, text: str) -> int:
    """Return the length of the longest common beginning, up to the end of a line or word nearby.

    Each step of the search compares half as many characters as the step before.
    """
    if before[:_LEAST] != text[:_LEAST]:
        return 0
    low, high = 0, min(len(before), len(text))
    if text.startswith(before):
        low = high
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(before[low:middle], low):
            low = middle
        else:
            high = middle - 1
    ends = (text.rfind(end, max(0, low - _LEAST), low) + 1 for end in "\n ")
    shares = next(filter(None, ends), low)
    return shares if shares >= _LEAST else 0


def _can_be_written(rest: Any) -> bool:
    """Return whether a text is read as it was written: two surrogates become one character."""
    if type(rest) is str and not rest.isascii():
        try:
            rest.encode()
        except UnicodeEncodeError:
            return False
    return True


def whole(kept: Any) -> Observation:
    """Return the observation of which this was kept."""
    if isinstance(kept, Continued):
        return kept.value
    return _each(kept, lambda _, value: whole(value)) if type(kept) is dict else kept


def new_in(kept: Any, before: Any) -> tuple[Any, Any]:
    """Return how much an observation shares with the one before, and the rest, to be written.

    Args:
        kept: What was kept of the observation.
        before: What was kept of the one before; None if there is none.

    Returns:
        The number of characters or images, or a dict of such numbers for the values of a dict that
        share some; and the rest. Without anything shared, 0 or an empty dict and the observation.
    """
    if type(kept) is dict:
        befores = before if type(before) is dict else {}
        found = {key: new_in(value, befores.get(key)) for key, value in kept.items()}
        shares = {key: one for key, (one, _) in found.items() if one}
        return shares, {key: rest for key, (_, rest) in found.items()}
    if isinstance(kept, Continued):
        return kept.log[kept.place] if kept.follows(before) else (0, kept.value)
    return 0, kept


def kept_turns(turns: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the turns of a line of a file without ``shares``, with what is kept of observations.

    Raises:
        ValueError: A turn shares more than the turn of the agent before has.
    """
    seen: dict[str, Observations] = defaultdict(Observations)
    for turn in turns:
        fields = dict(turn)
        shares = fields.pop("shares", 0)
        fields["observation"] = seen[fields["agent"]].read(fields["observation"], shares)
        yield fields


def whole_turns(turns: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the turns of a line of a file without ``shares``, with their whole observations.

    Raises:
        ValueError: A turn shares more than the turn of the agent before has.
    """
    for turn in kept_turns(turns):
        yield {**turn, "observation": whole(turn["observation"])}
