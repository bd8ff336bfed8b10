"""What the processes of the studies do: make a warm start, train from one, play held-out states."""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from gem_core import make_agent
from gem_core.factory import EnvFactory
from gem_rollout import Component, Trajectory, collect
from gem_train.collector import CutIsInvalid
from gem_train.config import TrainConfig
from gem_train.demonstrations import demonstrations
from gem_train.make_model import Size, make_model
from gem_train.metrics import read_metrics, rollout_metrics
from gem_train.policy import Policy
from gem_train.sft import sft
from gem_train.sft_config import SFTConfig
from gem_train.trainer import Trainer
from learning.cells import Run
from learning.tasks import HELD_OUT, LEARNED, STUDIES, Family, Plan

__all__ = ["MEASURES", "make_warm_start", "train"]

MEASURES = ("return", "success", "turns")
"""What metrics have of every step."""
TOKENS = 4096
"""Most tokens of a forward pass: rows of similar length are put together, so padding is rare."""


def make_warm_start(family: str, start: int, folder: Path, plan: Plan = STUDIES) -> dict[str, Any]:
    """Make a model and train it on demonstrations; return its hash and how it plays.

    If its success on what it learned from is below that of the plan, it is made again with twice as
    many demonstrations and updates, as often as the plan says.

    Args:
        family: Name of the family.
        start: Seed of the weights, the demonstrations and their order.
        folder: Where to write the model.
        plan: The tasks and sizes.
    """
    torch.set_num_threads(1)
    began, cpu = time.perf_counter(), time.process_time()
    of = plan.families[family]
    for doubled in range(plan.doublings + 1):
        policy, made = _taught(of, start, folder, plan, 2**doubled)
        learned = [_success(plan, policy, task) for task in of.tasks if plan.least_success]
        if all(one >= plan.least_success for one in learned):
            break
    return {
        "family": family,
        "start": start,
        "sha256": _hash(folder),
        **made,
        "times": 2**doubled,
        "learned": learned,
        "plays": {
            task: _held_out(plan, policy, task, start, 2 * plan.held_out)
            for task in (*of.tasks, *of.others)
        },
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }


def _taught(
    of: Family, start: int, folder: Path, plan: Plan, times: int
) -> tuple[Policy, dict[str, float]]:
    """Return a model that learned ``times`` as much as its family says, and its figures."""
    factories = [plan.tasks[task].factory() for task in of.tasks]
    shutil.rmtree(folder, ignore_errors=True)
    raw = folder / "random"
    made = make_model(
        raw,
        factories,
        size=Size(hidden=plan.hidden, layers=2, heads=4),
        vocab=plan.vocab,
        context=plan.context,
        episodes=60,
        seed=start,
    )
    policy = Policy.load(raw, device="cpu")
    played = [
        one
        for task, factory in zip(of.tasks, factories, strict=True)
        for one in demonstrations(
            factory,
            policy.tokenizer,
            episodes=times * plan.tasks[task].demonstrations,
            skill=plan.tasks[task].skill,
            seed=start,
            max_new_tokens=plan.max_new_tokens + 8,
        )
    ]
    losses: dict[str, float] = {}
    config = SFTConfig(
        steps=times * of.steps, batch_size=plan.demonstrated, lr=5e-3, tokens=TOKENS, seed=start
    )
    sft(policy, played, config, log=lambda _, found: losses.update(found))
    policy.save(folder / "model")
    loss = round(losses["validation/loss"], 4)
    return policy, {"parameters": made.parameters, "validation_loss": loss}


def _hash(folder: Path) -> str:
    return hashlib.sha256((folder / "model" / "model.safetensors").read_bytes()).hexdigest()


def train(
    run: Run, tests: tuple[str, ...], warm: Path, folder: Path, plan: Plan = STUDIES
) -> dict[str, Any]:
    """Train once, and play held-out start states; return the figures.

    Args:
        run: What to train.
        tests: Further tasks that are played at the end.
        warm: Folder of the warm start.
        folder: A folder for the run, which is deleted at the end.
        plan: The tasks and sizes.
    """
    torch.set_num_threads(1)
    began, cpu = time.perf_counter(), time.process_time()
    shutil.rmtree(folder, ignore_errors=True)
    sources = {run.task: Component(plan.tasks[run.task].factory())}
    trainer = Trainer(_config(run, warm, plan), sources, folder, console=Console(quiet=True))
    trainer.train()
    found = read_metrics(folder / "metrics.csv")
    shutil.rmtree(folder, ignore_errors=True)
    return {
        **run._asdict(),
        "warm_start": _hash(warm),
        "plays": {
            task: _held_out(plan, trainer.policy, task, run.seed, plan.held_out)
            for task in (run.task, *tests)
        },
        "curves": {
            name: [round(value, 4) for value in found[f"rollout/{name}"][1]] for name in MEASURES
        },
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }


