r"""Pages, their titles, their summaries, and the box of an action.

A title is written inside ``\boxed{...}`` and must be found there again, so a page is shown under a
*label*: its title on one line, without control characters and backslashes, with balanced braces.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_core.errors import ConfigError, near_names

__all__ = [
    "BACK",
    "MORE",
    "UNITS",
    "Page",
    "check_length",
    "label_of",
    "labels_of",
    "last_box",
    "summary",
]

BACK = "<PREV_PAGE>"
"""The action that returns to the previous page."""
MORE = "<MORE_LINKS>"
"""The action that shows the next part of a long list of links."""
UNTITLED = "(untitled)"


@dataclass(frozen=True)
class Page:
    """A page of an encyclopedia.

    Args:
        key: The name by which the graph finds the page; unique in the graph.
        title: The title, as a label.
        text: The text without markup.
        links: The keys of the linked pages by label, in the order of the page.
        views: Texts made from the page, by what they show; they are no part of its state.
    """

    key: str
    title: str
    text: str
    links: Mapping[str, str] = field(default_factory=dict)
    views: dict[Any, str] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[type["Page"], tuple[Any, ...]]:
        return Page, (self.key, self.title, self.text, self.links)


def label_of(title: str) -> str:
    """Return a title in a form that can be written in a box and found there again."""
    text = "".join(letter if letter.isprintable() else " " for letter in title)
    text = " ".join(text.replace("\\", "/").split())
    if not _is_balanced(text):
        text = text.replace("{", "(").replace("}", ")")
    return (text.strip("<>") if text in {BACK, MORE} else text) or UNTITLED


def labels_of(titles: Iterable[str]) -> list[str]:
    """Return the labels of titles; a label that occurs again gets a number: ``Bass (2)``."""
    labels: dict[str, None] = {}
    for title in titles:
        label = stem = label_of(title)
        number = 2
        while label in labels:
            label, number = f"{stem} ({number})", number + 1
        labels[label] = None
    return list(labels)


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    return depth == 0


_PART = re.compile(r"\\boxed\s*\{|[{}]")


def last_box(text: str) -> str | None:
    r"""Return the content of the last balanced ``\boxed{...}``, on one line without outer space.

    The last box is the one that opens last. It takes time linear in the length of the text.

    Raises:
        TypeError, AttributeError: It is not text.
    """
    start = text.rfind("\\boxed{")
    end = text.find("}", start)
    content: str | None = text[start + 7 : end]
    if start < 0 or end < 0 or "{" in text[start + 7 : end]:
        content = _nested_box(text)
    if content is None or content.isalnum():
        return content
    return " ".join(content.split())


def _nested_box(text: str) -> str | None:
    opened: list[tuple[int, int]] = []
    found: tuple[int, str] | None = None
    for part in _PART.finditer(text):
        if part[0] != "}":
            opened.append((part.start() if len(part[0]) > 1 else -1, part.end()))
        elif opened:
            start, inside = opened.pop()
            if start >= 0 and (found is None or start > found[0]):
                found = start, text[inside : part.start()]
    return None if found is None else found[1]


def _characters(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length].rstrip()} ..."


def _words(text: str, length: int) -> str:
    words = text.split()
    return text if len(words) <= length else f"{' '.join(words[:length])} ..."


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\sa-z])")


def _sentences(text: str, length: int) -> str:
    return " ".join(_SENTENCE.split(text, length)[:length])


UNITS: Mapping[str, Callable[[str, int], str]] = {
    "characters": _characters,
    "words": _words,
    "sentences": _sentences,
}
"""The functions that shorten a text, by unit."""


def summary(text: str, length: tuple[int, str]) -> str:
    """Return the beginning of a text on one line.

    Args:
        text: The text.
        length: A number and its unit: ``characters``, ``words`` or ``sentences``.
    """
    number, unit = length
    return UNITS[unit](" ".join(text.split()), number)


def check_length(length: Any) -> tuple[int, str]:
    """Return the length of a summary as a pair.

    Raises:
        ConfigError: It is not a positive number and a unit.
    """
    pair = tuple(length) if isinstance(length, Sequence) and not isinstance(length, str) else ()
    number, unit = pair if len(pair) == 2 else (None, "")
    if unit in UNITS and type(number) is int and 1 <= number <= 100_000:
        return number, unit
    hint = near_names(unit, UNITS) if isinstance(unit, str) and unit else ""
    raise ConfigError(
        f"summary_length must be a number from 1 to 100,000 and a unit ({', '.join(UNITS)}), such "
        f"as (3, 'sentences'); got {length!r}.{hint}"
    )
