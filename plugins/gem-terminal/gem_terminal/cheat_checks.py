"""The contract of cheats: commands, or nothing, for any task; the same each time."""

from dataclasses import replace

from gem_core.plugins import default_registry
from gem_core.testing.report import Finding, Report
from gem_terminal.specs import CHEATS
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec

__all__ = ["check_cheat"]

_PLAIN = TerminalTask(
    id="plain",
    instruction="Write the sum to /app/sum.txt with /app/sum.py.",
    machine=MachineSpec(workdir="/app", files={"/app/sum.py": b"print(1)\n"}),
    tests={"test.sh": b"echo 0 > /logs/verifier/reward.txt"},
)
_ANY_FOLDER = MachineSpec(workdir="", user="")
_TASKS = (
    _PLAIN,
    replace(_PLAIN, reward="pytest", mode="shared"),
    replace(_PLAIN, instruction="Do it: 'quoted', $HOME, \"é\"\nEND", machine=_ANY_FOLDER),
)
"""Tasks of both formats, with and without paths in the instruction."""


def check_cheat(cheat_id: str) -> Report:
    """Check that a cheat returns commands for a task that it applies to, and the same each time.

    Args:
        cheat_id: The id of a cheat.
    """
    report = Report(cheat_id)
    spec = default_registry().find(CHEATS, cheat_id)
    found = [spec.make(task) for task in _TASKS]
    if not all(isinstance(commands, str) for commands in found):
        report.findings.append(Finding("commands", "it returns something else than a text"))
    elif [spec.make(task) for task in _TASKS] != found:
        report.findings.append(Finding("same commands", "it returns others the second time"))
    elif not any(found):
        report.findings.append(Finding("applies", "it applies to no task"))
    return report
