"""``gem-core check``: the conformance kit from the command line."""

import sys
from typing import Any

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import UnknownIdError, near_names
from gem_core.notices import results_alone
from gem_core.options import complete_envs, format_option, print_json
from gem_core.plugins import default_registry, load_plugins
from gem_core.specs import ENVS, EnvSpec
from gem_core.testing import Report, check_env, check_plugin

__all__ = ["command"]


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [name for name in _plugin_names() if name.startswith(incomplete)]
    return [*map(CompletionItem, names), *complete_envs(ctx, param, incomplete)]


def _plugin_names() -> list[str]:
    """Return the names of plugins, and those of their distributions."""
    statuses = load_plugins().statuses
    names = [name for one in statuses for name in (one.name, one.distribution.partition(" ")[0])]
    return list(dict.fromkeys(names))


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core check game:Sudoku-v0-easy\n"
    "  gem-core check 'game:*' --format json\n"
    "  gem-core check gem-games\n"
    "  gem-core check ./my_env.py:MyEnv"
)
@click.argument(
    "targets",
    nargs=-1,
    required=True,
    metavar="ID|PATTERN|DISTRIBUTION...",
    shell_complete=_complete,
)
@click.option(
    "--episodes",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Episodes that each check plays.",
)
@format_option()
def command(targets: tuple[str, ...], episodes: int, form: str) -> None:
    """Check environments, or everything that a plugin registers, against the contract.

    The exit status is 1 if a check finds a problem.
    """
    reports: list[Report] = []
    specs: list[EnvSpec] = []
    for target in targets:
        if load_plugins().named(target):
            with results_alone():
                reports.append(check_plugin(target))
            source = reports[-1].subject
            specs += [s for s in default_registry().list(ENVS) if s.source == source]
        else:
            specs += _matching(target)
    with results_alone(), Progress(console=Terminal(stderr=True), transient=True) as progress:
        tracked = progress.track(specs, description="checking")
        reports += [check_env(spec, episodes=episodes) for spec in tracked]
    failed = sum(not report.ok for report in reports)
    if form == "json":
        plain = {"checked": len(reports), "failed": failed, "reports": [*map(_plain, reports)]}
        print_json(plain)
    else:
        console = Terminal(soft_wrap=True)
        for report in reports:
            _print(console, report)
        console.print(f"\n{len(reports)} checked, {failed} with problems.")
    sys.exit(1 if failed else 0)


def _matching(target: str) -> list[EnvSpec]:
    try:
        return default_registry().matching(ENVS, target)
    except UnknownIdError:
        if ":" not in target and (near := near_names(target, _plugin_names())):
            raise UnknownIdError(f"There is no {target!r}.{near}") from None
        raise


def _plain(report: Report) -> dict[str, Any]:
    return {
        "subject": report.subject,
        "ok": report.ok,
        "facts": report.facts,
        "findings": [vars(finding) for finding in report.findings],
        "unchecked": report.unchecked,
    }


def _print(console: Console, report: Report) -> None:
    mark = Text("ok  ", "green") if report.ok else Text("FAIL", "red")
    facts = ", ".join(f"{name} {value}" for name, value in report.facts.items())
    console.print(mark, report.subject, Text(f" {facts}", "dim"))
    checks: dict[str, list[str]] = {}
    for finding in report.findings:
        checks.setdefault(finding.message, []).append(finding.check)
    for message, names in checks.items():
        console.print(f"       {', '.join(names)}: {message}")
    for unchecked in report.unchecked:
        console.print(f"       not checked: {unchecked}")
