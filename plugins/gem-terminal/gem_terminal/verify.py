"""Grade a machine: lay the tests, run them, and read the reward that they write."""

import contextlib
import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gem_core.errors import GemError, MachineError
from gem_core.machine import FileChange, Machine, MachineProvider, MachineSpec
from gem_core.sandbox import Execution
from gem_terminal.changed_files import ChangedFiles
from gem_terminal.takeover import Takeover
from gem_terminal.task import TerminalTask

__all__ = ["Grade", "GradingError", "Verifier"]

_LOGS = "/logs/verifier"
_REWARD_FILES = (f"{_LOGS}/reward.json", f"{_LOGS}/reward.txt")
_SHOWN = 2_000
_LARGEST = 1 << 20
_RESULT = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b[ \t]+(\S+)", re.MULTILINE)
_COMMANDS = (
    "IFS=:; for folder in $PATH /bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin; do "
    'ls -1 "$folder" 2>/dev/null; done | sort -u'
)


class GradingError(GemError, RuntimeError):
    """The tests of a task gave no reward; this is a fault of the task or the machine."""


@dataclass(frozen=True)
class Grade:
    """What the tests of a task say.

    Args:
        reward: The reward.
        rewards: Its parts by name, if the tests wrote several.
        tests: The names of pytest's tests that have results, and whether each has passed.
        output: The end of what the tests printed.
        seconds: Seconds of wall time of the tests.
        left: Paths of the agent's files that were left behind, as tests might have run with them.
        changes: Paths that the agent has changed, by kind; empty in the mode ``shared``.
    """

    reward: float
    rewards: Mapping[str, float] = field(default_factory=dict)
    tests: Mapping[str, bool] = field(default_factory=dict)
    output: str = ""
    seconds: float = 0.0
    left: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)


class Verifier:
    """Grades machines of one provider.

    Args:
        provider: Starts the machines that grade.
    """

    def __init__(self, provider: MachineProvider) -> None:
        self._provider = provider
        self._commands: dict[tuple[str, str], frozenset[str]] = {}

    def grade(self, machine: Machine, task: TerminalTask) -> Grade:
        """Grade what an agent has done; the machine is of no use afterwards.

        Args:
            machine: The agent's machine.
            task: The task.

        Raises:
            GradingError: The tests wrote no finite reward, or did not end in time.
            MachineError: A machine failed.
        """
        if task.mode == "shared":
            return self._run(machine, task)
        machine.kill_all()
        spec = replace(machine.spec, user=task.machine.user)  # not the agent's
        takeover = Takeover(instruction=task.instruction, commands=self._names_of_commands(spec))
        changes = ChangedFiles.on(machine)

        def keeps(change: FileChange) -> bool:
            changes.add(change)
            return takeover.keeps(change)

        snapshot = machine.snapshot(keep=keeps)
        fresh = self._provider.start(spec, snapshot)
        try:
            for path in takeover.left:
                if path in spec.files:
                    fresh.write(path, spec.files[path])
            grade = self._run(fresh, task)
            return replace(grade, left=tuple(takeover.left), changes=changes.to_info())
        finally:
            fresh.close()

    def _names_of_commands(self, spec: MachineSpec) -> frozenset[str]:
        """Return the names of the commands of an image, as a machine that no agent has touched."""
        key = spec.image, spec.build
        if key not in self._commands:
            machine = self._provider.start(spec)
            try:
                found = machine.run(_COMMANDS)
            finally:
                machine.close()
            self._commands[key] = frozenset(found.stdout.split("\n"))
        return self._commands[key]

    def _run(self, machine: Machine, task: TerminalTask) -> Grade:
        # Both may be links that the agent has made, in the mode "shared".
        made = f"rm -rf /logs /tests && mkdir -p {_LOGS} && chmod 777 {_LOGS}"
        machine.run(made, user="root", cwd="/")
        for path, content in task.tests.items():
            machine.write(f"/tests/{path}", content, mode=0o755)
        start = time.monotonic()
        execution = machine.run(
            task.verify_command,
            timeout=task.verifier_timeout,
            user=_user(task),
            env=task.verifier_env,
        )
        seconds = time.monotonic() - start
        machine.kill_all()  # before the reward is read: nothing writes it any more
        output = f"{execution.stdout}{execution.stderr}"[-_SHOWN:]
        if execution.limit is not None:
            raise GradingError(
                f"The tests of {task.id!r} were ended by the limit {execution.limit} after "
                f"{seconds:.1f} s: {output}"
            )
        if task.reward == "pytest":
            tests = _results(task, execution)
            return Grade(float(all(tests.values())), tests=tests, output=output, seconds=seconds)
        value = _read(machine, task, output)
        rewards = value if isinstance(value, dict) else {}
        reward = _total(rewards) if isinstance(value, dict) else value
        return Grade(reward, rewards, output=output, seconds=seconds)


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


def _read(machine: Machine, task: TerminalTask, output: str) -> float | dict[str, float]:
    """Return the reward that the tests have written: a number, or numbers by name."""
    for path in _REWARD_FILES:
        with contextlib.suppress(MachineError):
            text = machine.read(path, limit=_LARGEST).decode("utf-8", "replace").strip()
            value = _parsed(text)
            if value is None:
                raise GradingError(
                    f"The tests of {task.id!r} wrote {text[:200]!r} to {path}, which is neither a "
                    f"finite number nor an object of finite numbers."
                )
            return value
    raise GradingError(
        f"The tests of {task.id!r} wrote neither {' nor '.join(_REWARD_FILES)}. They printed: "
        f"{output or 'nothing'}"
    )


def _parsed(text: str) -> float | dict[str, float] | None:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    if _is_finite(value):
        return float(value)
    if isinstance(value, dict) and value and all(map(_is_finite, value.values())):
        return {str(name): float(number) for name, number in value.items()}
    return None


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    with contextlib.suppress(OverflowError):
        return math.isfinite(float(value))
    return False


def _total(rewards: Mapping[str, float]) -> float:
    """Return the part named ``reward``, or else the mean of all."""
    return rewards["reward"] if "reward" in rewards else sum(rewards.values()) / len(rewards)
