"""``gem-core show``: one environment, with an example of its first observation."""

import inspect
import json
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
from gem_core.options import complete_envs, format_option, warn_deprecated
from gem_core.plugins import default_registry
from gem_core.specs import EnvSpec

__all__ = ["command"]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core show game:Sudoku-v0-easy\n"
    "  gem-core show game:Mastermind-v0-hard --seed 7\n"
    "  gem-core show game:Mastermind-v0-hard --format json"
)
@click.argument("env_id", metavar="ID", shell_complete=complete_envs)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the example episode.")
@format_option()
@click.option("--json", "old_json", is_flag=True, hidden=True)
def command(env_id: str, seed: int, form: str, *, old_json: bool) -> None:
    """Show an environment: its parameters, its rewards and an example observation."""
    if old_json:
        warn_deprecated("--json", "--format json")
    spec = default_registry().find(EnvSpec, env_id)
    with results_alone():
        description = _describe(spec, seed)
    if form == "json" or old_json:
        click.echo(json.dumps(description, indent=2, default=str))
    else:
        _print(description)


def _describe(spec: EnvSpec, seed: int) -> dict[str, Any]:
    target = spec.load()
    with make(spec) as env:
        observation, info = env.reset(seed=seed)
        action = env.sample_random_action()
    return {
        "id": spec.id,
        "description": spec.description,
        "source": spec.source,
        "entry_point": str(spec.entry_point),
        "parameters": {
            name: spec.kwargs.get(name, parameter.default)
            for name, parameter in inspect.signature(target).parameters.items()
            if parameter.default is not parameter.empty or name in spec.kwargs
        },
        "documentation": inspect.getdoc(target) or "",
        "return_range": spec.return_range,
        "oracle": spec.oracle is not None,
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
    if description["return_range"] is not None:
        low, high = description["return_range"]
        console.print(f"\nReturn of an episode: {low} to {high}")
    console.print()
    parts = [description["observation"], *description["images"], description["suffix"]]
    shown = "\n".join(filter(None, parts))
    console.print(Panel(Text(shown), title="first observation", title_align="left"))
    console.print(Panel(Text(str(description["action"])), title="an action", title_align="left"))
    console.print(f"\ngem-core play {description['id']}", style="dim")
    console.print(f"gem-core run {description['id']} agent=random", style="dim")
