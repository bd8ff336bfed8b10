"""Check tasks with real episodes: are their tests fair, and do they say the same each time?

The task's own solution must be paid 1, also while others run it; an agent that does nothing must be
paid 0, and so must each cheat.
"""

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Literal

from gem_core.errors import ConfigError, MachineError
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.folders import TaskFolder
from gem_terminal.placement import outlook_of
from gem_terminal.played_cheats import CheatReport, play_cheats
from gem_terminal.specs import CheatSpec
from gem_terminal.task import TerminalTask, UnsupportedTaskError
from gem_terminal.verify import not_found
from gem_workers.machine import MachineProvider, Outlook

__all__ = [
    "CHECKS",
    "Attempt",
    "Failure",
    "State",
    "TaskReport",
    "check_folders",
    "id_of",
    "why_skipped",
]

Agent = Literal["oracle", "idle"]
State = Literal["ok", "no solution", "failed", "fault", "skipped"]
CHECKS: dict[str, tuple[Agent, int, float]] = {
    "oracle": ("oracle", 2, 1.0),
    "idle": ("idle", 2, 0.0),
    "parallel": ("oracle", 4, 1.0),
}
"""The agent of each check, how often it plays, and what it must be paid."""

_NO_SOLUTION = "it has no solution, so nobody knows whether one would be paid"
_TRUSTED = "not tried: the mode shared trusts the agent"
_NOT_ISOLATED = "not tried: they would attack this host, as its machines are not isolated"
_SHOWN = 2_000
_SPARE_SECONDS = 5.0
"""How much longer than those of the solution tests may take that a cheat has disturbed."""


