"""An agent at a terminal: it runs commands on a machine of its own until the task is done."""

import dataclasses
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from gem_core import Action, BaseEnv, Info, Observation, Step
from gem_core.calls import CallFormat, Catalog, FunctionFormat, Reading, Request
from gem_core.errors import ConfigError, MachineError
from gem_core.factory import make_call_format
from gem_core.faults import boundary
from gem_core.observation import text_of
from gem_core.thoughts import after_thoughts
from gem_core.tool import Function
from gem_terminal.acting import ROOT, send, write_file
from gem_terminal.functions import FUNCTIONS
from gem_terminal.grading_info import note_grade, note_steps, note_unpaid
from gem_terminal.placement import stand_in_of
from gem_terminal.progress import Progress
from gem_terminal.services import begin_services
from gem_terminal.steps import begin_step
from gem_terminal.task import TerminalTask
from gem_terminal.tasks import Tasks, find_tasks
from gem_terminal.verify import Carry, Grade, Verifier
from gem_workers.machine import (
    Machine,
    MachineProvider,
    MachineSnapshot,
    MachineSpec,
    make_machine_provider,
)

__all__ = ["TerminalEnv"]

_BASH_BLOCK = re.compile(
    r"^```[ \t]*(?:bash|sh|shell|console)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE
)
_HOW_BASH = (
    "You work in bash on a machine of your own. In each turn, write one block\n\n"
    "```bash\nyour commands\n```\n\n"
    "and you will see what they print. The directory, variables and jobs stay from turn to turn. "
    "If a command is still running after {timeout:g} seconds, the next block is typed into it; a "
    "block with only C-c interrupts it. When the task is done, write a block with only the word "
    "{finish}."
)
_HOW_CALLS = (
    "You work on a machine of your own. Call functions to do so; call {finish} when the task is "
    "done."
)
_LIMITS = "You have {turns} turns, and {seconds:g} seconds for all commands together."
_STEPS = (
    "The task has {count} steps on this machine. When one is done, finish it; you then read the "
    "next one. The limits are those of one step."
)
_NEXT = "Step {number} of {count}: {name}. {limits}\n\n{instruction}\n"
_NO_COMMAND = "This answer contains no command. Write one ```bash block."
_SKIPPED = "[not run]"
_HARMLESS = ("ls", "pwd", "cat /etc/os-release", "find . | sort | head")
_TOOL = "terminal"
_NO_CALL = "This answer contains neither a call nor a ```bash block."


