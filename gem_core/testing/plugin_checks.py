"""What every plugin owes its users."""

from gem_core.errors import GemError, PluginError, near_names
from gem_core.plugins import load_plugins
from gem_core.specs import (
    AgentSpec,
    CallFormatSpec,
    CommandSpec,
    EnvSpec,
    ExecutorSpec,
    FamilySpec,
    SandboxSpec,
    Spec,
    ToolSpec,
    WrapperSpec,
    check_kwargs,
)
from gem_core.testing.report import Finding, Report

__all__ = ["check_plugin"]

_KINDS: tuple[type[Spec], ...] = (
    EnvSpec,
    FamilySpec,
    ToolSpec,
    WrapperSpec,
    CallFormatSpec,
    AgentSpec,
    SandboxSpec,
    ExecutorSpec,
    CommandSpec,
)


def check_plugin(name: str) -> Report:
    """Check that a plugin loads quickly and that all it registers can be loaded.

    Args:
        name: Name of its entry point, as ``gem-core plugins`` shows it.

    Returns:
        A report whose subject is the plugin's distribution. Its environments have checks of their
        own: ``check_env``.

    Raises:
        PluginError: There is no plugin of this name.
    """
    plugins = load_plugins()
    statuses = {status.name: status for status in plugins.statuses}
    if name not in statuses:
        raise PluginError(
            f"No plugin {name!r} is installed.{near_names(name, statuses)} "
            f"'gem-core plugins' shows all."
        )
    status = statuses[name]
    report = Report(status.distribution)
    report.findings += [Finding("load", problem) for problem in status.problems]
    specs = [
        s for kind in _KINDS for s in plugins.registry.list(kind) if s.source == report.subject
    ]
    report.facts["specs"] = len(specs)
    if not specs and report.ok:
        report.findings.append(Finding("load", "it registers nothing"))
    for spec in specs:
        report.findings += _check_spec(spec)
    return report


def _check_spec(spec: Spec) -> list[Finding]:
    name = f"{spec.kind} {spec.id}"
    findings = []
    if callable(spec.entry_point):
        message = "its entry point should be text, so that listing it imports nothing"
        findings.append(Finding(name, message))
    if not spec.description:
        findings.append(Finding(name, "it has no description"))
    try:
        target = spec.load()
        if not isinstance(spec, CommandSpec):
            check_kwargs(target, spec.kwargs, name)
    except GemError as error:
        findings.append(Finding(name, str(error)))
    return findings