@dataclass(frozen=True)
class Attempt:
    """An episode of a check.

    Args:
        check: The name of the check.
        reward: The reward; None if there is none.
        seconds: Seconds of wall time.
        problem: What went wrong in the episode; empty if it ended as it should.
        output: The end of what the commands and the tests printed.
    """

    check: str
    reward: float | None
    seconds: float
    problem: str = ""
    output: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the episode ended well, with the reward that the check asks for."""
        return not self.problem and self.reward == CHECKS[self.check][2]


@dataclass(frozen=True)
class Failure:
    """A check that a task has failed.

    Args:
        check: The name of the check; ``task`` if the task cannot be read, ``machine`` if no machine
            can be made for it.
        message: What was found.
        output: The end of what the commands and the tests printed.
    """

    check: str
    message: str
    output: str = ""


@dataclass(frozen=True)
class TaskReport:
    """What was found of a task.

    Args:
        id: The id of the task; the name of the folder if it cannot be read.
        path: The folder.
        state: ``ok``; ``no solution`` if an agent that does nothing is paid 0, and nobody knows
            whether one that solves it would be paid; ``failed`` if the task is at fault; ``fault``
            if its machine is, as this host makes it; or ``skipped`` if it cannot be checked here.
        reason: Why it is none of the first two.
        failures: The checks that it failed.
        seconds: Seconds of wall time.
        attempts: The episodes of the checks, without those of cheats.
        cheats: What was found with cheats; None if they were not played.
        notes: What else a reader should know.
    """

    id: str
    path: str
    state: State
    reason: str = ""
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    cheats: CheatReport | None = None
    notes: tuple[str, ...] = ()


def id_of(found: TaskFolder) -> str:
    """Return the id of a task; the name of the folder if it cannot be read."""
    return found.path.resolve().name if found.task is None else found.task.id


def why_skipped(found: TaskFolder, provider: MachineProvider) -> str:
    """Return why a task cannot be checked here; empty if it can, or is malformed.

    Args:
        found: The task.
        provider: Starts the machines.
    """
    if found.task is None:
        return str(found.refusal) if isinstance(found.refusal, UnsupportedTaskError) else ""
    try:
        outlook = outlook_of(found.task, provider)
    except ConfigError:
        return ""
    return "; ".join(outlook.reasons) if outlook.state == "needs docker" else ""


def check_folders(
    folders: Sequence[TaskFolder],
    provider: MachineProvider,
    *,
    jobs: int = 4,
    cheats: Sequence[CheatSpec] = (),
) -> Generator[TaskReport, None, None]:
    """Check tasks, several at the same time; yield the reports as tasks are done.

    All machines are ended with the iterator, also where it is closed early.

    Args:
        folders: The tasks.
        provider: Starts the machines; it is closed at the end.
        jobs: The number of tasks that are checked at the same time.
        cheats: The cheats that are played.
    """
    stopped = threading.Event()
    pool = ThreadPoolExecutor(jobs)
    try:
        checks = [_TaskCheck(found, provider, stopped, cheats) for found in folders]
        for future in as_completed([pool.submit(check.run) for check in checks]):
            yield future.result()
    finally:
        stopped.set()
        provider.close()  # commands that are running end with an error
        pool.shutdown(cancel_futures=True)


class _TaskCheck:
    """Checks a task."""

    def __init__(
        self,
        found: TaskFolder,
        provider: MachineProvider,
        stopped: threading.Event,
        cheats: Sequence[CheatSpec],
    ) -> None:
        self._found = found
        self._provider = provider
        self._stopped = stopped
        self._cheats = cheats
        self._attempts: list[Attempt] = []
        self._cheat_report: CheatReport | None = None
        self._notes: list[str] = []

    def run(self) -> TaskReport:
        """Check the task."""
        begin = time.monotonic()
        reason = why_skipped(self._found, self._provider)
        failures = () if reason else tuple(self._failures())
        state: State = "skipped" if reason else "ok"
        task = self._found.task
        if failures:
            state, reason = self._blame(failures)
        elif not reason and task is not None and not task.is_solvable:
            state, reason = "no solution", _NO_SOLUTION
        return TaskReport(
            id_of(self._found),
            str(self._found.path),
            state,
            reason,
            failures,
            time.monotonic() - begin,
            tuple(self._attempts),
            self._cheat_report,
            tuple(self._notes),
        )

    def _blame(self, failures: Sequence[Failure]) -> tuple[State, str]:
        """Return whose fault it is that checks have failed, and why.

        It is the machine's if that cannot be made, or if something was not found on a machine that
        may lack what the task asks for; else the task's.
        """
        if any(failure.check == "machine" for failure in failures):
            return "fault", "its machine cannot be made here"
        task = self._found.task
        if task is None:
            return "failed", ""
        outlook = self._outlook(task)
        pays_for_nothing = any(one.check == "idle" and one.reward for one in self._attempts)
        lacks = sorted(
            {name for one in failures for name in not_found(f"{one.message}\n{one.output}")}
        )
        is_ours = lacks and outlook.state != "runs" and not pays_for_nothing
        if is_ours and all(one.check != "cheats" for one in failures):
            return "fault", f"not found: {', '.join(lacks)}; {'; '.join(outlook.reasons)}"
        self._notes += outlook.reasons
        return "failed", ""

    def _outlook(self, task: TerminalTask) -> Outlook:
        try:
            return outlook_of(task, self._provider)
        except ConfigError as error:
            return Outlook("may run", (str(error),))

    def _failures(self) -> Iterator[Failure]:
        task = self._found.task
        if task is None:
            yield Failure("task", f"malformed: {self._found.refusal}")
            return
        try:
            for spec in task.machines:
                self._provider.prepare(spec)
                self._provider.start(spec).close()
        except (ConfigError, MachineError) as error:
            yield Failure("machine", str(error))
        else:
            yield from self._failed_checks(task)

    def _failed_checks(self, task: TerminalTask) -> Iterator[Failure]:
        env = TerminalEnv(
            tasks=ListedTasks([task]), machine=self._provider, command_timeout=task.agent_timeout
        )
        failed = set[Agent]()
        for check, (agent, times, wanted) in CHECKS.items():
            if agent in failed or (agent == "oracle" and not task.is_solvable):
                continue
            parallel = times if check == "parallel" else 1
            with ThreadPoolExecutor(parallel) as pool:
                attempts = list(
                    pool.map(self._play, [env] * times, [task] * times, [check] * times)
                )
            self._attempts += attempts
            if wrong := [attempt for attempt in attempts if not attempt.is_right]:
                failed.add(agent)
                yield Failure(check, _message(attempts, wanted, task), wrong[0].output)
        if self._cheats and not failed:
            yield from self._failed_cheats(task)

    def _failed_cheats(self, task: TerminalTask) -> Iterator[Failure]:
        why = (
            _TRUSTED if task.mode == "shared" else "" if self._provider.isolated else _NOT_ISOLATED
        )
        if why:
            self._notes.append(f"cheats: {why}")
            return
        longest = max(attempt.seconds for attempt in self._attempts)
        limit = min(task.verifier_timeout, _SPARE_SECONDS + 2 * longest)
        limited = replace(task, verifier_timeout=limit)
        report, played = play_cheats(limited, self._provider, self._cheats, self._stopped)
        self._cheat_report = report
        if report.note:
            self._notes.append(report.note)
        if problem := report.problem(played):
            paid = () if report.flagged else report.paid
            wrong = [each for each in played if each.id in {*paid, *report.voids}]
            yield Failure("cheats", problem, wrong[0].output)

    def _play(self, parent: TerminalEnv, task: TerminalTask, check: str) -> Attempt:
        begin = time.monotonic()
        if self._stopped.is_set():
            return Attempt(check, None, 0.0, "stopped")
        env = parent.spawn(seed=0)
        try:
            reward, problem, output = _episode(env, task, CHECKS[check][0])
        except Exception as error:  # noqa: BLE001 - whatever it is, other tasks are checked all the same
            reward, problem, output = None, f"{type(error).__name__}: {error}", ""
        finally:
            env.close()
        return Attempt(check, reward, time.monotonic() - begin, problem, output)


def _episode(env: TerminalEnv, task: TerminalTask, agent: Agent) -> tuple[float, str, str]:
    """Play; return the reward, what went wrong, and the end of what was printed."""
    env.reset(seed=0)
    output = ""
    for _ in task.parts:
        if agent == "oracle":
            allowed = env.seconds_allowed
            step = env.step(env.solution())
            output += f"{step.observation}\n"
            if "truncated_by" in step.info:
                problem = f"the solution took longer than the agent's {allowed:g} s"
                return step.reward, problem, output[-_SHOWN:]
        step = env.step(env.finish_action)
        output += step.info.get("verifier_output", "")
        if step.terminated:
            break
    return step.reward, "", output[-_SHOWN:]


def _message(attempts: Sequence[Attempt], wanted: float, task: TerminalTask) -> str:
    paid = ["an error" if one.reward is None else f"{one.reward:g}" for one in attempts]
    problems = dict.fromkeys(one.problem for one in attempts if one.problem)
    together = " at the same time" if attempts[0].check == "parallel" else ""
    text = f"paid {', '.join(paid)}{together}, which must be {wanted:g} each time"
    if task.internet:
        text += " (the task may use the internet, which machines do not have)"
    return "; ".join([text, *problems])
