"""The interface between an agent and a model that samples tokens."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gem_core.content import Image

__all__ = ["Request", "Sampled", "SamplingModel"]


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt and its sampling parameters.

    Args:
        ids: Token ids of the prompt, at least one.
        max_new_tokens: Most tokens to sample.
        temperature: 0 for the most likely token, 1 for the model's own distribution.
        top_p: Sample from the most likely tokens that together have this probability, in (0, 1].
        seed: Seed of the sampling; None for a random one.
        stop: Strings that end a reply.
        scaled_logprobs: Whether log-probabilities are those at the temperature.
        images: The images of the prompt, in the order of their tokens.
    """

    ids: list[int]
    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: Sequence[str] = ()
    scaled_logprobs: bool = False
    images: Sequence[Image] = ()


@dataclass(slots=True)
class Sampled:
    """A sampled reply.

    Args:
        ids: Token ids, including the token that ended the reply.
        logprobs: Log-probability of each token, in nats; None for a token whose own is unknown.
        is_complete: Whether the reply ended by itself or with a string of ``stop``, and not at the
            token limit.
        queue_seconds: Wall time before the model started with the prompt.
        model_seconds: Wall time from the start to the last token.
        versions: Version of the policy that sampled each token, None for a token whose own is
            unknown; may be empty.
    """

    ids: list[int]
    logprobs: Sequence[float | None]
    is_complete: bool = False
    queue_seconds: float = 0.0
    model_seconds: float = 0.0
    versions: Sequence[int | None] = ()


class SamplingModel(Protocol):
    """A model that replies to prompts, such as ``LocalModel``.

    Two methods are optional. ``join(agent)`` is called at the beginning of each episode, and
    ``leave(agent)`` when an agent is closed. The attribute ``vision`` of a model that reads images
    is its ``gem_rollout.models.vision.Vision``. A model whose weights are updated has an attribute
    ``version``, None at first, which the one that updates them sets; replies carry it.
    """

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""

    @property
    def context(self) -> int:
        """Most tokens of a prompt and its reply together."""

    def submit(self, request: Request) -> Awaitable[Sampled]:
        """Return an awaitable of the reply; called in a running event loop."""

    def text_of(self, sampled: Sampled) -> str:
        """Return the text of a reply, without the token that ended it."""
