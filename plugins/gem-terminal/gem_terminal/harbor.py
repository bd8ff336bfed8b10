"""Task folders of Harbor: ``task.toml``, ``instruction.md``, and folders beside them.

Schema 1.0 to 1.4, with the older names ``version``, ``memory``, ``storage`` and
``allow_internet``. Every value is checked, and fields that are not used are named in ``unread``.
"""

import math
import posixpath
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gem_core.errors import ConfigError
from gem_terminal.compose import Service, read_compose
from gem_terminal.fields import Amount, Count, Fields, Number, Size, User, Variables
from gem_terminal.forgeable import why_forgeable
from gem_terminal.task import TerminalTask, UnsupportedTaskError
from gem_workers.dockerfile import read_dockerfile, user_of, workdir_of
from gem_workers.machine import MachineSpec
from gem_workers.untrusted_files import has_file, read_files, read_text

__all__ = ["read_harbor"]

_SCHEMAS = ("1.0", "1.1", "1.2", "1.3", "1.4")
_TOML, _COMPOSE = "task.toml", "docker-compose.yaml"
_MIB = 1 << 20


class _Versions(Fields):
    version: str = _SCHEMAS[0]
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


class _VerifierMachine(Fields):
    docker_image: str = ""


class _Verifier(_Agent):
    env: Variables = Field(default_factory=dict)
    environment_mode: Literal["", "separate", "shared"] = ""
    environment: _VerifierMachine = _VerifierMachine()


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


class _Artifact(Fields):
    short_for = "source"
    source: str = Field(min_length=1)


class _Task(_Versions):
    task: _Package = _Package()
    metadata: _Metadata = _Metadata()
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    solution: _Solution = _Solution()
    environment: _Environment = _Environment()
    artifacts: list[_Artifact] = Field(default_factory=list)
    steps: list[Any] = Field(default_factory=list)


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
    if task.steps or has_file(folder, "steps"):
        raise UnsupportedTaskError("The task has several steps.")
    _refuse_hardware(task.environment)
    service, unread = _service(folder, variables or {})
    machine, prebuilt = _machine(folder, task.environment, service)
    tests = read_files(folder, "tests")
    if "test.sh" not in tests:
        raise ConfigError(f"{folder / 'tests' / 'test.sh'} is missing.")
    runs = task.metadata.ours.tests_run
    return TerminalTask(
        id=task.task.name or folder.resolve().name,
        instruction=_instruction(folder),
        machine=machine,
        prebuilt=prebuilt,
        internet=_internet(task.environment),
        tests=tests,
        mode=_mode(folder, task.verifier),
        verifier_timeout=task.verifier.timeout_sec,
        verifier_env=task.verifier.env,
        verifier_user=task.verifier.user or None,
        agent_timeout=task.agent.timeout_sec,
        agent_user=task.agent.user or None,
        solution=_solution(folder),
        solution_env=task.solution.env,
        artifacts=tuple(
            posixpath.normpath(posixpath.join("/", machine.workdir, each.source))
            for each in task.artifacts
        ),
        forgeable="" if runs else why_forgeable(tests),
        other_user=runs == "programs-as-other-user",
        metadata={**(task.task.model_extra or {}), **(task.metadata.model_extra or {})},
        unread=(*task.unread(), *unread),
    )


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


def _instruction(folder: Path) -> str:
    text = read_text(folder, "instruction.md").strip()
    if not text:
        raise ConfigError(f"{folder / 'instruction.md'} is empty.")
    return text


def _solution(folder: Path) -> dict[str, bytes]:
    files = read_files(folder, "solution")
    if files and "solve.sh" not in files:
        raise ConfigError(f"{folder / 'solution' / 'solve.sh'} is missing.")
    return files


def _mode(folder: Path, verifier: _Verifier) -> Literal["fresh", "shared"]:
    """Return where the tests run.

    ``separate`` without an image or a build of its own is a copy of the agent's machine.
    """
    own, mode = verifier.environment, verifier.environment_mode
    definitions = (f"tests/{name}" for name in ("Dockerfile", _COMPOSE))
    has_definition = any(has_file(folder, name) for name in definitions)
    is_separate = mode == "separate" or bool(own.docker_image or own.model_extra)
    if is_separate and (own.docker_image or has_definition):
        raise UnsupportedTaskError("The verifier has an image of its own.")
    if is_separate and mode == "shared":
        raise ConfigError("verifier.environment cannot be used with environment_mode 'shared'.")
    return "shared" if mode == "shared" else "fresh"


def _machine(folder: Path, fields: _Environment, service: Service) -> tuple[MachineSpec, str]:
    """Return the agent's machine, and the image that was built from its Dockerfile."""
    has_dockerfile = has_file(folder, "environment/Dockerfile")
    instructions = read_dockerfile(folder, "environment/Dockerfile") if has_dockerfile else []
    image = fields.docker_image
    memory = fields.memory or int((fields.memory_mb or 0) * _MIB) or service.limits.memory
    machine = MachineSpec(
        image="" if has_dockerfile else image or service.image,
        build=str((folder / "environment").resolve()) if has_dockerfile else "",
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


def _service(folder: Path, variables: Mapping[str, str]) -> tuple[Service, tuple[str, ...]]:
    if has_file(folder, f"environment/{_COMPOSE}"):
        return read_compose(folder / "environment", _COMPOSE, variables)
    return Service(), ()


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
