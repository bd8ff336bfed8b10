"""Odd actions: texts that a model may write, some of them derived from valid actions."""

import re
from collections.abc import Iterator

__all__ = ["ODD_TEXTS", "odd_variants"]

HUGE = "9" * 5000
"""More digits than ``int`` accepts by default (4,300)."""
ODD_TEXTS = (
    "",
    " ",
    "\\boxed{}",
    "\\boxed{",
    "}" * 50,
    "\\boxed{" * 50,
    "\\boxed{" + HUGE + "}",
    "\\boxed{-1 -1 -1 -1}",
    "\x00\ud800\U0001f9e9 ½ ٣",
    "x" * 20000,
)
"""Texts that have nothing to do with the environment."""
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBERS = (HUGE, "-1", "0", "1.5", "1e400", "nan", "٣", "²", "")
_WORDS = ("", "x" * 5000, "ß", "\x00")
_SPANS = 4
"""How many numbers and words of an action are replaced."""


def odd_variants(action: str) -> Iterator[str]:
    """Yield malformed variants of a valid action.

    Each of the first numbers and words is replaced by ones that parsers stumble over (5,000
    digits, a sign, a fraction, an overflow, digits of other scripts, nothing); the whole is cut,
    doubled, reversed, written in capitals, and stripped of its brackets.
    """
    for pattern, replacements in ((_NUMBER, _NUMBERS), (_WORD, _WORDS)):
        for match in list(pattern.finditer(action))[:_SPANS]:
            for replacement in replacements:
                yield action[: match.start()] + replacement + action[match.end() :]
    yield action[:-1]
    yield action[1:]
    yield action * 2
    yield action.upper()
    yield action[::-1]
    yield re.sub(r"[\[\](){}<>]", "", action)
    yield action.replace(" ", "")
    yield action.replace(" ", "\n\t  ")
    yield action.replace("}", " 1}")
    yield action.replace("{", "{" + HUGE + " ")
