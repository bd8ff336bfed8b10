"""Whether a required text was said: as whole words and as numbers, or as part of a message.

``words``  the words and numbers of the text occur in a message, one after the other. Case,
           punctuation and markup are ignored. Numbers are compared by value, without a currency
           and without the commas of thousands: 25.0 is said by "$25.00", and 10 neither by "$100"
           nor by "10th", "W-1042" or "2024-05-10". A number without a sign is said with any sign.
``text``   the text is part of a message; case and commas are ignored, as in tau-bench
"""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

from gem_core.errors import ConfigError, near_names

__all__ = ["MENTION_RULES", "MentionRule", "check_rule", "unsaid"]

MentionRule = Literal["words", "text"]
MENTION_RULES: tuple[MentionRule, ...] = ("words", "text")
_MARKUP = re.compile(r"(?<!\w)_+|_+(?!\w)")
_TOKEN = re.compile(
    r"(?P<joined>\d+(?:[-/:]\d+)+|\d+(?:\.\d+){2,})(?!\w)"  # a date, a time, a version
    r"|(?P<sign>(?<![\w)])[-\u2212](?=\W?\d)|\bminus (?=\W?\d))?[^\w\s.]?"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+)(?!\w))"
    r"(?![-/:.]\d)"
    r"|(?P<word>\w+(?:-(?=\w*\d)\w+)*)"
    r"|(?P<percent>%)"
)
_PERCENT = re.compile(r"\bper ?cent\b")
_LONGEST_NUMBER = 100
_Token = tuple[Any, bool]
"""A word or the value of a number, and whether it has a minus sign."""


def check_rule(rule: str) -> MentionRule:
    """Return the name of a rule.

    Raises:
        ConfigError: There is no such rule.
    """
    for known in MENTION_RULES:
        if rule == known:
            return known
    raise ConfigError(
        f"mentions must be one of {', '.join(MENTION_RULES)}; got {rule!r}."
        f"{near_names(str(rule), MENTION_RULES)}"
    )


def unsaid(texts: Sequence[str], said: Sequence[str], rule: MentionRule = "words") -> list[str]:
    """Return the texts that no message says.

    Args:
        texts: The required texts.
        said: The messages.
        rule: How a text is found.
    """
    if not texts:
        return []
    plain = [_plain(one) for one in said]
    tokens = [_tokens(one) for one in said] if rule == "words" else []
    return [text for text in texts if not _is_said(text, plain, tokens, rule)]


def _is_said(
    text: str, plain: Sequence[str], tokens: Sequence[list[_Token]], rule: MentionRule
) -> bool:
    wanted = _tokens(text)
    if rule == "text" or not wanted:  # nothing but punctuation has no words
        return any(_plain(text) in one for one in plain)
    return any(_contains(one, wanted) for one in tokens)


def _plain(text: str) -> str:
    return text.lower().replace(",", "")


def _tokens(text: str) -> list[_Token]:
    text = unicodedata.normalize("NFC", text).casefold()
    text = _PERCENT.sub("%", _MARKUP.sub(" ", text))
    return [_token(match) for match in _TOKEN.finditer(text)]


def _token(match: re.Match[str]) -> _Token:
    number = match["number"]
    if number is None or len(number) > _LONGEST_NUMBER:
        return match[0], False
    return Decimal(number.replace(",", "")), match["sign"] is not None


def _contains(tokens: list[_Token], wanted: list[_Token]) -> bool:
    """Return whether tokens occur one after the other; a wanted minus sign must be there."""
    size = len(wanted)
    return any(
        all(
            value == found and (has_sign or not needs_sign)
            for (value, needs_sign), (found, has_sign) in zip(
                wanted, tokens[start : start + size], strict=True
            )
        )
        for start in range(len(tokens) - size + 1)
    )
