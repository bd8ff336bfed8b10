"""Limits of an episode's tokens."""

from dataclasses import dataclass, fields

from gem_core.errors import ConfigError, GemError

__all__ = ["LimitReachedError", "Limits", "PromptTooLongError"]


class PromptTooLongError(ConfigError):
    """The first prompt of an episode is longer than its limit.

    Args:
        tokens: Length of the prompt.
        limit: The field of ``Limits``, or ``context``.
        most: Its value.
    """

    def __init__(self, tokens: int, limit: str, most: int) -> None:
        super().__init__(tokens, limit, most)
        self.tokens, self.limit, self.most = tokens, limit, most

    def __str__(self) -> str:
        return (
            f"The first prompt of the episode has {self.tokens} tokens, and the limit {self.limit} "
            f"is {self.most}. Raise the limit, or leave out such rows."
        )


class LimitReachedError(GemError):
    """No tokens are left for another turn; the episode ends as truncated.

    Args:
        limit: The field of ``Limits`` that was reached.
    """

    def __init__(self, limit: str) -> None:
        super().__init__(f"No tokens are left for another turn: {limit} is reached.")
        self.limit = limit

    def __reduce__(self) -> tuple[type["LimitReachedError"], tuple[str]]:
        return type(self), (self.limit,)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Most tokens of an episode and its parts; None for no limit.

    Args:
        prompt_tokens: Of the first prompt.
        response_tokens: Of everything after the first prompt, tokens of the environment included.
            In an episode of several sequences, of each sequence after its first prompt.
        turn_tokens: Of one reply.
        context: Of a prompt and its reply together.

    Raises:
        ConfigError: A limit is not a positive int.
    """

    prompt_tokens: int | None = None
    response_tokens: int | None = None
    turn_tokens: int | None = None
    context: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and (type(value) is not int or value < 1):
                raise ConfigError(f"{field.name} is a positive int or None; got {value!r}.")

    def room(self, prompt: int, start: int) -> tuple[int | None, str]:
        """Return how many tokens a reply may have, and the limit that decides it.

        Args:
            prompt: Tokens of the prompt.
            start: Tokens of the first prompt of its sequence.

        Returns:
            The number, 0 if nothing is left, None without limits; and the name of the limit.
        """
        rooms = [
            (most - used, name)
            for name, most, used in (
                ("context", self.context, prompt),
                ("response_tokens", self.response_tokens, prompt - start),
                ("turn_tokens", self.turn_tokens, 0),
            )
            if most is not None
        ]
        if not rooms:
            return None, ""
        room, name = min(rooms)
        return max(0, room), name
