"""``gem-core list``: the environments, tools, wrappers, agents and so on that are installed."""

import contextlib
import fnmatch
import inspect
import sys

import click
from rich.table import Table

from gem_core.console import Terminal
from gem_core.errors import GemError, UnknownIdError, near_names
from gem_core.notices import results_alone
from gem_core.options import complete_envs, format_option, kind_option, print_json
from gem_core.plugins import default_registry
from gem_core.specs import COMMANDS, ENVS, Spec

__all__ = ["command"]

KINDS = "kinds"
"""What ``--kind`` takes to list the kinds themselves."""
PIPE_WIDTH = 200
"""The width of output that does not go to a terminal, so that no line is broken."""


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core list\n"
    "  gem-core list 'game:*-easy'\n"
    "  gem-core list --long --kind wrappers\n"
    "  gem-core list --format json | jq -r '.[].id'"
)
@click.argument("pattern", default="*", shell_complete=complete_envs)
@kind_option("envs", "envs, tools, ...")
@click.option(
    "--long", "-l", "is_long", is_flag=True, help="Also show parameters and the distribution."
)
@format_option()
def command(pattern: str, kind: str, form: str, *, is_long: bool) -> None:
    """List what is installed. PATTERN may contain * and ?.

    The exit status is 1 if nothing matches PATTERN.
    """
    if kind == KINDS:
        _list_kinds(pattern, form)
        return
    of_kind = default_registry().kind(kind)
    registry = default_registry()
    # That nothing of a kind is installed is an answer; that a pattern matches nothing is a mistake.
    specs: list[Spec] = (registry.list if pattern == "*" else registry.matching)(of_kind, pattern)
    if form == "json":
        fields = ("id", "entry_point", "kwargs", "description", "source")
        print_json([{name: getattr(spec, name) for name in fields} for spec in specs])
        return
    console = _console()
    if not specs:
        console.print(f"No {kind} are installed. 'gem-core plugins' shows what is.")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("description")
    if is_long:
        table.add_column("parameters")
        table.add_column("from")
    for spec in specs:
        more = (_parameters(spec), spec.source.partition(" ")[0]) if is_long else ()
        table.add_row(spec.id, spec.description, *more)
    console.print(table)
    console.print(f"\n{len(specs)} {kind}.", style="dim")


def _list_kinds(pattern: str, form: str) -> None:
    known = {kind.id: kind for kind in default_registry().kinds()}
    kinds = [known[one] for one in known if fnmatch.fnmatchcase(one, pattern)]
    if not kinds:
        raise UnknownIdError(f"No kind matches {pattern!r}.{near_names(pattern, known)}")
    if form == "json":
        fields = ("id", "name", "description", "group")
        print_json([{name: getattr(kind, name) for name in fields} for kind in kinds])
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "description", "key of Hydra"):
        table.add_column(heading)
    for kind in kinds:
        table.add_row(kind.id, kind.description, kind.group)
    _console().print(table)


def _console() -> Terminal:
    return Terminal(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def _parameters(spec: Spec) -> str:
    """Return the parameters and their values; for a command or environment, those of the spec."""
    values = dict(spec.kwargs)
    if spec.kind not in (COMMANDS, ENVS):
        with contextlib.suppress(GemError), results_alone():
            values = spec.parameters()
    required = inspect.Parameter.empty
    return " ".join(n if one is required else f"{n}={one}" for n, one in values.items())