def _config(run: Run, warm: Path, plan: Plan) -> TrainConfig:
    algo = json.loads(run.algo)
    shaper = {
        "id": "learning.shapers:ReturnOffset",
        "offset": run.offset,
        "gamma": algo.get("gamma", 1.0),
    }
    settings: dict[str, Any] = {
        "model": str(warm / "model"),
        "device": "cpu",
        "threads": 1,
        "seed": 1000 * run.start + run.seed,
        "steps": run.steps,
        "algo": algo,
        "shapers": [*plan.tasks[run.task].shapers, *([shaper] if run.offset else [])],
        "rollout": {"episodes": plan.episodes},
        "sampling": {"max_new_tokens": plan.max_new_tokens},
        "optim": {"lr": run.lr, "tokens": TOKENS},
        "checkpoint": {"every": 0, "keep": 1},
        "log": {"writers": ["csv"], "trajectories_every": 0, "plot": False},
        "progress": "off",
    }
    return TrainConfig(**settings)


def _held_out(plan: Plan, policy: Policy, task: str, seed: int, episodes: int) -> dict[str, float]:
    """Return the means over held-out start states, sampled at temperature 1.

    Every model plays the same start states, whose seeds no training and no demonstration uses.
    """
    factory = plan.tasks[task].held_out()
    played = _played(plan, policy, factory, seed, episodes, HELD_OUT)
    metrics = rollout_metrics(played)
    means = {name: metrics[f"rollout/{name}"] for name in MEASURES}
    means["tokens"] = sum(map(_tokens, played)) / len(played)
    means |= _variety(played[: plan.held_out])
    return {name: round(value, 4) for name, value in means.items()}


def _success(plan: Plan, policy: Policy, task: str) -> float:
    """Return the success on start states like those of the demonstrations."""
    factory = plan.tasks[task].factory()
    played = _played(plan, policy, factory, 0, plan.held_out, LEARNED)
    return round(rollout_metrics(played)["rollout/success"], 4)


def _played(
    plan: Plan, policy: Policy, factory: EnvFactory, seed: int, episodes: int, states: int
) -> list[Trajectory]:
    """Return episodes of a model: ``seed`` is that of sampling, ``states`` that of the tasks."""

    def make() -> Any:
        agent = make_agent(
            "transformers",
            model=policy.model,
            tokenizer=policy.tokenizer,
            batch_size=plan.held_out,
            max_new_tokens=plan.max_new_tokens,
            temperature=1.0,
            seed=seed,
        )
        return CutIsInvalid(agent)

    kept = make()  # while one agent exists, the state that all of them share is kept
    played = list(
        collect(
            {"held-out": Component(factory)},
            make,
            episodes=[("held-out", index) for index in range(episodes)],
            seed=states,
            concurrency=plan.held_out // 2,
        )
    )
    kept.close()
    return played


def _variety(played: Sequence[Trajectory]) -> dict[str, float]:
    """Return what shows that a policy writes the same to everything.

    Returns:
        ``entropy``: of a token in nats, the mean of -log p over the sampled tokens, which is an
        estimate without bias; ``distinct``: number of distinct replies; ``replies``: of all;
        ``most_frequent``: the share of the most frequent one.
    """
    made = [turn.generation for one in played for turn in one.turns if turn.generation is not None]
    logprobs = [value for one in made for value in one.logprobs or () if value is not None]
    replies = Counter(tuple(one.token_ids or ()) for one in made)
    return {
        "entropy": -sum(logprobs) / max(len(logprobs), 1),
        "distinct": len(replies),
        "replies": replies.total(),
        "most_frequent": max(replies.values(), default=0) / max(replies.total(), 1),
    }


def _tokens(trajectory: Trajectory) -> int:
    """Return the number of tokens of an episode, each counted once."""
    made = [turn.generation for turn in trajectory.turns if turn.generation is not None]
    return sum(len(one.prompt_ids or ()) + len(one.token_ids or ()) for one in made)
