"""What is trained: environments, sizes, and units, each of which is one run of training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["ALGORITHMS", "FRACTION", "TASKS", "WHOLE", "Sizes", "Task", "Unit", "units"]

ALGORITHMS = ("rebn", "grpo")


@dataclass(frozen=True)
class Task:
    """An environment to train in.

    Args:
        env: Its id.
        transfer: Environments that are played before and after training, and never trained in.
        params: Parameters of all these environments.
        tools: The tools that the model may call.
        tokens: Most tokens of a reply.
        about: What the page says of it.
    """

    env: str
    transfer: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    tokens: int = 16
    about: str = ""

    @property
    def envs(self) -> tuple[str, ...]:
        """All environments that are played, the one to train in first."""
        return (self.env, *self.transfer)

    @property
    def options(self) -> tuple[str, ...]:
        """Arguments of ``eval`` and ``train`` for the parameters and the tools."""
        tools = (f"tools=[{','.join(self.tools)}]",) if self.tools else ()
        return (*(f"env.{name}={value}" for name, value in self.params.items()), *tools)


TASKS = {
    "guess": Task(
        "game:GuessTheNumber-v0-easy",
        ("game:GuessTheNumber-v0", "game:GuessTheNumber-v0-hard"),
        about="`game:GuessTheNumber-v0-easy` has ten secrets, so it is not evaluated on new ones.",
    ),
    "gcd": Task("rg:gcd", params={"level": 0}, tokens=24),
    "math": Task("math:Sample", tools=("python",), tokens=96),
    "terminal": Task("terminal:Generated-easy", ("terminal:Generated-hard",), tokens=64),
}
"""In the order in which they are worth a GPU's time."""


@dataclass(frozen=True)
class Sizes:
    """How much is played and trained.

    Args:
        eval_episodes: Episodes of an evaluation, in each environment.
        supervised_steps: Updates of the supervised start, of 16 episodes each.
        steps: Most steps of reinforcement learning.
        episodes: Episodes of a step.
        equal_steps: Training ends after so many steps in a row in which all advantages were 0.
        precision: That of the weights.
    """

    eval_episodes: int
    supervised_steps: int
    steps: int
    episodes: int
    equal_steps: int = 5
    precision: str = "bf16"

    def as_json(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return asdict(self)


WHOLE = Sizes(eval_episodes=200, supervised_steps=30, steps=120, episodes=128)
FRACTION = Sizes(eval_episodes=50, supervised_steps=30, steps=2, episodes=16, precision="float32")
"""For a CPU: the supervised start is whole, reinforcement learning is only shown to run."""


@dataclass(frozen=True)
class Unit:
    """One run of training.

    Args:
        task: A key of ``TASKS``.
        algo: The algorithm.
        seed: The seed of training.
    """

    task: str
    algo: str
    seed: int

    @property
    def name(self) -> str:
        """Its name in files and folders."""
        return f"{self.task}-{self.algo}-{self.seed}"


def units(tasks: Sequence[str], algorithms: Sequence[str], seeds: int) -> Iterator[Unit]:
    """Yield units in the order in which they are run."""
    for task in tasks:
        for algo in algorithms:
            for seed in range(seeds):
                yield Unit(task, algo, seed)
