"""Groups of episodes as frameworks hold them, in the form that the conformance suite reads."""

from collections.abc import Callable, Iterable
from typing import Any

from gem_adapters.testing.adapters import Played

__all__ = ["played_episodes"]


def played_episodes(
    groups: Iterable[Any], samples: int, episodes: Callable[[Any], Iterable[Played]]
) -> list[Played]:
    """Return the episodes of all groups; the error of a group counts for each of its episodes.

    Args:
        groups: What a framework returned for each row, or the error that it raised.
        samples: Number of episodes of a row.
        episodes: Returns the episodes of what a framework returned.
    """
    found: list[Played] = []
    for group in groups:
        if isinstance(group, BaseException):
            found += [Played([], "raised", f"{type(group).__name__}: {group}")] * samples
        else:
            found += episodes(group)
    return found
