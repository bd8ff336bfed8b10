"""Plays episodes: each worker takes a number, plays the episode and hands on the trajectory.

There is no barrier: a worker begins its next episode as soon as the consumer has taken its last
trajectory. A worker is added only while all others wait for something, so episodes that never wait
are played by one worker.
"""

import asyncio
import functools
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_core.agent import Agent
from gem_core.env import Env
from gem_core.errors import (
    ConfigError,
    ModelUnavailableError,
    WorkerCallError,
    WorkerDiedError,
    near_names,
)
from gem_core.faults import boundary, error_record
from gem_core.mixture import Component
from gem_core.observation import Info
from gem_core.seeding import check_seed, child_seed
from gem_core.specs import EnvSpec
from gem_rollout.episodes.components import ComponentSampler, Sampler
from gem_rollout.episodes.endings import end_in_thread
from gem_rollout.episodes.episode import Episode, Phase, State, name_of, success_of
from gem_rollout.episodes.policy import Budget, FaultPolicy
from gem_rollout.episodes.pool import EnvPool, close_quietly
from gem_rollout.episodes.report import EnvReport, Report
from gem_rollout.episodes.reservations import Reservations
from gem_rollout.episodes.runner import Runner
from gem_rollout.episodes.threads import GRACE, Threads, wait_through
from gem_rollout.episodes.whole_episodes import Order, PlayedEpisode, WholeEpisodes
from gem_rollout.records.trajectory import Trajectory

__all__ = ["HURRY", "Engine", "Plan"]

