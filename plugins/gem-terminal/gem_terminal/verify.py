"""Grade a machine: carry the agent's files to a fresh one, run the tests, and read their reward."""

import contextlib
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from gem_core.errors import GemError, MachineError, SnapshotError
from gem_terminal.changed_files import ChangedFiles
from gem_terminal.checks import OTHER_USER, failed_checks
from gem_terminal.rewards import GradingError, read_reward, total_of
from gem_terminal.separate import copy_artifacts
from gem_terminal.services import begin_services
from gem_terminal.steps import begin_step
from gem_terminal.task import TaskStep, TerminalTask
from gem_workers.carried_files import CarriedFiles
from gem_workers.machine import FileChange, Machine, MachineProvider, MachineSnapshot, MachineSpec
from gem_workers.sandbox import Execution

__all__ = ["Carry", "Grade", "GradingError", "Verifier", "not_found"]

Carry = Literal["declared", "all"]

_LOGS = "/logs/verifier"
_SHOWN = 2_000
_ROOM = 1 << 28
"""Bytes of disk and of memory that tests may use, besides what the agent may."""
_RESULT = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b[ \t]+(\S+)", re.MULTILINE)
_MISSING = re.compile(
    r"No module named '?(?P<module>\w+)|(?P<command>[\w.+-]+): (?:command )?not found$",
    re.MULTILINE,
)
_NO_NETWORK = re.compile(
    r"Could not resolve host|Temporary failure (?:in name resolution|resolving)"
    r"|Name or service not known|Network is unreachable|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)"
)
"""Not a refused connection: the agent may have to start the server."""
_PREPARE = (
    f"mkdir -p {_LOGS} /tests; chown 0:0 / /logs; chmod 755 / /logs; chmod 700 {_LOGS} /tests"
)
_CLEAR = "rm -rf /logs /tests"
"""Both may be links that the agent has made, in the mode ``shared``."""
_HAS_TESTS = "[ -e /tests/test.sh ]"
_MODULES = "python3 -I -c 'import pkgutil; print(*{one.name for one in pkgutil.iter_modules()})'"
_HAS_USERS = f'file=$(mktemp) && chown {OTHER_USER}:{OTHER_USER} "$file"'


@dataclass(frozen=True)
class Grade:
    """What the tests of a task say.

    Args:
        reward: The reward.
        rewards: Its parts by name, if the tests wrote several.
        tests: The names of pytest's tests that have results, and whether each has passed.
        output: The end of what the tests printed.
        seconds: Seconds of wall time of the tests.
        left: Paths of the agent's files that were left behind.
        changes: Paths that the agent has changed, by kind; empty in the mode ``shared``.
        ended_by: Why the agent's files or programs kept the tests from giving a reward, which is
            then 0; empty if the tests gave it.
        missing: Modules and commands that were not found while the tests ran.
        details: What else ``info`` says at the end of the episode.
    """

    reward: float
    rewards: Mapping[str, float] = field(default_factory=dict)
    tests: Mapping[str, bool] = field(default_factory=dict)
    output: str = ""
    seconds: float = 0.0
    left: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    ended_by: str = ""
    missing: frozenset[str] = frozenset()
    details: Mapping[str, Any] = field(default_factory=dict)


class _Image(NamedTuple):
    """What a machine of an image has before an agent has touched it."""

    modules: frozenset[str]
    env: Mapping[str, str]
    has_users: bool


