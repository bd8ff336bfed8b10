"""Parses the answers of OpenAI's API. Fields that are missing or malformed are None."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Answer", "read_chat", "read_completion", "text_of"]

_ROUNDING = 1e-6
"""How much a log-probability may be above 0."""


@dataclass(slots=True)
class Answer:
    """A parsed answer of an endpoint; for the fields, see ``gem_core.agent.Generation``."""

    message: Mapping[str, Any]
    model: str
    system_fingerprint: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    prompt_ids: list[int] | None
    token_ids: list[int] | None
    tokens: list[str] | None
    logprobs: list[float | None] | None


def read_chat(answer: Mapping[str, Any]) -> Answer:
    """Parse an answer of ``chat/completions``.

    Raises:
        TypeError, LookupError: It contains no message.
        ValueError: Its tokens and log-probabilities are not possible.
    """
    choice = _choice(answer)
    message = choice["message"]
    if not isinstance(message, dict):
        raise TypeError("the message is not an object")
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        raise TypeError("the content of the message is not text")
    content = _part(choice, "logprobs").get("content")
    tokens, logprobs = None, None
    if isinstance(content, list):
        parts = [one for one in content if isinstance(one, dict)]
        tokens = _texts([one.get("token") for one in parts])
        logprobs = _numbers([one.get("logprob") for one in parts])
    shown = {name: value for name, value in message.items() if value is not None}
    return _answer(answer, choice, shown, answer.get("prompt_token_ids"), tokens, logprobs)


def read_completion(answer: Mapping[str, Any]) -> Answer:
    """Parse an answer of ``completions``.

    Raises:
        TypeError, LookupError: It contains no text.
        ValueError: Its tokens and log-probabilities are not possible.
    """
    choice = _choice(answer)
    text = choice["text"]
    if not isinstance(text, str):
        raise TypeError("the text is not a string")
    part = _part(choice, "logprobs")
    tokens, logprobs = _texts(part.get("tokens")), _numbers(part.get("token_logprobs"))
    prompt_ids = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
    message = {"role": "assistant", "content": text}
    return _answer(answer, choice, message, prompt_ids, tokens, logprobs)


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content may be None, text, or a list of parts."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def _choice(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choice = answer["choices"][0]
    if not isinstance(choice, dict):
        raise TypeError("the choice is not an object")
    return choice


def _answer(
    answer: Mapping[str, Any],
    choice: Mapping[str, Any],
    message: Mapping[str, Any],
    prompt_ids: Any,
    tokens: list[str] | None,
    logprobs: list[float | None] | None,
) -> Answer:
    usage, token_ids = _part(answer, "usage"), _ids(choice.get("token_ids"))
    _check_lengths(token_ids, tokens, logprobs)
    if logprobs is None:
        tokens = None
    model, reason = answer.get("model"), choice.get("finish_reason")
    mark = answer.get("system_fingerprint")
    return Answer(
        message=message,
        model=model if isinstance(model, str) else "",
        system_fingerprint=mark if isinstance(mark, str) else None,
        finish_reason=reason if isinstance(reason, str) else None,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        prompt_ids=_ids(prompt_ids),
        token_ids=token_ids,
        tokens=tokens,
        logprobs=logprobs,
    )


def _check_lengths(*lists: list[Any] | None) -> None:
    lengths = {len(one) for one in lists if one is not None}
    if len(lengths) > 1:
        raise ValueError("there are different numbers of tokens, token ids and log-probabilities")


def _part(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = of.get(name)
    return part if isinstance(part, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _ids(values: Any) -> list[int] | None:
    is_valid = isinstance(values, list) and all(type(value) is int for value in values)
    return values if is_valid else None


def _texts(values: Any) -> list[str] | None:
    is_valid = isinstance(values, list) and all(isinstance(value, str) for value in values)
    return values if is_valid else None


def _numbers(values: Any) -> list[float | None] | None:
    """Return log-probabilities, with None for null; None if all are null or one is no number."""
    if not isinstance(values, list):
        return None
    known = [value for value in values if value is not None]
    if not known or not all(type(value) in {float, int} for value in known):
        return None
    if bad := [value for value in known if not -math.inf < value <= _ROUNDING]:
        raise ValueError(f"a log-probability is finite and at most 0; got {bad[0]!r}")
    return [None if value is None else min(float(value), 0.0) for value in values]
