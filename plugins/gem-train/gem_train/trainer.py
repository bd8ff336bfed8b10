"""Trains a policy: each step collects episodes and learns from them.

======================  ====================================================================
file                    content
======================  ====================================================================
``run.json``            the command and the configuration
``metrics.csv``         metrics of each step
``trajectories.jsonl``  episodes of every ``log.trajectories_every``-th step
``failed.jsonl``        episodes of a step that all ended with an error
``eval/000100/``        the evaluation after 100 steps, as a separate run
``checkpoints/000100``  see ``gem_train.checkpoint``
``model/``              the final model
``curves.png``          plots of the metrics
======================  ====================================================================
"""

import gc
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from rich.console import Console

from gem_core import make_agent as make_agent_by_id
from gem_core.agent import Agent
from gem_core.console import Terminal
from gem_core.errors import GemError
from gem_core.seeding import child_seed
from gem_core.specs import check_kwargs
from gem_rollout import Component, Trajectory, TrajectoryFile
from gem_rollout.failures import Failures
from gem_rollout.format_errors import FormatErrors, bad_ending_of
from gem_rollout.runs import TRAJECTORIES, Run
from gem_train.algorithm import Algorithm, load_algorithm
from gem_train.batch import Batch, batch_of, drop_cut, subsample
from gem_train.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from gem_train.collector import Collector, CutIsInvalid, evaluate
from gem_train.config import TrainConfig
from gem_train.curriculum import load_sampler
from gem_train.errors import NoEpisodesError
from gem_train.learner import Learner
from gem_train.metrics import open_writers, rollout_metrics
from gem_train.plots import plot_run
from gem_train.policy import Policy
from gem_train.progress import Progress
from gem_train.transitions import trainable, transitions_of

__all__ = ["Trainer"]