class Verifier:
    """Grades machines of one provider.

    Args:
        provider: Starts the machines that grade.
        carry: Which files of the agent are carried to a fresh machine: ``declared`` for those of
            the working directory, of folders of data, and those that the task declares; ``all``
            for nearly all, with which an agent can decide what its work is graded with.
    """

    def __init__(self, provider: MachineProvider, *, carry: Carry = "declared") -> None:
        self._provider = provider
        self._carry = carry
        self._images: dict[tuple[str, str], _Image] = {}
        self._untouched: dict[tuple[str, str, str], Grade | Exception] = {}
        self._solvable: dict[str, bool] = {}

    def why_forgeable(self, task: TerminalTask) -> str:
        """Return how an agent could write its own reward; empty if it cannot.

        Raises:
            MachineError: A machine is needed to find out, and cannot be started.
        """
        return next(filter(None, (self._why_forgeable(part.task) for part in task.parts)), "")

    def _why_forgeable(self, task: TerminalTask) -> str:
        if task.mode == "shared":
            return "the tests run on the agent's machine"
        if self._carry == "all":
            return "all files of the agent are carried to the machine that grades"
        forgeable = task.forgeable or task.forgeable_by_services
        if forgeable or not task.other_user:
            return forgeable
        return "" if self._image(task.machine).has_users else "machines have one user only here"

    def grade(self, machine: Machine, task: TerminalTask, number: int = 0) -> Grade:
        """Grade what an agent has done in a step.

        After the last step, and in the mode ``shared``, the machine is of no use any more; after
        others, nothing on it has changed, and its processes run on.

        Where this fails, an untouched machine is graded, once for each step. If that fails too, the
        task or the host is at fault; if not, it is due to what the agent has left, and paid 0.

        Args:
            machine: The agent's machine.
            task: The task.
            number: Which of its steps has ended, from 0.

        Raises:
            GradingError: The tests write no finite reward, do not end in time, or need what the
                machine does not have.
            MachineError: A machine failed.
        """
        begin = time.monotonic()
        step, ends = task.parts[number], number + 1 == len(task.parts)
        try:
            if ends or step.task.mode == "shared":
                grade = self._grade(machine, step.task)
            else:  # a copy has no processes that could change files while they are carried
                with contextlib.closing(machine.fork()) as copy:
                    grade = self._grade(copy, step.task)
        except (GradingError, MachineError, SnapshotError) as fault:
            self._check_untouched(step, machine.spec, fault)
            return Grade(0.0, ended_by=str(fault), seconds=time.monotonic() - begin)
        if grade.reward < 1 and grade.missing:
            untouched = self._untouched_grade(step, machine.spec)
            missing = grade.missing & getattr(untouched, "missing", frozenset())
            if missing and not self._is_solvable(task, number, machine.spec):
                raise GradingError(
                    f"The tests of {step.task.id!r} need {', '.join(sorted(missing))}, which the "
                    f"machine does not have, and would pay nobody: {grade.output}"
                )
        return grade

    def check_beginning(self, task: TerminalTask, number: int, spec: MachineSpec) -> None:
        """Raise if a step does not begin on a machine that no agent has touched.

        Where the earlier steps have reference solutions, these have been run there.

        Args:
            task: The task.
            number: Which of its steps, from 0.
            spec: That of the agent's machine.

        Raises:
            MachineError: It does not begin: a fault of the task or the host.
        """
        with self._start(spec) as machine:
            _lead_up(machine, task.parts[: number + 1])

    def _grade(self, machine: Machine, task: TerminalTask) -> Grade:
        if task.mode == "shared":
            return self.run_tests(machine, task)
        machine.kill_all()
        spec = _grading_spec(task, machine.spec)
        if task.verifier_machine is not None:
            with self._start(spec) as apart:
                carried = self.carried_files(task, spec)
                left = copy_artifacts(machine, apart, task.artifacts, carried)
                return replace(self.run_tests(apart, task), left=left)
        carried = self.carried_files(task, spec)
        changes = ChangedFiles.on(machine)

        def keeps(change: FileChange) -> bool:
            changes.add(change)
            return carried.keeps(change)

        with self._start(spec, machine.snapshot(keep=keeps)) as fresh:
            for path, content in spec.files.items():
                if path in carried.left or not carried.would_keep(path):
                    fresh.write(path, content)
            begin_services(fresh, task)
            grade = self.run_tests(fresh, task)
            return replace(grade, left=tuple(carried.left), changes=changes.to_info())

    def _start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> Any:
        """Start a machine with room for the tests; return it as a context that closes it."""
        roomy = replace(spec, disk=spec.disk + _ROOM, memory=spec.memory + _ROOM)
        return contextlib.closing(self._provider.start(roomy, snapshot))

    def carried_files(self, task: TerminalTask, spec: MachineSpec) -> CarriedFiles:
        """Return what decides about each file of the agent.

        Args:
            task: The task.
            spec: That of the machine that grades.
        """
        modules, env = frozenset[str](), spec.env
        if task.reward != "checks":  # which run no program in a folder of the agent
            image = self._image(spec)
            modules, env = image.modules, {**image.env, **spec.env}
        return CarriedFiles(
            spec.workdir,
            declared=task.artifacts,
            instruction=task.instruction,
            modules=modules,
            env=env,
            everything=self._carry == "all",
        )

    def _image(self, spec: MachineSpec) -> _Image:
        key = spec.image, spec.build
        if key not in self._images:
            with self._start(spec) as machine:
                modules = machine.run(_MODULES, cwd="/").stdout.split()
                lines = machine.run("env -0", cwd="/").stdout.split("\0")
                env = dict(line.split("=", 1) for line in lines if "=" in line)
                has_users = machine.run(_HAS_USERS, user="root", cwd="/").ok
            self._images[key] = _Image(frozenset(modules), env, has_users)
        return self._images[key]

    def _check_untouched(self, step: TaskStep, spec: MachineSpec, fault: GemError) -> None:
        """Raise unless an untouched machine can be graded, so that a fault is due to the agent."""
        if not isinstance(fault, GradingError):  # perhaps no machine can be started any more
            with self._start(_grading_spec(step.task, spec)):
                pass
        untouched = self._untouched_grade(step, spec)
        if not isinstance(untouched, Grade):
            raise type(fault)(f"{fault} This happens without an agent too.") from untouched

    def _untouched_grade(self, step: TaskStep, spec: MachineSpec) -> Grade | Exception:
        spec = _grading_spec(step.task, spec)
        key = step.task.id, spec.image, spec.build
        if key not in self._untouched:
            with self._start(spec) as machine:
                try:
                    if step.task.verifier_machine is None:
                        begin_services(machine, step.task)
                        begin_step(machine, step)
                    self._untouched[key] = self.run_tests(machine, step.task)
                except (GradingError, MachineError) as error:
                    self._untouched[key] = error.with_traceback(None)  # it would keep the machine
        return self._untouched[key]

    def _is_solvable(self, task: TerminalTask, number: int, spec: MachineSpec) -> bool:
        """Return whether a step has a reference solution that the tests pay for."""
        steps = task.parts[: number + 1]
        key = steps[-1].task.id
        if key not in self._solvable:
            has_solutions = all(step.task.solution for step in steps)
            self._solvable[key] = has_solutions and self._is_solved(steps, spec)
        return self._solvable[key]

    def _is_solved(self, steps: Sequence[TaskStep], spec: MachineSpec) -> bool:
        last = steps[-1].task
        with self._start(replace(spec, user=last.machine.user)) as machine:
            try:
                _lead_up(machine, steps)
                machine.run(last.solution_script, timeout=last.agent_timeout, user="root")
                return self._grade(machine, last).reward > 0
            except (GradingError, MachineError, SnapshotError):
                return False

    def run_tests(self, machine: Machine, task: TerminalTask) -> Grade:
        """Run the tests of a task on the machine that grades; return what they say.

        Args:
            machine: The machine, with what was carried to it.
            task: The task.

        Raises:
            GradingError: They say nothing.
            MachineError: The machine failed.
        """
        start = time.monotonic()
        if task.reward == "checks":
            failed = failed_checks(machine, task.checks)
            seconds = time.monotonic() - start
            return Grade(float(not failed), output="\n".join(failed)[-_SHOWN:], seconds=seconds)
        execution = _execute(machine, task)
        seconds = time.monotonic() - start
        everything = f"{execution.stdout}{execution.stderr}"
        output, missing = everything[-_SHOWN:], _missing(everything, task)
        if execution.limit is not None:
            raise GradingError(
                f"The tests of {task.id!r} were ended by the limit {execution.limit} after "
                f"{seconds:.1f} s: {output}"
            )
        if task.reward == "pytest":
            tests = _results(task, execution)
            reward = float(all(tests.values()))
            return Grade(reward, tests=tests, output=output, seconds=seconds, missing=missing)
        value = read_reward(machine, task.id, output)
        rewards = value if isinstance(value, dict) else {}
        return Grade(total_of(value), rewards, output=output, seconds=seconds, missing=missing)


