"""The setting of a training, and the clock of its steps."""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any, Self

from gem_core import Env

__all__ = ["INVALID_ACTION", "Clock", "Setting"]

INVALID_ACTION = "(cut)"
"""Action in place of a response that was cut off at its limit."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The setting, the same for all trainers.

    Args:
        entry_point: Class of the environment, ``module:name``.
        kwargs: Its parameters.
        multi_turn: Whether an episode may have several turns.
        model: Folder of the model.
        threads: Threads of torch.
        steps: Steps, each with one update.
        prompts: Start states of a step.
        completions: Episodes of each.
        max_new_tokens: Maximum number of tokens of a response.
        temperature: Sampling temperature.
        lr: Learning rate of AdamW.
        betas: Decay of its moments.
        max_grad_norm: Gradients are scaled down to this norm.
        seed: Seed of the sampling.
    """

    entry_point: str
    multi_turn: bool
    model: str
    threads: int
    steps: int
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    prompts: int = 8
    completions: int = 8
    max_new_tokens: int = 16
    temperature: float = 1.0
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.95)
    max_grad_norm: float = 1.0
    seed: int = 0

    @property
    def episodes(self) -> int:
        """Episodes of a step."""
        return self.prompts * self.completions

    def make_env(self) -> Env:
        """Make the environment."""
        module, _, name = self.entry_point.partition(":")
        env: Env = getattr(import_module(module), name)(**self.kwargs)
        return env

    def to_json(self) -> str:
        """Return the setting as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the setting of a JSON text."""
        found = json.loads(text)
        return cls(**{**found, "betas": tuple(found["betas"])})


class Clock:
    """Reports each step on standard output, and waits for a line on standard input before the next.

    So the sides can alternate, and the waiting one uses no CPU; waiting is not counted. Output of
    libraries goes to standard error.
    """

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._began = self._cpu_began = 0.0

    def ready(self, versions: Mapping[str, str]) -> None:
        """Report that the first step can start, and wait."""
        self._say({"versions": dict(versions)})

    def stepped(self, *, sampling: float, tokens: int, turns: float, reward: float) -> None:
        """Report that a step with its update is done, and wait.

        Args:
            sampling: Seconds to collect its episodes, including rewards.
            tokens: Number of sampled tokens.
            turns: Mean number of turns of an episode.
            reward: Mean return of an episode.
        """
        seconds, cpu = time.perf_counter() - self._began, time.process_time() - self._cpu_began
        figures = {"tokens": tokens, "turns": turns, "reward": reward}
        self._say({"seconds": seconds, "cpu": cpu, "sampling": sampling, **figures})

    def _say(self, what: Mapping[str, Any]) -> None:
        print(json.dumps(what), file=self._out, flush=True)
        if not sys.stdin.readline():
            raise EOFError("the comparison has ended")
        self._began, self._cpu_began = time.perf_counter(), time.process_time()
