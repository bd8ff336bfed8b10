"""Task folders of Harbor: ``task.toml``, ``instruction.md``, and folders beside them.

Schema 1.0 to 1.4, with the older names ``version``, ``memory``, ``storage`` and
``allow_internet``. Every value is checked, and fields that are not used are named in ``unread``.
"""

import math
import posixpath
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gem_core.errors import ConfigError
from gem_terminal.compose import Service, read_compose
from gem_terminal.fields import Fields, size_of
from gem_terminal.forgeable import why_forgeable
from gem_terminal.task import TerminalTask, UnsupportedTaskError
from gem_workers.dockerfile import read_dockerfile, user_of, workdir_of
from gem_workers.machine import MachineSpec
from gem_workers.untrusted_files import has_file, read_files, read_text

__all__ = ["read_harbor"]

_SCHEMAS = ("1.0", "1.1", "1.2", "1.3", "1.4")
_COMPOSE = "docker-compose.yaml"
_NETWORK_MODES = ("no-network", "public", "allowlist")
_MIB = 1 << 20
_OURS = "gem-core"
_TESTS_RUN = ("no-programs", "programs-as-other-user")
"""What a task may say of its tests, in ``[metadata.gem-core]``: which programs of the agent run."""


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
    top = Fields(_parse(folder))
    _check_schema(top)
    _refuse_steps(folder, top)
    tables = {name: top.table(name) for name in ("task", "agent", "verifier", "solution")}
    agent, verifier, solution = tables["agent"], tables["verifier"], tables["solution"]
    environment = _environment(folder, top.table("environment"), variables or {})
    tests = read_files(folder, "tests")
    if "test.sh" not in tests:
        raise ConfigError(f"{folder / 'tests' / 'test.sh'} is missing.")
    mode, not_used = _mode(folder, verifier)
    package = tables["task"].text("name")
    metadata = top.table("metadata")
    ours = metadata.table(_OURS)
    runs = ours.text("tests_run")
    if runs not in {"", *_TESTS_RUN}:
        raise ConfigError(
            f"metadata.{_OURS}.tests_run must be one of {', '.join(_TESTS_RUN)}; got {runs[:40]!r}."
        )
    return TerminalTask(
        id=package or folder.resolve().name,
        instruction=_instruction(folder),
        machine=environment.machine,
        prebuilt=environment.prebuilt,
        internet=environment.internet,
        build_timeout=environment.build_timeout,
        tests=tests,
        mode=mode,
        verifier_timeout=verifier.number("timeout_sec", 600.0),
        verifier_env=verifier.variables("env", variables or {}),
        verifier_user=verifier.user("user"),
        agent_timeout=agent.number("timeout_sec", 600.0),
        agent_user=agent.user("user"),
        solution=_solution(folder),
        solution_env=solution.variables("env", variables or {}),
        artifacts=_artifacts(top, environment.machine.workdir),
        forgeable="" if runs else why_forgeable(tests),
        other_user=runs == _TESTS_RUN[1],
        metadata={**tables["task"].rest(), **metadata.rest()},
        unread=(
            *ours.left(),
            *top.left(),
            *agent.left(),
            *verifier.left(),
            *not_used,
            *solution.left(),
            *environment.unread,
        ),
    )


def _parse(folder: Path) -> dict[str, Any]:
    text = read_text(folder, "task.toml")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also an int of too many digits
        raise ConfigError(f"{folder / 'task.toml'} cannot be parsed as TOML: {error}") from error


def _artifacts(top: Fields, workdir: str) -> tuple[str, ...]:
    """Return the paths that a task declares; a relative one is below the working directory."""
    paths = []
    for number, item in enumerate(top.items("artifacts"), start=1):
        table = item if isinstance(item, Mapping) else {"source": item}
        source = Fields(table, f"artifacts: item {number}").text("source")
        if not source:
            raise ConfigError(f"artifacts: item {number} has no source.")
        paths.append(posixpath.normpath(posixpath.join("/", workdir, source)))
    return tuple(paths)


def _check_schema(top: Fields) -> None:
    older = top.text("version", _SCHEMAS[0])
    version = top.text("schema_version", older)
    if version not in _SCHEMAS:
        raise UnsupportedTaskError(
            f"The task has schema {version[:40]!r}; those known are {', '.join(_SCHEMAS)}."
        )


def _refuse_steps(folder: Path, top: Fields) -> None:
    if top.items("steps") or has_file(folder, "steps"):
        raise UnsupportedTaskError("The task has several steps.")


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


