"""On which machine a task can run."""

from pathlib import Path
from typing import Literal, NamedTuple

from gem_workers.dockerfile import Instruction, read_dockerfile
from gem_terminal.task import TerminalTask

__all__ = ["Placement", "machine_for"]

_LOCAL = frozenset({"ADD", "ARG", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"})
_REMOTE = ("http://", "https://", "git@", "ftp://")


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
    if task.machine.image:
        return Placement("docker", f"starts from the image {task.machine.image!r}")
    if not task.machine.build:
        return Placement("local")
    instructions = read_dockerfile(Path(task.machine.build))
    reasons = (_why_not(each) for each in instructions)
    reason = next(filter(None, reasons), "")
    if not reason and sum(each.name == "FROM" for each in instructions) != 1:
        reason = "the Dockerfile does not have one stage"
    return Placement("docker", reason) if reason else Placement("local")


def _why_not(each: Instruction) -> str:
    """Return why an instruction needs a container engine; empty if it does not."""
    line = f"Dockerfile line {each.line}: "
    words = each.arguments.split()
    if each.name not in _LOCAL:
        return f"{line}{each.name[:40]}"
    if each.here_documents:
        return f"{line}{each.name} with a here-document"
    if each.name in {"ADD", "COPY"} and any(word.startswith("--from") for word in words):
        return f"{line}{each.name} from another stage"
    if each.name == "ADD" and any(word.startswith(_REMOTE) for word in words):
        return f"{line}ADD of a remote file"
    if each.name == "RUN" and words and words[0].startswith("--"):
        return f"{line}RUN {words[0][:40]}"
    return ""
