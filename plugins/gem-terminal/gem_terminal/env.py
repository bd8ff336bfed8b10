"""An agent at a terminal: it runs commands on a machine of its own until the task is done."""

import dataclasses
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from gem_core import Action, BaseAgent, BaseEnv, Env, Info, Observation, Step
from gem_core.calls import CallFormat, Catalog, FunctionFormat, Reading, Request
from gem_core.errors import ConfigError, MachineError
from gem_core.factory import make_call_format
from gem_core.faults import boundary
from gem_core.info import Grading, graded
from gem_core.observation import text_of
from gem_core.thoughts import after_thoughts
from gem_terminal.functions import FUNCTIONS
from gem_terminal.task import TerminalTask
from gem_terminal.tasks import Tasks, find_tasks
from gem_terminal.terminal_text import plain_text
from gem_terminal.verify import Carry, Grade, Verifier
from gem_workers.machine import (
    Machine,
    MachineProvider,
    MachineSnapshot,
    MachineSpec,
    ShellResult,
    check_path,
    make_machine_provider,
)

__all__ = ["SolutionOracle", "TerminalEnv"]

_BASH_BLOCK = re.compile(
    r"^```[ \t]*(?:bash|sh|shell|console)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE
)
_FINISH, _INTERRUPT = "finish", {"C-c", "^C", "\x03"}
_HOW_BASH = (
    "You work in bash on a machine of your own. In each turn, write one block\n\n"
    "```bash\nyour commands\n```\n\n"
    "and you will see what they print. The directory, variables and jobs stay from turn to turn. "
    "If a command is still running after {timeout:g} seconds, the next block is typed into it; a "
    "block with only C-c interrupts it. When the task is done, write a block with only the word "
    "finish."
)
_HOW_CALLS = (
    "You work on a machine of your own. Call functions to do so; call finish when the task is done."
)
_LIMITS = "You have {turns} turns, and {seconds:g} seconds for all commands together."
_NO_COMMAND = "This answer contains no command. Write one ```bash block."
_SKIPPED = "[not run]"
_HARMLESS = ("ls", "pwd", "cat /etc/os-release", "find . | sort | head", "finish")
_ROOT = {"root", "0"}
_LISTED = 100
"""The number of paths in ``info["left_behind"]``."""
_LAST_LINES = 3
"""The lines of the tests' output that say why a task failed."""
_TOOL = "terminal"
_NO_CALL = "This answer contains neither a call nor a ```bash block."