PATIENCE = GRACE + 0.3
"""Seconds in which cancelled episodes must end; a coroutine may ignore its cancellation."""
CLOSING = 5.0
"""Seconds in which environments that block must close; they are closed at the same time."""
HURRY = 0.5
"""Seconds for each of both after a second Ctrl-C."""
_BUDGET_PAUSE = 0.05
"""Seconds after which a worker looks again whether the budget allows another episode."""
_log = logging.getLogger("gem_rollout")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The arguments of a run; see ``collect``.

    Raises:
        ConfigError: A value that is out of range.
    """

    components: Mapping[str, Component]
    make_agent: Callable[[], Agent]
    numbers: Iterator[int | tuple[str, int]]
    samples: int
    fork_groups: bool
    seed: int
    concurrency: int
    agent_name: str
    policy: FaultPolicy
    budget: Budget
    sampler: Sampler | None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        for name, value in (
            ("concurrency", self.concurrency),
            ("episodes_per_group", self.samples),
        ):
            if value < 1:
                raise ConfigError(f"{name} must be at least 1; got {value}.")
        if (self.policy.min_group or 0) > self.samples:
            raise ConfigError(
                f"min_group is {self.policy.min_group}, but a group has only {self.samples} "
                f"episodes: raise episodes_per_group or lower min_group."
            )


class Engine:
    """Plays a plan in the running event loop.

    Args:
        plan: The arguments of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.report = Report()
        self.finished: deque[tuple[Trajectory, asyncio.Future[None]]] = deque()
        """Trajectories that were not taken yet, each with the future that its worker awaits."""
        self.error: BaseException | None = None
        """The error that ended the run."""
        self._sampler = ComponentSampler(plan.components, plan.seed, plan.sampler, self.report)
        self._has_budget = plan.budget != Budget()
        self._reservations = Reservations(plan.budget)
        self._queue = asyncio.Lock()
        """Held by the episode that waits for the budget first."""
        self._threads = Threads()
        self._pool = EnvPool(plan.components, plan.make_agent, self._threads, plan.concurrency)
        self._runner = Runner(self._threads, plan.policy.turn_deadline)
        self._workers: set[asyncio.Task[None]] = set()
        self._kinds: dict[str, tuple[str, EnvSpec | None]] = {}
        self._changed = asyncio.Event()
        self._no_more = False
        self._unavailable = 0
        """The latest episodes in a row that could not ask their model."""
        self._unclosed: list[Any] = []
        self._is_closed = False
        self._in_flight: dict[Episode, asyncio.Task[Any] | None] = {}
        self._group_ended: Counter[tuple[str, int]] = Counter()
        self._group_failures: Counter[tuple[str, int]] = Counter()
        self._started = time.monotonic()
        forks = plan.fork_groups and plan.samples > 1
        self._whole = {} if forks else _whole_episodes(plan)

    async def ready(self) -> bool:
        """Wait for a trajectory to take; False if there are no more, or after an error."""
        while not self.finished:
            await asyncio.sleep(0)
            if self.finished:
                break
            if self.error is not None:
                return False
            # Another worker helps only while all others wait for something.
            if not self._no_more and len(self._workers) < self.plan.concurrency:
                self._add_worker()
            elif not self._workers:
                return False
            else:
                self._changed.clear()
                await self._changed.wait()
        return True

    @property
    def calls_in_flight(self) -> int:
        """The number of episodes that wait for their agent."""
        episodes = list(self._in_flight)
        return sum(one.is_waiting and one.state is State.ACTING for one in episodes)

    def take(self) -> Trajectory:
        """Return the trajectory that ended first."""
        trajectory, waiting = self.finished.popleft()
        if not waiting.done():
            waiting.set_result(None)
        return trajectory

    def interrupt(self) -> bool:
        """Begin no more episodes, and cut off the others at their next await or step.

        Returns:
            Whether the thread of the event loop is in a step, which a handler of Ctrl-C must break.
        """
        self._no_more = self._runner.stopping = True
        return self._threads.is_inline

    async def stop(self, *, in_a_hurry: bool = False) -> None:
        """End the episodes in flight and close everything; ended ones can still be taken.

        Args:
            in_a_hurry: Whether to wait only ``HURRY`` seconds for the episodes, and then for the
                environments.
        """
        if self._is_closed:
            return
        patience = HURRY if in_a_hurry else PATIENCE
        self._threads.in_a_hurry = in_a_hurry
        report = self.report
        self._no_more = self._runner.stopping = True
        if not report.ended_by or (report.in_flight and report.ended_by != "error"):
            report.ended_by = "interrupted"
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await wait_through(self._workers, patience)
        left = len(self._workers) + sum(one.abandoned for one in self._in_flight)
        if left:
            _log.warning(
                "%d episodes of a rollout did not end within %g seconds: their steps were "
                "abandoned, and their environments are closed when these return.",
                left,
                patience,
            )
        await self._close(HURRY if in_a_hurry else CLOSING)
        self._is_closed = True

    async def _close(self, patience: float) -> None:
        """Close everything, except episodes that a worker is still in."""
        self._take_ended()
        inline = [one for one in self._unclosed if not _blocks(one)]
        blocking = [one for one in self._unclosed if _blocks(one)]
        late: set[asyncio.Future[Any]] = set()
        try:
            running = [self._threads.run(functools.partial(close_quietly, one)) for one in blocking]
            self._unclosed = inline
            self._close_unclosed()
            if running:
                late = await wait_through(running, patience)
        finally:
            self._threads.close()
        if late:
            _log.warning(
                "%d environments of a rollout did not close within %g seconds and were left to "
                "their threads.",
                len(late),
                patience,
            )
        for worker in self._workers:  # if the loop goes on, they may still end
            worker.add_done_callback(lambda _: self._close_late())

    def _close_late(self) -> None:
        """Close what a late worker has left; in a thread, as an environment may block."""
        self._take_ended()
        self._threads.close()
        end_in_thread(self._close_unclosed)

    def _take_ended(self, *, are_over: bool = False) -> None:
        """Move idle objects, and those of ended episodes, to the objects that are to be closed.

        Args:
            are_over: Whether no worker will go on, as its event loop is closed.
        """
        self._unclosed += self._pool.take_all()
        for episode, worker in list(self._in_flight.items()):
            if are_over or worker is None or worker.done():
                del self._in_flight[episode]
                if not episode.abandoned:
                    self._unclosed += [episode.env, episode.agent]

    def _close_unclosed(self) -> None:
        while self._unclosed:  # a second Ctrl-C leaves the rest to `close_rest`
            close_quietly(self._unclosed.pop())

    def close_rest(self) -> None:
        """Close the rest when the event loop is closed, or could not finish ``stop``."""
        self._no_more = self._runner.stopping = True
        self._take_ended(are_over=True)
        self._close_unclosed()
        self._threads.close()

    def _add_worker(self) -> None:
        worker = asyncio.get_running_loop().create_task(self._work())
        self._workers.add(worker)
        worker.add_done_callback(self._end_worker)

    def _end_worker(self, worker: "asyncio.Task[None]") -> None:
        self._workers.discard(worker)
        self._no_more = True
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._fail(error)
        self._changed.set()

    def _fail(self, error: BaseException) -> None:
        """End the run with an error."""
        self._no_more = True
        if self.error is None:
            self.error = error
            self.report.ended_by = "error"

    async def _work(self) -> None:
        """Play episodes until the numbers run out or an error ends the run."""
        while (number := await self._next_number()) is not None:
            attempt = await self._episode(number)
            taken = asyncio.get_running_loop().create_future()
            self.finished.append((attempt.trajectory, taken))
            self._changed.set()
            if attempt.error is not None and self.plan.policy.on_error == "raise":
                env_id = attempt.trajectory.env_id
                index = attempt.trajectory.index
                attempt.error.add_note(f"In episode {index} of {env_id}; on_error is 'raise'.")
                self._fail(attempt.error)
                return
            if self._is_unavailable(attempt.error):
                return
            await taken  # backpressure: a slow consumer holds up the workers

    def _is_unavailable(self, error: BaseException | None) -> bool:
        """Return whether an error is one too many in a row of an unavailable model, and end."""
        self._unavailable = self._unavailable + 1 if isinstance(error, ModelUnavailableError) else 0
        if self._unavailable != self.plan.policy.abort_after:
            return False
        ended = ModelUnavailableError(
            f"The run was ended because {self._unavailable} episodes in a row could not ask their "
            f"model, the last one for this reason: {error}"
        )
        ended.__cause__ = error
        self._fail(ended)
        return True

    async def _next_number(self) -> int | tuple[str, int] | None:
        """Return the number of the next episode, once the budget allows it; None for no more."""
        if self._no_more or self._is_spent():
            return None
        number = next(self.plan.numbers, None)
        if number is None:
            self._end_by("done")
        elif not self._has_budget or await self._fits(self._locate(number)[0]):
            self.report.begun += 1
            return number
        return None

    async def _fits(self, component: str) -> bool:
        """Wait until the budget allows an episode; False if it never does, or the run ends.

        Episodes wait in the order of their numbers, so those that fit are the first ones.
        """
        async with self._queue:
            while not (self._runner.stopping or self.error or self._is_spent()):
                exceeded = self._reservations.exceeded(component)
                if not exceeded:
                    return True
                if not self._reservations.in_flight:
                    self._end_by(exceeded)
                    return False
                await asyncio.sleep(_BUDGET_PAUSE)
        return False

    def _is_spent(self) -> bool:
        """Return whether the budget has been used up, and end the run if so."""
        if not self._has_budget:
            return False
        if self.report.ended_by not in {"", "done"}:
            return True
        spent = self.report.spent(self.plan.budget, time.monotonic() - self._started)
        if spent:
            self._end_by(spent)
        return bool(spent)

    def _end_by(self, what: str) -> None:
        self._no_more = True
        if self.report.ended_by in {"", "done"}:
            self.report.ended_by = what

    def _locate(self, number: int | tuple[str, int]) -> tuple[str, int, int]:
        """Return an episode's component, its index, and its group's number in that component."""
        if isinstance(number, int):
            component, rank = self._sampler.component_of(number // self.plan.samples)
            return component, number, rank
        component, index = number
        if component not in self.plan.components:
            raise ConfigError(
                f"There is no component {component!r}.{near_names(component, self.plan.components)}"
            )
        return component, index, index // self.plan.samples

    async def _episode(self, number: int | tuple[str, int]) -> "_Attempt":
        """Play an episode, with retries if the policy has them, and count it."""
        policy = self.plan.policy
        component, index, rank = self._locate(number)
        group, sample = divmod(index, self.plan.samples)
        seed = child_seed(self.plan.seed, group)
        failures: list[Info] = []
        self.report.in_flight += 1
        try:
            while True:
                trajectory = Trajectory("", self.plan.agent_name, index, seed)
                trajectory.group, trajectory.sample, trajectory.component = group, sample, component
                trajectory.attempts, trajectory.failures = len(failures) + 1, failures
                attempt = await self._reserved(trajectory, rank)
                counts = self.report.env(component or attempt.trajectory.env_id)
                counts.spend(attempt.trajectory)
                counts.stragglers += attempt.late
                counts.abandoned += attempt.abandoned
                error = attempt.trajectory.error
                if error is None or policy.on_error != "retry" or len(failures) >= policy.retries:
                    break
                failures.append(error)
                counts.retries += 1
        except asyncio.CancelledError:
            self.report.env(component or self._kinds.get("", ("", None))[0]).cancelled += 1
            raise
        finally:
            self.report.in_flight -= 1
        self._count(attempt.trajectory, counts)
        return attempt

    def _count(self, trajectory: Trajectory, counts: EnvReport) -> None:
        """Count an episode that has ended."""
        plan, group = self.plan, (trajectory.component, trajectory.group)
        counts.episodes += 1
        if trajectory.error is not None:
            counts.errors[trajectory.error["boundary"]] += 1
            if plan.policy.min_group is not None:
                self._group_failures[group] += 1
                most = plan.samples - plan.policy.min_group
                counts.dropped_groups += self._group_failures[group] == most + 1
        self._group_ended[group] += 1
        if self._group_ended[group] == plan.samples:
            del self._group_ended[group]
            self._group_failures.pop(group, None)
            self._sampler.forget(trajectory.group)
            self._pool.drop_start(group)
        if plan.sampler is not None:
            plan.sampler.update(trajectory)

    async def _reserved(self, trajectory: Trajectory, rank: int) -> "_Attempt":
        """Play an episode once, within the budget."""
        result = None
        self._reservations.begin(trajectory)
        try:
            attempt = await self._attempt(trajectory, rank)
            result = attempt.trajectory
        finally:
            self._reservations.end(trajectory, result)
        return attempt

    async def _attempt(self, trajectory: Trajectory, rank: int) -> "_Attempt":
        """Play an episode once."""
        component = trajectory.component
        trajectory.started_at = time.time()
        if component in self._whole:
            return await self._attempt_elsewhere(self._whole[component], trajectory, rank)
        try:
            if self.plan.fork_groups and self.plan.samples > 1:
                episode = await self._forked(trajectory, rank)
                phases: tuple[Phase, ...] = (episode.play,)
            else:
                episode = await self._new_episode(trajectory, rank)
                phases = (episode.reset, episode.play)
        except (Exception, SystemExit) as error:
            if not self._pool.was_made(component):
                raise  # no episode can be played: the configuration is wrong
            trajectory.env_id, spec = self._kinds[component]
            trajectory.error = error_record(error, "env")
            trajectory.success = success_of(spec, trajectory)
            return _Attempt(trajectory, error)
        if episode.error is None:
            await self._runner.run(episode, *phases)
        late, abandoned = episode.deadline.missed, episode.abandoned
        attempt = _Attempt(episode.finish(), episode.error, late, abandoned)
        del self._in_flight[episode]
        if not abandoned:
            await self._give_back(episode, component)
        return attempt

    async def _attempt_elsewhere(
        self, whole: WholeEpisodes, trajectory: Trajectory, rank: int
    ) -> "_Attempt":
        """Let a worker of a pool play an episode once."""
        component, plan = trajectory.component, self.plan
        order = Order(trajectory=trajectory, number=rank, run_seed=plan.seed, policy=plan.policy)
        try:
            played = await whole.play(plan.make_agent, order)
        except (WorkerDiedError, WorkerCallError) as error:
            trajectory.error = error_record(error, "env")
            died = isinstance(error, WorkerDiedError)
            played = PlayedEpisode(trajectory=trajectory, error=error, made=died)
        if not played.made and played.error is not None and component not in self._kinds:
            raise played.error  # no episode can be played: the configuration is wrong
        trajectory, spec = played.trajectory, whole.spec
        trajectory.env_id = trajectory.env_id or whole.name
        self._kinds[component] = trajectory.env_id, spec
        if trajectory.success is None:
            trajectory.success = success_of(spec, trajectory)
        if played.task_count is not None:
            self.report.task_counts[trajectory.env_name] = played.task_count
        return _Attempt(trajectory, played.error, played.late, played.abandoned)

    async def _give_back(self, episode: Episode, component: str) -> None:
        """Keep the environment and the agent, or close those involved in a failure."""
        error = episode.trajectory.error
        by_agent = error is not None and error["boundary"] == "agent"
        replace = error is not None and self.plan.policy.on_error == "retry"
        if replace or by_agent:
            close_quietly(episode.agent)
        else:
            self._pool.give_back_agent(episode.agent)
        if episode.forked or replace or (error is not None and not by_agent):
            await self._pool.discard_env(episode.env)
        else:
            self._pool.give_back_env(component, episode.env)

    async def _new_episode(
        self, trajectory: Trajectory, rank: int, fork: Env | None = None
    ) -> Episode:
        """Return an episode of a pooled environment, which must be reset, or of a fork."""
        again = trajectory.attempts > 1
        env = fork
        if env is None:
            env, seconds = await self._pool.take_env(trajectory.component, fresh=again)
            trajectory.setup_seconds = seconds
        try:
            with boundary("agent"):
                agent = self._pool.take_agent(fresh=again)
        except BaseException:
            await self._pool.discard_env(env)
            raise
        trajectory.env_id = name_of(env)
        if trajectory.component not in self._kinds:
            self._count_tasks(trajectory.env_name, env)
        self._kinds[trajectory.component] = trajectory.env_id, env.spec
        forked = fork is not None
        seed, policy = self.plan.seed, self.plan.policy
        episode = Episode(env, agent, trajectory, rank, policy, run_seed=seed, forked=forked)
        self._in_flight[episode] = asyncio.current_task()
        return episode

    def _count_tasks(self, name: str, env: Env) -> None:
        count = getattr(env.unwrapped, "task_count", None)
        if isinstance(count, int):
            self.report.task_counts[name] = count

    async def _forked(self, trajectory: Trajectory, rank: int) -> Episode:
        """Return an episode at its start: the first one of a group, or a fork of it."""
        start = self._pool.group_start((trajectory.component, trajectory.group))
        async with start.lock:
            if start.env is None:
                episode = await self._new_episode(trajectory, rank)
                await self._runner.run(episode, episode.reset)
                if episode.error is None:
                    try:
                        start.env, _ = await self._pool.fork(episode.env)
                        start.first, start.options = episode.first, trajectory.reset_options
                    except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded
                        episode.fail(error)
                return episode
            env, seconds = await self._pool.fork(start.env)
        trajectory.setup_seconds, trajectory.reset_options = seconds, start.options
        episode = await self._new_episode(trajectory, rank, env)
        observation, info = start.first
        episode.begin((observation, dict(info)))
        return episode


def _blocks(thing: Any) -> bool:
    return bool(getattr(thing, "blocking", False))


def _whole_episodes(plan: Plan) -> dict[str, WholeEpisodes]:
    """Return the ``WholeEpisodes`` of the components that have one, by name."""
    found = {}
    for name, component in plan.components.items():
        choose = getattr(component.make_env, "whole_episodes", None)
        if choose is not None and (whole := choose(plan.make_agent)) is not None:
            found[name] = whole
    return found


@dataclass
class _Attempt:
    """The result of playing an episode once."""

    trajectory: Trajectory
    error: BaseException | None = None
    late: bool = False
    abandoned: bool = False
