"""``gem-core make-model``: make a small model with random weights for some environments.

Its tokenizer is trained on episodes of these environments. It can encode any text, but unrelated
text takes many tokens.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gem_core.api import make_agent
from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.factory import EnvFactory
from gem_core.observation import visible_text
from gem_rollout import Trajectory, collect
from gem_rollout.commands import RUN_FOLDER, CommandKeys, HydraCommand, Job, env_factories
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_rollout.models.tiny_vision_model import save_tiny_vision_model
from gem_rollout.models.vision import load_with_processor

__all__ = ["PIECES", "SIZES", "Size", "command", "make_model"]

PIECES = (
    r" (?=\\boxed\{|</?\p{L})|"  # keeps the space out of the next piece
    r"\\boxed\{|"
    r"</?\p{L}[\w-]*>|"  # tags of tools
    r"\p{N}|"
    r"\p{Lu}(?!\p{Ll})|"  # single letters of words in capitals, as in word games
    r" ?\p{Lu}?\p{Ll}+|"
    r" ?[\p{Lo}\p{Lm}\p{Lt}]+|"
    r" ?([^\s\p{L}\p{N}])\1*|"
    r"\s+(?!\S)|\s+"
)
r"""The pieces that a text is split into; no token spans two of them.

Each digit of a number and each letter of a word in capitals is a token, and the space before them
is not part of it. Observations and actions therefore use the same tokens for the same guess:
``\boxed{10}`` is ``\boxed{``, ``1``, ``0``, ``}``.
"""

_ROLES = "user\nassistant\nsystem\n"
"""The role names of the chat template."""


@dataclass(frozen=True)
class Size:
    """The size of a model: hidden size, number of layers and attention heads per layer."""

    hidden: int
    layers: int
    heads: int


SIZES = {
    "tiny": Size(64, 3, 4),
    "small": Size(128, 4, 4),
    "medium": Size(256, 6, 8),
    "large": Size(512, 8, 8),
}
"""Sizes from 0.2 million to 25 million parameters."""


@dataclass(frozen=True)
class ModelInfo:
    """A description of the model that was made.

    Args:
        parameters: Number of parameters.
        vocabulary: Number of tokens in the vocabulary.
        prompt_tokens: Median number of tokens of an episode's first prompt, with one for an image.
        episode_tokens: Median number of tokens of an episode.
        action: An example of an action.
        action_tokens: The tokens of this action, as text.
    """

    parameters: int
    vocabulary: int
    prompt_tokens: int
    episode_tokens: int
    action: str
    action_tokens: list[str]


class ModelKeys(CommandKeys):
    """The keys of ``gem-core make-model``."""

    size: Literal["tiny", "small", "medium", "large"] = "tiny"
    """Size of the model."""
    hidden: int | None = Field(default=None, ge=1)
    """Hidden size; null for that of the size."""
    layers: int | None = Field(default=None, ge=1)
    """Number of layers; null for that of the size."""
    heads: int | None = Field(default=None, ge=1)
    """Attention heads per layer; null for those of the size."""
    vocab: int = Field(default=512, ge=300)
    """Most tokens of the vocabulary."""
    context: int = Field(default=2048, ge=16)
    """Context length in tokens."""
    episodes: int = Field(default=20, ge=1)
    """Episodes of each environment for each of the oracle and random agents."""
    vision: bool = False
    """Make a model that reads images, and its processor."""
    seed: int = Field(default=0, ge=0)
    """Seed of the weights and of the episodes."""
    overwrite: bool = False
    """Replace a model in the folder."""
    out: str = RUN_FOLDER
    """The folder of the model."""


def _make(job: Job[ModelKeys]) -> None:
    """Make a small model with random weights, and a tokenizer for some environments."""
    keys, out = job.keys, job.folder
    _check_free(out, overwrite=keys.overwrite)
    base, factories = SIZES[keys.size], env_factories(job.config)
    info = make_model(
        out,
        factories,
        size=Size(keys.hidden or base.hidden, keys.layers or base.layers, keys.heads or base.heads),
        vocab=keys.vocab,
        context=keys.context,
        episodes=keys.episodes,
        vision=keys.vision,
        seed=keys.seed,
    )
    if job.form == "json":
        job.print_json({"model": str(out), **asdict(info)})
    else:
        _print_info(out, info, keys.context, factories)


def make_model(
    out: Path,
    factories: Sequence[EnvFactory],
    *,
    size: Size = SIZES["tiny"],
    vocab: int = 512,
    context: int = 2048,
    episodes: int = 20,
    vision: bool = False,
    seed: int = 0,
) -> ModelInfo:
    """Make a model and its tokenizer, deterministically.

    Args:
        out: The folder to write to.
        factories: The environments.
        size: Size of the model.
        vocab: Most tokens of the vocabulary; 259 of them are bytes and special tokens.
        context: Context length in tokens.
        episodes: Episodes of each environment for each of the oracle and random agents.
        vision: Whether the model reads images; see ``save_tiny_vision_model``.
        seed: Seed of the episodes and the weights.

    Raises:
        ConfigError: The sizes do not fit together, or an environment cannot be played.
        NotInstalledError: transformers or torch are not installed.
    """
    require("gem-train[torch]", "make-model")
    played = [one for factory in factories for one in _played(factory, episodes, seed)]
    tokenizer = make_tiny_tokenizer(
        texts=(text for one in played for text in (*_texts(one), _ROLES)),
        size=vocab,
        pieces=PIECES,
        context=context,
    )
    save = save_tiny_vision_model if vision else save_tiny_model
    save(out, seed=seed, tokenizer=tokenizer, context=context, **asdict(size))
    return _described(out, tokenizer, played)


def _played(factory: EnvFactory, episodes: int, seed: int) -> list[Trajectory]:
    """Return episodes of the oracle and random agents, including failed ones that have a start.

    Raises:
        ConfigError: No episode has started.
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


