"""Episodes that an SGLang server samples for, and that may be interrupted in the middle of a reply.

Some trainers abort all requests before they update the weights, keep the partial replies, and ask
for the rest later, with the same sample. The episode waits in ``Waiting`` until then.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.errors import ConfigError
from gem_rollout import Prompt, ReplyError, TokenSession

__all__ = ["Episode", "Piece", "Waiting", "request", "stop_strings"]


@dataclass(frozen=True)
class Piece:
    """A reply of an SGLang server, or the part that it had sampled when it was told to stop.

    Args:
        ids: The sampled tokens.
        logprobs: The log-probability of each.
        finish: ``stop``, ``length`` or ``abort``.
        text: The text.
        meta: SGLang's ``meta_info``.
    """

    ids: list[int]
    logprobs: list[float]
    finish: str
    text: str
    meta: dict[str, Any]

    @classmethod
    def of(cls, output: Any) -> "Piece":
        """Return what a response of ``/generate`` says.

        Raises:
            ReplyError: It is not a response, or has no log-probability for each token.
        """
        meta = output.get("meta_info") if isinstance(output, Mapping) else None
        reason = meta.get("finish_reason") if isinstance(meta, Mapping) else None
        finish = reason.get("type") if isinstance(reason, Mapping) else None
        if not isinstance(meta, Mapping) or finish not in {"stop", "length", "abort"}:
            raise ReplyError(
                f"The server's response must have meta_info with finish_reason stop, length or "
                f"abort; got {str(output)[:200]!r}."
            )
        sampled = meta.get("output_token_logprobs") or []
        logprobs, ids = [one[0] for one in sampled], [one[1] for one in sampled]
        ids = list(output.get("output_ids") or ids)
        tokens = max(len(ids), int(meta.get("completion_tokens") or 0))
        if tokens != len(ids) or tokens != len(logprobs):
            raise ReplyError(
                f"The server sampled {tokens} tokens, and returned {len(ids)} with {len(logprobs)} "
                f"log-probabilities; there must be one for each token."
            )
        return cls(ids, logprobs, finish, str(output.get("text") or ""), dict(meta))


def request(
    prompt: Prompt, sampled: Sequence[int], sampling_params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the body of a request for the rest of a reply.

    Args:
        prompt: The prompt of the reply.
        sampled: The tokens of the reply so far.
        sampling_params: SGLang's; their limit and stop strings are replaced.

    Raises:
        ConfigError: The reply has no limit, for which SGLang would set a low one.
    """
    if prompt.room is None:
        raise ConfigError("Replies have no limit: set max_new_tokens, or limits of the adapter.")
    params = {**sampling_params, "max_new_tokens": prompt.room - len(sampled), "no_stop_trim": True}
    params["stop"] = list(prompt.stop) or None
    ids = [*prompt.ids, *sampled]
    return {"input_ids": ids, "sampling_params": params, "return_logprob": True}


def stop_strings(stop: str | Sequence[str] | None) -> list[str]:
    """Return the stop strings of sampling parameters as a list."""
    return [stop] if isinstance(stop, str) else list(stop or ())


class Episode:
    """An episode whose replies may arrive in pieces.

    Args:
        session: Its session.
    """

    def __init__(self, session: TokenSession) -> None:
        self.session = session
        self.sampled: list[int] = []
        """The tokens of the reply so far."""
        self._logprobs: list[float] = []
        self._prompt: Prompt | None = None

    async def play(self, generate: Callable[[Prompt], Awaitable[Piece]]) -> bool:
        """Play on until the episode ends or a reply is interrupted.

        Args:
            generate: Samples the rest of the reply to a prompt. What it raises is a fault.

        Returns:
            Whether the episode has ended; if not, call this again.

        Raises:
            ConfigError: The episode cannot be played.
            Exception: A fault, if the policy says so. The episode has ended.
        """
        waits = False
        try:
            if self._prompt is None:
                self._prompt = await self.session.begin()
            else:
                self.session.resume()
            while self._prompt is not None or self.session.retry():
                if self._prompt is None:
                    self._prompt = await self.session.begin()
                elif waits := await self._is_interrupted(self._prompt, generate):
                    self.session.pause()
                    return False
            return True
        finally:
            if not waits:
                await self.session.aclose()

    async def _is_interrupted(
        self, prompt: Prompt, generate: Callable[[Prompt], Awaitable[Piece]]
    ) -> bool:
        """Sample a reply; feed it to the session unless it was interrupted."""
        try:
            piece = await generate(prompt)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - recorded, or raised by the session
            self._clear()
            await self.session.abort(error)
            return False
        self.sampled += piece.ids
        self._logprobs += piece.logprobs
        is_full = prompt.room is not None and len(self.sampled) >= prompt.room
        if piece.finish == "abort" and not is_full:
            return True
        ids, logprobs = self.sampled, self._logprobs
        self._clear()
        turned = await self.session.feed(ids, logprobs, complete=piece.finish == "stop")
        self._prompt = turned.prompt
        return False

    def _clear(self) -> None:
        self._prompt, self.sampled, self._logprobs = None, [], []


class Waiting:
    """The interrupted episodes by their samples; one whose sample is dropped is closed."""

    def __init__(self) -> None:
        self._episodes: dict[int, Episode] = {}

    def put(self, sample: object, episode: Episode) -> None:
        """Keep an episode until its sample is played on.

        Args:
            sample: The trainer's sample; it need not be hashable.
            episode: The episode, which must not refer to the sample.
        """
        key, loop = id(sample), asyncio.get_running_loop()

        def drop() -> None:
            left = self._episodes.pop(key, None)
            if left is not None and not loop.is_closed():
                loop.call_soon_threadsafe(left.session.close)

        self._episodes[key] = episode
        weakref.finalize(sample, drop).atexit = False

    def take(self, sample: object) -> Episode | None:
        """Return the episode of a sample, which is kept no longer; None without one."""
        return self._episodes.pop(id(sample), None)

    def __len__(self) -> int:
        return len(self._episodes)
