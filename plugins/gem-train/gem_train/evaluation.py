"""The evaluations of a training run: each plays the same tasks and is written as a run."""

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gem_core.agent import Agent
from gem_core.seeding import child_seed
from gem_rollout import Component, FaultPolicy, Trajectory, TrajectoryFile, collect
from gem_rollout.episodes.rollout import Rollout
from gem_rollout.records.failures import Failures
from gem_rollout.records.format_errors import FormatErrors, bad_ending_of
from gem_rollout.records.runs import Run
from gem_train.config import TrainConfig
from gem_train.metrics import rollout_metrics

__all__ = ["Evaluation"]


class Evaluation:
    """Evaluates the policy of a training run.

    Args:
        sources: The environments by name; ``config.eval.episodes`` episodes of each are played.
        make_agent: Makes an agent.
        config: The configuration of the run.
        folder: The folder for the runs of the evaluations.
    """

    def __init__(
        self,
        sources: Mapping[str, Component],
        make_agent: Callable[[], Agent],
        config: TrainConfig,
        folder: Path,
    ) -> None:
        self._sources = sources
        self._make_agent = make_agent
        self._config = config
        self._folder = folder

    def evaluate(self, step: int, note: Callable[[str], None]) -> dict[str, float]:
        """Play the episodes, write them, and return the metrics.

        Args:
            step: Number of finished steps.
            note: Shows a line: failures and replies of a wrong format.
        """
        started = time.perf_counter()
        run = self._new_run(step)
        trajectories: list[Trajectory] = []
        with TrajectoryFile(run.trajectories_path) as file, self._rollout() as rollout:
            for one in rollout:
                file.append(one)
                trajectories.append(one)
        failures, format_errors = Failures(), FormatErrors("sampling.max_new_tokens")
        for one in trajectories:
            failures.add(one)
            format_errors.add(one.env_id, one.agent, bad_ending_of(one))
        for line in (*failures.lines(run.shown_trajectories), *format_errors.lines()):
            note(line)
        metrics = rollout_metrics(trajectories)
        renamed = {name.replace("rollout/", "eval/", 1): one for name, one in metrics.items()}
        return {**renamed, "time/eval": time.perf_counter() - started}

    def _new_run(self, step: int) -> Run:
        folder = self._folder / f"{step:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        return Run.create(
            folder,
            command=sys.argv,
            config={"step": step},
            envs=list(self._sources),
            agents=["policy"],
        )

    def _rollout(self) -> Rollout:
        """Return a rollout of the episodes; the tasks differ from those of training."""
        rollout, count = self._config.rollout, self._config.eval.episodes
        return collect(
            self._sources,
            self._make_agent,
            episodes=[(name, index) for name in self._sources for index in range(count)],
            seed=child_seed(self._config.seed, "evaluation"),
            concurrency=rollout.concurrency,
            agent_name="policy",
            policy=FaultPolicy(turn_deadline=rollout.turn_deadline),
        )
