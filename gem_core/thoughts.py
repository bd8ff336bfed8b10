"""What a reply says, without what its model only thought.

Reasoning models write their thoughts between ``<think>`` and ``</think>``. A server with a parser
for reasoning takes them out; without one, and where a chat template has opened the tag itself, they
stand in the reply. Actions, messages and scores in thoughts do not count.
"""

import re
from collections.abc import Iterator

__all__ = ["after_thoughts", "spoken"]

_OPEN, _CLOSE = "<think>", "</think>"
_OPENING = re.compile(r"\s*<think>")
_TAG = re.compile(r"</?think>")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def spoken(text: str, *, is_thinking: bool = False) -> str:
    """Return a reply without its thoughts.

    - A thought at the beginning goes, up to the next ``</think>``, and so do those that follow it
      immediately. If one is never closed, nothing is left.
    - A ``</think>`` without ``<think>`` goes with all before it, except in a code fence.
    - A ``<think>`` further on is text.

    Args:
        text: The reply.
        is_thinking: Whether the prompt has ended with ``<think>``, so that the reply begins in a
            thought.
    """
    return text[after_thoughts(text, is_thinking=is_thinking) :]


def after_thoughts(text: str, *, is_thinking: bool = False) -> int:
    """Return the position at which ``spoken`` begins in a text, and its length if nothing is left.

    Args:
        text: The reply.
        is_thinking: See ``spoken``.
    """
    if not is_thinking and "think>" not in text:
        return 0
    begin = -1
    after = 0
    while after > begin:
        begin = after
        while is_thinking or _OPENING.match(text, after):
            end = text.find(_CLOSE, after)
            if end < 0:
                return len(text)
            after, is_thinking = end + len(_CLOSE), False
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
    """Yield where the code fences of a text begin and end; one that is never closed is none."""
    start, mark = -1, ""
    for line in _FENCE.finditer(text):
        if start < 0:
            start, mark = line.start(), line[1]
        elif line[1].startswith(mark) and not line[2].strip():
            yield start, line.end()
            start = -1
