"""Task folders of Terminal-Bench 1, on machines of gem-core."""

import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from gem.core import Env
from gem.requirements import needs
from gem.utils.constants import TERMINAL_STATE
from gem.utils.seeds import any_seed

with needs("gem-terminal"):
    from gem_terminal.compose import parse_yaml
    from gem_terminal.task import TerminalTask
    from gem_terminal.terminal_bench import read_terminal_bench
    from gem_terminal.terminal_text import plain_text
    from gem_terminal.verify import Verifier

from gem_core.errors import ConfigError, GemError, MachineError, NoMachineError, UnknownIdError
from gem_workers.machine import Machine, MachineProvider, make_machine_provider

__all__ = ["ContainerConfig", "DockerEnv", "TaskConfig"]

_OPENING, _CLOSING = re.compile(r"<(\w+)>"), re.compile(r"</(\w+)>")
_PROVIDERS = ("docker", "local")
_TIMEOUT = 30.0
_TIMED_OUT = 124


@dataclass
class TaskConfig:
    """A task.

    Args:
        task_name: Its name.
        task_path: Its folder, in the format of Terminal-Bench 1.
        test_weights: The weights of tests, by name.
        max_test_timeout_sec: Seconds that the tests may take.
        max_retry: The number of failed commands that ends an episode.
    """

    task_name: str
    task_path: str | Path
    test_weights: dict[str, float]
    max_test_timeout_sec: float = 300.0
    max_retry: int = 5


@dataclass
class ContainerConfig:
    """Has no effect: images are built once for each content of a task's folder.

    Args:
        no_rebuild: Ignored.
        timeout: Ignored.
    """

    no_rebuild: bool = False
    timeout: float = 600


class _Call(NamedTuple):
    tag: str
    body: str
    text: str
    """The action up to the end of the call."""


