"""The contract of plugins: everything that one registers is loaded and checked."""

import inspect
import warnings
from collections.abc import Callable

from gem_core.errors import GemError, NotInstalledError, PluginError, near_names
from gem_core.plugins import load_plugins
from gem_core.specs import COMMANDS, Spec, check_kwargs, load_entry_point
from gem_core.testing.report import Finding, Report

__all__ = ["check_plugin"]


def check_plugin(name: str) -> Report:
    """Check that a plugin loads quickly and that all it registers keeps its contract.

    Its tools, sandboxes, agents, wrappers, executors and commands are made and used; ``unchecked``
    says what could not be, and why. Its environments have their own check, ``check_env``.

    Args:
        name: Name of its entry point, as ``gem-core plugins`` shows it, or of its distribution.

    Returns:
        A report whose subject is the plugin's distribution.

    Raises:
        PluginError: There is no plugin of this name.
    """
    plugins = load_plugins()
    statuses = plugins.named(name)
    if not statuses:
        names = {status.name for status in plugins.statuses}
        raise PluginError(
            f"No plugin {name!r} is installed.{near_names(name, names)} "
            f"'gem-core plugins' lists all of them."
        )
    report = Report(statuses[0].distribution)
    report.findings += [Finding("load", line) for status in statuses for line in status.problems]
    specs: list[Spec] = []
    for kind in plugins.registry.kinds():
        specs += [s for s in plugins.registry.list(kind) if s.source == report.subject]
    report.facts["specs"] = len(specs)
    for spec in specs:
        _check_spec(spec, report)
    return report


def _check_spec(spec: Spec, report: Report) -> None:
    """Load the entry point of a spec; if it can be made without more parameters, check it."""
    name = f"{spec.kind} {spec.id}"
    if callable(spec.entry_point):
        message = "its entry point should be text, so that listing it imports nothing"
        report.findings.append(Finding(name, message))
    if not spec.description:
        report.findings.append(Finding(name, "it has no description"))
    try:
        target = spec.load()
        if spec.kind != COMMANDS:
            check_kwargs(target, spec.kwargs, name)
        check: Callable[[str], Report | None] | None = None
        if spec.kind.check:
            check = load_entry_point(spec.kind.check)
        values = {} if check is None or spec.kind == COMMANDS else spec.parameters()
        if missing := [name for name, value in values.items() if value is inspect.Parameter.empty]:
            report.unchecked.append(f"{name}: it needs {', '.join(missing)}")
        elif check is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # sandboxes without isolation
                _merge(report, name, check(spec.id))
    except Exception as error:  # noqa: BLE001 - any error is a finding
        _add(report, name, error)


def _add(report: Report, name: str, error: Exception) -> None:
    """Add an error as a finding, or as unchecked if it misses a package of an extra."""
    if isinstance(error, NotInstalledError):
        report.unchecked.append(f"{name}: {error}")
        return
    message = str(error) if isinstance(error, GemError) else f"{type(error).__name__}: {error}"
    report.findings.append(Finding(name, message))


def _merge(report: Report, name: str, part: Report | None) -> None:
    if part is not None:
        report.findings += [Finding(f"{name}, {f.check}", f.message) for f in part.findings]
        report.unchecked += [f"{name}: {line}" for line in part.unchecked]
