"""How a step of a task begins on a machine: its files, its set-up and its health check."""

from gem_core.errors import MachineError
from gem_terminal.task import TaskStep
from gem_workers.machine import Machine

__all__ = ["begin_step"]

_SETUP = "setup.sh"
_SHOWN = 500


def begin_step(machine: Machine, step: TaskStep) -> None:
    """Put the files of a step into the working directory, and run its set-up and its health check.

    Raises:
        MachineError: One of them has failed.
    """
    folder = machine.spec.workdir.rstrip("/")
    for path, content in step.files.items():
        machine.write(f"{folder}/{path}", content, mode=0o755 if path.endswith(".sh") else 0o644)
    if _SETUP in step.files:
        _run(
            machine, f"bash ./{_SETUP}", step.task.agent_timeout, f"{_SETUP} of step {step.name!r}"
        )
    if step.healthcheck:
        name = f"the health check of step {step.name!r}"
        _run(machine, step.healthcheck, step.health_timeout, name)


def _run(machine: Machine, command: str, timeout: float, name: str) -> None:
    result = machine.run(command, timeout=timeout)
    if not result.ok:
        status = result.limit or f"exit status {result.exit_status}"
        printed = f"{result.stdout}{result.stderr}".strip()[-_SHOWN:]
        raise MachineError(f"{name} has failed, with {status}: {printed or 'it printed nothing'}")
