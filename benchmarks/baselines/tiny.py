"""What the tiny models learn: environments of the suite, and cells of the learning studies.

The rule, which was written down before the first run:

1. ``COSTS`` has the environments whose episodes and replies fit these models, with the tokens of an
   episode in the first version of this page. Of ``rg:`` the five cheapest are taken, of ``game:``
   the two cheapest, of the other families the one that there is.
2. A warm start begins with 600 demonstrations. They are doubled, up to 2,400, until its success on
   the tasks that it learns from is at least .1. If one seed does not reach that, the environment is
   not trained.
3. All environments have the same settings, and are trained in the order of their cost. The order
   was given up: those whose warm start was likely to fail, and FifteenPuzzle, were put last.
4. The cheapest game is trained once more with success as the only reward.
"""

from dataclasses import dataclass

from learning.cells import Cell
from learning.tasks import Family, Plan, Task

from baselines.envs import family_of, other_tasks, scored_tasks
from gem_core.factory import EnvFactory

__all__ = [
    "CELLS",
    "DEMONSTRATIONS",
    "GAME_SKILL",
    "LR",
    "NOT_CHOSEN",
    "PLAN",
    "STARTS",
    "STEPS",
    "VARIANT",
    "env_of",
]

STARTS = 3
"""Seeds of warm starts; a run of training begins with each."""
STEPS = 48
LR = 1e-3
DEMONSTRATIONS = 600
"""Demonstrated episodes of a warm start, before they are doubled."""
GAME_SKILL = 0.4
"""Share of the oracle's actions in demonstrations of games, which leave something to learn."""
VARIANT = ", success as reward"
"""The end of the name of a task that is trained with success as the only reward."""

COSTS = {
    "rg:number_sequence": 59,
    "rg:chain_sum": 69,
    "rg:simple_equations": 69,
    "rg:gcd": 72,
    "rg:letter_counting": 75,
    "rg:syllogism": 76,
    "math:Sample": 79,
    "rg:family_relationships": 87,
    "rg:aiw": 95,
    "qa:Sample": 105,
    "rg:leg_counting": 110,
    "rg:simple_geometry": 111,
    "rg:isomorphic_strings": 120,
    "rg:color_cube_rotation": 140,
    "rg:knights_knaves": 149,
    "rg:maze": 168,
    "game:GuessTheNumber-v0-easy": 212,
    "logic:Sample": 227,
    "rg:largest_island": 251,
    "game:FifteenPuzzle-v0-easy": 505,
    "game:Mastermind-v0-easy": 526,
    "game:TowerofHanoi-v0-easy": 679,
    "game:Hangman-v0-easy": 695,
    "game:Wordle-v0-easy": 754,
}
"""Tokens of an episode, by the environments that models of this size can play, cheapest first."""
_TAKEN = {"rg": 5, "game": 2}


def _chosen() -> list[str]:
    of = {family: [env for env in COSTS if family_of(env) == family] for family in _families()}
    taken = {env for family, envs in of.items() for env in envs[: _TAKEN.get(family, 1)]}
    return [env for env in COSTS if env in taken]


def _families() -> set[str]:
    return set(map(family_of, COSTS))


@dataclass(frozen=True)
class SuiteTask(Task):
    """An environment of the suite, with other tasks to learn from than to be measured on."""

    def factory(self) -> EnvFactory:
        """Return a factory of what models learn from."""
        return other_tasks(str(self.env))

    def held_out(self) -> EnvFactory:
        """Return a factory of what models are measured on."""
        return scored_tasks(str(self.env))


def env_of(task: str) -> str:
    """Return the environment of a task, which has the name of its warm starts."""
    return task.removesuffix(VARIANT)


def _task(env: str, *shapers: str) -> SuiteTask:
    skill = GAME_SKILL if family_of(env) == "game" else 1.0
    return SuiteTask(env, "", skill=skill, demonstrations=DEMONSTRATIONS, shapers=shapers)


_ENVS = _chosen()
_VARIED = next(env for env in _ENVS if family_of(env) == "game")
_TASKS = {
    **{env: _task(env) for env in _ENVS},
    _VARIED + VARIANT: _task(_VARIED, "learning.shapers:SuccessReward"),
}
PLAN = Plan(
    _TASKS,
    {env: Family((env,), 150) for env in _ENVS},
    vocab=1024,
    context=2048,
    max_new_tokens=24,
    episodes=128,
    demonstrated=16,
    held_out=256,
    least_success=0.1,
    doublings=2,
)
CELLS = [
    Cell(
        "baselines", task, env_of(task), task, "rebn", starts=STARTS, seeds=(0,), lr=LR, steps=STEPS
    )
    for task in sorted(_TASKS, key=lambda task: COSTS[env_of(task)])
]
NOT_CHOSEN = {
    "cheaper ones of the same family are taken": tuple(env for env in COSTS if env not in _ENVS),
    "episodes are longer than the 2,048 tokens of these models": (
        "game:Crosswords-v0-easy",
        "game:Game2048-v0-easy",
        "game:Minesweeper-v0-easy",
        "game:Sudoku-v0-easy",
        "game:WikiGame-v0-easy",
        "game:WordSearch-v0-easy",
    ),
    "an episode has 1,900 tokens, so training would take too long": ("game:Sokoban-v0-easy",),
    "a reply is a program, commands, JSON or a list, longer than the replies of these models": (
        "code:Sample",
        "mcp:Sample",
        "rg:number_sorting",
        "tau:Airline-Sample",
        "tau:Retail-Sample",
        "terminal:Generated-easy",
        "terminal:Sample",
    ),
    "the pages have thousands of characters": ("webshop:Sample",),
}
"""Why no model is trained, with the environments."""
