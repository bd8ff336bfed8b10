"""The workload of all engines: episodes in which the model has to say ``ok`` in each turn.

An episode is a chat. Each user message contains the numbers of the episode and the turn, so the
endpoint knows which episodes were begun and finished. Standard library only.
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
    """The position of a message in a run.

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
    """The work of an engine.

    Args:
        url: The endpoint, up to and with ``/v1``.
        concurrency: Number of simultaneous episodes.
        multi_turn: Whether episodes have one to seven turns, 3.7 on average, instead of one.
        episodes: Number of episodes. An engine that needs no list may continue until it is killed.
        out: Folder for the output of the engine. An engine that can resume a run finds its earlier
            output there.
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
    """Return the message of the environment before a turn."""
    return f"Episode {episode}, turn {turn} of {turns}. Say {REPLY}."


def place_of(messages: list[Message]) -> Place | None:
    """Return the episode and turn of a request; None if it has none."""
    content = messages[-1].get("content") if messages else ""
    if isinstance(content, list):  # parts
        content = "".join(part.get("text", "") for part in content)
    found = _PLACE.search(content or "")
    return Place(*map(int, found.groups())) if found else None