def _mode(folder: Path, verifier: Fields) -> tuple[Literal["fresh", "shared"], tuple[str, ...]]:
    """Return where the tests run, and the fields of the verifier's machine that are not used.

    ``separate`` without an image or a build of its own is a copy of the agent's machine.
    """
    mode = verifier.text("environment_mode")
    if mode not in {"", "separate", "shared"}:
        raise ConfigError(
            f"verifier.environment_mode must be shared or separate; got {mode[:40]!r}."
        )
    own = verifier.table("environment")
    is_separate = mode == "separate" or bool(own.left())
    definitions = (f"tests/{name}" for name in ("Dockerfile", _COMPOSE))
    if is_separate and (
        own.text("docker_image") or any(has_file(folder, name) for name in definitions)
    ):
        raise UnsupportedTaskError("The verifier has an image of its own.")
    if mode == "shared" and own.left():
        raise ConfigError("verifier.environment cannot be used with environment_mode 'shared'.")
    return "shared" if mode == "shared" else "fresh", own.left()


@dataclass(frozen=True)
class _Environment:
    machine: MachineSpec
    prebuilt: str
    internet: bool
    build_timeout: float
    unread: tuple[str, ...]


def _environment(folder: Path, fields: Fields, variables: Mapping[str, str]) -> _Environment:
    _refuse_hardware(fields)
    image = fields.text("docker_image")
    service = _service(folder / "environment", variables)
    has_dockerfile = has_file(folder, "environment/Dockerfile")
    instructions = read_dockerfile(folder, "environment/Dockerfile") if has_dockerfile else []
    machine = MachineSpec(
        image="" if has_dockerfile else image or service.image,
        build=str((folder / "environment").resolve()) if has_dockerfile else "",
        workdir=fields.text("workdir") or service.workdir or workdir_of(instructions),
        user=service.user or user_of(instructions),
        env={**service.env, **fields.variables("env", variables)},
        cpus=fields.number("cpus", service.cpus or 1.0),
        memory=_size(fields, "memory", (service.memory or 2 << 30) / _MIB),
        disk=_size(fields, "storage", 10240),
        **_healthcheck(fields),
    )
    return _Environment(
        machine=machine,
        prebuilt=image if has_dockerfile else "",
        internet=_internet(fields),
        build_timeout=fields.number("build_timeout_sec", 600.0),
        unread=(*fields.left(), *service.unread),
    )


def _service(folder: Path, variables: Mapping[str, str]) -> Service:
    if has_file(folder, _COMPOSE):
        return read_compose(folder, _COMPOSE, variables)
    return Service(
        image="", context=None, env={}, workdir="", user="", cpus=None, memory=None, unread=()
    )


def _refuse_hardware(fields: Fields) -> None:
    if fields.count("gpus", 0):
        raise UnsupportedTaskError("The task needs a GPU.")
    fields.items("gpu_types")
    if fields.table("tpu").left():
        raise UnsupportedTaskError("The task needs a TPU.")
    system = fields.text("os", "linux").lower()
    if system != "linux":
        raise UnsupportedTaskError(f"The task runs on {system[:40]!r}, not on Linux.")
    if fields.items("mcp_servers"):
        raise UnsupportedTaskError("The task gives the agent MCP servers.")


def _size(fields: Fields, name: str, default: float) -> int:
    """Take a size in bytes; the older form, such as ``memory = "2G"``, comes first."""
    older = fields.text(name)
    size = fields.number(f"{name}_mb", default)
    return size_of(older, f"environment.{name}") if older else max(1, int(size * _MIB))


def _internet(fields: Fields) -> bool:
    allowed = fields.flag("allow_internet", default=True)
    hosts = fields.items("allowed_hosts")
    mode = fields.text("network_mode") or ("allowlist" if hosts else "")
    if mode == "allowlist":
        raise UnsupportedTaskError("The task allows some hosts of the internet only.")
    if mode and mode not in _NETWORK_MODES:
        raise ConfigError(
            f"environment.network_mode must be one of {', '.join(_NETWORK_MODES)}; "
            f"got {mode[:40]!r}."
        )
    return mode == "public" if mode else allowed


def _healthcheck(fields: Fields) -> dict[str, Any]:
    """Return a command that tries the check of the task as often as the task says, and its time."""
    check = fields.table("healthcheck")
    command = check.text("command")
    interval = check.number("interval_sec", 5.0, minimum=-1)
    timeout = check.number("timeout_sec", 30.0)
    grace = check.number("start_period_sec", 0.0, minimum=-1)
    pause = check.number("start_interval_sec", 5.0)
    attempts = max(1, check.count("retries", 3)) + math.ceil(max(grace, 0) / pause)
    if not command:
        return {}
    tries = (
        f"for attempt in $(seq {attempts}); do "
        f"timeout {timeout:g} bash -c {shlex.quote(command)} && exit 0; "
        f"sleep {max(interval, 0):g}; done; exit 1"
    )
    return {"healthcheck": tries, "health_timeout": attempts * (timeout + max(interval, 0.0))}
