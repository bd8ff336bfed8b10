"""Trains a policy: each step collects episodes and learns from them.

======================  ====================================================================
file                    content
======================  ====================================================================
``run.json``            the command and the configuration
``metrics.csv``         metrics of each step
``trajectories.jsonl``  episodes of every ``log.trajectories_every``-th step
``failed.jsonl``        failed episodes of the latest step that had some
``eval/000100/``        the evaluation after 100 steps, as a separate run
``checkpoints/000100``  see ``gem_train.checkpoint``
``model/``              the final model
``curves.png``          plots of the metrics
======================  ====================================================================
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from gem_core.agent import Agent
from gem_core.console import Terminal
from gem_core.errors import GemError
from gem_core.seeding import child_seed
from gem_rollout import Component, Trajectory, TrajectoryFile
from gem_rollout.models.threads import set_threads
from gem_rollout.records.runs import TRAJECTORIES
from gem_train.batch import Batch, batch_of, drop_cut, subsample
from gem_train.checkpoint import CheckpointWriter, latest_checkpoint, load_checkpoint
from gem_train.collector import Collector
from gem_train.config import TrainConfig
from gem_train.curriculum import Curriculum
from gem_train.errors import FailedEpisodesError
from gem_train.evaluation import Evaluation
from gem_train.failed_episodes import FailedEpisodes
from gem_train.health import Health
from gem_train.interrupts import DeferredInterrupt, sigterm_as_sigint
from gem_train.learner import Learner, LearnResult
from gem_train.metrics import (
    open_writers,
    peak_memory,
    rollout_metrics,
    speed_metrics,
    staleness_metrics,
)
from gem_train.parts import make_part, parts_of
from gem_train.plots import plot_run
from gem_train.policy import Policy
from gem_train.progress import Progress
from gem_train.sampling import Sampling
from gem_train.specs import CURRICULA
from gem_train.transitions import transitions_of

__all__ = ["Trainer"]

_GROUP_SIZE = 8


class Trainer:
    """A training run.

    Args:
        config: The configuration.
        sources: The environments by name.
        folder: The run's folder.
        eval_sources: The environments for evaluation; None for ``sources``.
        make_agent: Makes the agent that samples; None for the policy in this process. Its
            generations must have token ids and log-probabilities.
        after_step: Called with the policy and the number of finished steps before the first step
            and after each one; for example to send the weights to a remote sampler.
        resume: Whether to continue from the newest checkpoint in the folder.
        console: The console for progress; None for standard error.

    Raises:
        ConfigError: The configuration is invalid; nothing has been trained.
    """

    def __init__(
        self,
        config: TrainConfig,
        sources: Mapping[str, Component],
        folder: Path,
        *,
        eval_sources: Mapping[str, Component] | None = None,
        make_agent: Callable[[], Agent] | None = None,
        after_step: Callable[[Policy, int], None] | None = None,
        resume: bool = False,
        console: Console | None = None,
    ) -> None:
        self.config = config
        self.folder = folder
        self.step = 0
        """Number of finished steps."""
        self.metrics: dict[str, float] = {}
        """Metrics of the last step."""
        self._console = console or Terminal(stderr=True)
        self._after_step = after_step
        torch.manual_seed(config.seed)
        algorithm, loss, filters, shapers = parts_of(config)
        self._curriculum: Curriculum | None = None
        if config.curriculum is not None:
            self._curriculum = make_part(CURRICULA, config.curriculum, sources)
        size = config.rollout.group_size or (_GROUP_SIZE if algorithm.needs_groups else 1)
        checkpoint = latest_checkpoint(folder) if resume else None
        self.policy = Policy.load(
            config.model,
            device=config.device,
            precision=config.precision,
            lora=config.lora,
            gradient_checkpointing=config.gradient_checkpointing,
            attn_implementation=config.attn_implementation,
            compile_options=config.compile,
        )
        set_threads(self.policy.model, config.threads)
        self._learner = Learner(self.policy, algorithm, loss, config, shapers)
        self._sampling = Sampling(self.policy, config, folder / "engine", make_agent)
        self._collector = Collector(
            sources,
            self._sampling.make_agent,
            config.rollout,
            group_size=size,
            seed=config.seed,
            curriculum=self._curriculum,
            filters=filters,
        )
        self._evaluation = Evaluation(
            eval_sources or sources, self._sampling.make_eval_agent, config, folder / "eval"
        )
        self._failed = FailedEpisodes(folder)
        self._health = Health(config.log.warn_after)
        self._checkpoints = CheckpointWriter(folder, config.checkpoint.keep)
        if checkpoint is not None:
            self.policy.load_weights(checkpoint)
            self._load_state(load_checkpoint(checkpoint))

    def train(self) -> bool:
        """Train until all steps are finished; return False if Ctrl-C ended the run early.

        A checkpoint is written in any case.

        Raises:
            DivergedError: A loss or gradient is not finite.
            TooLargeError: A batch does not fit into memory.
            FailedEpisodesError: Too many episodes of a step ended in an error.
        """
        config, folder = self.config, self.folder
        with ExitStack() as stack:
            self._progress = stack.enter_context(
                Progress(self._console, config.steps, config.progress)
            )
            self._writers = open_writers(
                config.log.writers,
                folder,
                run_name=folder.name,
                config=config.model_dump(mode="json"),
                resume_step=self.step or None,
                warn=self._progress.note,
            )
            stack.callback(self._writers.close)
            self._file = stack.enter_context(TrajectoryFile(folder / TRAJECTORIES))
            stack.enter_context(sigterm_as_sigint())
            try:
                self._take_steps()
            except KeyboardInterrupt:
                return False
            finally:
                self._save_checkpoint()
                self._report_unwritten(self._checkpoints.wait())
        self.policy.save_merged(folder / "model")
        self._plot()
        return True

    def _plot(self) -> None:
        if not self.config.log.plot or "csv" not in self.config.log.writers:
            return
        try:
            plot_run(self.folder)
        except (GemError, OSError) as error:  # such as a missing matplotlib
            self._console.print(f"No curves.png: {error}", style="yellow", highlight=False)

    def _take_steps(self) -> None:
        self._send_weights()
        if self.step == 0 and self.config.eval.every:
            self._writers.log(0, self._evaluation.evaluate(0, self._progress.note))
        self._is_over = self.step >= self.config.steps
        while not self._is_over:
            self._take_step()
            if self._is_due(self.config.checkpoint.every) and not self._is_over:
                self._save_checkpoint()

    def _send_weights(self) -> None:
        """Give the policy of a finished step to samplers that have a copy of it."""
        self._sampling.send_weights(self.step)
        if self._after_step is not None:
            self._after_step(self.policy, self.step)

    def _take_step(self) -> None:
        """Collect episodes, learn from them, and log the metrics."""
        started = time.perf_counter()
        trajectories = self._collect()
        sampled = time.perf_counter()
        with DeferredInterrupt() as deferred:
            learned_from = self._collector.kept()
            staleness = staleness_metrics(learned_from, self.step)
            result = self._learn(learned_from)
            learned = time.perf_counter()
            metrics = rollout_metrics(trajectories) | result.metrics | self._sampling.metrics()
            metrics |= {**staleness, "train/episodes": float(len(learned_from))}
            notes = self._judge(metrics, trajectories)
            metrics["memory/peak_gib"] = peak_memory(self.policy.device) / 2**30
            metrics |= {"time/sample": sampled - started, "time/learn": learned - sampled}
            metrics |= speed_metrics(
                trajectories,
                learned_tokens=metrics["train/tokens"],
                sample_seconds=sampled - started,
                learn_seconds=learned - sampled,
            )
            self._write_trajectories(trajectories)
            try:
                with deferred.lifted():
                    self._send_weights()
                    if self._is_due(self.config.eval.every, at_end=True):
                        metrics |= self._evaluation.evaluate(self.step, self._progress.note)
            finally:
                metrics["time/step"] = time.perf_counter() - started
                self._log(metrics, notes)

    def _learn(self, trajectories: list[Trajectory]) -> LearnResult:
        """Update the weights, and note the advantages in the turns, for ``gem-core view``."""
        seed = child_seed(self.config.seed, "step", self.step)
        torch.manual_seed(seed)  # for random modules such as dropout
        generator = torch.Generator().manual_seed(seed)
        result = self._learner.learn(self._batch_of(trajectories, generator), generator)
        turns = (turn for one in trajectories for turn in one.turns)
        for turn, advantage in zip(turns, result.advantages, strict=True):
            turn.info["advantage"] = advantage
        self.step += 1
        return result

    def _judge(self, metrics: dict[str, float], trajectories: list[Trajectory]) -> list[str]:
        """Decide whether the run is over; return what is to be said about the step."""
        notes, stop_after = self._health.notes(metrics, trajectories), self.config.stop_after
        self._is_over = self.step >= self.config.steps
        if stop_after and self._health.equal_steps >= stop_after and not self._is_over:
            self._is_over = True
            notes.append(
                f"The run ends: there has been nothing to learn from for stop_after={stop_after} "
                f"steps, because the episodes of each group have had the same return."
            )
        return notes

    def _log(self, metrics: dict[str, float], notes: list[str]) -> None:
        self.metrics = metrics
        self._writers.log(self.step, metrics)
        self._progress.update(self.step, metrics)
        for note in notes:
            self._progress.note(f"Step {self.step}. {note}")

    def _collect(self) -> list[Trajectory]:
        """Return the episodes of a step, and report those that failed."""
        try:
            trajectories = self._collector.collect()
        except FailedEpisodesError as error:
            path = self._failed.write(error.trajectories)
            message = f"{error}\n  The tracebacks are in {path}"
            raise type(error)(message, error.trajectories) from error
        for line in self._failed.report(trajectories):
            self._progress.note(line)
        return trajectories

    def _is_due(self, every: int, *, at_end: bool = False) -> bool:
        """Return whether an event that occurs every ``every`` steps is due after this step."""
        return bool(every) and (self.step % every == 0 or (at_end and self._is_over))

    def _batch_of(self, trajectories: list[Trajectory], generator: torch.Generator) -> Batch:
        samples = transitions_of(trajectories, keep_failed=True)
        pad_id = self.policy.tokenizer.pad_token_id or 0
        batch = batch_of(samples, rows=self.config.loss.rows, pad_id=pad_id)
        if self.config.rollout.turns is not None:
            batch = subsample(batch, self.config.rollout.turns, generator)
        return drop_cut(batch) if self.config.loss.drop_cut else batch

    def _write_trajectories(self, trajectories: list[Trajectory]) -> None:
        """Write the episodes if due; those of the first and last step are always written."""
        every = self.config.log.trajectories_every
        if not every or not (self.step == 1 or self._is_due(every, at_end=True)):
            return
        try:
            for one in trajectories:
                one.training_step = self.step
                self._file.append(one)
        except OSError as error:
            self._progress.note(f"The episodes of step {self.step} were not written: {error}")

    def _save_checkpoint(self) -> None:
        state = {
            "learner": self._learner.state_dict(),
            "collector": self._collector.state_dict(),
            "health": self._health.state_dict(),
            "curriculum": None if self._curriculum is None else self._curriculum.state_dict(),
            "kept_bytes": (self.folder / TRAJECTORIES).stat().st_size,
        }
        self._report_unwritten(self._checkpoints.save(self.step, self.policy, state))

    def _report_unwritten(self, error: OSError | None) -> None:
        if error is not None:
            self._progress.note(f"A checkpoint was not written: {error}")

    def _load_state(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self._learner.load_state_dict(state["learner"])
        self._collector.load_state_dict(state["collector"])
        self._health.load_state_dict(state["health"])
        if self._curriculum is not None and state["curriculum"] is not None:
            self._curriculum.load_state_dict(state["curriculum"])
        # Episodes after the checkpoint are played again.
        path = self.folder / TRAJECTORIES
        if path.is_file() and path.stat().st_size > state["kept_bytes"]:
            os.truncate(path, state["kept_bytes"])
