"""``gem-core make-model``: a small model for some environments, from nothing.

Its tokenizer learns from what is said in episodes of these environments, its weights are random. It
can write any text, but other texts take many tokens.
"""

import importlib.util
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from gem_core.api import make_agent
from gem_core.errors import ConfigError
from gem_core.factory import EnvFactory, make_factory
from gem_core.observation import visible_text
from gem_core.plugins import default_registry
from gem_core.specs import EnvSpec
from gem_rollout import Trajectory, collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model

__all__ = ["PIECES", "SIZES", "Size", "command", "make_model"]

PIECES = (
    r" (?=\\boxed\{|</?\p{L})|"  # with the space in their tokens they would be two each
    r"\\boxed\{|"
    r"</?\p{L}[\w-]*>|"  # tags of tools
    r"\p{N}|"
    r"\p{Lu}(?!\p{Ll})|"  # letters of words in capitals, as word games have them
    r" ?\p{Lu}?\p{Ll}+|"
    r" ?[\p{Lo}\p{Lm}\p{Lt}]+|"
    r" ?([^\s\p{L}\p{N}])\1*|"
    r"\s+(?!\S)|\s+"
)
r"""What a token of the tokenizer stays within.

A number is a token a digit, a word in capitals a token a letter, and neither has the space before
it in its token. So what an observation says and what an action says of it are the same tokens:
``\boxed{10}`` is ``\boxed{``, ``1``, ``0``, ``}``.
"""

_ROLES = "user\nassistant\nsystem\n"
"""Words of the chat template."""


@dataclass(frozen=True)
class Size:
    """Sizes of a model: width of a token's state, layers, heads of attention."""

    hidden: int
    layers: int
    heads: int


SIZES = {
    "tiny": Size(64, 3, 4),
    "small": Size(128, 4, 4),
    "medium": Size(256, 6, 8),
    "large": Size(512, 8, 8),
}
"""From 0.2 million parameters to 25 million."""


