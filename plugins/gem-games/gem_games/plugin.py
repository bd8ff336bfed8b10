"""The table of games. Nothing here imports a game.

Each level of a game has an id, ``game:<name><suffix>``. Options that a level does not list have the
defaults of the class; an option of None is drawn in each episode.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_core import AgentSpec, EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["GAMES", "GameEntry", "gem_register"]


@dataclass(frozen=True)
class GameEntry:
    """One game.

    Args:
        name: The name in ids; the classes are ``<name>Env`` and ``<name>Oracle``.
        module: The module in this package.
        description: One line for listings.
        levels: The options of each level by the suffix of its id.
        fixed: The suffixes of levels whose episodes all start in the same state.
        oracle_returns: A lower bound of the oracle's mean return by suffix, for levels on which
            luck or the turn limit prevents the maximum.
        lowest: The smallest return by suffix, which empty replies get, if it is not -0.1.
        metadata: What differs from the metadata of the other games.
        players: Further agents by the end of their id, with a line for listings; the class of
            ``reader`` is ``<name>Reader``.
    """

    name: str
    module: str
    description: str
    levels: Mapping[str, Mapping[str, Any]]
    fixed: Collection[str] = ()
    oracle_returns: Mapping[str, float] = field(default_factory=dict)
    lowest: Mapping[str, float] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    players: Mapping[str, str] = field(default_factory=dict)


_WORDS = {"license": "Apache-2.0, its words CC BY-SA 4.0"}

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
    GameEntry(
        "Wordle",
        "wordle",
        "find a secret word from marks on the letters of each guess",
        {
            "-v0": {"word_length": 5, "max_turns": 15},
            "-v0-easy": {"word_length": 3, "max_turns": 15},
            "-v0-hard": {"word_length": 5, "max_turns": 25},
            "-v0-random": {"word_length": None, "max_turns": None},
        },
        metadata=_WORDS,
    ),
    GameEntry(
        "Hangman",
        "hangman",
        "find a secret word by guessing letters or the whole word",
        {
            "-v0": {"word_length": 5, "max_turns": 15},
            "-v0-easy": {"word_length": 3, "max_turns": 10},
            "-v0-hard": {"word_length": 7, "max_turns": 20},
            "-v0-random": {"word_length": None, "max_turns": None},
        },
        oracle_returns={"-v0-easy": 0.8},
        metadata=_WORDS,
    ),
    GameEntry(
        "Crosswords",
        "crosswords",
        "fill in crossing words from their clues, letter by letter",
        {
            "-v0-easy": {"hardcore": False, "max_turns": 30, "num_words": 3},
            "-v0-hard": {"hardcore": True, "max_turns": 40, "num_words": 3},
            "-v0-random": {"hardcore": None, "max_turns": None, "num_words": None},
        },
    ),
    GameEntry(
        "WordSearch",
        "word_search",
        "find words hidden across and down a grid of letters",
        {
            "-v0-easy": {"num_words": 5, "max_turns": 20, "hardcore": False},
            "-v0-hard": {"num_words": 5, "max_turns": 20, "hardcore": True},
            "-v0-random": {"num_words": None, "max_turns": None, "hardcore": None},
        },
        metadata=_WORDS,
    ),
    GameEntry(
        "Sokoban",
        "sokoban",
        "push every box onto a goal",
        {
            "-v0-easy": {"dim_room": (6, 6), "num_boxes": 2, "max_turns": 20},
            "-v0-hard": {"dim_room": (8, 8), "num_boxes": 4, "max_turns": 50},
            "-v0-random": {"dim_room": None, "num_boxes": None, "max_turns": None},
        },
    ),
    GameEntry(
        "Minesweeper",
        "minesweeper",
        "reveal every cell without a mine",
        {
            "-v0": {"rows": 8, "cols": 8, "num_mines": 10, "max_turns": 100},
            "-v0-very-easy": {"rows": 3, "cols": 3, "num_mines": 1, "max_turns": 10},
            "-v0-easy": {"rows": 5, "cols": 5, "num_mines": 5, "max_turns": 25},
            "-v0-hard": {"rows": 8, "cols": 8, "num_mines": 12, "max_turns": 64},
            "-v0-random": {"rows": None, "cols": None, "num_mines": None, "max_turns": None},
        },
        oracle_returns={"-v0": 0.85, "-v0-easy": 0.85, "-v0-hard": 0.85, "-v0-random": 0.85},
    ),
    GameEntry(
        "FifteenPuzzle",
        "fifteen_puzzle",
        "slide numbered tiles into order",
        {
            "-v0": {"num_rows": 3, "max_turns": 20},
            "-v0-easy": {"num_rows": 2, "max_turns": 10},
            "-v0-hard": {"num_rows": 4, "max_turns": 50},
            "-v0-random": {"num_rows": None, "max_turns": None},
        },
    ),
    GameEntry(
        "Mastermind",
        "mastermind",
        "find a secret code from black and white pegs",
        {
            "-v0": {"code_length": 4, "num_numbers": 6, "max_turns": 20},
            "-v0-easy": {"code_length": 2, "num_numbers": 6, "max_turns": 10},
            "-v0-hard": {"code_length": 4, "num_numbers": 8, "max_turns": 30},
            "-v0-random": {"code_length": None, "num_numbers": None, "max_turns": None},
        },
    ),
    GameEntry(
        "Sudoku",
        "sudoku",
        "complete a grid so that every row, column and subgrid holds each number once",
        {
            "-v0": {"empty_cells": 50, "max_turns": 50, "scale": 9},
            "-v0-easy": {"empty_cells": 10, "max_turns": 15, "scale": 4},
            "-v0-easy-v2": {"empty_cells": 10, "max_turns": 15, "scale": 4},
            "-v0-hard": {"empty_cells": 50, "max_turns": 50, "scale": 9},
            "-v0-random": {"empty_cells": None, "max_turns": None, "scale": None},
        },
    ),
    GameEntry(
        "TowerofHanoi",
        "tower_of_hanoi",
        "move a tower of disks to another place, never a larger disk onto a smaller one",
        {
            "-v0": {"num_disks": 4, "max_turns": 20},
            "-v0-easy": {"num_disks": 3, "max_turns": 10},
            "-v0-hard": {"num_disks": 5, "max_turns": 35},
            "-v0-random": {"num_disks": None, "max_turns": None},
        },
        fixed=("-v0", "-v0-easy", "-v0-hard"),
    ),
    GameEntry(
        "Game2048",
        "game_2048",
        "merge equal tiles until one reaches the target",
        {
            "-v0-easy": {"target_tile": 64, "max_turns": 50},
            "-v0-hard": {"target_tile": 512, "max_turns": 50},
            "-v0-extreme-hard": {"target_tile": 2048, "max_turns": 100},
            "-v0-random": {"target_tile": None, "max_turns": None},
        },
        # These targets cannot be reached in time, as each turn adds at most 4 to the board.
        oracle_returns={"-v0-hard": 0.55, "-v0-extreme-hard": 0.55},
    ),
    GameEntry(
        "WikiGame",
        "wikigame",
        "reach a page of an encyclopedia by following links",
        {"-v0-easy": {"max_turns": 30}, "-v0-hard": {"max_turns": 15}},
        # Each link on the way costs 0.05, and a reply without a box 0.2.
        oracle_returns={"-v0-easy": 0.85, "-v0-hard": 0.85},
        lowest={"-v0-easy": -0.2 * 30, "-v0-hard": -0.2 * 15},
        metadata={"score": "1 for the target, less 0.05 a link; -0.2 for a reply without one"},
        players={"reader": "follows the link with the most words of the target's summary"},
    ),
]


_METADATA = {
    "teaches": "to plan, to deduce, and to use feedback over many turns",
    "score": "1 for a game that is won, less for a part of it; -0.1 for a reply without a move",
    "data": "generated here",
    "license": "Apache-2.0",
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the games and their oracles."""
    for game in GAMES:
        oracle = f"gem_games.{game.module}:{game.name}Oracle"
        registry.add(
            AgentSpec(
                id=f"{game.name}-oracle",
                entry_point=oracle,
                description=f"the scripted expert for {game.name}",
                env=f"game:{game.name}{next(iter(game.levels))}",
            )
        )
        for player, description in game.players.items():
            registry.add(
                AgentSpec(
                    id=f"{game.name}-{player}",
                    entry_point=f"gem_games.{game.module}:{game.name}{player.capitalize()}",
                    description=description,
                    env=f"game:{game.name}{next(iter(game.levels))}",
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
                    oracle_return=game.oracle_returns.get(suffix),
                    return_range=(game.lowest.get(suffix, -0.1), 1.0),
                    varies=suffix not in game.fixed,
                    metadata=_METADATA | dict(game.metadata),
                )
            )
