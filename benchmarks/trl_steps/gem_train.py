"""gem-train: ``Trainer`` with ``algo=grpo``."""

import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import transformers
from rich.console import Console

from gem_core import EnvSpec
from gem_core.factory import make_factory
from gem_rollout import Component, Trajectory
from gem_train.config import TrainConfig
from gem_train.policy import Policy
from gem_train.trainer import Trainer
from trl_steps.setting import Clock, Setting

__all__ = ["train"]


def train(setting: Setting, clock: Clock) -> None:
    """Train until all steps are done."""
    spec = EnvSpec(id="bench:Env", entry_point=setting.entry_point, kwargs=dict(setting.kwargs))
    seconds, episodes = 0.0, list[Trajectory]()

    def after_step(_: Policy, step: int) -> None:
        if step == 0:
            return clock.ready(_versions())
        return clock.stepped(sampling=seconds, **_figures(episodes))

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            _config(setting),
            {"env": Component(make_factory(spec))},
            Path(folder),
            after_step=after_step,
            console=Console(quiet=True),
        )
        collector: Any = trainer._collector  # noqa: SLF001 - to time the sampling
        collect: Callable[[], list[Trajectory]] = collector.collect

        def timed() -> list[Trajectory]:
            nonlocal seconds, episodes
            began = time.perf_counter()
            episodes = collect()
            seconds = time.perf_counter() - began
            return episodes

        collector.collect = timed
        trainer.train()


def _config(setting: Setting) -> TrainConfig:
    options: dict[str, Any] = {
        "model": setting.model,
        "device": "cpu",
        "threads": setting.threads,
        "steps": setting.steps,
        "seed": setting.seed,
        "algo": {"id": "grpo"},
        "rollout": {
            "episodes": setting.episodes,
            "group_size": setting.completions,
            "concurrency": setting.episodes,
        },
        "sampling": {
            "max_new_tokens": setting.max_new_tokens,
            "temperature": setting.temperature,
        },
        "loss": {"length_norm": "token"},  # TRL's default
        "optim": {
            "lr": setting.lr,
            "betas": setting.betas,
            "max_grad_norm": setting.max_grad_norm,
        },
        "checkpoint": {"every": 0},
        "log": {"writers": [], "trajectories_every": 0, "plot": False},
        "progress": "off",
    }
    return TrainConfig(**options)


def _figures(episodes: list[Trajectory]) -> dict[str, Any]:
    turns = [turn for one in episodes for turn in one.turns]
    made = [turn.generation for turn in turns if turn.generation is not None]
    return {
        "tokens": sum(len(one.token_ids or ()) for one in made),
        "turns": len(turns) / len(episodes),
        "reward": sum(turn.reward for turn in turns) / len(episodes),
    }


def _versions() -> dict[str, str]:
    return {
        "gem-train": version("gem-train"),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
