"""A task in a terminal, whatever format it was read from."""

import base64
import math
import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePosixPath
from typing import Any, Literal

from gem_core.errors import ConfigError
from gem_terminal.services import ServiceProcess
from gem_workers.machine import MachineSpec, check_path

__all__ = ["Check", "TaskStep", "TerminalTask", "UnsupportedTaskError"]

Check = Mapping[str, Any]
"""A check from the host: its kind and its fields; see ``gem_terminal.checks``."""

_TIMEOUTS = ("agent_timeout", "verifier_timeout")
_PLAIN = re.compile(r"(?:[^\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\n]{0,1000}\n)+")
"""Texts that a here-document holds unchanged, in lines that a terminal takes."""
_REWARDS = ("harbor", "pytest", "checks")
_STEP_REWARDS = ("mean", "final")


class UnsupportedTaskError(ConfigError):
    """A task is well-formed, but needs what no machine of gem-core has."""


@dataclass(frozen=True, kw_only=True)
class TerminalTask:
    """An instruction, the machine on which it is carried out, and the program that grades it.

    Args:
        id: The name of the task.
        instruction: What the agent is told.
        machine: What the machine starts with. Its network is ``none``; see ``internet``.
        prebuilt: The name of an image that was built from ``machine.build``; empty for none.
        internet: Whether the author of the task lets the agent use the internet.
        tests: Files that are written when the agent has finished: path below ``/tests`` to content.
        verify_command: The command that grades, run in the machine's working directory.
        verifier_timeout: Seconds of wall time for ``verify_command``.
        verifier_env: Environment variables of ``verify_command``.
        verifier_user: The user that runs it; None for the machine's.
        agent_timeout: Seconds of wall time that the agent has.
        agent_user: The user that runs the agent's commands; None for the machine's.
        solution: Files of the reference solution: path below ``/solution`` to content. The script
            ``solve.sh`` is run with bash. Empty if there is none.
        solution_env: Environment variables of the reference solution.
        mode: Where ``verify_command`` runs: on a ``fresh`` machine with the agent's files, or on
            the machine that the agent used (``shared``), with the processes that it left.
        reward: Where the reward comes from: ``harbor`` for ``/logs/verifier/reward.json``, or
            ``reward.txt`` beside it; ``pytest`` for the results in the output of
            ``verify_command``; ``checks`` for ``checks``, which need no tests.
        checks: What is checked from the host; see ``gem_terminal.checks``.
        artifacts: Absolute paths of files and folders that are carried to the machine that grades,
            besides the working directory and folders of data.
        verifier_machine: The machine that grades in the mode ``fresh``, if it has an image of its
            own. It gets nothing of the agent's but ``artifacts`` and ``/logs/artifacts``, and
            ``tests`` only if the image has no ``/tests/test.sh``. None for a fresh machine as the
            agent had one.
        services: What runs beside the agent on its machine, and beside tests in the mode ``fresh``.
        steps: What the agent is asked for one after the other on one machine, in order; empty for a
            task of one step. The task itself then has the first step's instruction, tests and
            limits.
        step_reward: The reward of a task with steps: the ``mean`` of those that were played, or
            that of the ``final`` one of them.
        forgeable: How a program of the agent could write the reward while the tests run it; empty
            if none could.
        other_user: Whether the tests run programs of the agent as another user, so that the task is
            forgeable on machines that have one user only.
        metadata: What else the author says about the task.
        unread: Names of fields that the reader did not use, such as ``environment.skills_dir``.

    Raises:
        ConfigError: A value is not valid.
    """

    id: str
    instruction: str
    machine: MachineSpec = field(default_factory=MachineSpec)
    prebuilt: str = ""
    internet: bool = False
    tests: Mapping[str, bytes] = field(default_factory=dict)
    verify_command: str = "bash /tests/test.sh"
    verifier_timeout: float = 600.0
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    verifier_user: str | None = None
    agent_timeout: float = 600.0
    agent_user: str | None = None
    solution: Mapping[str, bytes] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    mode: Literal["fresh", "shared"] = "fresh"
    reward: Literal["harbor", "pytest", "checks"] = "harbor"
    checks: tuple[Check, ...] = ()
    artifacts: tuple[str, ...] = ()
    verifier_machine: MachineSpec | None = None
    services: tuple[ServiceProcess, ...] = ()
    steps: tuple["TaskStep", ...] = ()
    step_reward: Literal["mean", "final"] = "mean"
    forgeable: str = ""
    other_user: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("id", "instruction", "verify_command"):
            if not getattr(self, name).strip():
                raise ConfigError(f"{name} of a task must not be empty.")
        for name in _TIMEOUTS:
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} must be a number of seconds above 0; got {value!r}.")
        if self.mode not in {"fresh", "shared"}:
            raise ConfigError(f"mode must be 'fresh' or 'shared'; got {self.mode!r}.")
        self.check_reward()
        for path in (*self.tests, *self.solution):
            _check_relative(path)

    @property
    def parts(self) -> tuple["TaskStep", ...]:
        """The steps; for a task without any, one that is the task itself."""
        return self.steps or (TaskStep(task=self),)

    @property
    def machines(self) -> tuple[MachineSpec, ...]:
        """The agent's machine, and those with an image of their own that grade."""
        others = (part.task.verifier_machine for part in self.parts)
        return (self.machine, *(one for one in others if one is not None))

    @property
    def forgeable_by_services(self) -> str:
        """How a service could write the reward: beside the tests, it may run the agent's files."""
        if self.mode == "shared" or self.verifier_machine is not None:
            return ""
        tests = self.verifier_user or self.machine.user
        started = [one for one in self.services if one.command]
        users = {one.user or self.machine.user for one in started} & {"", "root", "0", tests}
        return "services, which may run files of the agent, run beside the tests" if users else ""

    @property
    def is_solvable(self) -> bool:
        """Whether each step has a reference solution."""
        return all(part.task.solution for part in self.parts)

    def in_mode(self, mode: Literal["fresh", "shared"]) -> "TerminalTask":
        """Return the task, with all its steps, with tests that run elsewhere; see ``mode``."""
        steps = tuple(replace(step, task=step.task.in_mode(mode)) for step in self.steps)
        return replace(self, mode=mode, steps=steps)

    @property
    def solution_script(self) -> str:
        """Shell commands that write the files of the reference solution and run it."""
        lines = ["mkdir -p /solution"]
        for path, content in self.solution.items():
            place = shlex.quote(f"/solution/{path}")
            if "/" in path:
                lines.append(f'mkdir -p "$(dirname {place})"')
            lines += _writing(place, content)
        variables = [f"{name}={shlex.quote(text)}" for name, text in self.solution_env.items()]
        lines.append(" ".join([*variables, "bash /solution/solve.sh"]))
        return "\n".join(lines)

    def check_reward(self) -> None:
        """Raise ``ConfigError`` unless the task has what its ``reward`` comes from."""
        if self.reward not in _REWARDS:
            raise ConfigError(f"reward must be one of {', '.join(_REWARDS)}; got {self.reward!r}.")
        if self.step_reward not in _STEP_REWARDS:
            raise ConfigError(f"step_reward must be 'mean' or 'final'; got {self.step_reward!r}.")
        wanted = "checks" if self.reward == "checks" else "tests"
        if not getattr(self, wanted) and self.verifier_machine is None:
            raise ConfigError(f"A task with reward={self.reward!r} has {wanted}.")
        for path in self.artifacts:
            check_path(path)


