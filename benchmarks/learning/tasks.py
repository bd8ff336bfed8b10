"""The tasks of the learning studies: environments, and what a warm start sees of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_core import Wrapper
from gem_core.factory import EnvFactory, make_factory
from gem_core.plugins import default_registry
from gem_core.seeding import child_seed
from gem_core.specs import ENVS, EnvSpec
from learning.envs import FirstLine, ShortTexts

__all__ = ["FAMILIES", "HELD_OUT", "LEARNED", "STUDIES", "TASKS", "Family", "Plan", "Task"]

HELD_OUT, LEARNED = (child_seed(10**6 + number, "evaluation") for number in range(2))
"""The seeds of the tasks that models are measured on: held out, and like those they learn from."""


@dataclass(frozen=True)
class Task:
    """An environment.

    Args:
        env: The environment's spec or id.
        about: One line for the page.
        kwargs: Parameters of the environment.
        tools: Tools of the environment.
        wrapper: Shortens the prompt.
        skill: Share of the oracle's actions in the demonstrations; several values alternate.
        demonstrations: Number of demonstrated episodes that a warm start learns from.
        shapers: Ids of reward shapers in training.
    """

    env: EnvSpec | str
    about: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    wrapper: Callable[..., Wrapper] | None = None
    skill: float | tuple[float, ...] = 0.4
    demonstrations: int = 2000
    shapers: tuple[str, ...] = ()

    def held_out(self) -> EnvFactory:
        """Return a factory of what models are measured on: here other seeds of the same."""
        return self.factory()

    def factory(self) -> EnvFactory:
        """Return a factory of what models learn from."""
        spec = default_registry().find(ENVS, self.env) if isinstance(self.env, str) else self.env
        wrappers = [self.wrapper] if self.wrapper else []
        return make_factory(spec.with_kwargs(**self.kwargs), tools=self.tools, wrappers=wrappers)


_GUESS = "game:GuessTheNumber-v0"
_REVERSE = EnvSpec(
    id="learning:Reverse",
    entry_point="learning.envs:ReverseEnv",
    oracle="learning.envs:ReverseOracle",
)
_MULTIPLY = EnvSpec(
    id="learning:Multiply",
    entry_point="learning.envs:MultiplyEnv",
    oracle="learning.envs:MultiplyOracle",
)

TASKS = {
    "guess": Task(f"{_GUESS}-easy", "find a number from 1 to 10 in 4 turns", wrapper=ShortTexts),
    "guess-hard": Task(
        f"{_GUESS}-hard",
        "find a number from 1 to 50 in 7 turns",
        wrapper=ShortTexts,
        demonstrations=700,
    ),
    "guess-long": Task(
        _GUESS,
        "find a number from 1 to 10 in 12 turns",
        {"max_number": 10, "max_turns": 12},
        wrapper=ShortTexts,
    ),
    "reverse": Task(
        _REVERSE,
        "write 3 letters backwards in one turn",
        {"length": 3, "letters": 6},
        demonstrations=4000,
    ),
    "multiply": Task(
        _MULTIPLY,
        "multiply two numbers of two digits in one turn",
        skill=(0.3, 1.0),
        demonstrations=700,
    ),
    "multiply-python": Task(
        _MULTIPLY,
        "the same with Python: one turn calls it, the next copies the result",
        tools=("python",),
        wrapper=FirstLine,
        skill=(0.3, 1.0),
        demonstrations=3000,
    ),
}


@dataclass(frozen=True)
class Family:
    """The warm starts of some tasks, which differ in their seed.

    Args:
        tasks: Names of the tasks whose demonstrations they learn from.
        steps: Number of updates on the demonstrations.
        others: Further tasks that are learned from them, without demonstrations.
    """

    tasks: tuple[str, ...]
    steps: int
    others: tuple[str, ...] = ()


FAMILIES = {
    "games": Family(("guess", "guess-hard", "reverse"), 300, others=("guess-long",)),
    "letters": Family(("reverse",), 200),
    "tools": Family(("multiply", "multiply-python"), 400),
}


@dataclass(frozen=True)
class Plan:
    """The tasks and families of some cells, and the sizes that all their runs share.

    Args:
        tasks: The tasks by name.
        families: The families of warm starts by name.
        hidden: Hidden size of the models, which have two layers and four heads.
        vocab: Most tokens of their vocabulary.
        context: Their context length in tokens.
        max_new_tokens: Most tokens of a response.
        episodes: Episodes of a step.
        demonstrated: Demonstrated episodes of an update of a warm start.
        held_out: Episodes that a trained model plays; a warm start plays twice as many.
        least_success: Success on what it learned from that a warm start must reach.
        doublings: How often demonstrations and updates are doubled until it does.
    """

    tasks: Mapping[str, Task]
    families: Mapping[str, Family]
    hidden: int = 32
    vocab: int = 512
    context: int = 1024
    max_new_tokens: int = 16
    episodes: int = 64
    demonstrated: int = 64
    held_out: int = 256
    least_success: float = 0.0
    doublings: int = 0


STUDIES = Plan(TASKS, FAMILIES)
"""What the learning studies train."""