class TerminalEnv(BaseEnv):
    """Terminal tasks: an instruction, a machine, and tests that grade what was done.

    An action is an answer with a ``bash`` block or, with a call format, calls of ``FUNCTIONS``. The
    observation is what the commands printed, without escapes, with the exit status and the
    directory. The reward comes at the end and is what the task's tests say; an agent that does
    nothing gets 0. A machine or tests that fail raise an error: they are a fault, not a reward,
    unless they fail because of what the agent did (``info["ended_by"]``, and a reward of 0).

    ``info["forgeable"]`` says whether the agent could write its own reward; see ``Verifier``.

    ``info["seconds"]`` has the wall time of ``prepare`` and ``start`` of the machine, and of
    ``verify``; it is kept apart from the agent's. ``info["tool_calls"]`` has what was run: with its
    output, the exit status (None while it is running), the directory after it, and the one in
    ``prompt`` before it, which is empty where the text went to a running command.
    ``info["changed_files"]`` has the paths that are ``new``, ``changed`` and ``deleted`` at the
    end, in the mode ``fresh``.

    Args:
        tasks: ``sample`` for the tasks that are shipped, ``easy`` or ``hard`` for generated ones,
            ``harbor`` or ``terminal-bench`` for those of the folder ``data``, or an object.
        data: A folder with tasks, or with one task.
        machine: The id of a provider of machines, a mapping with an ``id`` and parameters, or a
            provider.
        call_format: The id of a call format, a mapping or an object; None for ``bash`` blocks.
        instructions: Where the functions are described: in the first observation (``text``), or in
            ``info["tool_schemas"]`` of ``reset`` (``schemas``).
        max_turns: The number of turns; then the episode is truncated.
        command_timeout: Seconds to wait for a command.
        output_limit: Bytes of output of a command to show, half of them from its beginning and half
            from its end.
        agent_timeout: Seconds for all commands of an episode together, after which it is truncated;
            None for the task's. The time in which the agent thinks does not count.
        grade_truncated: Whether a truncated episode is graded.
        mode: ``fresh`` to grade on a fresh machine with the agent's files, ``shared`` to grade on
            the agent's machine; None for the task's.
        carry: Which files of the agent are carried to the fresh machine; see ``Verifier``.

    Raises:
        ConfigError: A limit is not above 0, or a value is not known.
    """

    blocking = True
    unseeded_info = frozenset({"seconds", "verifier_output"})
    finish_action = f"```bash\n{_FINISH}\n```"
    """The action that ends the episode and has it graded."""
    shared: ClassVar[tuple[str, ...]] = ("_tasks", "_provider", "_verifier", "_format", "_catalog")

    def __init__(
        self,
        *,
        tasks: str | Tasks = "sample",
        data: str | Path | None = None,
        machine: str | Mapping[str, Any] | MachineProvider = "local",
        call_format: str | Mapping[str, Any] | CallFormat | None = None,
        instructions: Literal["text", "schemas"] = "text",
        max_turns: int = 50,
        command_timeout: float = 60.0,
        output_limit: int = 10_000,
        agent_timeout: float | None = None,
        grade_truncated: bool = True,
        mode: Literal["fresh", "shared"] | None = None,
        carry: Carry = "declared",
    ) -> None:
        limits = {
            "max_turns": max_turns,
            "command_timeout": command_timeout,
            "output_limit": output_limit,
            "agent_timeout": 1.0 if agent_timeout is None else agent_timeout,
        }
        for name, value in limits.items():
            if not value > 0:
                raise ConfigError(f"{name} must be above 0; got {value!r}.")
        if mode not in {None, "fresh", "shared"}:
            raise ConfigError(f"mode must be 'fresh' or 'shared'; got {mode!r}.")
        if carry not in get_args(Carry):
            raise ConfigError(f"carry must be 'declared' or 'all'; got {carry!r}.")
        if instructions not in {"text", "schemas"}:
            raise ConfigError(f"instructions must be 'text' or 'schemas'; got {instructions!r}.")
        super().__init__()
        self._tasks = find_tasks(tasks, data)
        self._provider = (
            machine if isinstance(machine, MachineProvider) else make_machine_provider(machine)
        )
        self._verifier = Verifier(self._provider, carry=carry)
        self._format = None if call_format is None else _format(call_format)
        self._catalog = Catalog({_TOOL: FUNCTIONS})
        self.instructions = instructions
        self.max_turns = max_turns
        self.command_timeout = command_timeout
        self.output_limit = output_limit
        self.agent_timeout = agent_timeout
        self.grade_truncated = grade_truncated
        self.mode = mode
        self._machine: Machine | None = None
        self.task: TerminalTask | None = None
        self.turns = 0
        self.seconds = 0.0
        self._is_running = False
        self._is_forgeable = False
        self._directory = ""

    @property
    def is_running(self) -> bool:
        """Whether a command of the agent is still running."""
        return self._is_running

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the task of episode ``number`` of a run; see ``BaseEnv``."""
        return self._tasks.reset_options(number, seed)

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Start a machine for the next task, or for task ``idx``.

        Raises:
            ConfigError: There is no task ``idx``, or no such machine.
            MachineError: No machine can be started.
        """
        self._close_machine()
        idx, task = self._tasks.draw(self.rng, idx)
        if self.mode is not None:
            task = dataclasses.replace(task, mode=self.mode)
        self.task, self.turns, self.seconds = task, 0, 0.0
        begin = time.monotonic()
        with boundary("sandbox"):
            self._provider.prepare(task.machine)
            prepared = time.monotonic()
            self._machine = self._provider.start(_agents_machine(task))
            self._is_forgeable = bool(self._verifier.why_forgeable(task))
        self._directory = self._machine.spec.workdir
        seconds = {"prepare": prepared - begin, "start": time.monotonic() - prepared}
        info: Info = {"task_id": task.id, "seconds": seconds, "forgeable": self._is_forgeable}
        if idx is not None:
            info["idx"] = idx
        if self._format is not None and self.instructions == "schemas":
            info["tool_schemas"] = [function.to_openai() for function in FUNCTIONS]
        return self._first_observation(task), info

    def _first_observation(self, task: TerminalTask) -> str:
        if self._format is None:
            how = _HOW_BASH.format(timeout=self.command_timeout)
        elif self.instructions == "schemas":
            how = _HOW_CALLS
        else:
            how = f"{_HOW_CALLS}\n\n{self._format.instructions(FUNCTIONS)}"
        limits = _LIMITS.format(turns=self.max_turns, seconds=self.seconds_allowed)
        return f"{how}\n{limits}\n\n{task.instruction.strip()}\n"

    @property
    def seconds_allowed(self) -> float:
        """The seconds that the agent has for the task that runs."""
        if self.agent_timeout is not None:
            return self.agent_timeout
        return self._running_task.agent_timeout

    @property
    def _running_task(self) -> TerminalTask:
        if self.task is None:
            raise self._not_running()
        return self.task

    @property
    def instruction(self) -> str:
        """What the task that runs asks for, without a word on how to act."""
        return self._running_task.instruction.strip()

    @property
    def machine(self) -> Machine:
        """The machine of the episode that runs.

        Raises:
            EpisodeEndedError: No episode runs.
        """
        if self._machine is None:
            raise self._not_running()
        return self._machine

    def step(self, action: Action) -> Step:
        """Run the commands of an answer."""
        self.turns += 1
        reading = self._read(action)
        info: Info = {"format_error": not reading.requests}
        outputs: list[str] = []
        calls: list[dict[str, Any]] = []
        is_finished = False
        for request in reading.requests:
            try:
                output, call = self._run(request)
            except MachineError as error:
                return self._lost(error, info)
            outputs.append(output)
            calls.append(call)
            is_finished = request.function == _FINISH
            if is_finished or self.seconds >= self.seconds_allowed:
                break
        if calls:
            info |= {"use_tool": True, "tool_calls": calls, "parsed_action": reading.text}
        observation = self._observation(reading, outputs, info)
        limit = "" if is_finished else self._limit_reached()
        if not is_finished and not limit:
            return Step(observation, 0.0, False, False, info)
        reward = 0.0
        if limit:
            info["truncated_by"] = limit
        if is_finished or self.grade_truncated:
            reward = self._grade(info)
        else:
            info["grading"] = self._grading(0.0, None, f"{limit} was reached, and nothing graded")
        self._close_machine()
        return Step(observation, reward, is_finished, bool(limit), info)

    def _lost(self, error: MachineError, info: Info) -> Step:
        """End the episode with 0: the agent has ended its machine, as others can be started.

        Raises:
            MachineError: They cannot.
        """
        with boundary("sandbox"):
            self._provider.start(_agents_machine(self._running_task)).close()
        self._close_machine()
        info |= {"ended_by": str(error), "forgeable": self._is_forgeable, "correct": False}
        info["grading"] = self._grading(0.0, None, f"the machine has ended: {error}")
        return Step(f"The machine has ended: {error}", 0.0, True, False, info)

    def _limit_reached(self) -> str:
        if self.seconds >= self.seconds_allowed:
            return "agent_timeout"
        return "max_turns" if self.turns >= self.max_turns else ""

    def _read(self, action: Action) -> Reading:
        """Return the calls of an action; without any, a bash block is a call of ``shell``."""
        if self._format is not None:
            reading = self._format.read(action)
            if reading.requests:
                return reading
        text = text_of(action)
        start = after_thoughts(text)
        block = _BASH_BLOCK.search(text[start:])
        if block is None:
            return Reading(action, (), text)
        command = block[1].rstrip("\n")
        if command.strip() == _FINISH:
            request = Request(_FINISH)
        else:
            request = Request("shell", {"command": command})
        shown = text[: start + block.end()]
        return Reading(action, (request,), shown, {"role": "assistant", "content": shown})

    def _run(self, request: Request) -> tuple[str, dict[str, Any]]:
        """Run a call; return its output and its record."""
        problem = self._catalog.problem(request)
        call: dict[str, Any] = {
            "tool": _TOOL,
            "function": request.function,
            "arguments": dict(request.arguments),
            "output": problem,
            "ok": not problem,
        }
        if problem or request.function == _FINISH:
            return problem, call
        begin = time.monotonic()
        with boundary("sandbox"):
            try:
                if request.function == "shell":
                    output, record = self._shell(**request.arguments)
                else:
                    output, record = self._write(**request.arguments)
            except MachineError as error:
                self.machine.processes()  # raises if the machine itself has ended
                output, record = str(error), {"output": str(error), "ok": False}
        self.seconds += time.monotonic() - begin
        return output, {**call, **record}

    def _shell(self, command: str, timeout: float | None = None) -> tuple[str, dict[str, Any]]:
        left = max(0.0, self.seconds_allowed - self.seconds)
        wait = min(left, self.command_timeout if timeout is None else max(0.0, timeout))
        shell = self.machine.shell()
        prompt = "" if self._is_running else self._directory
        if command.strip() in _INTERRUPT:
            result = shell.interrupt()
        else:
            text = command.replace("\0", "")
            typed = f"{text}\n" if text and self._is_running else text
            result = shell.send(typed, timeout=wait, output_limit=self.output_limit)
        self._is_running, self._directory = result.running, result.directory
        record = {
            "output": _printed(result),
            "ok": result.exit_status == 0,
            "exit_status": result.exit_status,
            "directory": result.directory,
            "prompt": prompt,
            "left_out": result.left_out,
        }
        return _shown(result, wait), record

    def _write(self, path: str, content: str) -> tuple[str, dict[str, Any]]:
        machine = self.machine
        problem = ""
        try:
            check_path(path)
            if machine.spec.user in _ROOT:
                machine.write(path, content)
            else:
                problem = _write_as_user(machine, path, content)
        except (ConfigError, MachineError) as error:
            problem = str(error)
        output = problem or f"Written: {path}"
        return output, {"output": output, "ok": not problem}

    def _observation(self, reading: Reading, outputs: list[str], info: Info) -> str:
        """Return the observation of the outputs, and note it as messages for a chat."""
        if not reading.requests:
            return _NO_COMMAND if self._format is None else _NO_CALL
        skipped = [_SKIPPED] * (len(reading.requests) - len(outputs))
        if self._format is None or not reading.message.get("tool_calls", reading.text != ""):
            return "\n".join([*outputs, *skipped])
        info["tool_messages"] = self._format.messages(reading, [*outputs, *skipped])
        return self._format.show(reading, [*outputs, *skipped])

    def _grade(self, info: Info) -> float:
        with boundary("grader"):
            grade: Grade = self._verifier.grade(self.machine, self._running_task)
        info["correct"] = grade.reward >= 1.0
        info["grading"] = self._grading(grade.reward, *_shown_grade(grade))
        info["forgeable"] = self._is_forgeable
        info["verifier_output"] = grade.output
        info["seconds"] = {"verify": grade.seconds}
        if grade.rewards:
            info["rewards"] = dict(grade.rewards)
        if grade.changes:
            info["changed_files"] = dict(grade.changes)
        if grade.left:
            info["left_behind"] = list(grade.left[:_LISTED])
        if grade.ended_by:
            info["ended_by"] = grade.ended_by
        return grade.reward

    def _grading(self, reward: float, extracted: str | None, reason: str) -> Grading:
        return graded(
            question=self.instruction,
            expected="the tests of the task pass",
            extracted=extracted,
            score=reward,
            reason=reason,
        )

    def solution(self) -> str:
        """Return an answer whose commands are the task's own solution; see ``SolutionOracle``."""
        task = self._running_task
        if not task.solution:
            raise ConfigError(f"The task {task.id!r} has no solution.")
        machine = self.machine
        if machine.spec.user not in _ROOT:
            owner = shlex.quote(machine.spec.user)
            machine.run(f"mkdir -p /solution && chown {owner} /solution", user="root", cwd="/")
        return _block(task.solution_script)

    def sample_random_action(self) -> Action:
        """Return an answer with a harmless command."""
        return _block(self.action_rng.choice(_HARMLESS))

    def get_state(self) -> dict[str, Any]:
        """Return the state; that of the machine is its files and its shell."""
        state = super().get_state()
        machine = state["_machine"]
        state["_machine"] = None if machine is None else machine.snapshot()
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Set the state; the machine starts anew, without the processes that were running."""
        saved: MachineSnapshot | None = state["_machine"]
        task: TerminalTask | None = state["task"]
        machine = None
        if saved is not None and task is not None:
            machine = self._provider.start(_agents_machine(task), saved)
        if "_machine" in self.__dict__:
            self._close_machine()
        super().set_state({**state, "_machine": machine, "_is_running": False})

    def _close_machine(self) -> None:
        machine, self._machine = self._machine, None
        self._is_running = False
        if machine is not None:
            machine.close()

    def close(self) -> None:
        """End the machine."""
        self._close_machine()
        super().close()


class SolutionOracle(BaseAgent):
    """An agent that runs the task's own solution, and finishes."""

    def reset(self, env: Env) -> None:
        """Start an episode."""
        self._env: Any = env.unwrapped
        self._has_begun = False

    def act(self, observation: Observation, info: Info) -> Action:
        """Run the solution; while it runs, wait; then finish."""
        if not self._has_begun:
            self._has_begun = True
            return str(self._env.solution())
        return _block("" if self._env.is_running else _FINISH)


