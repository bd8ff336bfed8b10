"""The outcome of checks: findings, measurements, and what was not checked."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gem_core.errors import GemError, NoMachineError, NoRandomActionError, NotInstalledError
from gem_core.modules import place_of

__all__ = ["CheckFailedError", "Finding", "Report", "require", "run_checks"]

Subject = TypeVar("Subject")


class CheckFailedError(GemError, AssertionError):
    """A check of the contract failed."""


@dataclass(frozen=True)
class Finding:
    """One violation of the contract.

    Args:
        check: Name of the check.
        message: What was expected and what was found.
    """

    check: str
    message: str


@dataclass
class Report:
    """The outcome of all checks of one subject.

    Args:
        subject: Id of an environment or tool, or name of a distribution.
        findings: What is wrong; empty if nothing is.
        facts: Measurements made on the way, for people.
        unchecked: What was not checked, and why, one line each.
    """

    subject: str
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def raise_for_findings(self) -> None:
        """Raise ``CheckFailedError`` with all findings, if there are any."""
        if self.findings:
            lines = [f"{finding.check}: {finding.message}" for finding in self.findings]
            raise CheckFailedError(f"{self.subject}:\n  " + "\n  ".join(lines))


def require(condition: object, message: str) -> None:
    """Raise ``CheckFailedError`` unless ``condition`` holds."""
    if not condition:
        raise CheckFailedError(message)


def run_checks(
    report: Report,
    checks: Mapping[str, Callable[[Subject], None]],
    make_subject: Callable[[], Subject],
    names: Iterable[str] | None = None,
) -> Report:
    """Run each check on a new subject; an exception of any kind is a finding.

    A check that needs what is not there is ``unchecked``: a machine, a package, a model, or an
    environment that samples random actions.
    """
    for name in checks if names is None else names:
        try:
            checks[name](make_subject())
        except CheckFailedError as failure:
            report.findings.append(Finding(name, str(failure)))
        except (NoMachineError, NoRandomActionError, NotInstalledError) as error:
            report.unchecked.append(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - any error is a finding
            report.findings.append(
                Finding(name, f"raised {type(error).__name__}: {error}{place_of(error)}")
            )
    return report
