"""Counts the errors that ended episodes, to say which one is the most frequent."""

from collections import Counter

from gem_rollout.trajectory import Trajectory

__all__ = ["Failures"]


class Failures:
    """Errors of episodes, counted by boundary and type; falsy while there are none."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    @property
    def total(self) -> int:
        """The number of episodes that ended with an error."""
        return self._counts.total()

    def add(self, trajectory: Trajectory) -> None:
        """Count the error of an episode, if it has one."""
        if trajectory.error is not None:
            error = trajectory.error
            self.add_error(error["boundary"], error["type"], error["message"])

    def add_error(self, boundary: str, kind: str, message: str) -> None:
        """Count an error.

        Args:
            boundary: Where it came from, such as ``env``.
            kind: Its type, such as ``InvalidActionError``.
            message: Its message; the first line is kept as an example.
        """
        self._counts[boundary, kind] += 1
        self._examples.setdefault((boundary, kind), message.partition("\n")[0][:200])

    def lines(self) -> list[str]:
        """Return a line for each boundary and type, the most frequent first."""
        return [
            f"{boundary} ({kind}), {count} {'episode' if count == 1 else 'episodes'}, "
            f"for example: {self._examples[boundary, kind]}"
            for (boundary, kind), count in self._counts.most_common()
        ]

    def all_failed(self, episodes: int) -> str:
        """Return a message if all of a number of episodes failed, else an empty text."""
        if not episodes or self.total < episodes:
            return ""
        (boundary, kind), count = self._counts.most_common(1)[0]
        return (
            f"Every episode failed. The most frequent error ({count} of {episodes}) came from the "
            f"boundary {boundary!r}: {kind}: {self._examples[boundary, kind]}"
        )
