"""One episode of a program: a task of an environment, a run on its machine, and the grade.

The program takes the place of an agent, and the engine behind the gateway that of the policy. The
gateway records a turn for each call; the environment grades what the program left on the machine.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.faults import boundary, error_record
from gem_core.observation import Action, Info
from gem_core.optional import reset_options
from gem_core.seeding import child_seed
from gem_rollout.episodes.episode import name_of, success_of
from gem_rollout.records.trajectory import Trajectory, Turn
from gem_serve.gateway.client import CreatedEpisode, GatewayClient, GatewayError
from gem_serve.harness.errors import (
    GatewayLostError,
    NoCallError,
    ProgramMissingError,
    UnansweredError,
)
from gem_serve.harness.program import GatewayAddress, ProgramRun, run_program
from gem_serve.harness.recipe import Recipe
from gem_workers.machine import Machine

__all__ = ["HasMachine", "Player", "machine_of"]

_OF_ANSWERS = ("format_error", "parsed_action", "tool_calls", "tool_messages", "use_tool")
"""What the environment says of the action that ends the episode, which no model has written."""


@runtime_checkable
class HasMachine(Protocol):
    """An environment whose tasks a program can do: ``env.unwrapped`` of ``terminal:...``."""

    instruction: str
    """What the task that runs asks for."""
    machine: Machine
    """The machine of the episode that runs."""
    finish_action: Action
    """The action that ends the episode and has it graded."""
    seconds_allowed: float
    """The seconds that an agent has."""


def machine_of(env: Env) -> HasMachine:
    """Return an environment as one with a machine.

    Raises:
        ConfigError: It has none.
    """
    inner = env.unwrapped
    names = ("instruction", "machine", "finish_action", "seconds_allowed")
    missing = [name for name in names if not hasattr(type(inner), name)]
    if missing:
        raise ConfigError(
            f"A program needs an environment with a machine, such as terminal:Sample; "
            f"{name_of(env)} has no {', '.join(missing)}."
        )
    return cast("HasMachine", inner)


@dataclass(frozen=True, kw_only=True)
class Player:
    """Plays episodes with a program.

    Args:
        recipe: How the program is started.
        gateway: The admin API of the gateway.
        name: The name of the agent in trajectories.
        programs: Folders of the machine in which programs are installed.
        timeout: Seconds for the program; None for those that the task allows.
        options: Options of the gateway's episodes, such as ``sampling`` and ``mode``.
        output_limit: Bytes of the program's output to keep.
    """

    recipe: Recipe
    gateway: GatewayClient
    name: str
    programs: Sequence[str] = ()
    timeout: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    output_limit: int = 1 << 16

    def play(
        self, env: Env, *, run_seed: int = 0, index: int = 0, group: int = 0, sample: int = 0
    ) -> Trajectory:
        """Play an episode; what goes wrong is recorded as its error.

        Args:
            env: The environment, which is reset.
            run_seed: The seed of the run.
            index: Number of the episode in the run.
            group: Number of its start state.
            sample: Number of the episode in its group.

        Raises:
            ProgramMissingError: The machine does not have the program: no episode can be played.
            ConfigError: The environment has no machine, or an option is invalid.
        """
        seed = child_seed(run_seed, group)
        numbers = {"index": index, "group": group, "sample": sample, "seed": seed}
        options = reset_options(env, group, run_seed)
        begin, started_at = time.perf_counter(), time.time()
        reset_info: Info = {}
        seconds = 0.0
        try:
            task = machine_of(env)
            _, reset_info = env.reset(seed=seed, **options)
            seconds = time.perf_counter() - begin
            trajectory = self._play(env, task, numbers)
        except (ProgramMissingError, ConfigError):
            raise
        except Exception as error:  # noqa: BLE001 - recorded
            trajectory = Trajectory(name_of(env), self.name, index, seed)
            trajectory.group, trajectory.sample = group, sample
            trajectory.error = error_record(error, "env")
        trajectory.agent, trajectory.started_at = self.name, started_at
        trajectory.setup_seconds, trajectory.reset_options = seconds, options
        trajectory.reset_info = {**reset_info, **trajectory.reset_info}
        trajectory.success = success_of(env.spec, trajectory)
        return trajectory

    def _play(self, env: Env, task: HasMachine, numbers: dict[str, int]) -> Trajectory:
        """Run the program, have its work graded, and return what the gateway recorded."""
        episode = self.gateway.create(env_id=name_of(env), **numbers, **self.options)
        run: ProgramRun | None = None
        last: Turn | None = None
        how: dict[str, Any]
        try:
            with boundary("agent"):
                run = self._run(task, episode)
                self._check_calls(run, episode)
            is_late = run.status == "timeout"
            instruction, step = task.instruction, env.step(task.finish_action)
            info = {name: value for name, value in step.info.items() if name not in _OF_ANSWERS}
            last = Turn(self.name, instruction, "", step.reward, not is_late, is_late, info)
            how = {"reward": step.reward, "truncated": is_late}
        except (ProgramMissingError, ConfigError):
            self._close(episode, {})
            raise
        except Exception as error:  # noqa: BLE001 - recorded
            how = {"error": error_record(error, "env")}
        trajectory = self._close(episode, how)
        _add(trajectory, self.name, run, last)
        return trajectory

    def _run(self, task: HasMachine, episode: CreatedEpisode) -> ProgramRun:
        return run_program(
            task.machine,
            self.recipe,
            task.instruction,
            GatewayAddress(episode.url, episode.model, episode.key),
            timeout=task.seconds_allowed if self.timeout is None else self.timeout,
            programs=self.programs,
            output_limit=self.output_limit,
        )

    def _check_calls(self, run: ProgramRun, episode: CreatedEpisode) -> None:
        """Raise an error if there is nothing to grade: the program was not answered."""
        name = run.program
        if run.refused:
            raise GatewayLostError(f"The gateway refused {run.refused} connections of {name!r}.")
        calls = self.gateway.status(episode.episode)["calls"]
        failed = sum(calls.get(kind, 0) for kind in ("failed", "partial", "refused"))
        how = f"{name!r} ended with status {run.exit_status} ({run.status})"
        if not calls.get("done") and not failed:
            raise NoCallError(f"{how} without asking the model anything.{run.said()}")
        if not calls.get("done"):
            raise UnansweredError(f"{how}; all {failed} calls failed or were refused.{run.said()}")
        if run.status == "failed" and failed:
            raise UnansweredError(f"{how} after {failed} calls had failed.{run.said()}")

    def _close(self, episode: CreatedEpisode, how: Mapping[str, Any]) -> Trajectory:
        """End an episode; a plain engine's calls, which have no tokens, are kept to be read."""
        try:
            trajectory = self.gateway.close(episode.episode, **how)
            if not trajectory.turns:
                trajectory = self.gateway.trajectory(episode.episode, inexact="true")
            self.gateway.forget(episode.episode)
        except GatewayError as error:
            raise GatewayLostError(f"The record of the episode is lost: {error}") from error
        return trajectory


def _add(trajectory: Trajectory, name: str, run: ProgramRun | None, last: Turn | None) -> None:
    """Add to a trajectory of the gateway what it does not know: the program's end, the grade.

    Args:
        trajectory: The trajectory.
        name: The name of the agent.
        run: What the program did; None if it could not be run.
        last: The end of the episode; None after an error. It is a turn of its own if no call was
            kept, as when the program left before its answers came.
    """
    for turn in trajectory.turns:
        turn.agent = name
    if trajectory.error is not None and run is not None:
        trajectory.error["program"] = run.record()
    if last is None or run is None:
        return
    last.info["program"] = run.record()
    if trajectory.turns:
        trajectory.turns[-1].info |= last.info
    else:
        trajectory.turns.append(last)