def _texts(trajectory: Trajectory) -> Iterator[str]:
    """Yield observations and actions."""
    info = trajectory.reset_info
    for turn in trajectory.turns:
        yield visible_text(turn.observation, info)
        yield str(turn.action)
        info = turn.info
    yield visible_text(trajectory.final_observation, info)


def _described(out: Path, tokenizer: Any, played: Sequence[Trajectory]) -> ModelInfo:
    model, _ = load_with_processor(out, {})
    lengths = [_lengths(tokenizer, list(_texts(one))) for one in played]
    actions = [str(turn.action) for one in played for turn in one.turns]
    action = actions[0] if actions else ""
    ids = tokenizer.encode(action, add_special_tokens=False)
    return ModelInfo(
        parameters=model.num_parameters(),
        vocabulary=len(tokenizer),
        prompt_tokens=statistics.median_high(prompt for prompt, _ in lengths),
        episode_tokens=statistics.median_high(whole for _, whole in lengths),
        action=action,
        action_tokens=[tokenizer.decode([one]) for one in ids],
    )


def _lengths(tokenizer: Any, texts: list[str]) -> tuple[int, int]:
    """Return the numbers of tokens of the first prompt and of the whole episode as a chat."""
    roles = ("user", "assistant")
    chat = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts[:-1] or texts)]

    def length(messages: list[dict[str, str]], *, ask: bool) -> int:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask)
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return length(chat[:1], ask=True), length(chat, ask=False)


def _check_free(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is not empty, except a model that may be replaced.

    Raises:
        ConfigError: The folder cannot be used.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / "config.json").is_file():
        raise ConfigError(f"{out} exists and is not a model: choose another folder.")
    if not overwrite:
        raise ConfigError(f"{out} holds a model: add overwrite=true, or choose another folder.")


def _print_info(out: Path, info: ModelInfo, context: int, factories: Sequence[EnvFactory]) -> None:
    console = Terminal(highlight=False, soft_wrap=True)

    def write(text: str, style: str = "") -> None:
        console.print(text, style=style)

    write(f"Model:       {out}, {info.parameters:,} random parameters")
    write(f"Vocabulary:  {info.vocabulary} tokens")
    write(
        f"Lengths:     first prompt {info.prompt_tokens} tokens, episode {info.episode_tokens} "
        f"tokens (medians); context length {context} tokens"
    )
    write(f"Example:     {info.action!r} is {' '.join(map(repr, info.action_tokens))}")
    if info.episode_tokens > context:
        write("Episodes exceed the context length: raise context= or vocab=.", "yellow")
    env = factories[0].spec.id
    write(f"Next: gem-core train sft model={out} {env} skill=0.5 out=runs/warm", "dim")


command = HydraCommand(
    "make-model",
    _make,
    ModelKeys,
    agents=None,
    examples=[
        "gem-core make-model 'game:GuessTheNumber*' out=tiny",
        "gem-core make-model 'game:*-easy' size=small vocab=1024 out=small",
        "gem-core make-model math:Sample tools=[python] context=4096 out=tools",
        "gem-core train sft model=tiny game:GuessTheNumber-v0-easy skill=0.4 out=runs/warm",
    ],
)
