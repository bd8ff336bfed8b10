"""Errors of endpoints and local models."""

from typing import Self

from gem_core.errors import GemError, ModelUnavailableError

__all__ = [
    "AccessError",
    "BadRequestError",
    "ContextLengthError",
    "EndpointError",
    "EndpointTimeoutError",
    "LogitsError",
    "MalformedReplyError",
    "RateLimitError",
    "ReplyTooLargeError",
    "SamplerMemoryError",
    "ServerError",
    "UnavailableError",
    "UnknownModelError",
    "UnreachableError",
    "error_of_status",
    "excerpt",
]

_SHOWN = 500
_CONTEXT_WORDS = (
    "context_length_exceeded",
    "context length",
    "at least 1, got 0",
    "context window",
    "maximum context",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
)
_LIMIT = "cannot be greater than max_model_len"
"""What vLLM says of a request for more tokens than its context, however short the prompt is."""
_TOO_LONG = (
    "the episode is longer than the model's context (play fewer turns, or show less history with "
    "a wrapper that has max_history_length)"
)


class EndpointError(GemError, RuntimeError):
    """An endpoint gave no usable answer.

    Args:
        message: The message.
        status: HTTP status; None if there was no answer.
        url: The URL of the request.
        body: The beginning of the answer.
    """

    can_repeat = False
    """Whether repeating the request may help."""

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
    """The endpoint refuses the request (4xx, except for the statuses of other classes)."""


class ContextLengthError(BadRequestError):
    """The episode has become longer than the model's context."""


class UnavailableError(EndpointError, ModelUnavailableError):
    """The endpoint is of no use at present, whatever it is asked; many in a row end a run."""


class AccessError(UnavailableError, PermissionError):
    """The key is missing, wrong, or lacks a permission or credit (401, 402, 403)."""


class UnknownModelError(UnavailableError, LookupError):
    """The model or the URL does not exist (404, or a redirect)."""


class RateLimitError(UnavailableError):
    """There are too many requests (429)."""

    can_repeat = True


class ServerError(UnavailableError):
    """The endpoint, or a proxy before it, has failed (5xx, 409, 425)."""

    can_repeat = True


class EndpointTimeoutError(UnavailableError, TimeoutError):
    """There was no answer in time (or 408)."""

    can_repeat = True


class UnreachableError(UnavailableError, ConnectionError):
    """The connection failed or was lost."""

    can_repeat = True


class ReplyTooLargeError(EndpointError):
    """The answer is larger than any reply; the rest of it was not read."""


class MalformedReplyError(UnavailableError, ValueError):
    """The answer is not JSON, or contains no reply."""

    can_repeat = True


class LogitsError(GemError, FloatingPointError):
    """The logits of a local model are not finite."""


class SamplerMemoryError(GemError, MemoryError):
    """A local model has too little memory for a single reply."""


_MEANINGS: dict[int, tuple[type[EndpointError], str]] = {
    401: (AccessError, "the key is missing or wrong"),
    402: (AccessError, "the account has no credit left"),
    403: (AccessError, "the key does not allow this"),
    404: (UnknownModelError, "it does not know the model, or the path of the URL"),
    408: (EndpointTimeoutError, "the request has timed out"),
    409: (ServerError, "the request conflicts with another one"),
    425: (ServerError, "it is too early for the request"),
    429: (RateLimitError, "there are too many requests"),
}


def error_of_status(status: int, url: str, body: str) -> EndpointError:
    """Return the error for an answer with an error status.

    Args:
        status: HTTP status, or the code of an error in an answer of status 200.
        url: The URL of the request.
        body: The answer.
    """
    shown = excerpt(body)
    kind, meaning = _MEANINGS.get(status, (ServerError, "it has failed"))
    if 300 <= status < 400:
        kind, meaning = UnknownModelError, "it redirects to another URL: change base_url"
    elif status < 500 and status not in _MEANINGS:
        kind, meaning = BadRequestError, "the request is invalid"
        said = body.lower()
        if _LIMIT not in said and any(words in said for words in _CONTEXT_WORDS):
            kind, meaning = ContextLengthError, _TOO_LONG
    return kind(f"{url} answered {status}, {meaning}: {shown}", status, url, shown)


def excerpt(body: str) -> str:
    """Return the beginning of an answer."""
    return body if len(body) <= _SHOWN else f"{body[:_SHOWN]}..."
