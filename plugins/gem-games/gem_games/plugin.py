"""The games: one entry each. Nothing here imports a game.

The levels of a game are its ids, ``game:<name><suffix>``. A level that names no parameters takes
the class's defaults; a parameter of None is drawn anew each episode.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_core import AgentSpec, EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["GAMES", "GameEntry", "gem_register"]


@dataclass(frozen=True)
class GameEntry:
    """One game.

    Args:
        name: Its name in ids; its classes are ``<name>Env`` and ``<name>Oracle``.
        module: Its file in this package.
        description: One line for listings.
        levels: Parameters by suffix of the id.
        aliases: Suffix of a level by suffix of another id for it.
    """

    name: str
    module: str
    description: str
    levels: Mapping[str, Mapping[str, Any]]
    aliases: Mapping[str, str] = field(default_factory=dict)


GAMES = [
    GameEntry(
        "GuessTheNumber",
        "guess_the_number",
        "find a secret number from 'higher' and 'lower'",
        {
            "-v0": {"min_number": 1, "max_number": 20, "max_turns": 10},
            "-v0-easy": {"min_number": 1, "max_number": 10, "max_turns": 4},
            "-v0-hard": {"min_number": 1, "max_number": 50, "max_turns": 7},
            "-v0-hard-no-max-turn": {"min_number": 1, "max_number": 50, "max_turns": 50},
            "-v0-random": {"min_number": None, "max_number": None, "max_turns": None},
        },
    ),
]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the games and their oracles."""
    for game in GAMES:
        oracle = f"gem_games.{game.module}:{game.name}Oracle"
        registry.add(
            AgentSpec(
                id=f"{game.name}-oracle",
                entry_point=oracle,
                description=f"plays {game.name} as well as is known",
            )
        )
        for suffix, kwargs in game.levels.items():
            registry.add(
                EnvSpec(
                    id=f"game:{game.name}{suffix}",
                    entry_point=f"gem_games.{game.module}:{game.name}Env",
                    kwargs=kwargs,
                    description=game.description,
                    oracle=oracle,
                    return_range=(-0.1, 1.0),
                )
            )
