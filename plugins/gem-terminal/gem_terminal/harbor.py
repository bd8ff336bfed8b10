"""Task folders of Harbor: ``task.toml``, ``instruction.md``, and folders beside them.

A task with steps has a folder ``steps/NAME`` for each, with an instruction, tests and a solution of
its own; the tests of the task are those of each step, but for files that the step has too.

Schema 1.0 to 1.4, with the older names ``version``, ``memory``, ``storage`` and
``allow_internet``. Every value is checked, and fields that are not used are named in ``unread``.
"""

import math
import posixpath
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gem_core.errors import ConfigError
from gem_terminal.compose import Compose, Service, read_compose
from gem_terminal.fields import Amount, Count, Fields, Finite, Number, Size, User, Variables
from gem_terminal.forgeable import why_forgeable
from gem_terminal.task import TaskStep, TerminalTask, UnsupportedTaskError
from gem_workers.dockerfile import read_dockerfile, user_of, workdir_of
from gem_workers.machine import MachineSpec
from gem_workers.untrusted_files import has_file, read_files, read_text

__all__ = ["read_harbor"]

_SCHEMAS = ("0.1", "1.0", "1.1", "1.2", "1.3", "1.4")
_TOML, _COMPOSE = "task.toml", "docker-compose.yaml"
_MIB = 1 << 20
_MAIN = "main"
_STEP_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


class _Versions(Fields):
    version: str = "1.0"
    schema_version: str = ""


class _Package(Fields):
    takes_all = True
    name: str = ""


class _Ours(Fields):
    tests_run: Literal["", "no-programs", "programs-as-other-user"] = ""
    """Which programs of the agent the tests run."""


class _Metadata(Fields):
    takes_all = True
    ours: _Ours = Field(default=_Ours(), alias="gem-core")


class _Agent(Fields):
    timeout_sec: Number = 600.0
    user: User = ""


class _Solution(Fields):
    env: Variables = Field(default_factory=dict)


class _Healthcheck(Fields):
    command: str = ""
    interval_sec: Amount = 5.0
    timeout_sec: Number = 30.0
    start_period_sec: Amount = 0.0
    start_interval_sec: Number = 5.0
    retries: Count = 3


class _Environment(Fields):
    docker_image: str = ""
    build_timeout_sec: Number = 600.0
    workdir: str = ""
    env: Variables = Field(default_factory=dict)
    cpus: Number | None = None
    memory: Size = 0
    memory_mb: Number | None = None
    storage: Size = 0
    storage_mb: Number = 10240.0
    gpus: Count = 0
    gpu_types: list[Any] = Field(default_factory=list)
    tpu: Fields = Fields()
    os: str = "linux"
    mcp_servers: list[Any] = Field(default_factory=list)
    allow_internet: bool = True
    allowed_hosts: list[Any] = Field(default_factory=list)
    network_mode: Literal["", "no-network", "public", "allowlist"] = ""
    healthcheck: _Healthcheck = _Healthcheck()


class _Verifier(_Agent):
    env: Variables = Field(default_factory=dict)
    environment_mode: Literal["", "separate", "shared"] = ""
    environment: _Environment | None = None


class _Artifact(Fields):
    short_for = "source"
    source: str = Field(min_length=1)
    destination: str = ""
    """Where the host keeps a copy, which makes no difference here."""
    service: str = _MAIN


class _StepAgent(Fields):
    timeout_sec: Number | None = None
    user: User = ""


class _StepVerifier(_StepAgent):
    env: Variables = Field(default_factory=dict)
    environment_mode: Literal["", "separate", "shared"] = ""
    environment: _Environment | None = None


class _Step(Fields):
    name: str
    agent: _StepAgent = _StepAgent()
    verifier: _StepVerifier = _StepVerifier()
    min_reward: Finite | dict[str, Finite] | None = None
    healthcheck: _Healthcheck = _Healthcheck()
    artifacts: list[_Artifact] = Field(default_factory=list)


class _Task(_Versions):
    task: _Package = _Package()
    metadata: _Metadata = _Metadata()
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    solution: _Solution = _Solution()
    environment: _Environment = _Environment()
    artifacts: list[_Artifact] = Field(default_factory=list)
    steps: list[_Step] = Field(default_factory=list)
    multi_step_reward_strategy: Literal["mean", "final"] = "mean"


