"""Suites: named lists of environments with settings, for ``suite=ID`` of the commands.

A plugin adds its own in one place::

    suite, kwargs = "gem_rollout.commands.suites:Suite", {"envs": ["acme:*"]}
    registry.add(Spec(kind=SUITES, id="acme", entry_point=suite, kwargs=kwargs))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_core.specs import Kind, Spec

__all__ = ["BUILT_IN", "SUITES", "Suite"]


@dataclass(frozen=True)
class Suite:
    """Environments that are played together, and how.

    Args:
        envs: Ids, patterns, or mappings with an ``id`` and parameters, as ``envs=`` takes them.
        settings: Values of keys of the commands, such as ``{"episodes": 50, "tools": ["python"]}``.
            A command ignores those of keys that it does not have.
    """

    envs: Sequence[str | Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)


SUITES: Kind[Spec] = Kind(
    id="suites", name="suite", description="environments to play together, with settings"
)
"""Entry points return a ``Suite``, mostly ``gem_rollout.commands.suites:Suite`` with ``kwargs``."""

_GAMES = (
    "Crosswords",
    "FifteenPuzzle",
    "Game2048",
    "GuessTheNumber",
    "Hangman",
    "Mastermind",
    "Minesweeper",
    "Sokoban",
    "Sudoku",
    "TowerofHanoi",
    "WikiGame",
    "WordSearch",
    "Wordle",
)
_RG = (
    "aiw",
    "chain_sum",
    "color_cube_rotation",
    "family_relationships",
    "gcd",
    "isomorphic_strings",
    "knights_knaves",
    "largest_island",
    "leg_counting",
    "letter_counting",
    "maze",
    "number_sequence",
    "number_sorting",
    "simple_equations",
    "simple_geometry",
    "syllogism",
)
_TEXTS = ["math:Sample", "logic:Sample", "qa:Sample", "code:Sample"]
BUILT_IN = {
    "quick": (
        ["game:GuessTheNumber-v0-easy", "game:Sudoku-v0-easy", *_TEXTS, "tau:Retail-Sample"],
        {"episodes": 10},
        "one or two environments of each family, in a minute",
    ),
    "baselines": (
        [
            *(f"game:{name}-v0-easy" for name in _GAMES),
            *_TEXTS,
            "mcp:Sample",
            *(f"rg:{name}" for name in _RG),
            "tau:Airline-Sample",
            "tau:Retail-Sample",
            "terminal:Generated-easy",
            "terminal:Sample",
            "webshop:Sample",
        ],
        {"episodes": 20},
        "the environments of docs/baselines.md: all families, no network",
    ),
    "games": (["game:*-easy", "game:*-hard"], {"episodes": 50}, "all games, easy and hard"),
    "tools": (
        ["math:Sample", "rg:leg_counting"],
        {"episodes": 50, "tools": ["python"]},
        "questions that a program helps to answer",
    ),
}
"""The environments, settings and descriptions of our own suites, by id."""