@dataclass(frozen=True)
class Made:
    """What was made.

    Args:
        parameters: Parameters of the model.
        vocabulary: Tokens of the tokenizer.
        prompt_tokens: Tokens of the first prompt of an episode, the median of what was played.
        episode_tokens: Tokens of an episode, likewise.
        action: Text of an action.
        action_tokens: Its tokens, as text.
    """

    parameters: int
    vocabulary: int
    prompt_tokens: int
    episode_tokens: int
    action: str
    action_tokens: list[str]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core make-model tiny --env 'game:GuessTheNumber*'\n"
    "  gem-core make-model small --env 'game:*-easy' --size small --vocab 1024\n"
    "  gem-core make-model tools --env math:Sample --tool python --context 4096\n"
    "  gem-core train sft model=tiny env=game/GuessTheNumber-v0-easy skill=0.4 out=runs/warm"
)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--env",
    "patterns",
    multiple=True,
    required=True,
    metavar="PATTERN",
    help="Id or pattern of environments to learn the tokens from; several.",
)
@click.option(
    "--tool", "tools", multiple=True, metavar="ID", help="Tool of the environments; several."
)
@click.option(
    "--size",
    type=click.Choice(list(SIZES)),
    default="tiny",
    show_default=True,
    help="Of the model.",
)
@click.option("--hidden", type=click.IntRange(min=1), help="Width of a token's state.")
@click.option("--layers", type=click.IntRange(min=1), help="Layers.")
@click.option("--heads", type=click.IntRange(min=1), help="Heads of attention of a layer.")
@click.option(
    "--vocab",
    type=click.IntRange(min=300),
    default=512,
    show_default=True,
    help="Tokens of the tokenizer at most.",
)
@click.option(
    "--context",
    type=click.IntRange(min=16),
    default=2048,
    show_default=True,
    help="Tokens that the model can read.",
)
@click.option(
    "--episodes",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Episodes of each environment to play, by oracle and chance each.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace a model at OUT.")
def command(
    out: Path,
    *,
    patterns: tuple[str, ...],
    tools: tuple[str, ...],
    size: str,
    hidden: int | None,
    layers: int | None,
    heads: int | None,
    vocab: int,
    context: int,
    episodes: int,
    seed: int,
    overwrite: bool,
) -> None:
    """Make a small model with random weights and its tokenizer in the folder OUT."""
    _check_free(out, overwrite=overwrite)
    if importlib.util.find_spec("transformers") is not None:
        import transformers  # noqa: PLC0415 - seconds, and only for this

        transformers.utils.logging.disable_progress_bar()
    base = SIZES[size]
    factories = [make_factory(spec, tools=tools) for spec in _specs(patterns)]
    made = make_model(
        out,
        factories,
        size=Size(hidden or base.hidden, layers or base.layers, heads or base.heads),
        vocab=vocab,
        context=context,
        episodes=episodes,
        seed=seed,
    )
    _say(out, made, context, factories)


def make_model(
    out: Path,
    factories: Sequence[EnvFactory],
    *,
    size: Size = SIZES["tiny"],
    vocab: int = 512,
    context: int = 2048,
    episodes: int = 20,
    seed: int = 0,
) -> Made:
    """Make a model and its tokenizer; the same arguments make the same.

    Args:
        out: The folder.
        factories: The environments.
        size: Of the model.
        vocab: Tokens at most; 259 of them are bytes and marks.
        context: Tokens that it can read.
        episodes: Episodes of each environment to play, by oracle and chance each.
        seed: Of the episodes and the weights.

    Raises:
        ConfigError: Sizes that do not go together, transformers or torch are missing, or an
            environment cannot be played.
    """
    for needed in ("torch", "transformers", "jinja2"):
        if importlib.util.find_spec(needed) is None:
            raise ConfigError(f"A model needs {needed}: pip install gem-train[torch].")
    played = [one for factory in factories for one in _played(factory, episodes, seed)]
    tokenizer = make_tiny_tokenizer(
        texts=(text for one in played for text in (*_said(one), _ROLES)),
        size=vocab,
        pieces=PIECES,
        context=context,
    )
    save_tiny_model(out, seed=seed, tokenizer=tokenizer, context=context, **asdict(size))
    return _described(out, tokenizer, played)


def _played(factory: EnvFactory, episodes: int, seed: int) -> list[Trajectory]:
    """Return episodes of an oracle and of chance; those that failed have at least a beginning.

    Raises:
        ConfigError: There is none.
    """
    found: list[Trajectory] = []
    for agent in ("oracle", "random"):
        make = partial(make_agent, agent)
        found += collect(factory, make, episodes=episodes, seed=seed, concurrency=4)
    seen = [one for one in found if one.turns or one.final_observation]
    if not seen:
        error = found[0].error or {}
        raise ConfigError(f"{factory.spec.id} cannot be played: {error.get('message')}")
    return sorted(seen, key=lambda one: one.index)


def _said(trajectory: Trajectory) -> Iterator[str]:
    """Yield observations and actions."""
    info = trajectory.reset_info
    for turn in trajectory.turns:
        yield visible_text(turn.observation, info)
        yield str(turn.action)
        info = turn.info
    yield visible_text(trajectory.final_observation, info)


def _described(out: Path, tokenizer: Any, played: Sequence[Trajectory]) -> Made:
    import transformers  # noqa: PLC0415 - seconds, and only for this

    model = transformers.AutoModelForCausalLM.from_pretrained(out)
    lengths = [_lengths(tokenizer, list(_said(one))) for one in played]
    actions = [str(turn.action) for one in played for turn in one.turns]
    action = actions[0] if actions else ""
    ids = tokenizer.encode(action, add_special_tokens=False)
    return Made(
        parameters=model.num_parameters(),
        vocabulary=len(tokenizer),
        prompt_tokens=statistics.median_high(prompt for prompt, _ in lengths),
        episode_tokens=statistics.median_high(whole for _, whole in lengths),
        action=action,
        action_tokens=[tokenizer.decode([one]) for one in ids],
    )


def _lengths(tokenizer: Any, said: list[str]) -> tuple[int, int]:
    """Return the tokens of the first prompt, and those of the episode as one chat."""
    roles = ("user", "assistant")
    chat = [{"role": roles[n % 2], "content": text} for n, text in enumerate(said[:-1] or said)]

    def length(messages: list[dict[str, str]], *, ask: bool) -> int:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask)
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return length(chat[:1], ask=True), length(chat, ask=False)


def _specs(patterns: Iterable[str]) -> list[EnvSpec]:
    """Return the environments that match, sorted by id.

    Raises:
        UnknownIdError: A pattern matches none.
    """
    specs: dict[str, EnvSpec] = {}
    for pattern in patterns:
        found = default_registry().list(EnvSpec, pattern)
        found = found or [default_registry().find(EnvSpec, pattern)]
        specs.update((spec.id, spec) for spec in found)
    return [specs[env_id] for env_id in sorted(specs)]


def _check_free(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds something.

    Raises:
        ConfigError: It does, and it is no model that may be replaced.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / "config.json").is_file():
        raise ConfigError(f"{out} exists and is no model: choose another folder.")
    if not overwrite:
        raise ConfigError(f"{out} holds a model: add --overwrite, or choose another folder.")


def _say(out: Path, made: Made, context: int, factories: Sequence[EnvFactory]) -> None:
    console = Console(highlight=False, soft_wrap=True)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style))

    say(f"Model:       {out}, {made.parameters:,} parameters with random weights")
    say(f"Vocabulary:  {made.vocabulary} tokens")
    say(
        f"Lengths:     {made.prompt_tokens} tokens of a first prompt, {made.episode_tokens} of an "
        f"episode (medians); it can read {context}"
    )
    say(f"An action:   {made.action!r} is {' '.join(map(repr, made.action_tokens))}")
    if made.episode_tokens > context:
        say("Episodes are longer than what it can read: raise --context, or --vocab.", "yellow")
    env = factories[0].spec.id.replace(":", "/", 1)
    say(f"Next: gem-core train sft model={out} env={env} skill=0.5 out=runs/warm", "dim")
