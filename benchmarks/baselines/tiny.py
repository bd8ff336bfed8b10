"""What the tiny models learn: environments of the suite, and cells of the learning studies."""

from dataclasses import dataclass

from learning.cells import Cell
from learning.tasks import Family, Plan, Task

from baselines.envs import SEEDS, factories
from gem_core.factory import EnvFactory

__all__ = ["CELLS", "DEMONSTRATIONS", "GAME_SKILL", "LR", "NOT_TRAINED", "PLAN"]

LR = 3e-3
"""The learning rate that the sweep of the learning studies chose for ReBN."""


@dataclass(frozen=True)
class SuiteTask(Task):
    """An environment of the suite, as the suite plays it."""

    def factory(self) -> EnvFactory:
        """Return the suite's factory."""
        return factories()[str(self.env)]


DEMONSTRATIONS = 600
"""Demonstrated episodes of a warm start."""
GAME_SKILL = 0.4
"""Share of the oracle's actions in demonstrations of games, which leave something to learn."""
_GAMES = (
    "game:GuessTheNumber-v0-easy",
    "game:Mastermind-v0-easy",
    "game:FifteenPuzzle-v0-easy",
    "game:Wordle-v0-easy",
    "game:Hangman-v0-easy",
    "game:TowerofHanoi-v0-easy",
)
_QUESTIONS = (
    "rg:gcd",
    "rg:syllogism",
    "math:Sample",
    "logic:Sample",
    "qa:Sample",
    "rg:leg_counting",
    "rg:chain_sum",
    "rg:simple_equations",
    "rg:number_sequence",
    "rg:letter_counting",
    "rg:family_relationships",
    "rg:aiw",
    "rg:simple_geometry",
    "rg:isomorphic_strings",
    "rg:color_cube_rotation",
    "rg:knights_knaves",
    "rg:maze",
    "rg:largest_island",
)
_TASKS = {
    env: SuiteTask(env, "", skill=skill, demonstrations=DEMONSTRATIONS)
    for envs, skill in ((_QUESTIONS, 1.0), (_GAMES, GAME_SKILL))
    for env in envs
}
PLAN = Plan(
    _TASKS,
    {env: Family((env,), 150) for env in _TASKS},
    vocab=1024,
    context=2048,
    max_new_tokens=24,
    episodes=32,
    demonstrated=16,
    held_out=128,
)
CELLS = [
    Cell("baselines", env, env, env, "rebn", starts=len(SEEDS), seeds=(0,), lr=LR) for env in _TASKS
]
NOT_TRAINED = {
    "some or all episodes are longer than the 2,048 tokens of these models": (
        "game:Crosswords-v0-easy",
        "game:Game2048-v0-easy",
        "game:Minesweeper-v0-easy",
        "game:Sudoku-v0-easy",
        "game:WikiGame-v0-easy",
        "game:WordSearch-v0-easy",
    ),
    "an episode has 1,900 tokens, so training would take too long": ("game:Sokoban-v0-easy",),
    "an answer is a program, commands or JSON, longer than the responses of these models": (
        "code:Sample",
        "mcp:Sample",
        "tau:Airline-Sample",
        "tau:Retail-Sample",
        "terminal:Generated-easy",
        "terminal:Sample",
    ),
    "an answer is a list of numbers, longer than the responses of these models": (
        "rg:number_sorting",
    ),
    "the pages have thousands of characters": ("webshop:Sample",),
}
"""Why no model is trained, with the environments."""
