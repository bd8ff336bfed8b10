"""One learning step: from a batch of episodes to updated weights.

1. An algorithm computes the advantage A of each turn or token (``algorithm``, ``algorithms/``).
2. A loss L of each sampled token follows from A and log pi (``loss``).
3. The loss of an update is a sum over the sampled tokens (``losses``):

       sum of  w (c L + beta KL(pi, pi_ref) - eta H(pi))

   Here w is the weight of the token, c the truncated importance weight of the sampler, and beta
   and eta are ``loss.kl`` and ``loss.entropy``.
4. Its gradient is summed over parts of the rows and clipped, and the optimiser takes a step.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from gem_core.errors import ConfigError
from gem_train.algorithm import Algorithm
from gem_train.algorithms.ppo import value_loss
from gem_train.batch import Batch, token_batches
from gem_train.config import TrainConfig
from gem_train.critic import Critic
from gem_train.errors import DivergedError, SamplerGapError, memory_limit
from gem_train.loss import Loss
from gem_train.meter import Meter, metrics_of
from gem_train.objective import importance_weights, kl_to_reference, loss_weights
from gem_train.optimiser import make_optimizer
from gem_train.policy import Policy
from gem_train.reference import Reference
from gem_train.schedule import share_of_lr
from gem_train.shapers import RewardShaper

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
        loss: The loss of a token (``gem_train.loss.Loss``).
        config: The configuration of the run.
        shapers: Change the rewards, one after the other.
    """

    def __init__(
        self,
        policy: Policy,
        algorithm: Algorithm,
        loss: Callable[..., torch.Tensor],
        config: TrainConfig,
        shapers: Sequence[RewardShaper] = (),
    ) -> None:
        self.policy = policy
        self.algorithm = algorithm
        self.loss = loss
        self.shapers: list[Algorithm | RewardShaper] = [algorithm, *shapers]
        self.config = config
        self.critic = Critic(policy) if algorithm.needs_critic else None
        self._needs_reference = any(one.needs_reference for one in self.shapers)
        self._reference = Reference(policy) if config.loss.kl or self._needs_reference else None
        self._updates_of_a_step = config.optim.epochs * config.optim.minibatches
        self.optimizer = self._make_optimizer()
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._share_of_lr)

    def _make_optimizer(self) -> torch.optim.Optimizer:
        optim = self.config.optim
        groups: list[dict[str, Any]] = [{"params": self.policy.parameters(), "lr": optim.lr}]
        if self.critic is not None:
            lr = self.config.critic.lr or optim.lr
            groups.append({"params": self.critic.trained(), "lr": lr})
        return make_optimizer(groups, optim, self.policy.device)

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
        meter = Meter()
        advice = (
            f"Lower optim.tokens (now {self.config.optim.tokens}) or sampling.max_new_tokens, or "
            f"set gradient_checkpointing=true."
        )
        with memory_limit(advice), self.policy.training():
            batch = self._prepared(batch)
            advantages_N, advantages_S_L = self._advantages(batch)
            targets_N = None if self.critic is None else self.algorithm.targets(batch)
            updates = [
                self._update(batch, rows, advantages_S_L, targets_N, meter)
                for rows in self._minibatches(batch, generator)
            ]
        metrics = meter.metrics() | metrics_of(batch, advantages_N, targets_N)
        metrics["train/updates"] = float(sum(updates))
        return LearnResult(metrics, advantages_N.tolist())

    def _prepared(self, batch: Batch) -> Batch:
        """Add the log-probabilities and values that are needed, and shape the rewards."""
        if self._updates_of_a_step > 1 or self._needs_reference:
            batch = replace(batch, old_logprobs=self._logprobs(batch, self.policy))
        if self._reference is not None and self._needs_reference:
            batch = replace(batch, reference_logprobs=self._logprobs(batch, self._reference))
        for one in self.shapers:
            shaped_N = one.shape_rewards(batch).detach().to(batch.reward)
            _check_shape(shaped_N, [batch.reward], f"{type(one).__name__}.shape_rewards")
            batch = replace(batch, reward=shaped_N)
        if self.critic is not None:
            batch = replace(batch, value=self._values(batch))
        return self.algorithm.on_batch(batch)

    def _advantages(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean advantage of each turn, (N,), and that of each token, (S, L)."""
        found = self.algorithm.advantages(batch).detach()
        name = f"{type(self.algorithm).__name__}.advantages"
        _check_shape(found, [batch.reward, batch.ids], name)
        if found.dim() == 1:
            return found, batch.to_tokens(found)
        of_tokens = torch.where(batch.turn_of >= 0, found, 0)
        return batch.to_turns(of_tokens) / batch.response_tokens.clamp(min=1), of_tokens

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
        advantages_S_L: torch.Tensor,
        targets_N: torch.Tensor | None,
        meter: Meter,
    ) -> bool:
        """Make one update with some of the rows; return False if none of them has a gradient."""
        part, loss = batch.select(rows), self.config.loss
        weights_N = loss_weights(
            part,
            loss.length_norm or self.algorithm.length_norm,
            constant=loss.length_constant or self.config.sampling.max_new_tokens,
            unit=loss.unit or self.algorithm.unit,
        )
        turns = max(1, int(part.chosen[part.states()[2]].sum()))
        kept = self._rows_with_gradient(part, advantages_S_L[rows])
        if not len(kept):
            self._skip(meter)
            return False
        part, rows = part.select(kept), rows[kept]
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for piece_rows in token_batches(part, self.config.optim.tokens):
            piece = part.select(piece_rows)
            advantages = advantages_S_L[rows[piece_rows], : piece.ids.shape[1]]
            piece_loss = self._loss(piece, advantages, weights_N, meter)
            if self.critic is not None:
                critic_loss = self._critic_loss(piece, targets_N, turns, meter)
                piece_loss = piece_loss + critic_loss
            piece_loss.backward()
            total += piece_loss.item()
        if not math.isfinite(total):
            raise DivergedError(f"The loss is {total}. {_DIVERGED}")
        self._check_gap(meter)
        self._apply(total, meter)
        return True

    def _skip(self, meter: Meter) -> None:
        """Count an update that is not made, because its gradient is 0."""
        meter.add("train/lr", self.schedule.get_last_lr()[0])
        with warnings.catch_warnings():  # torch expects a step of the optimiser before
            warnings.simplefilter("ignore", UserWarning)
            self.schedule.step()
        for name in ("train/loss", "train/grad_norm"):
            meter.add(name, 0.0)

    def _check_gap(self, meter: Meter) -> None:
        """Raise if the sampler samples from another policy than the one that learns."""
        gap, limit = meter.mean("train/mean_sampler_gap"), self.config.sampling.max_gap
        if limit is not None and gap > limit:
            raise SamplerGapError(
                f"The log-probabilities of sampler and learner differ by {gap:.3g} nats on "
                f"average, more than sampling.max_gap={limit:g}: the sampler has other weights, "
                f"another temperature or another precision. The update was not applied."
            )

    def _rows_with_gradient(self, part: Batch, advantages_S_L: torch.Tensor) -> torch.Tensor:
        """Return the indices of the rows that contribute to the gradient.

        A row whose advantages are all 0, as in a group of equal returns, has no gradient, unless
        the loss has other terms.
        """
        loss = self.config.loss
        has_other_terms = self.critic is not None or loss.kl > 0 or loss.entropy > 0
        if has_other_terms or not getattr(self.loss, "zero_without_advantage", False):
            return torch.arange(len(part.ids), device=part.ids.device)
        width = part.ids.shape[1]
        (rows,) = torch.where(((advantages_S_L[:, :width] != 0) & part.mask).any(-1))
        return rows

    def _apply(self, total: float, meter: Meter) -> None:
        limit = self.config.optim.max_grad_norm
        norms = [
            torch.nn.utils.clip_grad_norm_(group["params"], limit).item()
            for group in self.optimizer.param_groups
        ]
        if not all(map(math.isfinite, norms)):
            raise DivergedError(f"The norm of the gradient is {norms[0]}. {_DIVERGED}")
        meter.add("train/lr", self.schedule.get_last_lr()[0])
        self.optimizer.step()
        self.policy.sync()
        if self.critic is not None:
            self.critic.sync()
        self.schedule.step()
        meter.add("train/loss", total)
        for name, norm in zip(("train/grad_norm", "train/critic_grad_norm"), norms, strict=False):
            meter.add(name, norm)

    def _loss(
        self,
        piece: Batch,
        advantages: torch.Tensor,
        weights_N: torch.Tensor,
        meter: Meter,
    ) -> torch.Tensor:
        """Return the contribution of some rows to the policy's loss."""
        loss, temperature, mask = self.config.loss, self.config.sampling.temperature, piece.mask
        logprobs, entropy = self.policy.logprobs_and_entropy(
            piece, temperature=temperature, with_entropy=loss.entropy > 0
        )
        is_first = self._updates_of_a_step == 1
        old = logprobs.detach() if is_first or piece.old_logprobs is None else piece.old_logprobs
        advantages = advantages.to(logprobs.dtype)
        losses = self.loss(logprobs, old, advantages, mask)
        _check_shape(losses, [logprobs], f"the loss {type(self.loss).__name__}")
        if piece.sampler_logprobs is not None and loss.importance_cap is not None:
            sampler = piece.sampler_logprobs.to(old)
            losses = losses * importance_weights(old, sampler, loss.importance_cap)
        if self._reference is not None and loss.kl:
            reference = self._reference.logprobs(piece, temperature=temperature)
            kl = kl_to_reference(logprobs, reference, loss.kl_kind)
            losses = losses + loss.kl * kl
            meter.add("train/kl_reference", kl.detach()[mask].mean(), int(mask.sum()))
        if loss.entropy > 0:
            losses = losses - loss.entropy * entropy
        meter.add("train/entropy", entropy.detach()[mask].mean(), int(mask.sum()))
        self._measure(piece, logprobs.detach(), old, advantages, meter)
        return (piece.to_tokens(weights_N).to(losses) * losses).sum()

    def _measure(
        self,
        piece: Batch,
        logprobs: torch.Tensor,
        old: torch.Tensor,
        advantages: torch.Tensor,
        meter: Meter,
    ) -> None:
        """Add the distances of the policy to the sampler and to the policy before the updates."""
        mask = piece.mask
        if piece.sampler_logprobs is not None:
            gap = (piece.sampler_logprobs.to(old) - old)[mask]
            meter.add("train/kl_sampler", gap.mean(), len(gap))
            meter.keep_max("train/sampler_gap", gap.abs().max())
            meter.add("train/mean_sampler_gap", gap.abs().mean(), len(gap))
            meter.add_ratios((logprobs - piece.sampler_logprobs.to(old))[mask])
        log_ratio = (logprobs - old)[mask]
        meter.add("train/kl_update", (log_ratio.expm1() - log_ratio).mean(), len(log_ratio))
        if isinstance(self.loss, Loss):
            clipped = self.loss.clipped(logprobs, old, advantages, mask)
            if clipped is not None:
                meter.add("train/clipped", clipped[mask].float().mean(), len(log_ratio))

    def _critic_loss(
        self,
        piece: Batch,
        targets_N: torch.Tensor | None,
        turns: int,
        meter: Meter,
    ) -> torch.Tensor:
        """Return the contribution of some rows to the critic's loss, a mean over turns."""
        if self.critic is None or piece.value is None or targets_N is None:
            raise TypeError("a critic's loss needs a critic's values and targets")
        rows, positions, of_turns = piece.states()
        kept = piece.chosen[of_turns]
        rows, positions, of_turns = rows[kept], positions[kept], of_turns[kept]
        values = self.critic(piece)[rows, positions]
        clip = math.inf if self.config.critic.clip is None else self.config.critic.clip
        losses = value_loss(values, piece.value[of_turns], targets_N[of_turns], clip)
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

    def _logprobs(self, batch: Batch, model: Policy | Reference) -> torch.Tensor:
        """Return the log-probabilities of all sampled tokens without a gradient, (S, L)."""
        temperature = self.config.sampling.temperature
        old_S_L = torch.zeros(batch.ids.shape, device=batch.ids.device)
        if self._needs_reference:  # returns are computed from all turns
            batch = replace(batch, trained=torch.ones_like(batch.trained))
        for rows in token_batches(batch, self.config.optim.tokens):
            piece = batch.select(rows)
            with torch.no_grad():
                logprobs = model.logprobs(piece, temperature=temperature)
            old_S_L[rows, : piece.ids.shape[1]] = logprobs.to(old_S_L)
        return old_S_L

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser and the critic, for a checkpoint.

        The policy's weights are saved by themselves, and the reference is the initial model.
        """
        return {
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "critic": None if self.critic is None else self.critic.trained_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load a state that ``state_dict`` returned.

        Raises:
            ConfigError: The state belongs to another model.
        """
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if self.critic is not None:
            self.critic.load_trained_state(state["critic"])


_DIVERGED = "Lower optim.lr or optim.max_grad_norm. The weights are those before this update."


def _check_shape(found: torch.Tensor, like: Sequence[torch.Tensor], name: str) -> None:
    """Raise unless a result has one of some shapes.

    Raises:
        ConfigError: It has another shape.
    """
    shapes = [tuple(one.shape) for one in like]
    if tuple(found.shape) not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ConfigError(f"{name} must have the shape {wanted}; got {tuple(found.shape)}.")
