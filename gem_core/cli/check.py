"""``gem-core check``: the conformance kit from the command line."""

import sys

import click
from rich.console import Console
from rich.progress import Progress

from gem_core.errors import UnknownIdError
from gem_core.plugins import default_registry, load_plugins
from gem_core.specs import EnvSpec
from gem_core.testing import Report, check_env, check_plugin

__all__ = ["command"]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core check game:Sudoku-v0-easy\n"
    "  gem-core check 'game:*'\n"
    "  gem-core check gem-games"
)
@click.argument("targets", nargs=-1, required=True, metavar="ID|PATTERN|PLUGIN...")
@click.option("--episodes", type=click.IntRange(min=1), default=20, help="Episodes per measure.")
def command(targets: tuple[str, ...], episodes: int) -> None:
    """Check environments, or all that a plugin brings, against the contract."""
    console = Console(soft_wrap=True)
    reports: list[Report] = []
    specs: list[EnvSpec] = []
    for target in targets:
        if target in {status.name for status in load_plugins().statuses}:
            reports.append(check_plugin(target))
            source = reports[-1].subject
            specs += [s for s in default_registry().list(EnvSpec) if s.source == source]
        else:
            specs += _matching(target)
    with Progress(console=console, transient=True) as progress:
        tracked = progress.track(specs, description="checking")
        reports += [check_env(spec, episodes=episodes) for spec in tracked]
    for report in reports:
        _print(console, report)
    failed = sum(not report.ok for report in reports)
    console.print(f"\n{len(reports)} checked, {failed} with problems.", highlight=False)
    sys.exit(1 if failed else 0)


def _matching(pattern: str) -> list[EnvSpec]:
    specs = default_registry().list(EnvSpec, pattern)
    if specs or "*" in pattern or "?" in pattern:
        if not specs:
            raise UnknownIdError(f"No environment matches {pattern!r}.")
        return specs
    return [default_registry().find(EnvSpec, pattern)]


def _print(console: Console, report: Report) -> None:
    mark = "[green]ok[/]  " if report.ok else "[red]FAIL[/]"
    facts = ", ".join(f"{name} {value}" for name, value in report.facts.items())
    console.print(f"{mark} {report.subject}  [dim]{facts}[/]", highlight=False)
    for finding in report.findings:
        console.print(f"       {finding.check}: {finding.message}", markup=False, highlight=False)