def read_harbor(folder: str | Path, *, variables: Mapping[str, str] | None = None) -> TerminalTask:
    """Read a task folder of Harbor.

    Args:
        folder: The folder with ``task.toml``.
        variables: The values of ``${NAME}`` in environment variables. The environment of the host
            is not used.

    Raises:
        UnsupportedTaskError: The task needs what machines do not have, such as a GPU.
        ConfigError: Something is missing, malformed or not valid.
    """
    folder = Path(folder)
    task = _parse(folder, variables)
    _refuse_hardware(task.environment)
    compose = _compose(folder, variables or {})
    machine, prebuilt = _machine(folder, "environment", task.environment, compose.service)
    common = TerminalTask(
        id=task.task.name or folder.resolve().name,
        instruction="-",  # each part has its own
        machine=machine,
        prebuilt=prebuilt,
        internet=_internet(task.environment),
        tests={"test.sh": b""},
        services=compose.processes,
        solution_env=task.solution.env,
        other_user=task.metadata.ours.tests_run == "programs-as-other-user",
        metadata={**(task.task.model_extra or {}), **(task.metadata.model_extra or {})},
        unread=(*task.unread(), *compose.unread, *_unread(folder, task)),
    )
    if not task.steps:
        return _part(folder, "", task, _Step(name=""), common)
    for step, count in Counter(step.name for step in task.steps).items():
        if count > 1:
            raise ConfigError(f"{_TOML}: {count} steps have the same name; got {step!a:.80}.")
    steps = tuple(_step(folder, task, step, common) for step in task.steps)
    forgeable = next(filter(None, (step.task.forgeable for step in steps)), "")
    return replace(
        steps[0].task,
        id=common.id,
        steps=steps,
        step_reward=task.multi_step_reward_strategy,
        forgeable=forgeable,
    )


def _step(folder: Path, task: _Task, step: _Step, common: TerminalTask) -> TaskStep:
    if not _STEP_NAME.fullmatch(step.name):
        raise ConfigError(
            f"{_TOML}: the name of a step is that of a folder; got {step.name!a:.80}."
        )
    below = f"steps/{step.name}"
    wanted = step.min_reward
    if not isinstance(wanted, dict):
        wanted = {} if wanted is None else {"reward": wanted}
    part = _part(folder, f"{below}/", task, step, common)
    return TaskStep(
        task=replace(part, id=f"{common.id}/{step.name}"),
        name=step.name,
        files=read_files(folder, f"{below}/workdir"),
        min_reward=wanted,
        **_healthcheck(step.healthcheck),
    )


def _part(folder: Path, below: str, task: _Task, step: _Step, common: TerminalTask) -> TerminalTask:
    """Return what a step asks for, and how it is graded; ``below`` is its folder, with a slash."""
    tests = {
        **read_files(folder, "tests"),
        **(read_files(folder, f"{below}tests") if below else {}),
    }
    mode = _mode(step.verifier) or _mode(task.verifier)
    own = _verifier_machine(folder, below, task, step) if mode == "separate" else None
    if "test.sh" not in tests and own is None:
        raise ConfigError(f"{folder / below / 'tests' / 'test.sh'} is missing.")
    agent, verifier = step.agent, step.verifier
    return replace(
        common,
        instruction=_instruction(folder, below),
        tests=tests,
        mode="shared" if mode == "shared" else "fresh",
        verifier_machine=own,
        verifier_timeout=verifier.timeout_sec or task.verifier.timeout_sec,
        verifier_env=verifier.env or task.verifier.env,
        verifier_user=verifier.user or task.verifier.user or None,
        agent_timeout=agent.timeout_sec or task.agent.timeout_sec,
        agent_user=agent.user or task.agent.user or None,
        solution=_solution(folder, below),
        artifacts=_artifacts([*task.artifacts, *step.artifacts], common),
        forgeable="" if task.metadata.ours.tests_run else why_forgeable(tests),
    )


def _artifacts(declared: list[_Artifact], common: TerminalTask) -> tuple[str, ...]:
    known = {"", _MAIN, *(service.name for service in common.services)}  # all on one machine
    if others := [each.service for each in declared if each.service not in known]:
        raise UnsupportedTaskError(f"An artifact is one of the service {others[0][:40]!r}.")
    paths = (posixpath.join("/", common.machine.workdir, each.source) for each in declared)
    return tuple(map(posixpath.normpath, paths))


def _unread(folder: Path, task: _Task) -> tuple[str, ...]:
    """Return what has no effect: limits of a verifier without an image, folders of no step."""
    found = _unread_limits(folder, "", "verifier.environment", task.verifier.environment)
    for number, step in enumerate(task.steps, start=1):
        path, below = f"steps[{number}].verifier.environment", f"steps/{step.name}/"
        found += _unread_limits(folder, below, path, step.verifier.environment)
    if (folder / "steps").is_symlink():
        raise ConfigError(f"{folder / 'steps'} is a link to a folder.")
    if not has_file(folder, "steps"):
        return tuple(found)
    named = {step.name for step in task.steps}
    try:
        entries = sorted(each.name for each in (folder / "steps").iterdir())
    except OSError as error:
        raise ConfigError(f"{folder / 'steps'} cannot be read: {error}.") from error
    return (*found, *(f"steps/{ascii(name)[1:-1]}" for name in entries if name not in named))


def _unread_limits(folder: Path, below: str, path: str, fields: _Environment | None) -> list[str]:
    if fields is None or fields.docker_image:
        return []
    if any(has_file(folder, f"{place}/Dockerfile") for place in ("tests", f"{below}tests")):
        return []
    return [
        f"{path}.{name}" for name in _Environment.model_fields if name in fields.model_fields_set
    ]


