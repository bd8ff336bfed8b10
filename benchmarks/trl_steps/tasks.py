"""The tasks of the comparison, and the models that both trainers begin with."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learning.envs import ReverseEnv, ReverseOracle

from gem_core.factory import EnvFactory, make_factory
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, EnvSpec

__all__ = ["TASKS", "Task", "warm_start"]


@dataclass(frozen=True)
class Task:
    """An environment, and a model that can play a little of it.

    Args:
        env: The environment's spec or id.
        kwargs: Parameters of the environment.
        skill: Share of the oracle's actions in the demonstrations.
        warm_steps: Number of updates on the demonstrations.
        max_new_tokens: Maximum number of tokens of a response.
    """

    env: EnvSpec | str
    kwargs: dict[str, Any] = field(default_factory=dict)
    skill: float = 0.4
    warm_steps: int = 200
    max_new_tokens: int = 8

    def factory(self) -> EnvFactory:
        """Return a factory of the environment."""
        spec = default_registry().find(ENVS, self.env) if isinstance(self.env, str) else self.env
        return make_factory(spec.with_kwargs(**self.kwargs))


_REVERSE = EnvSpec(
    id="learning:Reverse",
    entry_point=f"{ReverseEnv.__module__}:{ReverseEnv.__name__}",
    oracle=f"{ReverseOracle.__module__}:{ReverseOracle.__name__}",
)

TASKS = {
    "guess": Task("game:GuessTheNumber-v0-easy"),
    "reverse": Task(
        _REVERSE, {"length": 3, "letters": 6}, skill=0.3, max_new_tokens=12, warm_steps=400
    ),
}


def warm_start(name: str, runs: Path) -> str:
    """Make a model of 0.2 million parameters and train it on demonstrations; return one line."""
    import torch  # noqa: PLC0415 - takes seconds

    from gem_train.demonstrations import demonstrations  # noqa: PLC0415 - as above
    from gem_train.make_model import make_model  # noqa: PLC0415 - as above
    from gem_train.policy import Policy  # noqa: PLC0415 - as above
    from gem_train.sft import sft  # noqa: PLC0415 - as above
    from gem_train.sft_config import SFTConfig  # noqa: PLC0415 - as above

    torch.set_num_threads(1)
    folder, task = runs / name / "warm", TASKS[name]
    if (folder / "model" / "config.json").is_file():
        return f"{name}: the warm start is there"
    began = time.perf_counter()
    factory = task.factory()
    made = make_model(folder / "random", [factory], vocab=700, context=1024, episodes=100)
    policy = Policy.load(folder / "random", device="cpu")
    played = demonstrations(
        factory,
        policy.tokenizer,
        episodes=3000,
        skill=task.skill,
        max_new_tokens=task.max_new_tokens + 8,
    )
    sft(policy, list(played), SFTConfig(steps=task.warm_steps, batch_size=64, lr=2e-3))
    policy.save(folder / "model")
    seconds = time.perf_counter() - began
    return f"{name}: {made.parameters:,} parameters, warm start in {seconds:.0f} s"
