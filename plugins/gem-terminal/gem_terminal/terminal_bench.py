"""Task folders of Terminal-Bench 1: ``task.yaml``, ``run-tests.sh``, and folders beside them."""

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from gem_core.errors import ConfigError
from gem_terminal.compose import Service, read_compose, read_yaml
from gem_terminal.fields import Fields, Number, Scalar
from gem_terminal.forgeable import why_forgeable
from gem_terminal.task import TerminalTask, UnsupportedTaskError
from gem_workers.dockerfile import read_dockerfile, user_of, workdir_of
from gem_workers.machine import MachineSpec
from gem_workers.untrusted_files import has_file, read_bytes, read_files

__all__ = ["read_terminal_bench"]

_VARIABLES = {
    "T_BENCH_TEST_DIR": "/tests",
    "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
}


def _tags(value: Any) -> Any:
    if not isinstance(value, list):
        raise ValueError("must be a list")  # noqa: TRY004 - pydantic adds the path
    return [str(tag) for tag in value if isinstance(tag, str | int | float)] or None


class _Description(Fields):
    author_name: Scalar | None = None
    author_email: Scalar | None = None
    difficulty: Scalar | None = None
    category: Scalar | None = None
    estimated_duration_sec: Scalar | None = None
    expert_time_estimate_min: Scalar | None = None
    junior_time_estimate_min: Scalar | None = None
    tags: Annotated[list[str] | None, BeforeValidator(_tags)] = None


class _Text(Fields):
    key: Scalar = ""
    description: str = ""


class _Task(_Description):
    instruction: str
    descriptions: list[_Text] = Field(default_factory=list)
    """Texts by keys; the instruction may be the first key, and then all of them are meant."""
    parser_name: str = "pytest"
    max_agent_timeout_sec: Number = 360.0
    max_test_timeout_sec: Number = 60.0
    run_tests_in_same_shell: bool = False
    disable_asciinema: bool = False
    """How the episode is recorded, which makes no difference here."""

    @property
    def told(self) -> str:
        """What the agent is told."""
        if self.instruction.strip() not in {str(text.key) for text in self.descriptions}:
            return self.instruction.strip()
        return "\n\n".join(text.description.strip() for text in self.descriptions)


class _Command(Fields):
    command: str = ""
    block: bool = False
    append_enter: bool = True


def read_terminal_bench(
    folder: str | Path, *, variables: Mapping[str, str] | None = None
) -> TerminalTask:
    """Read a task folder of Terminal-Bench 1.

    Args:
        folder: The folder with ``task.yaml``.
        variables: The values of ``${NAME}`` in the environment variables of the compose file. The
            environment of the host is not used.

    Raises:
        UnsupportedTaskError: The task needs what machines do not have, such as a second container.
        ConfigError: Something is missing, malformed or not valid.
    """
    folder = Path(folder)
    task = _Task.checked(read_yaml(folder, "task.yaml"), "task.yaml")
    if task.parser_name != "pytest":
        raise UnsupportedTaskError(
            f"The results of {task.parser_name[:40]!r} are not understood, only pytest's."
        )
    compose = read_compose(folder, "docker-compose.yaml", {**_VARIABLES, **(variables or {})})
    in_same_shell = task.run_tests_in_same_shell
    solution, not_read = _solution(folder)
    tests = {**read_files(folder, "tests"), "run-tests.sh": read_bytes(folder, "run-tests.sh")}
    return TerminalTask(
        id=folder.resolve().name,
        instruction=task.told,
        machine=_machine(folder, compose.service),
        services=compose.processes,
        internet=True,
        tests=tests,
        verify_command="bash /tests/run-tests.sh",
        verifier_timeout=task.max_test_timeout_sec,
        verifier_env={"TEST_DIR": "/tests"},
        agent_timeout=task.max_agent_timeout_sec,
        solution=solution,
        mode="shared" if in_same_shell else "fresh",
        reward="pytest",
        forgeable=why_forgeable(tests),
        metadata=task.model_dump(include=set(_Description.model_fields), exclude_none=True),
        unread=(
            *(["run_tests_in_same_shell"] if in_same_shell else []),
            *task.unread(),
            *compose.unread,
            *not_read,
        ),
    )


def _machine(folder: Path, service: Service) -> MachineSpec:
    build = workdir = user = ""
    if service.context is not None:
        context = posixpath.normpath(service.context)
        if posixpath.isabs(context) or context.startswith(".."):
            raise ConfigError(
                f"The image is built from {context[:80]!r}, which is outside the task."
            )
        instructions = read_dockerfile(folder, f"{context}/Dockerfile")
        build = str((folder / context).resolve())
        workdir, user = workdir_of(instructions), user_of(instructions)
    return MachineSpec(
        image="" if build else service.image,
        build=build,
        env=service.environment,
        workdir=service.working_dir or workdir,
        user=service.user_name or user,
        cpus=service.limits.cpus or 1.0,
        memory=service.limits.memory or 2 << 30,
    )


def _solution(folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the reference solution as a script, and the file that cannot be made one."""
    if has_file(folder, "solution.sh"):
        return {"solve.sh": read_bytes(folder, "solution.sh")}, ()
    if not has_file(folder, "solution.yaml"):
        return {}, ()
    steps = read_yaml(folder, "solution.yaml")
    if not isinstance(steps, list):
        raise ConfigError(f"{folder / 'solution.yaml'} must be a list of commands.")
    lines = []
    for number, step in enumerate(steps, start=1):
        typed = _Command.checked(step, f"solution.yaml: command {number}")
        lines.append(typed.command)
        if not typed.block or not typed.append_enter:
            return {}, ("solution.yaml",)  # keys for a program that is running
    return {"solve.sh": "\n".join([*lines, ""]).encode()}, ()
