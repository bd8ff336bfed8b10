"""What the agent ``transformers`` asks of a model: a few names, which any object can have."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gem_core.errors import GemError

__all__ = ["LogitsError", "Request", "Sampled", "SamplingModel"]


class LogitsError(GemError, FloatingPointError):
    """The scores of a model in this process are not finite."""


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt, and how to go on from it.

    Args:
        ids: Tokens of the prompt, at least one.
        max_new_tokens: Most tokens to sample.
        temperature: 0 for the likeliest token, 1 for the model's own distribution.
        top_p: Sample from the likeliest tokens that together have this probability, in (0, 1].
        seed: Seed of the sampling; None for a new one.
        stop: Strings that end a reply.
        scaled_logprobs: Whether log-probabilities are those at the temperature.
    """

    ids: list[int]
    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: Sequence[str] = ()
    scaled_logprobs: bool = False


@dataclass(slots=True)
class Sampled:
    """What was sampled.

    Args:
        ids: The tokens, with the one that ended them.
        logprobs: Log-probability of each, in nats.
        is_complete: Whether the model ended by itself, or with one of the strings of ``stop``.
        queue_seconds: Wall time until the model began with the prompt.
        model_seconds: Wall time from there to the last token.
    """

    ids: list[int]
    logprobs: list[float]
    is_complete: bool = False
    queue_seconds: float = 0.0
    model_seconds: float = 0.0


class SamplingModel(Protocol):
    """What says something to a prompt; ``LocalModel`` is one, and agents take any.

    One that has ``join(agent)`` and ``leave(agent)`` too is told of the agents that play: at the
    begin of each episode, and when they are closed. One that has ``once(key, make)`` makes what
    prompts of one moment have in common once.
    """

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers that the tokens are of."""

    @property
    def context(self) -> int:
        """Most tokens of a prompt and its reply together."""

    def submit(self, request: Request) -> Awaitable[Sampled]:
        """Return an awaitable of what is said to a prompt; called in a running event loop."""

    def text_of(self, sampled: Sampled) -> str:
        """Return what was said as text, without the token that ended it."""