class DockerEnv(Env):
    """One task per episode: ``<bash>`` runs a command, ``<finish>`` ends the episode and grades it.

    The content of a tag is YAML: ``cmd`` and ``timeout_secs`` (30) for ``bash``, anything for
    ``finish``. Each command starts in the working directory of the task, in a shell of its own.
    After ``finish``, the reward is the weighted share of the tests that pass. An action without a
    call ends the episode with 0, as does the last of ``max_retry`` failed commands.

    Args:
        task_configs: The tasks; ``reset`` draws one.
        container_config: Has no effect.
        machine: The id of a provider of machines, or a mapping with an ``id`` and parameters; None
            for ``docker`` if an engine answers and has or can build the image, else ``local``.
        mode: ``fresh`` to grade on a fresh machine with the agent's files, ``shared`` to grade on
            the agent's machine; None for the task's.

    Raises:
        ConfigError: There are no tasks, or one cannot be read.
    """

    shared: ClassVar[tuple[str, ...]] = ("task_configs", "_tasks", "_provider", "_verifier")
    action_space: ClassVar[tuple[str, ...]] = ("bash", "finish")

    def __init__(
        self,
        task_configs: Sequence[TaskConfig],
        container_config: ContainerConfig,
        *,
        machine: str | Mapping[str, Any] | None = None,
        mode: Literal["fresh", "shared"] | None = None,
    ) -> None:
        if not task_configs:
            raise ConfigError("task_configs has no task.")
        self.task_configs = list(task_configs)
        self.container_config = container_config
        self.machine, self.mode = machine, mode
        self._tasks = [self._read(config) for config in self.task_configs]
        self._rng = random.Random()
        self._provider: MachineProvider | None = None
        self._machine: Machine | None = None
        self._number = 0
        self.error_count = 0

    def _read(self, config: TaskConfig) -> TerminalTask:
        task = read_terminal_bench(config.task_path)
        timeout = float(config.max_test_timeout_sec)
        return replace(task, verifier_timeout=timeout, mode=self.mode or task.mode)

    def reset(self, seed: int | None = None) -> Any:
        """Start a machine for a task.

        Raises:
            ConfigError: The task needs what the provider does not have.
            MachineError: No machine can be started.
        """
        number = any_seed(seed)
        if number is not None:
            self._rng.seed(number)
        self.close()
        self._number = self._rng.randrange(len(self._tasks))
        self.error_count = 0
        task = self._tasks[self._number]
        self._machine = self._start(task)
        return task.instruction, {}

    def _start(self, task: TerminalTask) -> Machine:
        """Start a machine, with the first provider that can start it here."""
        if self._provider is not None:
            self._provider.prepare(task.machine)
            return self._provider.start(task.machine)
        *others, last = _PROVIDERS if self.machine is None else (self.machine,)
        for name in others:
            try:
                return self._start_with(name, task)
            except (MachineError, UnknownIdError):
                continue
        return self._start_with(last, task)

    def _start_with(self, name: str | Mapping[str, Any], task: TerminalTask) -> Machine:
        provider = make_machine_provider(name)
        provider.prepare(task.machine)
        machine = provider.start(task.machine)
        self._provider = provider
        return machine

    @functools.cached_property
    def _verifier(self) -> Verifier:
        if self._provider is None:
            raise NoMachineError("No machine has been started yet: call reset() first.")
        return Verifier(self._provider, carry="all")  # GEM grades the agent's own machine

    def step(self, action: Any) -> Any:
        """Run the first call of an action; after the end, answer with an error."""
        if self._machine is None:
            error = "There is no episode: call reset() first."
            return TERMINAL_STATE, 0.0, True, True, {"error": error}
        call = _first_call(str(action))
        if call is None or call.tag not in self.action_space:
            return self._end(TERMINAL_STATE, 0.0, {} if call is None else _info(call))
        try:
            arguments = parse_yaml(call.body, f"The content of <{call.tag}>")
            if call.tag == "finish":
                return self._end(*self._graded(self._machine, _info(call)))
            command, timeout = _bash_arguments(arguments)
        except ConfigError as error:
            return str(error), 0.0, False, False, _info(call)
        return self._bash(self._machine, command, timeout, _info(call))

    def _bash(self, machine: Machine, command: str, timeout: float, info: dict[str, Any]) -> Any:
        done = machine.run(command, timeout=timeout)
        status, output = done.exit_status, plain_text(f"{done.stdout}{done.stderr}")
        if done.limit == "wall_time":
            status, output = _TIMED_OUT, f"{output}\n[ended after {timeout:g} seconds]"
        observation = f"<bash_output>\n{output.strip()}\n</bash_output>"
        if status == 0:
            return observation, 0.0, False, False, info
        self.error_count += 1
        left = self.task_configs[self._number].max_retry - self.error_count
        if left <= 0:
            notice = f"\nExit status {status}. No failed command is left: the episode ends."
            return self._end(observation + notice, 0.0, info)
        hint = f"\nExit status {status}. Try again; {left} failed commands are left."
        return observation + hint, 0.0, False, False, info

    def _graded(self, machine: Machine, info: dict[str, Any]) -> tuple[str, float, dict[str, Any]]:
        task, config = self._tasks[self._number], self.task_configs[self._number]
        try:
            grade = self._verifier.grade(machine, task)
        except GemError as error:
            return TERMINAL_STATE, 0.0, {**info, "reward_error": str(error)}
        if grade.ended_by:
            return TERMINAL_STATE, 0.0, {**info, "reward_error": grade.ended_by}
        return TERMINAL_STATE, _score(grade.tests, config.test_weights), info

    def _end(self, observation: str, reward: float, info: dict[str, Any]) -> Any:
        self.close()
        return observation, reward, True, True, info

    def get_state(self) -> dict[str, Any]:
        """Return the state; that of the machine is its files."""
        machine = self._machine
        return {
            **super().get_state(),
            "_machine": None if machine is None else machine.snapshot(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Set the state; a machine starts anew, without the processes that were running."""
        saved, machine = state["_machine"], None
        if saved is not None and self._provider is not None:
            spec = self._tasks[state["_number"]].machine
            machine = self._provider.start(spec, saved)
        if "_machine" in self.__dict__:
            self.close()
        super().set_state({**state, "_machine": machine})

    def close(self) -> None:
        """End the machine."""
        machine, self._machine = self._machine, None
        if machine is not None:
            machine.close()


def _first_call(action: str) -> _Call | None:
    """Return the first pair of tags; None if there is none."""
    last = {match[1]: match.start() for match in _CLOSING.finditer(action)}
    for match in _OPENING.finditer(action):
        tag, start = match[1], match.end()
        if last.get(tag, -1) >= start:
            end = action.index(f"</{tag}>", start)
            return _Call(tag, action[start:end], action[: end + len(f"</{tag}>")])
    return None


def _info(call: _Call) -> dict[str, Any]:
    return {"parsed_action": call.text, "tool_type": f"terminal-{call.tag}"}


def _bash_arguments(arguments: Any) -> tuple[str, float]:
    """Return the command and its timeout.

    Raises:
        ConfigError: They are missing, or not valid.
    """
    if not isinstance(arguments, dict) or not isinstance(arguments.get("cmd"), str):
        raise ConfigError("The content of <bash> must be YAML with cmd: a command.")
    timeout = arguments.get("timeout_secs", _TIMEOUT)
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout < float("inf"):
        raise ConfigError(f"timeout_secs must be a number above 0; got {timeout!r}.")
    return arguments["cmd"].replace("\0", ""), float(timeout)


def _score(tests: Mapping[str, bool], weights: Mapping[str, float]) -> float:
    """Return the weighted share of passed tests; equal weights if none belongs to a test.

    A name is that of pytest, with or without the file. A test with a weight that has no result has
    failed.
    """
    passed = {**tests, **{name.rpartition("::")[2]: ok for name, ok in tests.items()}}
    used = {name: weight for name, weight in weights.items() if weight > 0}
    if not used.keys() & passed.keys():
        return sum(tests.values()) / len(tests)
    return sum(used[name] for name in used if passed.get(name)) / sum(used.values())