FAILED = "failed.jsonl"
"""The file of the episodes of a step that all ended with an error."""
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
        self._eval_sources = dict(eval_sources or sources)
        self._after_step = after_step
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        algorithm, own = _algorithm_of(config.algo)
        size = config.rollout.group_size or (_GROUP_SIZE if algorithm.needs_groups else 1)
        checkpoint = latest_checkpoint(folder) if resume else None
        self.policy = Policy.load(
            config.model,
            device=config.device,
            precision=config.precision,
            lora=config.lora,
            gradient_checkpointing=config.gradient_checkpointing,
        )
        self._learner = Learner(self.policy, algorithm, own, config)
        self._make_agent = make_agent or self._agent_of(config.sampling.temperature)
        self._make_eval_agent = self._make_agent
        if config.eval.temperature is not None and make_agent is None:
            self._make_eval_agent = self._agent_of(config.eval.temperature)
        self._curriculum = None
        if config.curriculum is not None:
            options = dict(config.curriculum)
            self._curriculum = load_sampler(options.pop("id"), sources=sources, **options)
        self._collector = Collector(
            sources,
            self._make_agent,
            config.rollout,
            group_size=size,
            seed=config.seed,
            curriculum=self._curriculum,
        )
        if checkpoint is not None:
            self._load_state(load_checkpoint(checkpoint))

    def _agent_of(self, temperature: float) -> Callable[[], Agent]:
        sampling, policy = self.config.sampling, self.policy
        options = sampling.model_dump(exclude={"adapters_url", "cut_is_invalid", "temperature"})
        options |= {
            "model": policy.model,
            "tokenizer": policy.tokenizer,
            "temperature": temperature,
            "seed": self.config.seed,
            "scaled_logprobs": True,
        }
        # While one agent exists, the state that all of them share is kept between steps.
        first = make_agent_by_id("transformers", **options)

        def make() -> Agent:
            agent: Agent = type(first)(**options)
            return CutIsInvalid(agent) if sampling.cut_is_invalid else agent

        return make

    def train(self) -> bool:
        """Train until all steps are finished; return False if Ctrl-C ended the run early.

        A checkpoint is written in any case.

        Raises:
            DivergedError: A loss or gradient is not finite.
            TooLargeError: A batch does not fit into memory.
            NoEpisodesError: All episodes of a step ended in an error.
        """
        config, folder = self.config, self.folder
        with ExitStack() as stack:
            self._progress = stack.enter_context(
                Progress(self._console, config.steps, config.log.progress)
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
            stack.enter_context(_sigterm_as_sigint())
            stack.enter_context(_frozen_garbage())
            try:
                self._take_steps()
            except KeyboardInterrupt:
                return False
            finally:
                self._save_checkpoint()
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
        if self._after_step is not None:
            self._after_step(self.policy, self.step)
        if self.step == 0 and self.config.eval.every:
            self._writers.log(0, self._evaluate())
        while self.step < self.config.steps:
            self._take_step()
            if self._is_due(self.config.checkpoint.every) and self.step < self.config.steps:
                self._save_checkpoint()

    def _take_step(self) -> None:
        """Collect episodes, learn from them, and log the metrics."""
        started = time.perf_counter()
        trajectories = self._collect()
        sampled = time.perf_counter()
        seed = child_seed(self.config.seed, "step", self.step)
        torch.manual_seed(seed)  # for random modules such as dropout
        generator = torch.Generator().manual_seed(seed)
        with _DeferredInterrupt() as deferred:
            learned_from = trainable(trajectories, keep_failed=self.config.rollout.keep_failed)
            batch = self._batch_of(learned_from, generator)
            result = self._learner.learn(batch, generator)
            turns = (turn for one in learned_from for turn in one.turns)
            for turn, advantage in zip(turns, result.advantages, strict=True):
                turn.info["advantage"] = advantage  # shown by `gem-core view`
            self.step += 1
            learned = time.perf_counter()
            metrics = rollout_metrics(trajectories) | result.metrics
            metrics |= {"time/sample": sampled - started, "time/learn": learned - sampled}
            metrics |= _speed_of(trajectories, sampled - started, metrics, learned - sampled)
            self._write_trajectories(trajectories)
            try:
                with deferred.lifted():
                    if self._after_step is not None:
                        self._after_step(self.policy, self.step)
                    if self._is_due(self.config.eval.every, at_end=True):
                        metrics |= self._evaluate()
            finally:
                metrics["time/step"] = time.perf_counter() - started
                self.metrics = metrics
                self._writers.log(self.step, metrics)
                self._progress.update(self.step, metrics)

    def _collect(self) -> list[Trajectory]:
        """Return the episodes of a step; those of a step that failed are written first."""
        try:
            return self._collector.collect()
        except NoEpisodesError as error:
            path = self.folder / FAILED
            path.unlink(missing_ok=True)
            with TrajectoryFile(path) as file:
                for one in error.trajectories:
                    file.append(one)
            message = f"{error}\n  The tracebacks are in {path}"
            raise NoEpisodesError(message, error.trajectories) from error

    def _is_due(self, every: int, *, at_end: bool = False) -> bool:
        """Tell whether an event that occurs every ``every`` steps is due after this step."""
        return bool(every) and (
            self.step % every == 0 or (at_end and self.step == self.config.steps)
        )

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
                self._file.append(one)
        except OSError as error:
            self._progress.note(f"The episodes of step {self.step} were not written: {error}")

    def _evaluate(self) -> dict[str, float]:
        """Play the evaluation's episodes, write them as a separate run, and return metrics."""
        folder = self.folder / "eval" / f"{self.step:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        started = time.perf_counter()
        run = Run.create(
            folder,
            command=sys.argv,
            config={"step": self.step},
            envs=list(self._eval_sources),
            agents=["policy"],
        )
        trajectories: list[Trajectory] = []
        with TrajectoryFile(run.trajectories_path) as file:
            for one in evaluate(
                self._eval_sources,
                self._make_eval_agent,
                episodes=self.config.eval.episodes,
                seed=self.config.seed,
                concurrency=self.config.rollout.concurrency,
                turn_deadline=self.config.rollout.turn_deadline,
            ):
                file.append(one)
                trajectories.append(one)
        failures, format_errors = Failures(), FormatErrors()
        for one in trajectories:
            failures.add(one)
            format_errors.add(one.env_id, one.agent, bad_ending_of(one))
        for line in (*failures.lines(run.shown_trajectories), *format_errors.lines()):
            self._progress.note(line)
        metrics = rollout_metrics(trajectories)
        renamed = {name.replace("rollout/", "eval/", 1): one for name, one in metrics.items()}
        return {**renamed, "time/eval": time.perf_counter() - started}

    def _save_checkpoint(self) -> None:
        state = {
            "learner": self._learner.state_dict(),
            "collector": self._collector.state_dict(),
            "curriculum": None if self._curriculum is None else self._curriculum.state_dict(),
            "kept_bytes": (self.folder / TRAJECTORIES).stat().st_size,
        }
        try:
            save_checkpoint(
                self.folder, self.step, self.policy, state, keep=self.config.checkpoint.keep
            )
        except OSError as error:
            self._progress.note(f"The checkpoint of step {self.step} was not written: {error}")

    def _load_state(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self._learner.load_state_dict(state["learner"])
        self._collector.load_state_dict(state["collector"])
        if self._curriculum is not None and state["curriculum"] is not None:
            self._curriculum.load_state_dict(state["curriculum"])
        # Episodes after the checkpoint are played again.
        path = self.folder / TRAJECTORIES
        if path.is_file() and path.stat().st_size > state["kept_bytes"]:
            os.truncate(path, state["kept_bytes"])


def _algorithm_of(config: Mapping[str, Any]) -> tuple[Algorithm, Any]:
    """Return an algorithm and its own configuration.

    Raises:
        GemError: The id is unknown, or a parameter is unknown or invalid.
    """
    options = dict(config)
    algorithm = load_algorithm(options.pop("id"))
    check_kwargs(algorithm.config, options, f"algorithm {config['id']!r}")
    return algorithm, algorithm.config(**options)


def _speed_of(
    trajectories: list[Trajectory],
    sample_seconds: float,
    metrics: Mapping[str, float],
    learn_seconds: float,
) -> dict[str, float]:
    tokens = sum(
        len(turn.generation.token_ids or ())
        for one in trajectories
        for turn in one.turns
        if turn.generation is not None
    )
    return {
        "speed/sampled_tokens_per_second": tokens / sample_seconds,
        "speed/learned_tokens_per_second": metrics["train/tokens"] / learn_seconds,
        "speed/episodes_per_second": len(trajectories) / (sample_seconds + learn_seconds),
    }


class _DeferredInterrupt:
    """Defers Ctrl-C to the end of a block, because half an update cannot be resumed.

    A second Ctrl-C is not deferred.
    """

    def __enter__(self) -> Self:
        self._interrupted = False
        self._is_active = _handles_signals()
        if self._is_active:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Stop deferring inside; a Ctrl-C that was deferred is raised immediately."""
        if self._is_active:
            signal.signal(signal.SIGINT, self._before)
        try:
            if self._interrupted:
                raise KeyboardInterrupt
            yield
        finally:
            self._interrupted = False
            if self._is_active:
                signal.signal(signal.SIGINT, self._on_signal)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_active:
            signal.signal(signal.SIGINT, self._before)
        if self._interrupted and error is None:
            raise KeyboardInterrupt


@contextmanager
def _sigterm_as_sigint() -> Iterator[None]:
    """Treat SIGTERM, which schedulers send to end a job, as Ctrl-C."""
    if not _handles_signals():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _frozen_garbage() -> Iterator[None]:
    """Exclude all existing objects from garbage collection inside.

    A full collection over the objects of the libraries takes as long as two steps of a small model.
    """
    if gc.get_freeze_count():  # already frozen by the caller
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _handles_signals() -> bool:
    return threading.current_thread() is threading.main_thread()
