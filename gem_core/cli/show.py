"""``gem-core show``: one environment with an example of its first observation, or another spec."""

import inspect
from typing import Any

import click
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gem_core.api import make
from gem_core.console import Terminal
from gem_core.content import images_of
from gem_core.notices import results_alone
from gem_core.observation import text_of
from gem_core.options import complete_envs, format_option, kind_option, print_json
from gem_core.plugins import default_registry
from gem_core.specs import EnvSpec, Spec

__all__ = ["command"]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core show game:Sudoku-v0-easy\n"
    "  gem-core show game:Mastermind-v0-hard --seed 7\n"
    "  gem-core show game:Mastermind-v0-hard --format json\n"
    "  gem-core show search --kind tools"
)
@click.argument("env_id", metavar="ID", shell_complete=complete_envs)
@kind_option
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the example episode.")
@format_option()
def command(env_id: str, kind: str, seed: int, form: str) -> None:
    """Show an environment: its parameters, its rewards and an example; or another kind of spec."""
    spec = default_registry().find(default_registry().kind(kind), env_id)
    with results_alone():
        description = _describe(spec)
        if isinstance(spec, EnvSpec):
            description |= _example(spec, seed)
    if form == "json":
        print_json(description)
    else:
        _print(description)


def _describe(spec: Spec) -> dict[str, Any]:
    return {
        "id": spec.id,
        "description": spec.description,
        "source": spec.source,
        "entry_point": str(spec.entry_point),
        "parameters": {
            name: "required" if value is inspect.Parameter.empty else value
            for name, value in spec.parameters().items()
        },
        "documentation": inspect.getdoc(spec.load()) or "",
    }


def _example(spec: EnvSpec, seed: int) -> dict[str, Any]:
    with make(spec) as env:
        observation, info = env.reset(seed=seed)
        action = env.sample_random_action()
    return {
        "return_range": spec.return_range,
        "oracle": spec.oracle is not None,
        "metadata": dict(spec.metadata),
        "observation": text_of(observation),
        "images": [f"{image!r:.80}" for image in images_of(observation)],
        "suffix": info.get("suffix", ""),
        "action": action,
    }


def _print(description: dict[str, Any]) -> None:
    console = Terminal()
    console.print(Text(description["id"], "bold"), f" {description['description']}")
    console.print(f"from {description['source']}, {description['entry_point']}", style="dim")
    console.print()
    console.print(Text(description["documentation"]))
    table = Table(box=None, pad_edge=False, title="\nParameters", title_justify="left")
    table.add_column("name")
    table.add_column("value")
    for name, value in description["parameters"].items():
        table.add_row(name, repr(value))
    console.print(table)
    if "observation" not in description:
        return
    if description["return_range"] is not None:
        low, high = description["return_range"]
        console.print(f"\nReturn of an episode: {low} to {high}")
    for name, text in description["metadata"].items():
        console.print(Text(f"{name.capitalize()}: {text}"))
    console.print()
    parts = [description["observation"], *description["images"], description["suffix"]]
    shown = "\n".join(filter(None, parts))
    console.print(Panel(Text(shown), title="first observation", title_align="left"))
    console.print(Panel(Text(str(description["action"])), title="an action", title_align="left"))
    console.print(f"\ngem-core play {description['id']}", style="dim")
    console.print(f"gem-core run {description['id']} agent=random", style="dim")
