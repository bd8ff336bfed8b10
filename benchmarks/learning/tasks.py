"""The tasks and runs of the learning curves: environments, warm starts, settings."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem_core.factory import EnvFactory, make_factory
from gem_core.plugins import default_registry
from gem_core.specs import EnvSpec
from learning.envs import FirstLine

__all__ = ["RUNS", "TASKS", "Run", "Task", "folder_of"]


@dataclass(frozen=True)
class Task:
    """An environment, and a model that can play a little of it.

    Args:
        env: The environment's spec or id.
        kwargs: Parameters of the environment.
        tools: Tools of the environment.
        skill: Share of the oracle's actions in the demonstrations; several values alternate.
        demonstrations: Number of demonstrated episodes.
        warm_steps: Number of updates on the demonstrations.
        max_new_tokens: Maximum number of tokens of a response.
        vocab: Maximum number of tokens of the tokenizer.
        steps: Number of reinforcement learning steps.
        lr: Learning rate of these steps.
    """

    env: EnvSpec | str
    kwargs: dict[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    skill: float | tuple[float, ...] = 0.4
    demonstrations: int = 3000
    warm_steps: int = 200
    max_new_tokens: int = 8
    vocab: int = 700
    steps: int = 80
    lr: float = 1e-3

    def factory(self) -> EnvFactory:
        """Return a factory of the environment."""
        spec = default_registry().find(EnvSpec, self.env) if isinstance(self.env, str) else self.env
        wrappers = [FirstLine] if self.tools else []
        return make_factory(spec.with_kwargs(**self.kwargs), tools=self.tools, wrappers=wrappers)


@dataclass(frozen=True)
class Run:
    """A training on a task, once for each seed.

    Args:
        task: Name of the task.
        label: Name in tables and plots.
        config: Differences from the common configuration; see ``TrainConfig``.
        figure: The comparison that it belongs to.
    """

    task: str
    label: str
    config: dict[str, Any]
    figure: str


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
    "guess": Task("game:GuessTheNumber-v0-easy"),
    "reverse": Task(
        _REVERSE, {"length": 3, "letters": 6}, skill=0.3, max_new_tokens=12, warm_steps=400
    ),
    "multiply": Task(_MULTIPLY, skill=(0.1, 0.1, 1.0), max_new_tokens=20, warm_steps=500, steps=60),
    "multiply-python": Task(
        _MULTIPLY,
        tools=("python",),
        skill=(0.1, 0.1, 1.0),
        max_new_tokens=20,
        warm_steps=500,
        steps=60,
    ),
}

ALGORITHMS: dict[str, dict[str, Any]] = {
    "reinforce": {"algo": {"id": "reinforce", "gamma": 0.9}},
    "rebn": {"algo": {"id": "rebn", "gamma": 0.9}},
    "grpo": {"algo": {"id": "grpo"}},
    "ppo": {"algo": {"id": "ppo", "gamma": 0.9, "gae_lambda": 0.95}},
}

RUNS = [
    *(
        Run(task, label, config, f"algorithms-{task}")
        for task in ("guess", "reverse", "multiply-python")
        for label, config in ALGORITHMS.items()
    ),
    *(
        Run("guess", f"gamma {gamma}", {"algo": {"id": "rebn", "gamma": gamma}}, "gamma-guess")
        for gamma in (0.5, 0.9, 0.99, 1.0)
    ),
    *(
        Run(task, label, ALGORITHMS["rebn"], "tool-multiply")
        for task, label in (("multiply", "no tool"), ("multiply-python", "with Python"))
    ),
]


def folder_of(run: Run, seed: int, runs: Path) -> Path:
    """Return where a run is: that of its configuration, which several figures may show."""
    algo = "-".join(str(value) for value in run.config["algo"].values())
    return runs / run.task / algo / str(seed)
