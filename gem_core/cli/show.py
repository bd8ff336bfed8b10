"""``gem-core show``: one environment with an example of its first observation, or another spec."""

import contextlib
import inspect
from typing import Any

import click
from click.shell_completion import CompletionItem
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gem_core.api import make
from gem_core.cli.docstring import rendered
from gem_core.console import Terminal
from gem_core.content import images_of
from gem_core.errors import ConfigError, UnknownIdError, near_names
from gem_core.notices import results_alone
from gem_core.observation import Info, Observation, text_of, visible_text
from gem_core.options import completions, format_option, kind_option, print_json
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, EnvSpec, Spec
from gem_core.wrappers.history import load_tokenizer

__all__ = ["command"]


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    registry, kind = default_registry(), ctx.params.get("kind")
    kinds = [registry.kind(kind)] if kind else registry.kinds()
    return [item for one in kinds for item in completions(registry.list(one, f"{incomplete}*"))]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core show game:Sudoku-v0-easy\n"
    "  gem-core show game:Mastermind-v0-hard --seed 7\n"
    "  gem-core show game:Mastermind-v0-hard --format json\n"
    '  gem-core show math:Sample --tokenizer "$(gem-core get-model smollm2)"\n'
    "  gem-core show search\n"
    "  gem-core show ./my_env.py:MyEnv"
)
@click.argument("spec_id", metavar="ID", shell_complete=_complete)
@kind_option(None, "If several kinds have the id: envs, tools, ...")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the example episode.")
@click.option(
    "--tokenizer",
    metavar="NAME_OR_FOLDER",
    help="Count the tokens of the first prompt with this tokenizer of transformers.",
)
@format_option()
def command(spec_id: str, kind: str | None, seed: int, tokenizer: str | None, form: str) -> None:
    """Show an environment: its parameters, its rewards and an example.

    ID may also be that of a tool, an agent, a loss or anything else that 'gem-core list' shows.
    """
    spec = _find(spec_id, kind)
    with results_alone():
        description = _describe(spec)
        if isinstance(spec, EnvSpec):
            description |= _example(spec, seed, tokenizer)
    if form == "json":
        print_json(description)
    else:
        _print(description)


def _find(spec_id: str, kind: str | None) -> Spec:
    """Return the spec of an id.

    Raises:
        ConfigError: Several kinds have the id.
        UnknownIdError: None has.
    """
    registry = default_registry()
    if kind is not None:
        return registry.find(registry.kind(kind), spec_id)  # type: ignore[no-any-return]
    found = registry.named(spec_id)
    if len(found) > 1:
        choices = " or ".join(sorted(f"--kind {one.kind.id}" for one in found))
        raise ConfigError(f"{spec_id!r} is there in several kinds. Add {choices}.")
    if found:
        return found[0]
    try:
        return registry.find(ENVS, spec_id)
    except UnknownIdError:
        ids = [one.id for of in registry.kinds() for one in registry.list(of)]
        if near := near_names(spec_id, ids):
            raise UnknownIdError(f"There is no {spec_id!r}.{near}") from None
        raise


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


def _example(spec: EnvSpec, seed: int, tokenizer: str | None) -> dict[str, Any]:
    with make(spec) as env:
        observation, info = env.reset(seed=seed)
        action = None
        with contextlib.suppress(NotImplementedError):
            action = env.sample_random_action()
    tokens = {} if tokenizer is None else {"tokens": _tokens(observation, info, tokenizer)}
    return tokens | {
        "return_range": spec.return_range,
        "oracle": spec.oracle is not None,
        "metadata": dict(spec.metadata),
        "observation": text_of(observation),
        "images": [f"{image!r:.80}" for image in images_of(observation)],
        "suffix": info.get("suffix", ""),
        "action": action,
    }


def _tokens(observation: Observation, info: Info, name: str) -> int:
    """Return the length of the first prompt, rendered by the tokenizer's chat template."""
    tokenizer, text = load_tokenizer(name), visible_text(observation, info)
    if tokenizer.chat_template:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tools=info.get("tool_schemas"),
            tokenize=False,
            add_generation_prompt=True,
        )
    return len(tokenizer.encode(text, add_special_tokens=False))


def _print(description: dict[str, Any]) -> None:
    console = Terminal()
    console.print(Text(description["id"], "bold"), f" {description['description']}")
    places = filter(None, [description["source"], description["entry_point"]])
    console.print(f"from {', '.join(places)}", style="dim")
    console.print()
    console.print(rendered(description["documentation"]))
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
    if "tokens" in description:
        console.print(f"First prompt: {description['tokens']} tokens, without a system message")
    console.print()
    parts = [description["observation"], *description["images"], description["suffix"]]
    shown = "\n".join(filter(None, parts))
    console.print(Panel(Text(shown), title="first observation", title_align="left"))
    if description["action"] is not None:
        action = Text(str(description["action"]))
        console.print(Panel(action, title="an action", title_align="left"))
    console.print(f"\ngem-core play {description['id']}", style="dim")
    if description["action"] is not None:
        console.print(f"gem-core run {description['id']} agent=random", style="dim")