def _grading_spec(task: TerminalTask, spec: MachineSpec) -> MachineSpec:
    """Return what grades: a machine like the agent's, but for its user, or one of its own."""
    return task.verifier_machine or replace(spec, user=task.machine.user)


def _lead_up(machine: Machine, steps: Sequence[TaskStep]) -> None:
    """Begin the last of some steps; before, begin and solve the others."""
    begin_services(machine, steps[0].task)
    for step in steps[:-1]:
        begin_step(machine, step)
        if step.task.solution:
            machine.run(step.task.solution_script, timeout=step.task.agent_timeout, user="root")
    begin_step(machine, steps[-1])


def _execute(machine: Machine, task: TerminalTask) -> Execution:
    """Copy the tests to where only their user can reach them, and run them."""
    is_apart = task.mode == "fresh" and task.verifier_machine is not None
    prepare = _PREPARE if is_apart else f"{_CLEAR}; {_PREPARE}"
    prepared = machine.run(f"set -e; {prepare}", user="root", cwd="/")
    if not prepared.ok:
        raise MachineError(f"The folders of the tests cannot be made: {prepared.stderr}")
    if not (is_apart and machine.run(_HAS_TESTS, user="root", cwd="/").ok):
        for path, content in task.tests.items():
            machine.write(f"/tests/{path}", content, mode=0o755)
    user = _user(task) or machine.spec.user
    if user not in {"root", "0"}:
        machine.run(f"chown -R {shlex.quote(user)} {_LOGS} /tests", user="root", cwd="/")
    execution = machine.run(
        task.verify_command, timeout=task.verifier_timeout, user=user, env=task.verifier_env
    )
    machine.kill_all()  # before the reward is read: nothing writes it any more
    return execution


