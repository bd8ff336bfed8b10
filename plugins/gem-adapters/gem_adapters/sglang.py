"""Episodes that an SGLang server samples for, and that may be interrupted in the middle of a reply.

Some trainers abort all requests before they update the weights, keep the partial replies, and ask
for the rest later, with the same sample. The episode waits in ``InterruptedEpisodes`` until then.
"""

import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gem_core.errors import ConfigError
from gem_rollout import Limits, Prompt, ReplyError, Sampled, TokenSession, Trajectory, play_tokens
from gem_rollout.tokens.reply import ReplyInterruptedError

__all__ = ["InterruptedEpisodes", "Piece", "Resumable", "stop_strings", "with_turn_limit"]


@dataclass(frozen=True)
class Piece:
    """A reply of an SGLang server, or the part that it had sampled when it was told to stop.

    Args:
        ids: The sampled tokens.
        logprobs: The log-probability of each.
        finish: ``stop``, ``length`` or ``abort``.
        meta: SGLang's ``meta_info``.
    """

    ids: list[int]
    logprobs: list[float]
    finish: str
    meta: dict[str, Any]

    @classmethod
    def of(cls, output: Any) -> "Piece":
        """Read a response of ``/generate``.

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
        return cls(ids, logprobs, finish, dict(meta))


def stop_strings(stop: str | Sequence[str] | None) -> list[str]:
    """Return the stop strings of sampling parameters as a list."""
    return [stop] if isinstance(stop, str) else list(stop or ())


def with_turn_limit(limits: Limits, tokens: int | None) -> Limits:
    """Return limits whose replies also keep the trainer's limit, if there is one."""
    both = [most for most in (limits.turn_tokens, tokens) if most is not None]
    return replace(limits, turn_tokens=min(both, default=None))


class Resumable:
    """An episode whose replies may arrive in pieces.

    Args:
        session: Its session.
    """

    def __init__(self, session: TokenSession) -> None:
        self.session = session
        self.pieces: list[list[Piece]] = []
        """The pieces of each turn's reply."""
        self.resumed = (0, 0)
        """The turn and number of the first piece since the last interruption."""
        self._prompt: Prompt | None = None

    async def play(
        self,
        ask: Callable[[dict[str, Any]], Awaitable[Piece]],
        sampling_params: Mapping[str, Any],
    ) -> Trajectory:
        """Play the episode to its end.

        Args:
            ask: Sends the body of a request to the server. What it raises is a fault.
            sampling_params: SGLang's; their limit and stop strings are replaced.

        Raises:
            ConfigError: The episode cannot be played.
            ReplyInterruptedError: A reply was aborted; call this again to go on.
        """

        async def generate(prompt: Prompt) -> Sampled:
            if prompt is not self._prompt:
                self._prompt, self.pieces[prompt.turn :] = prompt, [[]]
                self.resumed = min(self.resumed, (prompt.turn, 0))  # less in another attempt
            pieces = self.pieces[-1]
            pieces.append(await ask(_request(prompt, pieces, sampling_params)))
            ids = [token for piece in pieces for token in piece.ids]
            if pieces[-1].finish == "abort" and len(ids) != prompt.room:
                raise ReplyInterruptedError(f"The reply of turn {prompt.turn + 1} was aborted.")
            logprobs = [value for piece in pieces for value in piece.logprobs]
            return Sampled(ids, logprobs, pieces[-1].finish == "stop")

        try:
            return await play_tokens(self.session, generate)
        except ReplyInterruptedError:
            self.resumed = len(self.pieces) - 1, len(self.pieces[-1])
            raise


def _request(
    prompt: Prompt, pieces: Sequence[Piece], sampling_params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the body of a request for the rest of a reply.

    Raises:
        ConfigError: The reply has no limit, for which SGLang would set a low one.
    """
    if prompt.room is None:
        raise ConfigError(
            "Replies have no limit: set the trainer's limit of new tokens, or limits of the "
            "adapter."
        )
    sampled = [token for piece in pieces for token in piece.ids]
    params = {
        **sampling_params,
        "max_new_tokens": prompt.room - len(sampled),
        "stop": list(prompt.stop) or None,
        "no_stop_trim": True,
    }
    ids = [*prompt.ids, *sampled]
    return {"input_ids": ids, "sampling_params": params, "return_logprob": True}


class InterruptedEpisodes:
    """The interrupted episodes by their samples; one whose sample is dropped is closed."""

    def __init__(self) -> None:
        self._episodes: dict[int, Resumable] = {}

    def put(self, sample: object, episode: Resumable) -> None:
        """Keep an episode until its sample is played on.

        Args:
            sample: The trainer's sample; it need not be hashable.
            episode: The episode, which must not refer to the sample.
        """
        key = id(sample)
        self._episodes[key] = episode
        # A session that is dropped is closed.
        weakref.finalize(sample, self._episodes.pop, key, None).atexit = False

    def take(self, sample: object) -> Resumable | None:
        """Return the episode of a sample, which is kept no longer; None without one."""
        return self._episodes.pop(id(sample), None)