class TerminalEnv(BaseEnv):
    """Terminal tasks: an instruction, a machine, and tests that grade what was done.

    An action is an answer with a ``bash`` block or, with a call format, calls of ``FUNCTIONS``. The
    observation is what the commands printed, without escapes, with the exit status and the
    directory. The reward comes at the end and is what the task's tests say; an agent that does
    nothing gets 0. A machine or tests that fail raise an error: they are a fault, not a reward,
    unless they fail because of what the agent did (``info["ended_by"]``, and a reward of 0).

    A task may have steps. When the agent finishes one, or reaches a limit, that step is graded, and
    the observation is the next one's instruction. ``info["step"]`` has the ``name`` of the step,
    its ``number`` from 1 and the ``count``, and ``info["step_rewards"]`` what was paid so far, by
    name; the reward of the episode comes after the last step.

    ``info["machine"]["base"]`` of ``reset`` names what stands in for the image that the task asks
    for, where another one does.

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
        max_turns: The number of turns of a step; then the episode is truncated, or goes on with the
            next step.
        command_timeout: Seconds to wait for a command.
        output_limit: Bytes of output of a command to show, half of them from its beginning and half
            from its end.
        agent_timeout: Seconds for all commands of a step together, after which it ends as with
            ``max_turns``; None for the task's. The time in which the agent thinks does not count.
        grade_truncated: Whether a step that a limit has ended is graded; if not, it is paid 0, and
            the episode ends.
        mode: ``fresh`` to grade on a fresh machine with the agent's files, ``shared`` to grade on
            the agent's machine; None for the task's.
        carry: Which files of the agent are carried to the fresh machine; see ``Verifier``.

    Raises:
        ConfigError: A limit is not above 0, or a value is not known.
    """

    blocking = True
    unseeded_info = frozenset({"seconds", "verifier_output"})
    finish_name: ClassVar[str] = "finish"
    """The function, or the word in a block, that ends the episode and has it graded."""
    functions: ClassVar[tuple[Function, ...]] = FUNCTIONS
    """What an agent can call, with a call format."""
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
        self._tasks = self.find_tasks(tasks, data)
        self._provider = (
            machine if isinstance(machine, MachineProvider) else make_machine_provider(machine)
        )
        self._verifier = self.make_verifier(self._provider, carry)
        self._format = None if call_format is None else _format(call_format)
        self._catalog = Catalog({_TOOL: self.functions})
        self.instructions = instructions
        self.max_turns = max_turns
        self.command_timeout = command_timeout
        self.output_limit = output_limit
        self.agent_timeout = agent_timeout
        self.grade_truncated = grade_truncated
        self.mode = mode
        self._machine: Machine | None = None
        self.task: TerminalTask | None = None
        self._progress: Progress | None = None
        self.turns = 0
        self.seconds = 0.0
        self._is_running = False
        self._is_forgeable = False
        self._directory = ""

    def find_tasks(self, tasks: str | Tasks, data: str | Path | None) -> Tasks:
        """Return the source of the tasks; see ``tasks`` and ``data``."""
        return find_tasks(tasks, data)

    def make_verifier(self, provider: MachineProvider, carry: Carry) -> Verifier:
        """Return what grades machines of a provider."""
        return Verifier(provider, carry=carry)

    @property
    def finish_action(self) -> str:
        """The action that ends the episode and has it graded."""
        return self.bash(self.finish_name)

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
            task = task.in_mode(self.mode)
        self.task, self._progress = task, Progress(task)
        self.turns, self.seconds = 0, 0.0
        begin = time.monotonic()
        with boundary("sandbox"):
            for spec in task.machines:
                self._provider.prepare(spec)
            prepared = time.monotonic()
            self._machine = self._machine_at(self._progress)
            begin_step(self._machine, self._progress.step)
            self._is_forgeable = bool(self._verifier.why_forgeable(task))
        self._directory = self._machine.spec.workdir
        seconds = {"prepare": prepared - begin, "start": time.monotonic() - prepared}
        info: Info = {"task_id": task.id, "seconds": seconds, "forgeable": self._is_forgeable}
        info |= self._progress.to_info()
        if stands_in := stand_in_of(self._provider, task.machine):
            info["machine"] = {"base": stands_in}
        if idx is not None:
            info["idx"] = idx
        if self._format is not None and self.instructions == "schemas":
            info["tool_schemas"] = [function.to_openai() for function in self.functions]
        return self._first_observation(task), info

    def _first_observation(self, task: TerminalTask) -> str:
        if self._format is None:
            how = _HOW_BASH.format(timeout=self.command_timeout, finish=self.finish_name)
        else:
            how = _HOW_CALLS.format(finish=self.finish_name)
            if self.instructions != "schemas":
                how = f"{how}\n\n{self._format.instructions(self.functions)}"
        steps = f"\n{_STEPS.format(count=len(task.steps))}" if task.steps else ""
        return f"{how}\n{self._limits}{steps}\n\n{self.instruction}\n"

    @property
    def _limits(self) -> str:
        return _LIMITS.format(turns=self.max_turns, seconds=self.seconds_allowed)

    @property
    def seconds_allowed(self) -> float:
        """The seconds that the agent has for the step that runs."""
        if self.agent_timeout is not None:
            return self.agent_timeout
        return self._running_task.agent_timeout

    @property
    def steps_ended(self) -> int:
        """The number of steps of the task that have ended in this episode."""
        return len(self._running.grades)

    @property
    def _running(self) -> Progress:
        if self._progress is None:
            raise self._not_running()
        return self._progress

    @property
    def _running_task(self) -> TerminalTask:
        """The step that runs, as a task."""
        return self._running.step.task

    @property
    def instruction(self) -> str:
        """What the step that runs asks for, without a word on how to act."""
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
            is_finished = request.function == self.finish_name and call["ok"]
            if is_finished or self.seconds >= self.seconds_allowed:
                break
        if calls:
            info |= {"use_tool": True, "tool_calls": calls, "parsed_action": reading.text}
        limit = "" if is_finished else self._limit_reached()
        if not is_finished and not limit:
            return Step(self._observation(reading, outputs, info), 0.0, False, False, info)
        if limit:
            info["truncated_by"] = limit
        following = self._end_step(limit, info)
        if following:
            outputs = [*outputs[:-1], "".join([*outputs[-1:], following])]
            observation = self._observation(reading, outputs, info)
            is_told = bool(reading.requests)
            return Step(observation if is_told else following, 0.0, False, False, info)
        self._close_machine()
        observation = self._observation(reading, outputs, info)
        return Step(observation, self._running.reward, is_finished, bool(limit), info)

    def _end_step(self, limit: str, info: Info) -> str:
        """Grade the step that runs, and begin the next one.

        Returns:
            What the agent reads of the next one; empty if the episode has ended.
        """
        saved = None
        if limit and not self.grade_truncated:
            grade = Grade(0.0, ended_by=f"{limit} was reached, and nothing graded")
            note_unpaid(info, self.instruction, grade.ended_by)
        else:
            saved, grade = self._graded()
            note_grade(info, self.instruction, grade)
        self._progress = self._running.with_grade(grade)
        failure = self._begin_next(saved) if self._running.goes_on else ""
        if failure:
            info["ended_by"] = failure
            self._progress = self._running.with_grade(Grade(0.0, ended_by=failure))
        if not self._running.goes_on:
            self._note_end(info)
            return ""
        info |= self._running.to_info()
        place = self._running.to_info()["step"]
        limits = self._limits if not limit else f"{limit} has ended the last one. {self._limits}"
        return _NEXT.format(limits=limits, instruction=self.instruction, **place)

    def _begin_next(self, saved: MachineSnapshot | None) -> str:
        """Begin the next step; return how the agent has kept it from beginning.

        Raises:
            MachineError: It does not begin on an untouched machine either.
        """
        self.turns, self.seconds = 0, 0.0
        step, task = self._running.step, self._running.task
        with boundary("sandbox"):
            try:
                if saved is not None:
                    self._close_machine()
                    self._machine = self._machine_at(self._running, saved)
                begin_step(self.machine, step)
            except MachineError as error:
                spec = _agents_machine(step.task)
                self._verifier.check_beginning(task, self.steps_ended, spec)
                return str(error)
        return ""

    def _lost(self, error: MachineError, info: Info) -> Step:
        """End the episode: the agent has ended its machine, as others can be started.

        Raises:
            MachineError: They cannot.
        """
        with boundary("sandbox"):
            self._provider.start(_agents_machine(self._running_task)).close()
        self._close_machine()
        lost = Grade(0.0, ended_by=str(error))
        note_unpaid(info, self.instruction, f"the machine has ended: {error}")
        info["ended_by"] = lost.ended_by
        self._progress = self._running.with_grade(lost)
        self._note_end(info)
        observation = f"The machine has ended: {error}"
        return Step(observation, self._running.reward, True, False, info)

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
        if command.strip() == self.finish_name:
            request = Request(self.finish_name)
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
        if problem or request.function == self.finish_name:
            return problem, call
        begin = time.monotonic()
        with boundary("sandbox"):
            try:
                output, record = self.call(request.function, request.arguments)
            except MachineError as error:
                self.machine.processes()  # raises if the machine itself has ended
                output, record = str(error), {"output": str(error), "ok": False}
        self.seconds += time.monotonic() - begin
        return output, {**call, **record}

    def call(self, function: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Carry out a call of the agent.

        Args:
            function: The name of one of ``functions``, but not ``finish``.
            arguments: Its arguments, which fit its schema.

        Returns:
            What the agent reads, and what is added to ``info["tool_calls"]``.

        Raises:
            MachineError: It cannot be carried out; the message is what the agent reads.
        """
        if function == "shell":
            return self._shell(**arguments)
        return write_file(self.machine, **arguments)

    def _shell(self, command: str, timeout: float | None = None) -> tuple[str, dict[str, Any]]:
        left = max(0.0, self.seconds_allowed - self.seconds)
        wait = min(left, self.command_timeout if timeout is None else max(0.0, timeout))
        before = None if self._is_running else self._directory
        output, record = send(
            self.machine, command, before, timeout=wait, output_limit=self.output_limit
        )
        self._is_running = record["exit_status"] is None
        self._directory = record["directory"]
        return output, record

    def _observation(self, reading: Reading, outputs: list[str], info: Info) -> str:
        """Return the observation of the outputs, and note it as messages for a chat."""
        if not reading.requests:
            return _NO_COMMAND if self._format is None else _NO_CALL
        skipped = [_SKIPPED] * (len(reading.requests) - len(outputs))
        if self._format is None or not reading.message.get("tool_calls", reading.text != ""):
            return "\n".join([*outputs, *skipped])
        info["tool_messages"] = self._format.messages(reading, [*outputs, *skipped])
        return self._format.show(reading, [*outputs, *skipped])

    def _graded(self) -> tuple[MachineSnapshot | None, Grade]:
        """Grade the step that runs; return with it where the next one goes on, if not here."""
        running, saved = self._running, None
        with boundary("grader"):
            if running.needs_copy:
                try:
                    saved = self.machine.snapshot()
                except MachineError as error:
                    self._provider.start(_agents_machine(running.step.task)).close()
                    return None, Grade(0.0, ended_by=str(error))
            return saved, self._verifier.grade(self.machine, running.task, running.number)

    def _note_end(self, info: Info) -> None:
        info |= {"correct": self._running.reward >= 1.0, "forgeable": self._is_forgeable}
        note_steps(info, self._running)

    def solution(self) -> str:
        """Return an answer whose commands are the task's own solution; see ``SolutionOracle``."""
        task = self._running_task
        if not task.solution:
            raise ConfigError(f"The task {task.id!r} has no solution.")
        machine = self.machine
        if machine.spec.user not in ROOT:
            owner = shlex.quote(machine.spec.user)
            made = f"rm -rf /solution && mkdir -p /solution && chown {owner} /solution"
            machine.run(made, user="root", cwd="/")
        return self.bash(task.solution_script)

    @staticmethod
    def bash(commands: str) -> str:
        """Return the action that runs commands."""
        return f"```bash\n{commands}\n```"

    def sample_random_action(self) -> Action:
        """Return an answer with a harmless command."""
        return self.bash(self.action_rng.choice((*_HARMLESS, self.finish_name)))

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
            machine = self._machine_at(state["_progress"], saved)
        if "_machine" in self.__dict__:
            self._close_machine()
        super().set_state({**state, "_machine": machine, "_is_running": False})

    def _machine_at(self, progress: Progress, saved: MachineSnapshot | None = None) -> Machine:
        """Return a machine for the agent, with the services of the task."""
        task = progress.step.task
        machine = self._provider.start(_agents_machine(task), saved)
        try:
            self.prepare_machine(machine, task)
        except BaseException:
            machine.close()
            raise
        return machine

    def prepare_machine(self, machine: Machine, task: TerminalTask) -> None:
        """Begin on an agent's machine what runs beside the agent, before it sees the machine."""
        begin_services(machine, task)

    def _close_machine(self) -> None:
        machine, self._machine = self._machine, None
        self._is_running = False
        if machine is not None:
            machine.close()

    def close(self) -> None:
        """End the machine."""
        self._close_machine()
        super().close()


def _agents_machine(task: TerminalTask) -> MachineSpec:
    """Return the specification of the agent's machine."""
    spec = task.machine
    return spec if task.agent_user is None else dataclasses.replace(spec, user=task.agent_user)


def _format(part: str | Mapping[str, Any] | CallFormat) -> FunctionFormat:
    made = make_call_format(part)
    if not isinstance(made, FunctionFormat):
        raise ConfigError("call_format='tags' has no functions; use None, or another format.")
    return made