def not_found(output: str) -> set[str]:
    """Return the modules and commands that a program's output says were not found.

    ``a network`` is among them if it looked for one.
    """
    found = {match["module"] or match["command"] for match in _MISSING.finditer(output)}
    return found | ({"a network"} if _NO_NETWORK.search(output) else set())


def _missing(output: str, task: TerminalTask) -> frozenset[str]:
    """Return the modules and commands that were not found and that the task does not mention."""
    found = not_found(output)
    solution = b"\n".join(task.solution.values()).decode("utf-8", "replace")
    told = f"{task.instruction}\n{solution}"
    return frozenset(name for name in found if not re.search(rf"\b{re.escape(name)}\b", told))


def _user(task: TerminalTask) -> str | None:
    """Return the user that runs the tests; None for the user of the machine."""
    if task.verifier_user or task.mode == "fresh" or task.agent_user is None:
        return task.verifier_user
    return task.machine.user or "root"  # the machine's user is the agent's


def _results(task: TerminalTask, execution: Execution) -> dict[str, bool]:
    """Return the results of pytest's short summary; a test that is listed twice must pass twice."""
    found = _RESULT.findall(execution.stdout)
    if not found:
        raise GradingError(
            f"The tests of {task.id!r} printed no results of pytest (it needs -rA): "
            f"{execution.stdout[-_SHOWN:]}{execution.stderr[-_SHOWN:]}"
        )
    tests: dict[str, bool] = {}
    for outcome, name in found:
        tests[name] = outcome in {"PASSED", "XFAIL"} and tests.get(name, True)
    return tests
