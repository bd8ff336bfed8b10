"""What all engines play: episodes of some turns, in which the model is to say ``ok`` each turn.

An episode is a chat. Each message of the user says which episode and turn it is, so the endpoint
knows, whatever library asks it, which episodes were begun and finished. Standard library only.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["LENGTHS", "MEAN_TURNS", "REPLY", "Message", "Place", "Workload", "message", "place_of"]

LENGTHS = (1, 2, 3, 4, 5, 7)
"""Turns of the episodes of several turns, one after another."""
MEAN_TURNS = sum(LENGTHS) / len(LENGTHS)
REPLY = "ok"
_PLACE = re.compile(r"Episode (\d+), turn (\d+) of (\d+)\.")

Message = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where in a run a message belongs.

    Args:
        episode: Number of the episode, from 0.
        turn: Number of the turn, from 1.
        turns: Turns of the episode.
    """

    episode: int
    turn: int
    turns: int


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What an engine is to do.

    Args:
        url: The endpoint, up to and with ``/v1``.
        concurrency: Episodes at once.
        multi_turn: Episodes have one to seven turns, 3.7 in the mean, and not just one.
        episodes: How many. An engine that needs no list of them may play on: it is stopped.
        out: Folder for what the engine writes. What an earlier run has left there says which
            episodes need not be played again, for an engine that can go on with a run.
    """

    url: str
    concurrency: int
    multi_turn: bool
    episodes: int
    out: Path

    def turns_of(self, episode: int) -> int:
        """Return how many turns an episode has."""
        return LENGTHS[episode % len(LENGTHS)] if self.multi_turn else 1


def message(episode: int, turn: int, turns: int) -> str:
    """Return what the environment says before a turn."""
    return f"Episode {episode}, turn {turn} of {turns}. Say {REPLY}."


def place_of(messages: list[Message]) -> Place | None:
    """Return where a request belongs; None if it is of no episode."""
    content = messages[-1].get("content") if messages else ""
    if isinstance(content, list):  # parts
        content = "".join(part.get("text", "") for part in content)
    found = _PLACE.search(content or "")
    return Place(*map(int, found.groups())) if found else None
