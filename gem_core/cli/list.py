"""``gem-core list``: the environments, tools, wrappers, agents and so on that are installed."""

import json
import sys

import click
from rich.table import Table

from gem_core.console import Terminal
from gem_core.known import install_hint
from gem_core.options import complete_envs, format_option, warn_deprecated
from gem_core.plugins import default_registry
from gem_core.specs import (
    AgentSpec,
    CallFormatSpec,
    CommandSpec,
    EnvSpec,
    ExecutorSpec,
    MachineProviderSpec,
    SandboxSpec,
    Spec,
    ToolSpec,
    WrapperSpec,
)

__all__ = ["command"]

PIPE_WIDTH = 200
"""The width of output that does not go to a terminal, so that no line is broken."""

_KINDS: dict[str, type[Spec]] = {
    "envs": EnvSpec,
    "tools": ToolSpec,
    "call_formats": CallFormatSpec,
    "wrappers": WrapperSpec,
    "agents": AgentSpec,
    "sandboxes": SandboxSpec,
    "machines": MachineProviderSpec,
    "executors": ExecutorSpec,
    "commands": CommandSpec,
}


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core list\n"
    "  gem-core list 'game:*-easy'\n"
    "  gem-core list --long --kind wrappers\n"
    "  gem-core list --format json | jq -r '.[].id'"
)
@click.argument("pattern", default="*", shell_complete=complete_envs)
@click.option(
    "--kind",
    type=click.Choice(list(_KINDS)),
    default="envs",
    show_default=True,
    help="The kind of thing to list.",
)
@click.option(
    "--long", "-l", "is_long", is_flag=True, help="Also show parameters and the distribution."
)
@format_option()
@click.option("--json", "old_json", is_flag=True, hidden=True)
def command(pattern: str, kind: str, form: str, *, is_long: bool, old_json: bool) -> None:
    """List what is installed. PATTERN may contain * and ?."""
    if old_json:
        warn_deprecated("--json", "--format json")
    specs = default_registry().list(_KINDS[kind], pattern)
    if form == "json" or old_json:
        fields = ("id", "entry_point", "kwargs", "description", "source")
        rows = [{name: getattr(spec, name) for name in fields} for spec in specs]
        click.echo(json.dumps(rows, indent=2, default=str))
        return
    console = Terminal(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    if not specs:
        hint = install_hint(_KINDS[kind].kind, pattern)
        console.print(f"No {kind} match {pattern!r}. {hint}".strip())
        console.print("'gem-core plugins' shows what is installed.")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("description")
    if is_long:
        table.add_column("parameters")
        table.add_column("from")
    for spec in specs:
        parameters = " ".join(f"{name}={value}" for name, value in spec.kwargs.items())
        more = (parameters, spec.source.partition(" ")[0]) if is_long else ()
        table.add_row(spec.id, spec.description, *more)
    console.print(table)
    console.print(f"\n{len(specs)} {kind}.", style="dim")
