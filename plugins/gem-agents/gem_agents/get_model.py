"""``gem-core get-model``: fetch a model once, and use it by its id ever after."""

import click
from click.shell_completion import CompletionItem
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from gem_core.console import Terminal
from gem_core.options import completions, format_option, print_json
from gem_core.plugins import default_registry
from gem_rollout.models.registered import MODELS, fetch_model

__all__ = ["command"]


def _complete(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    return completions(default_registry().list(MODELS, f"{start}*"))


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core get-model smollm2\n"
    "  gem-core eval game:GuessTheNumber-v0-easy 'agent=[random,smollm2]' episodes=20\n"
    "  gem-core list --kind models"
)
@click.argument("model", shell_complete=_complete)
@format_option()
def command(model: str, form: str) -> None:
    """Fetch the registered MODEL, if it is not on this machine, and print its folder.

    It is written as an ordinary folder of transformers to ~/.cache/gem-core/models (or
    $XDG_CACHE_HOME/gem-core/models), and then needs no network. Agents and training take its id
    wherever they take the name of a model: agent=MODEL, model=MODEL.
    """
    spec = default_registry().find(MODELS, model)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    console = Terminal(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                for task in tasks.values():
                    progress.remove_task(task)
                tasks.clear()
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=done, total=total)

        folder = fetch_model(spec, report)
    if form == "json":
        print_json({"id": spec.id, "folder": str(folder)})
    else:
        click.echo(folder)
