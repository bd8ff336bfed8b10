"""On which machine a task can run."""

from pathlib import Path
from typing import Literal, NamedTuple

from gem_terminal.task import TerminalTask
from gem_workers.dockerfile import needs_engine, read_dockerfile
from gem_workers.machine import MachineSpec

__all__ = ["Placement", "machine_for"]


class Placement(NamedTuple):
    """The machine for a task.

    Args:
        machine: The id of the machine.
        reason: Why ``local`` will not do; empty for ``local``.
    """

    machine: Literal["local", "docker"]
    reason: str = ""


def machine_for(task: TerminalTask) -> Placement:
    """Return the machine on which a task can run: ``local`` if possible, else ``docker``.

    Raises:
        ConfigError: The Dockerfile of the task cannot be read.
    """
    found = ((spec, _why_docker(spec)) for spec in task.machines)
    for spec, reason in found:
        if reason:
            whose = "" if spec is task.machine else "the verifier's machine: "
            return Placement("docker", f"{whose}{reason}")
    return Placement("local")


def _why_docker(spec: MachineSpec) -> str:
    if spec.image:
        return f"starts from the image {spec.image!r}"
    if not spec.build:
        return ""
    instructions = read_dockerfile(Path(spec.build))
    reasons = ((each.line, needs_engine(each)) for each in instructions)
    reason = next((f"Dockerfile line {line}: {why}" for line, why in reasons if why), "")
    if not reason and sum(each.name == "FROM" for each in instructions) != 1:
        reason = "the Dockerfile does not have one stage"
    return reason