def _parse(folder: Path, variables: Mapping[str, str] | None) -> _Task:
    text = read_text(folder, _TOML)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also an int of too many digits
        raise ConfigError(f"{folder / _TOML} cannot be parsed as TOML: {error}") from error
    versions = _Versions.checked(table, _TOML)
    version = versions.schema_version or versions.version
    if version not in _SCHEMAS:  # before fields are checked that it may have changed
        raise UnsupportedTaskError(
            f"The task has schema {version[:40]!r}; those known are {', '.join(_SCHEMAS)}."
        )
    return _Task.checked(table, _TOML, variables)


def _instruction(folder: Path, below: str) -> str:
    text = read_text(folder, f"{below}instruction.md").strip()
    if not text:
        raise ConfigError(f"{folder / below / 'instruction.md'} is empty.")
    return text


def _solution(folder: Path, below: str) -> dict[str, bytes]:
    files = read_files(folder, f"{below}solution")
    if files and "solve.sh" not in files:
        raise ConfigError(f"{folder / below / 'solution' / 'solve.sh'} is missing.")
    return files


def _mode(verifier: _Verifier | _StepVerifier) -> Literal["", "separate", "shared"]:
    """Return where the tests run; empty if it is not said."""
    own, mode = verifier.environment, verifier.environment_mode
    if own is not None and mode == "shared":
        raise ConfigError("verifier.environment cannot be used with environment_mode 'shared'.")
    return "separate" if own is not None else mode


def _verifier_machine(folder: Path, below: str, task: _Task, step: _Step) -> MachineSpec | None:
    """Return the machine that grades, of an image or a Dockerfile beside the tests.

    None for a fresh machine of the agent's image.
    """
    own = step.verifier.environment or task.verifier.environment
    if own is not None:
        _refuse_hardware(own)
        _internet(own)
    for place in dict.fromkeys((f"{below}tests", "tests")):
        if has_file(folder, f"{place}/{_COMPOSE}"):
            raise UnsupportedTaskError(f"The verifier is started by {place}/{_COMPOSE}.")
        if has_file(folder, f"{place}/Dockerfile"):
            return _machine(folder, place, own or task.environment, Service())[0]
    if own is None or not own.docker_image:
        return None
    return _machine(folder, "tests", own, Service())[0]


def _machine(
    folder: Path, context: str, fields: _Environment, service: Service
) -> tuple[MachineSpec, str]:
    """Return a machine, and the image that was built from the Dockerfile of its folder."""
    has_dockerfile = has_file(folder, f"{context}/Dockerfile")
    instructions = read_dockerfile(folder, f"{context}/Dockerfile") if has_dockerfile else []
    image = fields.docker_image
    memory = fields.memory or int((fields.memory_mb or 0) * _MIB) or service.limits.memory
    machine = MachineSpec(
        image="" if has_dockerfile else image or service.image,
        build=str((folder / context).resolve()) if has_dockerfile else "",
        build_timeout=fields.build_timeout_sec,
        workdir=fields.workdir or service.working_dir or workdir_of(instructions),
        user=service.user_name or user_of(instructions),
        env={**service.environment, **fields.env},
        cpus=fields.cpus or service.limits.cpus or 1.0,
        memory=memory or 2 << 30,
        disk=fields.storage or max(1, int(fields.storage_mb * _MIB)),
        **_healthcheck(fields.healthcheck),
    )
    return machine, image if has_dockerfile else ""


def _compose(folder: Path, variables: Mapping[str, str]) -> Compose:
    if has_file(folder, f"environment/{_COMPOSE}"):
        return read_compose(folder / "environment", _COMPOSE, variables)
    return Compose()


def _refuse_hardware(fields: _Environment) -> None:
    system = fields.os.lower()
    if fields.gpus:
        raise UnsupportedTaskError("The task needs a GPU.")
    if fields.tpu.model_extra:
        raise UnsupportedTaskError("The task needs a TPU.")
    if system != "linux":
        raise UnsupportedTaskError(f"The task runs on {system[:40]!r}, not on Linux.")
    if fields.mcp_servers:
        raise UnsupportedTaskError("The task gives the agent MCP servers.")


def _internet(fields: _Environment) -> bool:
    mode = fields.network_mode or ("allowlist" if fields.allowed_hosts else "")
    if mode == "allowlist":
        raise UnsupportedTaskError("The task allows some hosts of the internet only.")
    return mode == "public" if mode else fields.allow_internet


def _healthcheck(check: _Healthcheck) -> dict[str, Any]:
    """Return a command that tries the check of the task as often as the task says, and its time."""
    if not check.command:
        return {}
    attempts = max(1, check.retries) + math.ceil(check.start_period_sec / check.start_interval_sec)
    timeout, pause = check.timeout_sec, check.interval_sec
    tries = (
        f"for attempt in $(seq {attempts}); do "
        f"timeout {timeout:g} bash -c {shlex.quote(check.command)} && exit 0; "
        f"sleep {pause:g}; done; exit 1"
    )
    return {"healthcheck": tries, "health_timeout": attempts * (timeout + pause)}
