"""Task folders of Terminal-Bench 1: ``task.yaml``, ``run-tests.sh``, and folders beside them."""

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError
from gem_terminal.compose import Service, read_compose, read_yaml
from gem_terminal.fields import Fields
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
_DESCRIPTION = (
    "author_name",
    "author_email",
    "difficulty",
    "category",
    "estimated_duration_sec",
    "expert_time_estimate_min",
    "junior_time_estimate_min",
)
_ONLY_RECORDING = ("disable_asciinema",)


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
    fields = Fields(read_yaml(folder, "task.yaml"))
    parser = fields.text("parser_name", "pytest")
    if parser != "pytest":
        raise UnsupportedTaskError(
            f"The results of {parser[:40]!r} are not understood, only pytest's."
        )
    service = read_compose(folder, "docker-compose.yaml", {**_VARIABLES, **(variables or {})})
    in_same_shell = fields.flag("run_tests_in_same_shell", default=False)
    solution, not_read = _solution(folder)
    metadata = _metadata(fields)
    tests = {**read_files(folder, "tests"), "run-tests.sh": read_bytes(folder, "run-tests.sh")}
    return TerminalTask(
        id=folder.resolve().name,
        instruction=fields.text("instruction").strip(),
        machine=_machine(folder, service),
        internet=True,
        tests=tests,
        verify_command="bash /tests/run-tests.sh",
        verifier_timeout=fields.number("max_test_timeout_sec", 60.0),
        verifier_env={"TEST_DIR": "/tests"},
        agent_timeout=fields.number("max_agent_timeout_sec", 360.0),
        solution=solution,
        mode="shared" if in_same_shell else "fresh",
        reward="pytest",
        forgeable=why_forgeable(tests),
        metadata=metadata,
        unread=(
            *(["run_tests_in_same_shell"] if in_same_shell else []),
            *fields.left(),
            *service.unread,
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
        env=service.env,
        workdir=service.workdir or workdir,
        user=service.user or user,
        cpus=service.cpus or 1.0,
        memory=service.memory or 2 << 30,
    )


def _metadata(fields: Fields) -> dict[str, Any]:
    kinds = (str, int, float)
    found = {key: fields.take(key, "a text or a number", *kinds) for key in _DESCRIPTION}
    found["tags"] = [str(tag) for tag in fields.items("tags") if isinstance(tag, kinds)]
    for key in _ONLY_RECORDING:
        fields.flag(key, default=False)
    return {key: value for key, value in found.items() if value not in (None, [])}


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
        fields = Fields(step, f"solution.yaml: command {number}")
        lines.append(fields.text("command"))
        waits = fields.flag("block", default=False)
        if not waits or not fields.flag("append_enter", default=True):
            return {}, ("solution.yaml",)  # keys for a program that is running
    return {"solve.sh": "\n".join([*lines, ""]).encode()}, ()
