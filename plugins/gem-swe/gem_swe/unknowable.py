"""Texts that tests expect and that nobody can know who has not seen the code that wrote them."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

__all__ = ["texts_of", "unknowable_texts"]

_SHORTEST = 2
"""Shorter texts stand everywhere."""
_GAPS = re.compile(r"\{[^{}]*\}|%[-+ #0-9.]*[a-z]")
"""What ``format`` and ``%`` replace."""


def unknowable_texts(
    source: Mapping[str, bytes],
    seen: Mapping[str, bytes],
    *,
    expected: Iterable[str],
    shown: Collection[str],
) -> list[str]:
    """Return texts of code that is gone which tests expect, and which an agent finds nowhere.

    Args:
        source: The files of source as they should be.
        seen: All files as the agent gets them.
        expected: What the tests expect that the agent does not see.
        shown: What else the agent sees.
    """
    lost = {
        text
        for path, content in source.items()
        if content != seen[path]
        for text in texts_of(content)
    }
    everything = "\n".join([*(one.decode("utf-8", "replace") for one in seen.values()), *shown])
    unseen = sorted(text for text in lost if text not in everything)
    wanted = "\n".join(expected) if unseen else ""
    return [text for text in unseen if text in wanted]


def texts_of(code: str | bytes) -> Iterator[str]:
    """Yield the texts in code, and the parts of those that are filled in."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for part in _GAPS.split(node.value):
                text = part.strip()
                if len(text) >= _SHORTEST:
                    yield text
