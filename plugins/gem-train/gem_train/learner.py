"""One learning step: from a batch of episodes to updated weights."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from gem_train.algorithm import Algorithm
from gem_train.algorithms.ppo import value_loss
from gem_train.batch import Batch, token_batches
from gem_train.config import TrainConfig
from gem_train.errors import DivergedError, memory_limit
from gem_train.losses import (
    importance_weights,
    kl_to_reference,
    loss_weights,
    policy_loss,
    reinforce_loss,
)
from gem_train.policy import Critic, Policy, Reference
from gem_train.schedule import share_of_lr

__all__ = ["LearnResult", "Learner"]


class LearnResult(NamedTuple):
    """The result of a step.

    Args:
        metrics: The metrics ``train/...`` by name.
        advantages: The advantage of each turn of the batch, in its order.
    """

    metrics: dict[str, float]
    advantages: list[float]


class Learner:
    """Updates a policy, and its critic if the algorithm has one.

    Args:
        policy: The policy.
        algorithm: Computes the advantages.
        algorithm_config: The algorithm's own configuration.
        config: The configuration of the run.
    """

    def __init__(
        self, policy: Policy, algorithm: Algorithm, algorithm_config: Any, config: TrainConfig
    ) -> None:
        self.policy = policy
        self.algorithm = algorithm
        self.config = config
        self.critic = Critic(policy) if algorithm.targets is not None else None
        self._algorithm_config = algorithm_config
        self._reference = Reference(policy) if config.loss.kl else None
        self._updates_of_a_step = config.optim.epochs * config.optim.minibatches
        self.optimizer = self._make_optimizer()
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._share_of_lr)

    def _make_optimizer(self) -> torch.optim.AdamW:
        optim = self.config.optim
        groups: list[dict[str, Any]] = [{"params": self.policy.parameters(), "lr": optim.lr}]
        if self.critic is not None:
            lr = self.config.critic.lr or optim.lr
            groups.append({"params": list(self.critic.parameters()), "lr": lr})
        return torch.optim.AdamW(
            groups,
            betas=optim.betas,
            eps=optim.eps,
            weight_decay=optim.weight_decay,
            fused=self.policy.device.type in {"cpu", "cuda"},
        )

    def _share_of_lr(self, update: int) -> float:
        optim = self.config.optim
        updates = self.config.steps * self._updates_of_a_step
        return share_of_lr(optim.schedule, update, updates=updates, warmup=optim.warmup_steps)

    def learn(self, batch: Batch, generator: torch.Generator) -> LearnResult:
        """Learn from a batch.

        Args:
            batch: Whole episodes, on any device.
            generator: Random generator for the split into mini-batches, on the CPU.

        Raises:
            DivergedError: A loss or a gradient is not finite; the update was not applied.
            TooLargeError: A batch does not fit into memory.
        """
        batch = batch.to(self.policy.device)
        meter = _Meter()
        advice = (
            f"Lower optim.tokens (now {self.config.optim.tokens}) or sampling.max_new_tokens, or "
            f"set gradient_checkpointing=true."
        )
        with memory_limit(advice), self.policy.training():
            values_N = None if self.critic is None else self._values(batch)
            advantages_N = self.algorithm.advantages(batch, self._algorithm_config, values_N)
            targets_N = None
            if self.algorithm.targets is not None:
                targets_N = self.algorithm.targets(batch, self._algorithm_config, values_N)
            old_S_L = self._logprobs(batch) if self._updates_of_a_step > 1 else None
            for rows in self._minibatches(batch, generator):
                self._update(batch, rows, advantages_N, old_S_L, values_N, targets_N, meter)
        metrics = meter.metrics() | _metrics_of(batch, advantages_N, values_N, targets_N)
        return LearnResult(metrics, advantages_N.tolist())

    def _minibatches(self, batch: Batch, generator: torch.Generator) -> Iterator[torch.Tensor]:
        (used,) = torch.where(batch.mask.any(-1).cpu())
        count = min(self.config.optim.minibatches, len(used))
        for _ in range(self.config.optim.epochs):
            order = used[torch.randperm(len(used), generator=generator)] if count > 1 else used
            for part in order.tensor_split(count):
                yield part.to(batch.ids.device)

    def _update(
        self,
        batch: Batch,
        rows: torch.Tensor,
        advantages_N: torch.Tensor,
        old_S_L: torch.Tensor | None,
        values_N: torch.Tensor | None,
        targets_N: torch.Tensor | None,
        meter: "_Meter",
    ) -> None:
        """Make one update with some of the rows."""
        part, loss = batch.select(rows), self.config.loss
        weights_N = loss_weights(
            part,
            loss.length_norm or self.algorithm.length_norm,
            constant=loss.length_constant or self.config.sampling.max_new_tokens,
            unit=loss.unit,
        )
        turns = max(1, int(part.chosen[part.states()[2]].sum()))
        kept = self._rows_with_gradient(part, advantages_N)
        part, rows = part.select(kept), rows[kept]
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        with self.policy.threads_for(part):
            for piece_rows in token_batches(part, self.config.optim.tokens):
                piece = part.select(piece_rows)
                old = None
                if old_S_L is not None:
                    old = old_S_L[rows[piece_rows], : piece.ids.shape[1]]
                piece_loss = self._loss(piece, advantages_N, weights_N, old, meter)
                if self.critic is not None:
                    critic_loss = self._critic_loss(piece, values_N, targets_N, turns, meter)
                    piece_loss = piece_loss + critic_loss
                piece_loss.backward()
                total += piece_loss.item()
            if not math.isfinite(total):
                raise DivergedError(f"The loss is {total}. {_DIVERGED}")
            self._apply(total, meter)

    def _rows_with_gradient(self, part: Batch, advantages_N: torch.Tensor) -> torch.Tensor:
        """Return the indices of the rows that contribute to the gradient.

        A row whose advantages are all 0, as in a group of equal returns, has no gradient, unless
        the loss has other terms. If no row has one, the first is returned: the optimiser still
        takes its step, with gradients of 0.
        """
        has_other_terms = self.critic is not None or self._reference is not None
        if has_other_terms or self.config.loss.entropy > 0:
            return torch.arange(len(part.ids), device=part.ids.device)
        (rows,) = torch.where(((part.to_tokens(advantages_N) != 0) & part.mask).any(-1))
        return rows if len(rows) else part.mask.any(-1).nonzero()[:1, 0]

    def _apply(self, total: float, meter: "_Meter") -> None:
        limit = self.config.optim.max_grad_norm
        norms = [
            torch.nn.utils.clip_grad_norm_(group["params"], limit).item()
            for group in self.optimizer.param_groups
        ]
        if not all(map(math.isfinite, norms)):
            raise DivergedError(f"The norm of the gradient is {norms[0]}. {_DIVERGED}")
        meter.add("train/lr", self.schedule.get_last_lr()[0])
        self.optimizer.step()
        self.schedule.step()
        meter.add("train/loss", total)
        for name, norm in zip(("train/grad_norm", "train/critic_grad_norm"), norms, strict=False):
            meter.add(name, norm)

    def _loss(
        self,
        piece: Batch,
        advantages_N: torch.Tensor,
        weights_N: torch.Tensor,
        old: torch.Tensor | None,
        meter: "_Meter",
    ) -> torch.Tensor:
        """Return the contribution of some rows to the policy's loss."""
        loss, temperature = self.config.loss, self.config.sampling.temperature
        logprobs, entropy = self.policy.logprobs_and_entropy(
            piece, temperature=temperature, with_entropy=loss.entropy > 0
        )
        mask = piece.mask
        old = logprobs.detach() if old is None else old
        advantages = piece.to_tokens(advantages_N).to(logprobs.dtype)
        if loss.kind == "clip":
            losses = policy_loss(
                logprobs, old, advantages, clip_low=loss.clip_low, clip_high=loss.clip_high
            )
        else:
            losses = reinforce_loss(logprobs, advantages)
        if piece.sampler_logprobs is not None:
            sampler = piece.sampler_logprobs.to(old)
            if loss.importance_cap is not None:
                losses = losses * importance_weights(old, sampler, loss.importance_cap)
            gap = (sampler - old)[mask]
            meter.add("train/kl_sampler", gap.mean(), len(gap))
            meter.keep_max("train/sampler_gap", gap.abs().max())
        if self._reference is not None:
            reference = self._reference.logprobs(piece, temperature=temperature)
            kl = kl_to_reference(logprobs, reference, loss.kl_kind)
            losses = losses + loss.kl * kl
            meter.add("train/kl_reference", kl.detach()[mask].mean(), int(mask.sum()))
        if entropy is not None:
            losses = losses - loss.entropy * entropy
            meter.add("train/entropy", entropy.detach()[mask].mean(), int(mask.sum()))
        log_ratio = (logprobs.detach() - old)[mask]
        low, high = math.log1p(-min(loss.clip_low, 1 - 1e-9)), math.log1p(loss.clip_high)
        clipped = (log_ratio < low) | (log_ratio > high)
        meter.add("train/clipped", clipped.float().mean(), len(log_ratio))
        meter.add("train/kl_update", (log_ratio.expm1() - log_ratio).mean(), len(log_ratio))
        return (piece.to_tokens(weights_N).to(losses) * losses).sum()

    def _critic_loss(
        self,
        piece: Batch,
        values_N: torch.Tensor | None,
        targets_N: torch.Tensor | None,
        turns: int,
        meter: "_Meter",
    ) -> torch.Tensor:
        """Return the contribution of some rows to the critic's loss, a mean over turns."""
        if self.critic is None or values_N is None or targets_N is None:
            raise TypeError("a critic's loss needs a critic's values and targets")
        rows, positions, of_turns = piece.states()
        kept = piece.chosen[of_turns]
        rows, positions, of_turns = rows[kept], positions[kept], of_turns[kept]
        values = self.critic(piece)[rows, positions]
        clip = math.inf if self.config.critic.clip is None else self.config.critic.clip
        losses = value_loss(values, values_N[of_turns], targets_N[of_turns], clip)
        if len(losses):
            meter.add("train/value_loss", losses.detach().mean(), len(losses))
        return losses.sum() / turns

    def _values(self, batch: Batch) -> torch.Tensor:
        """Return the critic's value of each turn's state, (N,)."""
        values_N = torch.zeros_like(batch.reward)
        if self.critic is None:
            return values_N
        whole = replace(batch, trained=torch.ones_like(batch.trained))
        for rows in token_batches(whole, self.config.optim.tokens):
            piece = batch.select(rows)
            numbers, positions, turns = piece.states()
            with torch.no_grad():
                values_N[turns] = self.critic(piece)[numbers, positions].to(values_N)
        return values_N

    def _logprobs(self, batch: Batch) -> torch.Tensor:
        """Return the log-probabilities before the first update, (S, L)."""
        temperature = self.config.sampling.temperature
        old_S_L = torch.zeros(batch.ids.shape, device=batch.ids.device)
        for rows in token_batches(batch, self.config.optim.tokens):
            piece = batch.select(rows)
            with torch.no_grad():
                logprobs = self.policy.logprobs(piece, temperature=temperature)
            old_S_L[rows, : piece.ids.shape[1]] = logprobs.to(old_S_L)
        return old_S_L

    def state_dict(self) -> dict[str, Any]:
        """Return the weights and the optimiser's state, for a checkpoint."""
        return {
            "policy": self.policy.trained_state(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "critic": None if self.critic is None else self.critic.state_dict(),
            "reference": None if self._reference is None else self._reference.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load what ``state_dict`` returned.

        Raises:
            ConfigError: The state belongs to another model.
        """
        self.policy.load_trained_state(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if self.critic is not None:
            self.critic.load_state_dict(state["critic"])
        if self._reference is not None:
            self._reference.load_state_dict(state["reference"])


_DIVERGED = "Lower optim.lr or optim.max_grad_norm. The weights are those before this update."


class _Meter:
    """Means and maxima of the metrics of a step's updates."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._max: dict[str, float] = {}

    def add(self, name: str, value: Any, count: int = 1) -> None:
        """Add a mean over ``count`` values."""
        if count:
            self._sums[name] += float(value) * count
            self._counts[name] += count

    def keep_max(self, name: str, value: Any) -> None:
        """Keep the largest value."""
        self._max[name] = max(self._max.get(name, 0.0), float(value))

    def metrics(self) -> dict[str, float]:
        return {name: self._sums[name] / self._counts[name] for name in self._sums} | self._max


def _metrics_of(
    batch: Batch,
    advantages_N: torch.Tensor,
    values_N: torch.Tensor | None,
    targets_N: torch.Tensor | None,
) -> dict[str, float]:
    chosen = batch.chosen
    metrics = {
        "train/turns": float(batch.trained.sum()),
        "train/tokens": float(batch.mask.sum()),
        "train/advantage_std": advantages_N[chosen].std(correction=0).item(),
    }
    if values_N is not None and targets_N is not None:
        variance = targets_N[chosen].var(correction=0)
        unexplained = (targets_N - values_N)[chosen].var(correction=0)
        if variance > 0:
            metrics["train/explained_variance"] = (1 - unexplained / variance).item()
    return metrics
