"""What asking an endpoint can end in."""

from typing import Self

from gem_core.errors import GemError

__all__ = [
    "AccessError",
    "BadRequestError",
    "ContextLengthError",
    "EndpointError",
    "EndpointTimeoutError",
    "MalformedReplyError",
    "RateLimitError",
    "ServerError",
    "UnknownModelError",
    "UnreachableError",
    "error_of_status",
    "excerpt",
]

_SHOWN = 500
_CONTEXT_WORDS = (
    "context_length_exceeded",
    "context length",
    "context window",
    "maximum context",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
)
_TOO_LONG = (
    "the episode is longer than the model's context (play fewer turns, or show less of the "
    "history, with a wrapper that has max_history_length)"
)


class EndpointError(GemError, RuntimeError):
    """An endpoint gave no answer that can be used.

    Args:
        message: The message.
        status: HTTP status; None if there was no answer.
        url: What was asked.
        body: Beginning of the answer.
    """

    can_repeat = False
    """Whether asking again may help."""

    def __init__(
        self, message: str, status: int | None = None, url: str = "", body: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.url = url
        self.body = body

    def __reduce__(self) -> tuple[type[Self], tuple[str, int | None, str, str]]:
        return type(self), (str(self), self.status, self.url, self.body)


class BadRequestError(EndpointError, ValueError):
    """The endpoint refuses the request as it is (any status of 4xx that is no other class)."""


class ContextLengthError(BadRequestError):
    """The episode has become longer than the model's context."""


class AccessError(EndpointError, PermissionError):
    """The key is missing, wrong, or not enough (401, 403)."""


class UnknownModelError(EndpointError, LookupError):
    """There is no such model, or nothing is served under this URL (404)."""


class RateLimitError(EndpointError):
    """The endpoint asks for fewer requests (429)."""

    can_repeat = True


class ServerError(EndpointError):
    """The endpoint has failed, or something before it has (5xx, 409)."""

    can_repeat = True


class EndpointTimeoutError(EndpointError, TimeoutError):
    """There was no answer in time (or 408)."""

    can_repeat = True


class UnreachableError(EndpointError, ConnectionError):
    """The connection failed or broke off."""

    can_repeat = True


class MalformedReplyError(EndpointError, ValueError):
    """The answer is no JSON, or has no reply in it."""

    can_repeat = True


_MEANINGS: dict[int, tuple[type[EndpointError], str]] = {
    401: (AccessError, "the key is missing or wrong"),
    403: (AccessError, "the key does not allow this"),
    404: (UnknownModelError, "it does not know the model, or the path of the URL"),
    408: (EndpointTimeoutError, "it has waited too long"),
    409: (ServerError, "another request is in the way"),
    429: (RateLimitError, "there are too many requests"),
}


def error_of_status(status: int, url: str, body: str) -> EndpointError:
    """Return the error that an answer with a status of failure stands for.

    Args:
        status: HTTP status, or the code of an error in an answer of status 200.
        url: What was asked.
        body: The answer.
    """
    shown = excerpt(body)
    kind, meaning = _MEANINGS.get(status, (ServerError, "it has failed"))
    if status < 500 and status not in _MEANINGS:
        kind, meaning = BadRequestError, "the request cannot be used"
        if any(words in body.lower() for words in _CONTEXT_WORDS):
            kind, meaning = ContextLengthError, _TOO_LONG
    return kind(f"{url} answered {status}, {meaning}: {shown}", status, url, shown)


def excerpt(body: str) -> str:
    """Return the beginning of an answer."""
    return body if len(body) <= _SHOWN else f"{body[:_SHOWN]}..."
