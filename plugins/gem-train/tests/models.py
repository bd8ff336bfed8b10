"""Small models and sampled batches, for tests of training."""

import random

import torch
from plays import episode_of, tokens_of, turn_of
from rich.console import Console

from gem_core.factory import make_factory
from gem_rollout import Component
from gem_train.batch import batch_of
from gem_train.config import TrainConfig
from gem_train.learner import Learner
from gem_train.parts import parts_of
from gem_train.trainer import Trainer
from gem_train.transitions import transitions_of

GUESS = "game:GuessTheNumber-v0-easy"


def learner_of(policy, algo="rebn", options=None, **config):
    """A learner with a noticeable learning rate."""
    config["optim"] = {"lr": 1e-3, **config.get("optim", {})}
    # Tests learn from one batch again and again, which is no longer the policy's own.
    config["sampling"] = {"max_gap": None, **config.get("sampling", {})}
    made = TrainConfig(model="tiny", algo={"id": algo, **(options or {})}, **config)
    parts = parts_of(made)
    return Learner(policy, parts.algorithm, parts.loss, made, parts.shapers)


def batch_for(policy, count=12, seed=0, reward=None, rows="episodes"):
    """Episodes of tokens drawn at random, with the policy's own log-probabilities."""
    rng = random.Random(seed)
    trajectories = []
    for episode in range(count):
        given, turns, seen = tokens_of(rng, 1), [], []
        for turn in range(rng.randint(1, 3)):
            response = [rng.randrange(1, 300) for _ in range(rng.randint(1, 6))]
            seen += given
            logprobs = logprobs_of(policy.model, seen, response)
            gained = rng.choice([0.0, 1.0]) if reward is None else reward
            turns.append(turn_of(given, response, logprobs, gained, extends=turn > 0))
            seen += response
            given = tokens_of(rng, 1)
        trajectories.append(episode_of(turns, episode, group=episode // 4))
    return batch_of(transitions_of(trajectories), rows=rows)


@torch.no_grad()
def logprobs_of(model, prompt, response, temperature=1.0):
    """Log-probabilities of one plain forward pass over a sequence."""
    logits = model(input_ids=torch.tensor([prompt + response])).logits[0] / temperature
    rows = logits.log_softmax(-1)[len(prompt) - 1 : -1]
    return [row[token].item() for row, token in zip(rows, response, strict=True)]


def weights_of(policy):
    return {name: one.clone() for name, one in policy.trained_state().items()}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def trainer_of(
    model, out, *, envs=(GUESS,), resume=False, make_agent=None, after_step=None, **config
):
    """A trainer with a few small steps."""
    base = {
        "model": str(model),
        "device": "cpu",
        "threads": 1,
        "steps": 4,
        "rollout": {"episodes": 8},
        "sampling": {"max_new_tokens": 6},
        "optim": {"lr": 1e-3},
        "log": {"writers": ["csv"], "trajectories_every": 2, "plot": False},
        "progress": "off",
        "checkpoint": {"every": 0},
    }
    for name, value in config.items():
        both = isinstance(value, dict) and isinstance(base.get(name), dict)
        base[name] = {**base[name], **value} if both else value
    sources = {env: Component(make_factory(env)) for env in envs}
    out.mkdir(parents=True, exist_ok=True)
    return Trainer(
        TrainConfig(**base),
        sources,
        out,
        make_agent=make_agent,
        after_step=after_step,
        resume=resume,
        console=Console(quiet=True),
    )
