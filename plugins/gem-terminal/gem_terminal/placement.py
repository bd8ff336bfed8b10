"""Whether a task can run on machines of a provider, as far as can be said before it is tried."""

import re
from collections.abc import Iterator

from gem_terminal.task import TerminalTask
from gem_workers.machine import ForesightedProvider, MachineProvider, MachineSpec, Outlook

__all__ = ["outlook_of", "stand_in_of"]

_NEEDS_NETWORK = re.compile(
    r"(?:\b(?:apt-get|apt|apk)\s+(?:-\S+\s+)*(?:install|add)|\bpip3?\s+install|\bcurl\b|\bwget\b"
    r"|\buvx?\b|\bnpm\s+(?:install|ci)|\bgit\s+clone)\b"
)


def outlook_of(task: TerminalTask, provider: MachineProvider) -> Outlook:
    """Return whether a task can run.

    Args:
        task: The task.
        provider: Starts its machines.

    Raises:
        ConfigError: The Dockerfile of the task cannot be read, or what the provider was told to
            use is missing.
    """
    reasons: list[str] = []
    for spec in task.machines:
        found = (
            provider.outlook(spec)
            if isinstance(provider, ForesightedProvider)
            else Outlook("may run", ("nobody can tell before it is tried",))
        )
        whose = "" if spec is task.machine else "the verifier's machine: "
        if found.state == "needs docker":
            return Outlook("needs docker", tuple(f"{whose}{one}" for one in found.reasons))
        reasons += [f"{whose}{one}" for one in found.reasons]
    if not getattr(provider, "skips_installed", False):
        reasons += _of_tests(task)
    return Outlook("may run" if reasons else "runs", tuple(dict.fromkeys(reasons)))


def stand_in_of(provider: MachineProvider, spec: MachineSpec) -> str:
    """Return what stands in for the image of a spec; empty if it is the image, or nobody knows.

    Raises:
        ConfigError: A root file system is missing.
    """
    return provider.stand_in(spec) if isinstance(provider, ForesightedProvider) else ""


def _of_tests(task: TerminalTask) -> Iterator[str]:
    """Yield the first line of the tests that needs a network, which they do not have."""
    files = [each for part in task.parts for each in part.task.tests.items()]
    for name, content in files:
        if not name.endswith(".sh"):
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            found = None if line.lstrip().startswith("#") else _NEEDS_NETWORK.search(line)
            if found:
                yield (
                    f"the tests need a network at line {number} of {name} ({found[0]}), unless "
                    f"what they want is there and the machine has installed=skip"
                )
                return