def _agents_machine(task: TerminalTask) -> MachineSpec:
    """Return the specification of the agent's machine."""
    spec = task.machine
    return spec if task.agent_user is None else dataclasses.replace(spec, user=task.agent_user)


def _shown_grade(grade: Grade) -> tuple[str, str]:
    """Return what the tests gave, and which of them failed or else what they printed last."""
    passed = f"{sum(grade.tests.values())} of {len(grade.tests)} tests pass"
    found = passed if grade.tests else f"the tests give {grade.reward:.3g}"
    if grade.ended_by or grade.reward >= 1:
        return found, grade.ended_by or "all tests pass"
    failed = [name for name, is_passed in grade.tests.items() if not is_passed]
    parts = [f"{name} {value:.3g}" for name, value in grade.rewards.items() if value < 1]
    reason = f"failed: {', '.join(failed or parts)}" if failed or parts else ""
    last = "\n".join(grade.output.strip().splitlines()[-_LAST_LINES:])
    return found, reason or last or "the tests printed nothing"


def _write_as_user(machine: Machine, path: str, content: str) -> str:
    """Write a file with the rights of the machine's user; return the error, empty for none."""
    place = shlex.quote(path)
    script = f'mkdir -p -- "$(dirname -- {place})" && cat > {place}'
    return machine.run(script, stdin=content, cwd="/").stderr.strip()


def _block(command: str) -> str:
    return f"```bash\n{command}\n```"


def _format(part: str | Mapping[str, Any] | CallFormat) -> FunctionFormat:
    made = make_call_format(part)
    if not isinstance(made, FunctionFormat):
        raise ConfigError("call_format='tags' has no functions; use None, or another format.")
    return made


def _shown(result: ShellResult, waited: float) -> str:
    """Return the result of a command as the agent sees it."""
    text = _printed(result)
    if result.running:
        return f"{text}[still running after {waited:.0f} s]"
    return f"{text}[exit status {result.exit_status}, in {result.directory}]"


def _printed(result: ShellResult) -> str:
    """Return the output of a command as lines without escapes."""
    text = plain_text(result.text)
    return f"{text}\n" if text and not text.endswith("\n") else text
