"""The contracts of the components of a run, checked on a few small episodes without a model.

``gem-core check PLUGIN`` runs these checks on everything that a plugin registers.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gem_core.agent import Generation
from gem_core.errors import ConfigError
from gem_core.factory import make_factory
from gem_core.resolve import resolve
from gem_core.testing.example import example_spec
from gem_core.testing.report import Finding, Report, require
from gem_rollout import Component, Trajectory, Turn
from gem_rollout import Report as RolloutReport
from gem_train.batch import Batch, batch_of
from gem_train.parts import make_algorithm, make_part
from gem_train.specs import CURRICULA, FILTERS, LOSSES, SHAPERS, WRITERS
from gem_train.transitions import transitions_of

__all__ = [
    "check_algorithm",
    "check_curriculum",
    "check_filter",
    "check_loss",
    "check_shaper",
    "check_writer",
    "example_batch",
    "example_episodes",
]


def example_episodes() -> list[Trajectory]:
    """Return six episodes of one to three turns in two groups; one of them is truncated."""
    return [_episode(number) for number in range(6)]


def _episode(number: int) -> Trajectory:
    turns = []
    for turn in range(1 + number % 3):
        ids = [1 + (7 * number + 3 * turn + k) % 40 for k in range(2 + turn)]
        generation = Generation(
            prompt_ids=[3, 4 + turn],
            token_ids=ids,
            logprobs=[-0.5 - 0.1 * k for k in range(len(ids))],
            extends=turn > 0,
            finish_reason="stop",
        )
        is_last = turn == number % 3
        reward, is_cut = float(number % 2 and is_last), is_last and number == 5
        turns.append(
            Turn("policy", "", "", reward, is_last and not is_cut, is_cut, {}, 0, 0, generation)
        )
    return Trajectory(
        "check:Example-v0", "policy", number, 0, turns, group=number // 3, success=number % 2 == 1
    )


def example_batch() -> Batch:
    """Return the batch of these episodes, with values and log-probabilities."""
    batch = batch_of(transitions_of(example_episodes()), rows="episodes")
    if batch.sampler_logprobs is None:
        raise TypeError("the episodes have log-probabilities")
    return replace(
        batch,
        value=torch.linspace(-1, 1, len(batch.turn)),
        old_logprobs=batch.sampler_logprobs,
        reference_logprobs=batch.sampler_logprobs - 0.1 * (batch.turn_of >= 0),
    )


def check_algorithm(name: str) -> Report:
    """Check that an algorithm's results have their shapes, are finite and are always the same."""
    algorithm, batch = make_algorithm(name), example_batch()

    def run() -> None:
        prepared = algorithm.on_batch(replace(batch, reward=algorithm.shape_rewards(batch)))
        require(isinstance(prepared, Batch), "on_batch must return a Batch")
        found = algorithm.advantages(prepared)
        _check_tensor(found, "advantages", [batch.reward, batch.ids])
        again = algorithm.advantages(prepared)
        require(torch.equal(found, again), "advantages must be the same each time")
        if algorithm.needs_critic:
            _check_tensor(algorithm.targets(prepared), "targets", [batch.reward])
        _check_flags(algorithm.filter_groups(_groups()))

    return _report(name, "results", run)


def check_loss(name: str) -> Report:
    """Check that a loss has one finite number with a finite gradient for each token."""
    loss, batch = make_part(LOSSES, name), example_batch()

    def run() -> None:
        old, mask = batch.old_logprobs, batch.mask
        for shift in (0.0, 0.5, -3.0):
            logprobs = (old + shift * mask).detach().requires_grad_()
            for sign in (1.0, -1.0, 0.0):
                losses = loss(logprobs, old, sign * mask, mask)
                _check_tensor(losses, "the losses", [logprobs])
                (gradient,) = torch.autograd.grad(losses.sum(), logprobs, allow_unused=True)
                if gradient is not None:
                    require(bool(gradient.isfinite().all()), "the gradient must be finite")
                if sign == 0 and getattr(loss, "zero_without_advantage", False):
                    is_zero = not losses.any() and (gradient is None or not gradient.any())
                    require(is_zero, "zero_without_advantage is set, and the loss is not 0")

    return _report(name, "losses", run)


def check_curriculum(name: str) -> Report:
    """Check that a curriculum has a weight for each source, and that its state can be restored."""
    spec = example_spec()
    sources = {one: Component(make_factory(spec)) for one in ("a", "b")}

    def run() -> None:
        first, second = (make_part(CURRICULA, name, sources) for _ in range(2))
        for number, one in enumerate(example_episodes()):
            first.update(replace(one, component="ab"[number % 2]))
        second.load_state_dict(first.state_dict())
        weights = dict(first.weights(RolloutReport()))
        require(list(weights) == ["a", "b"], f"weights must be by source, in order; got {weights}")
        is_valid = all(one >= 0 for one in weights.values()) and sum(weights.values()) > 0
        require(is_valid, f"weights must be 0 or more, and one of them above 0; got {weights}")
        require(dict(second.weights(RolloutReport())) == weights, "its state is not restored")

    return _report(name, "weights", run)


def check_filter(name: str) -> Report:
    """Check that a filter has an answer for each group."""
    made = make_part(FILTERS, name)
    return _report(name, "groups", lambda: _check_flags(made.filter_groups(_groups())))


def check_shaper(name: str) -> Report:
    """Check that a shaper has a finite reward for each turn."""
    made, batch = make_part(SHAPERS, name), example_batch()

    def run() -> None:
        _check_tensor(made.shape_rewards(batch), "the rewards", [batch.reward])

    return _report(name, "rewards", run)


def check_writer(name: str) -> Report:
    """Check that a writer takes the metrics of a few steps, and can be resumed.

    One that needs a package, such as that of a service, is not tried.
    """
    spec = resolve(WRITERS, name)
    if package := spec.metadata.get("needs"):
        return Report(name, unchecked=[f"its metrics, as it may send them with {package}"])

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            for resume_step in (None, 1):
                writer = make_part(WRITERS, spec, Path(folder), "check", {}, resume_step)
                for step in (1, 2):
                    writer.log(step, {"train/loss": 0.5, "rollout/return": step})
                writer.close()

    return _report(name, "metrics", run)


def _groups() -> list[list[Trajectory]]:
    episodes = example_episodes()
    return [episodes[:3], episodes[3:]]


def _check_flags(flags: Any) -> None:
    require(len(flags) == 2, "filter_groups must return one value for each group")


def _check_tensor(found: Any, name: str, like: list[torch.Tensor]) -> None:
    shapes = [tuple(one.shape) for one in like]
    require(isinstance(found, torch.Tensor), f"{name} must be a tensor; got {found!r}")
    shape = tuple(found.shape)
    require(shape in shapes, f"the shape of {name} must be one of {shapes}; got {shape}")
    require(bool(found.isfinite().all()), f"{name} must be finite")


def _report(name: str, check: str, run: Callable[[], None]) -> Report:
    """Run a check; an error is a finding."""
    report = Report(name)
    try:
        run()
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        report.findings.append(Finding(check, f"{type(error).__name__}: {error}"))
    return report
