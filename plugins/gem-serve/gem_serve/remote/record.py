"""What an episode on a server was, so that another session can play it again."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gem_serve.errors import SessionLostError
from gem_serve.remote.link import Reply

__all__ = ["Record"]

_COMPARED = ("observation", "reward", "terminated", "truncated")
"""What the same seed and actions give again; ``info`` may tell of times and processes."""


class Record:
    """The messages of an episode, and a digest of each answer.

    Args:
        start: The message that began it.
        seeds: The calls that seeded it, by name.
        reply: The answer to ``start``.
    """

    def __init__(self, start: Reply, seeds: Mapping[str, Reply], reply: Reply) -> None:
        self.start, self.seeds = start, seeds
        self.actions: list[Reply] = []
        self._digests = [_digest(reply)]

    def add(self, message: Reply, reply: Reply) -> None:
        """Note a step and its answer."""
        self.actions.append(message)
        self._digests.append(_digest(reply))

    def check(self, index: int, reply: Reply) -> None:
        """Check that an answer is the one of before.

        Args:
            index: The index of the action; -1 for the start.
            reply: The answer of the new session.

        Raises:
            SessionLostError: It differs.
        """
        if _digest(reply) != self._digests[index + 1]:
            what = "reset" if index < 0 else f"action {index + 1}"
            raise SessionLostError(
                f"The server has lost the session, and the episode cannot be played again: {what} "
                f"gives another answer than before."
            )


def _digest(reply: Reply) -> bytes:
    compared: dict[str, Any] = {name: reply.get(name) for name in _COMPARED}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).digest()
