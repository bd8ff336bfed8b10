"""Plays episodes: workers take numbers, and hand on what they have played.

There is no barrier: a worker begins the next episode as soon as the consumer has taken the last
one. A worker is added only while all that there are wait for something, so what never waits is
played by one.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_core.agent import Agent
from gem_core.env import Env
from gem_core.errors import ConfigError, near_names
from gem_core.faults import boundary, error_record
from gem_core.mixture import Component
from gem_core.observation import Info
from gem_core.seeding import check_seed, child_seed
from gem_core.specs import EnvSpec
from gem_rollout.episode import Episode, Phase, name_of, success_of
from gem_rollout.policy import Budget, FaultPolicy
from gem_rollout.report import EnvReport, Report
from gem_rollout.runner import Runner
from gem_rollout.seats import Seats, close_quietly
from gem_rollout.sources import Draw, Sampler
from gem_rollout.threads import Threads
from gem_rollout.trajectory import Trajectory

__all__ = ["Engine", "Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be played; see ``collect``.

    Raises:
        ConfigError: A value that cannot work.
    """

    sources: Mapping[str, Component]
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
                f"min_group is {self.policy.min_group}, and a group has only {self.samples} "
                f"episodes: raise episodes_per_group, or lower min_group."
            )


class Engine:
    """Plays a plan in the running event loop.

    Args:
        plan: What is to be played.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.report = Report()
        self.finished: deque[tuple[Trajectory, asyncio.Future[None]]] = deque()
        """What has ended and was not taken, each with the worker that waits for it to be taken."""
        self.error: BaseException | None = None
        """What ended the run."""
        self._draw = Draw(plan.sources, plan.seed, plan.sampler, self.report)
        self._has_budget = plan.budget != Budget()
        self._threads = Threads()
        self._seats = Seats(plan.sources, plan.make_agent, self._threads, plan.concurrency + 1)
        self._runner = Runner(self._threads, plan.policy.turn_deadline)
        self._workers: set[asyncio.Task[None]] = set()
        self._kinds: dict[str, tuple[str, EnvSpec | None]] = {}
        self._news = asyncio.Event()
        self._no_more = False
        self._under_way: dict[Episode, asyncio.Task[Any] | None] = {}
        self._group_ended: Counter[tuple[str, int]] = Counter()
        self._group_failures: Counter[tuple[str, int]] = Counter()
        self._started = time.monotonic()

    async def ready(self) -> bool:
        """Wait until there is something to take; False if nothing comes any more."""
        while not self.finished:
            await asyncio.sleep(0)
            if self.finished:
                break
            # Another worker is of use only while those that there are wait for something.
            if not self._no_more and len(self._workers) < self.plan.concurrency:
                self._add_worker()
            elif not self._workers:
                return False
            else:
                self._news.clear()
                await self._news.wait()
        return True

    def take(self) -> Trajectory:
        """Return what has ended first of what was not taken."""
        trajectory, waiting = self.finished.popleft()
        if not waiting.done():
            waiting.set_result(None)
        return trajectory

    async def stop(self, patience: float | None = None) -> None:
        """End what is in flight and close everything; what has ended can still be taken.

        Args:
            patience: Seconds after which what does not end is left behind; None to wait for it.
        """
        report = self.report
        self._no_more = self._runner.stopping = True
        if not report.ended_by or (report.in_flight and report.ended_by != "error"):
            report.ended_by = "interrupted"
        for worker in self._workers:
            worker.cancel()
        try:
            if self._workers:
                await asyncio.wait(self._workers, timeout=patience)
        finally:
            self._close()

    def _close(self) -> None:
        """Close everything but what a worker is still in."""
        for episode, worker in list(self._under_way.items()):
            if worker is None or worker.done():
                del self._under_way[episode]
                if not episode.left:
                    close_quietly(episode.env, episode.agent)
        self._seats.close()
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
        self._news.set()

    def _fail(self, error: BaseException) -> None:
        """Let an error end the run."""
        self._no_more = True
        if self.error is None:
            self.error = error
            self.report.ended_by = "error"

    async def _work(self) -> None:
        """Play episodes until there are no more numbers, or an error ends the run."""
        while (number := self._next_number()) is not None:
            attempt = await self._episode(number)
            taken = asyncio.get_running_loop().create_future()
            self.finished.append((attempt.trajectory, taken))
            self._news.set()
            if attempt.error is not None and self.plan.policy.on_error == "raise":
                env_id = attempt.trajectory.env_id
                index = attempt.trajectory.index
                attempt.error.add_note(f"In episode {index} of {env_id}; on_error is 'raise'.")
                self._fail(attempt.error)
                return
            await taken  # so a consumer that is slow is not overrun

    def _next_number(self) -> int | tuple[str, int] | None:
        if self._no_more:
            return None
        if self._has_budget:
            spent = self.report.spent(self.plan.budget, time.monotonic() - self._started)
            if spent:
                self._end_by(spent)
                return None
        number = next(self.plan.numbers, None)
        if number is None:
            self._end_by("done")
        else:
            self.report.begun += 1
        return number

    def _end_by(self, what: str) -> None:
        self._no_more = True
        self.report.ended_by = self.report.ended_by or what

    def _place(self, number: int | tuple[str, int]) -> tuple[str, int, int]:
        """Return an episode's source, its number, and the number of its group in that source."""
        if isinstance(number, int):
            source, rank = self._draw.place(number // self.plan.samples)
            return source, number, rank
        source, index = number
        if source not in self.plan.sources:
            raise ConfigError(
                f"There is no source {source!r}.{near_names(source, self.plan.sources)}"
            )
        return source, index, index // self.plan.samples

    async def _episode(self, number: int | tuple[str, int]) -> "_Attempt":
        """Play an episode, several times if the policy says so, and count it."""
        policy = self.plan.policy
        source, index, rank = self._place(number)
        group, sample = divmod(index, self.plan.samples)
        seed = child_seed(self.plan.seed, group)
        failures: list[Info] = []
        self.report.in_flight += 1
        try:
            while True:
                trajectory = Trajectory("", self.plan.agent_name, index, seed)
                trajectory.group, trajectory.sample, trajectory.source = group, sample, source
                trajectory.attempts, trajectory.failures = len(failures) + 1, failures
                attempt = await self._attempt(trajectory, rank)
                counts = self.report.env(source or attempt.trajectory.env_id)
                counts.spend(attempt.trajectory)
                counts.stragglers += attempt.late
                counts.abandoned += attempt.left
                error = attempt.trajectory.error
                if error is None or policy.on_error != "retry" or len(failures) >= policy.retries:
                    break
                failures.append(error)
                counts.retries += 1
        except asyncio.CancelledError:
            self.report.env(source or self._kinds.get("", ("", None))[0]).cancelled += 1
            raise
        finally:
            self.report.in_flight -= 1
        self._count(attempt.trajectory, counts)
        return attempt

    def _count(self, trajectory: Trajectory, counts: EnvReport) -> None:
        """Count an episode that has ended."""
        plan, group = self.plan, (trajectory.source, trajectory.group)
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
            self._draw.forget(trajectory.group)
            self._seats.end_start(group)
        if plan.sampler is not None:
            plan.sampler.update(trajectory)

    async def _attempt(self, trajectory: Trajectory, rank: int) -> "_Attempt":
        """Play an episode once."""
        source = trajectory.source
        trajectory.started_at = time.time()
        try:
            if self.plan.fork_groups and self.plan.samples > 1:
                episode = await self._forked(trajectory, rank)
                phases: tuple[Phase, ...] = (episode.play,)
            else:
                episode = await self._seated(trajectory, rank)
                phases = (episode.reset, episode.play)
        except (Exception, SystemExit) as error:
            if not self._seats.was_made(source):
                raise  # nothing can be played: no fault of an episode
            trajectory.env_id, spec = self._kinds[source]
            trajectory.error = error_record(error, "env")
            trajectory.success = success_of(spec, trajectory)
            return _Attempt(trajectory, error)
        if episode.error is None:
            await self._runner.run(episode, *phases)
        attempt = _Attempt(episode.finish(), episode.error, episode.late, episode.left)
        del self._under_way[episode]
        if not episode.left:
            await self._leave_seat(episode, source)
        return attempt

    async def _leave_seat(self, episode: Episode, source: str) -> None:
        """Keep what can be used again, and close what had a part in a failure."""
        error = episode.trajectory.error
        by_agent = error is not None and error["boundary"] == "agent"
        replace = error is not None and self.plan.policy.on_error == "retry"
        if replace or by_agent:
            close_quietly(episode.agent)
        else:
            self._seats.give_back_agent(episode.agent)
        if episode.forked or replace or (error is not None and not by_agent):
            await self._seats.close_one(episode.env)
        else:
            self._seats.give_back_env(source, episode.env)

    async def _seated(self, trajectory: Trajectory, rank: int, env: Env | None = None) -> Episode:
        """Return an episode that can be reset, or of an environment that was forked."""
        again = trajectory.attempts > 1
        if env is None:
            env, seconds = await self._seats.env(trajectory.source, fresh=again)
            trajectory.setup_seconds = seconds
        try:
            with boundary("agent"):
                agent = self._seats.agent(fresh=again)
        except BaseException:
            await self._seats.close_one(env)
            raise
        trajectory.env_id = name_of(env)
        self._kinds[trajectory.source] = trajectory.env_id, env.spec
        episode = Episode(env, agent, trajectory, rank, self.plan.policy)
        self._under_way[episode] = asyncio.current_task()
        return episode

    async def _forked(self, trajectory: Trajectory, rank: int) -> Episode:
        """Return an episode that is at its start: of the first one of a group, or a fork of it."""
        start = self._seats.start((trajectory.source, trajectory.group))
        async with start.lock:
            if start.env is None:
                episode = await self._seated(trajectory, rank)
                await self._runner.run(episode, episode.reset)
                if episode.error is None:
                    try:
                        start.env, _ = await self._seats.fork(episode.env)
                        start.first = episode.first
                    except (Exception, SystemExit) as error:  # noqa: BLE001 - data, not a crash
                        episode.fail(error)
                return episode
            env, seconds = await self._seats.fork(start.env)
        trajectory.setup_seconds = seconds
        episode = await self._seated(trajectory, rank, env)
        observation, info = start.first
        episode.show((observation, dict(info)), forked=True)
        return episode


@dataclass
class _Attempt:
    """What came of playing an episode once."""

    trajectory: Trajectory
    error: BaseException | None = None
    late: bool = False
    left: bool = False