@dataclass(frozen=True, kw_only=True)
class TaskStep:
    """A step of a task.

    Args:
        task: What the step asks for, and how it is graded: a task without steps.
        name: The name of the step; empty for a task that has no steps.
        files: Files that are put into the working directory when the step begins: relative path to
            content. Of these, ``setup.sh`` is then run there by the agent's user.
        healthcheck: A command that must succeed after that, before the agent is asked; it may wait
            until it does. Empty for none.
        health_timeout: Seconds that it may take.
        min_reward: The rewards, by name, below which no further step follows. A reward without a
            name has the name ``reward``; one that is not there counts as below.

    Raises:
        ConfigError: A path of a file is not valid.
    """

    task: TerminalTask
    name: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    healthcheck: str = ""
    health_timeout: float = 60.0
    min_reward: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.files:
            _check_relative(path)


def _check_relative(path: str) -> None:
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise ConfigError(f"A file of a task has a relative path without '..'; got {path!r}.")


def _writing(place: str, content: bytes) -> list[str]:
    """Return the lines of a shell command that writes a file: as it is if it is plain text."""
    text = content.decode("utf-8", "replace")
    if _PLAIN.fullmatch(text) and "```" not in text:
        lines = text.split("\n")[:-1]
        end = next(f"END{n or ''}" for n in count() if f"END{n or ''}" not in lines)
        return [f"cat > {place} <<'{end}'", *lines, end]
    encoded = base64.b64encode(content).decode()
    return [f"base64 -d > {place} <<'END'", *textwrap.wrap(encoded, 1000), "END"]
