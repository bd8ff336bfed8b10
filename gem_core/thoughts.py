"""The part of a reply without the thoughts of its model.

Reasoning models write their thoughts between ``<think>`` and ``</think>``. A server with a parser
for reasoning takes them out; without one they stand in the reply. Actions, messages and scores in
thoughts do not count. Some chat templates end a prompt with ``<think>``: agents that know it put
the tag before the reply (``with_opened_thought``), so that a thought that was cut off is one.
"""

import re
from collections.abc import Iterator
from typing import Literal

from gem_core.errors import ConfigError

__all__ = [
    "OPENED_THOUGHT",
    "Thoughts",
    "after_thoughts",
    "check_thoughts",
    "empty_thought",
    "spoken",
    "with_opened_thought",
]

Thoughts = Literal["count", "ignore"]
"""Whether answers in thoughts count."""

OPENED_THOUGHT = "<think>"
"""The end of a prompt whose reply begins in a thought."""

_OPEN, _CLOSE = "<think>", "</think>"
_OPENING = re.compile(r"\s*<think>")
_OPENED = re.compile(r"<think>\s*\Z")
_TAG = re.compile(r"</?think>")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def spoken(text: str) -> str:
    """Return a reply without its thoughts.

    - A thought at the beginning goes, up to the next ``</think>``, and so do those that follow it
      immediately. If one is never closed, nothing is left.
    - A ``</think>`` without ``<think>`` goes with all before it, except in a code fence.
    - A ``<think>`` further on is text.
    """
    return text[after_thoughts(text) :]


def check_thoughts(thoughts: Thoughts) -> Thoughts:
    """Return the value of an option ``thoughts``.

    Raises:
        ConfigError: It is neither ``count`` nor ``ignore``.
    """
    if thoughts not in {"count", "ignore"}:
        raise ConfigError(f"thoughts must be 'count' or 'ignore'; got {thoughts!r}.")
    return thoughts


def with_opened_thought(reply: str, prompt: str) -> str:
    """Return a reply after the ``<think>`` that its prompt ends with, if it does.

    Args:
        reply: The text that the model has sampled.
        prompt: The text that it was sampled from, or the end of it.
    """
    opened = _OPENED.search(prompt)
    return reply if opened is None else opened[0] + reply


def empty_thought(prompt: str) -> str:
    """Return the end of a thought if a prompt ends with ``<think>``, and an empty text otherwise.

    It precedes what a program writes in place of a model, which has not thought.
    """
    return f"\n{_CLOSE}\n\n" if _OPENED.search(prompt) else ""


def after_thoughts(text: str) -> int:
    """Return the position at which ``spoken`` begins in a text; the end if nothing is left."""
    if "think>" not in text:
        return 0
    begin = -1
    after = 0
    while after > begin:
        begin = after
        while _OPENING.match(text, after):
            end = text.find(_CLOSE, after)
            if end < 0:
                return len(text)
            after = end + len(_CLOSE)
        after += _after_stray_end(text[after:])
    return begin


def _after_stray_end(text: str) -> int:
    """Return the position after the last ``</think>`` that no ``<think>`` has opened."""
    if _CLOSE not in text:
        return 0
    after = opened = fence_end = 0
    fences = _fences(text)
    fence = next(fences, None)
    for tag in _TAG.finditer(text):
        while fence is not None and fence[0] < tag.start():
            fence_end, fence = fence[1], next(fences, None)
        if tag.start() < fence_end:
            continue
        if tag[0] == _OPEN:
            opened += 1
        elif opened:
            opened -= 1
        else:
            after = tag.end()
    return after


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each code fence of a text; only closed fences count."""
    start, mark = -1, ""
    for line in _FENCE.finditer(text):
        if start < 0:
            start, mark = line.start(), line[1]
        elif line[1].startswith(mark) and not line[2].strip():
            yield start, line.end()
            start = -1
