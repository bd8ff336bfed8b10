"""Supervised training: the policy learns to imitate the responses of trajectories.

    loss = - 1 / n  sum over sampled tokens t of  log pi(t | all tokens before it)

The token ids are those that trajectories hold; no text is tokenised again. Prompts are not learned.
"""

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch

from gem_core.errors import DataError
from gem_core.seeding import child_seed
from gem_rollout import Trajectory
from gem_train.batch import Batch, batch_of, token_batches
from gem_train.errors import DivergedError, memory_limit
from gem_train.objective import loss_weights
from gem_train.policy import Policy
from gem_train.schedule import share_of_lr
from gem_train.sft_config import SFTConfig
from gem_train.transitions import Transition, transitions_of

__all__ = ["imitation_loss", "sft"]

Log = Callable[[int, Mapping[str, float]], None]
"""A function that takes the number of finished updates, and metrics by name."""

_Turns = list[Transition]


def sft(
    policy: Policy,
    trajectories: Iterable[Trajectory],
    config: SFTConfig,
    log: Log | None = None,
) -> None:
    """Train a policy on trajectories; the same call on the same CPU gives the same weights.

    Args:
        policy: The policy to train.
        trajectories: Episodes with token ids of the policy's tokenizer. Those that ended in an
            error are left out.
        config: The configuration.
        log: Called with the number of finished updates and their metrics: ``train/...`` of the last
            update, and sometimes ``validation/loss`` of the held-out episodes. Losses are in nats
            per token.

    Raises:
        DataError: There is nothing to learn from, or the model cannot read the tokens.
        DivergedError: A loss or a gradient is not finite; the update was not applied.
        TooLargeError: A batch does not fit into memory.
    """
    trained, held_out = _split(_episodes_of(transitions_of(trajectories), policy), config)
    steps = config.steps or config.epochs * math.ceil(len(trained) / config.batch_size)
    optimizer = torch.optim.AdamW(
        policy.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=config.weight_decay
    )
    batches = _batches(trained, config)
    with memory_limit(f"Lower tokens (now {config.tokens}), or set gradient_checkpointing=true."):
        if held_out and log is not None:
            log(0, _validated(policy, held_out, config))
        for step in range(steps):
            began = time.perf_counter()
            lr = config.lr * share_of_lr(
                config.schedule, step, updates=steps, warmup=config.warmup_steps
            )
            for group in optimizer.param_groups:
                group["lr"] = lr
            batch = _batch_of(next(batches), policy)
            optimizer.zero_grad(set_to_none=True)
            with policy.training():
                loss = _add_gradients(policy, batch, config.tokens)
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), config.max_grad_norm).item()
            _check_finite(loss, norm)
            optimizer.step()
            policy.sync()
            metrics = {"train/loss": loss, "train/lr": lr, "train/grad_norm": norm}
            metrics["train/tokens"] = float(batch.mask.sum())
            seconds = time.perf_counter() - began
            metrics["speed/tokens_per_second"] = float(batch.attention.sum()) / seconds
            if log is None:
                continue
            if held_out and ((step + 1) % config.validate_every == 0 or step + 1 == steps):
                metrics |= _validated(policy, held_out, config)
            log(step + 1, metrics)


def imitation_loss(policy: Policy, batch: Batch, weights: torch.Tensor) -> torch.Tensor:
    """Return the contribution of a batch to the loss, a scalar.

    Args:
        policy: The policy.
        batch: The rows.
        weights: Weight of a token of each turn, (N,).
    """
    return -(batch.to_tokens(weights) * policy.logprobs(batch)).sum()


def _add_gradients(policy: Policy, batch: Batch, tokens: int) -> float:
    """Add the gradients of the mean loss of a batch's sampled tokens, and return that loss."""
    weights = loss_weights(batch, "token")
    total = 0.0
    for rows in token_batches(batch, tokens):
        loss = imitation_loss(policy, batch.select(rows), weights)
        loss.backward()
        total += loss.item()
    return total


def _validated(policy: Policy, held_out: Sequence[_Turns], config: SFTConfig) -> dict[str, float]:
    total, count = 0.0, 0
    for first in range(0, len(held_out), config.batch_size):
        batch = _batch_of(held_out[first : first + config.batch_size], policy)
        ones = torch.ones_like(batch.reward)
        for rows in token_batches(batch, config.tokens):
            with torch.no_grad():
                total += imitation_loss(policy, batch.select(rows), ones).item()
        count += int(batch.mask.sum())
    return {"validation/loss": total / count}


def _check_finite(loss: float, norm: float) -> None:
    for name, value in (("loss", loss), ("norm of the gradient", norm)):
        if not math.isfinite(value):
            raise DivergedError(
                f"The {name} is {value}. Lower lr or max_grad_norm. The weights are those before "
                f"this update."
            )


def _batch_of(episodes: Iterable[_Turns], policy: Policy) -> Batch:
    transitions = [transition for episode in episodes for transition in episode]
    return batch_of(transitions, rows="episodes").to(policy.device)


def _episodes_of(transitions: Iterable[Transition], policy: Policy) -> list[_Turns]:
    """Return the transitions of each episode that has a token to learn.

    Raises:
        DataError: The model cannot read the tokens, or there is nothing to learn.
    """
    config = policy.model.config.get_text_config()
    room = getattr(config, "max_position_embeddings", None) or math.inf
    episodes: dict[int, _Turns] = {}
    for transition in transitions:
        ids = transition.prompt_ids + transition.response_ids
        if len(ids) > room:
            raise DataError(
                f"Turn {transition.turn} of episode {transition.episode} has {len(ids)} tokens, "
                f"but the model reads at most {room}: leave it out, or show less history."
            )
        if max(ids, default=0) >= config.vocab_size:
            raise DataError(
                f"Episode {transition.episode} has the token {max(ids)}, but the model has only "
                f"{config.vocab_size} tokens: the episode was played with another tokenizer. Play "
                f"it again with the tokenizer of this model."
            )
        episodes.setdefault(transition.episode, []).append(transition)
    found = [episode for episode in episodes.values() if any(one.response_ids for one in episode)]
    if not found:
        raise DataError(
            "There is nothing to learn from: no episode without an error has sampled tokens."
        )
    return found


def _split(episodes: list[_Turns], config: SFTConfig) -> tuple[list[_Turns], list[_Turns]]:
    """Return training and held-out episodes; episodes of one start state stay together."""
    groups = sorted({episode[0].group for episode in episodes})
    random.Random(child_seed(config.seed, "held out")).shuffle(groups)
    count = min(math.ceil(config.held_out * len(groups)), len(groups) - 1)
    kept_back = set(groups[:count])
    trained = [one for one in episodes if one[0].group not in kept_back]
    return trained, [one for one in episodes if one[0].group in kept_back]


def _batches(episodes: list[_Turns], config: SFTConfig) -> Iterator[list[_Turns]]:
    """Yield the episodes of each update, endlessly; each epoch is shuffled."""
    epoch = 0
    while True:
        order = list(episodes)
        random.Random(child_seed(config.seed, "epoch", epoch)).shuffle(order)
        for first in range(0, len(order), config.batch_size):
            yield order[first : first + config.batch_size]
        epoch += 1
