"""The contract of plugins: everything that one registers is loaded and checked."""

import inspect
import re
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import click
from click.testing import CliRunner

from gem_core.errors import GemError, PluginError, UnknownIdError, near_names
from gem_core.factory import make_factory
from gem_core.plugins import load_plugins
from gem_core.specs import (
    CallFormatSpec,
    CheckSpec,
    CommandSpec,
    EnvSpec,
    ExecutorSpec,
    FamilySpec,
    KindSpec,
    Spec,
    ToolSpec,
    WrapperSpec,
    check_kwargs,
)
from gem_core.testing.env_checks import check_env
from gem_core.testing.example import example_spec
from gem_core.testing.report import Finding, Report, require
from gem_core.testing.tool_checks import TOOL_CHECKS, check_tool
from gem_core.vector import VectorEnv

__all__ = ["check_plugin"]

_WRAPPER_CHECKS = ("types", "determinism", "randomness", "snapshots", "ends")


def check_plugin(name: str) -> Report:
    """Check that a plugin loads quickly and that all it registers keeps its contract.

    Its tools, sandboxes, agents, wrappers, executors and commands are made and used; ``unchecked``
    says what could not be, and why. Its environments have their own check, ``check_env``.

    Args:
        name: Name of its entry point, as ``gem-core plugins`` shows it.

    Returns:
        A report whose subject is the plugin's distribution.

    Raises:
        PluginError: There is no plugin of this name.
    """
    plugins = load_plugins()
    statuses = {status.name: status for status in plugins.statuses}
    if name not in statuses:
        raise PluginError(
            f"No plugin {name!r} is installed.{near_names(name, statuses)} "
            f"'gem-core plugins' lists all of them."
        )
    status = statuses[name]
    report = Report(status.distribution)
    report.findings += [Finding("load", problem) for problem in status.problems]
    specs: list[Spec] = []
    for kind in plugins.registry.list(KindSpec):
        of_kind: Any = kind.load()
        specs += [s for s in plugins.registry.list(of_kind) if s.source == report.subject]
    report.facts["specs"] = len(specs)
    for spec in specs:
        _check_spec(spec, report)
    return report


def _check_spec(spec: Spec, report: Report) -> None:
    """Load what a spec names; if it can be made without more parameters, check it."""
    name = f"{spec.kind} {spec.id}"
    if callable(spec.entry_point):
        message = "its entry point should be text, so that listing it imports nothing"
        report.findings.append(Finding(name, message))
    if not spec.description:
        report.findings.append(Finding(name, "it has no description"))
    try:
        target = spec.load()
        if not isinstance(spec, CommandSpec):
            check_kwargs(target, spec.kwargs, name)
        check = _CHECKS.get(type(spec), _by_a_library)
        values = {} if check is None or isinstance(spec, CommandSpec) else spec.parameters()
        if missing := [name for name, value in values.items() if value is inspect.Parameter.empty]:
            report.unchecked.append(f"{name}: it needs {', '.join(missing)}")
        elif check is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # sandboxes without isolation
                _merge(report, name, check(spec))
    except Exception as error:  # noqa: BLE001 - any error is a finding
        _add(report, name, error)


def _add(report: Report, name: str, error: Exception) -> None:
    """Add an error as a finding, or as unchecked if it misses a package of an extra."""
    missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
    module = str(missing.name) if isinstance(missing, ModuleNotFoundError) else ""
    package, distribution = module.partition(".")[0], report.subject.partition(" ")[0]
    pattern = re.compile(rf"{re.escape(package)}(?![\w.-]).*;.*extra == ['\"](.+?)['\"]")
    if extra := next(filter(None, map(pattern.match, metadata.requires(distribution) or ())), None):
        install = f"pip install '{distribution}[{extra[1]}]'"
        report.unchecked.append(f"{name}: needs {package} ({install})")
        return
    message = str(error) if isinstance(error, GemError) else f"{type(error).__name__}: {error}"
    report.findings.append(Finding(name, message))


def _merge(report: Report, name: str, part: Report | None) -> None:
    if part is not None:
        report.findings += [Finding(f"{name}, {f.check}", f.message) for f in part.findings]
        report.unchecked += [f"{name}: {line}" for line in part.unchecked]


def _tool(spec: ToolSpec) -> Report:
    if spec.examples:
        return check_tool(spec.id, calls=spec.examples)
    report = check_tool(spec.id, calls=(), checks=[c for c in TOOL_CHECKS if c != "calls"])
    report.unchecked.append("its calls, as its ToolSpec has no examples")
    return report


def _by_a_library(spec: Spec) -> Report:
    """Check a spec whose check a library brings."""
    try:
        check = load_plugins().registry.find(CheckSpec, spec.kind)
    except UnknownIdError as error:
        return Report(spec.id, unchecked=[str(error)])
    report: Report = check.load()(spec.id)
    return report


def _wrapper(spec: WrapperSpec) -> Report:
    return check_env(make_factory(example_spec(), wrappers=[spec]), checks=_WRAPPER_CHECKS)


def _executor(spec: ExecutorSpec) -> None:
    """Play the same steps as one environment alone."""
    factory = make_factory(example_spec())
    with VectorEnv([factory] * 3, executor=spec.make()) as vector:
        observations, _ = vector.reset(seed=[5, 6, 7])
        batch = vector.step(observations)
    alone = factory()
    for index, seed in enumerate((5, 6, 7)):
        first, _ = alone.reset(seed=seed)
        step = alone.step(first)
        require(
            (first, step.observation) == (observations[index], batch.observations[index]),
            f"environment {index} of a vector plays differently from one alone",
        )


def _family(spec: FamilySpec) -> None:
    family = spec.make()
    for env_id in list(family.ids())[:3]:
        require(family.spec(env_id) is not None, f"it lists {env_id!r} and does not have it")


def _command(spec: CommandSpec) -> None:
    command = spec.load()
    require(isinstance(command, click.Command), "its entry point must be a click.Command")
    result = CliRunner().invoke(command, ["--help"])  # type: ignore[arg-type]
    require(result.exit_code == 0, f"--help ended with status {result.exit_code}")


_CHECKS: dict[type[Spec], Callable[[Any], Report | None] | None] = {
    EnvSpec: None,
    CallFormatSpec: None,
    KindSpec: None,
    FamilySpec: _family,
    ToolSpec: _tool,
    WrapperSpec: _wrapper,
    ExecutorSpec: _executor,
    CommandSpec: _command,
}
