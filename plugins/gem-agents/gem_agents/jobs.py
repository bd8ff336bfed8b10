"""Jobs: the prompts that a local model answers, with what is sampled so far."""

import asyncio
import time

from gem_agents.prompt_images import PromptImages
from gem_core.seeding import fresh_seed
from gem_rollout.tokens.sampler import Request, Sampled

__all__ = ["Job"]


class Job:
    """A request and the state of its answer.

    Args:
        request: The request.
        future: The future of its result.
        images: The images of the prompt; None for text only.
    """

    def __init__(
        self,
        request: Request,
        future: "asyncio.Future[Sampled]",
        images: PromptImages | None = None,
    ) -> None:
        self.request = request
        self.future = future
        self.ids = list(request.ids)
        """Tokens of the prompt, followed by the sampled tokens."""
        self.logprobs: list[float] = []
        self.versions: list[int | None] = []
        """Version of the weights that sampled each token."""
        self.is_complete = False
        self.images = images
        self.seed = (fresh_seed() if request.seed is None else request.seed) % 2**64
        self.since = self.began = time.perf_counter()

    def new(self) -> list[int]:
        """Return the sampled tokens."""
        return self.ids[len(self.request.ids) :]

    def keys(self) -> list[int]:
        """Return the tokens, with the number of an image in place of each of its tokens."""
        return self.ids if self.images is None else self.images.keys + self.new()

    def sampled(self) -> Sampled:
        """Return the result."""
        return Sampled(
            self.new(),
            self.logprobs,
            self.is_complete,
            self.began - self.since,
            time.perf_counter() - self.began,
            self.versions,
        )
