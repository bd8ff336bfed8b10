"""Whether two short texts say the same: ratios of shared tokens, as in WebShop's reward.

The measure is the token set ratio of thefuzz 0.19, which WebShop uses: the words that both texts
have are compared with those and the rest of either text, by the ratio of matching characters of
``difflib`` (Ratcliff and Obershelp). Only whether it is above 85 of 100 matters here.
"""

import functools
import re
from difflib import SequenceMatcher

__all__ = ["are_similar", "token_set_ratio"]

_LIMIT = 85
_NOT_WORD = re.compile(r"\W")
_LATIN_1 = dict.fromkeys(range(128, 256))
"""These characters are dropped; the others beyond ASCII stay, as in thefuzz."""


@functools.lru_cache(maxsize=65_536)
def are_similar(one: str, other: str) -> bool:
    """Return whether the token set ratio of two texts is above 85."""
    return token_set_ratio(one, other) > _LIMIT


def token_set_ratio(one: str, other: str) -> int:
    """Return the token set ratio of two texts, 0 to 100; 0 if one of them has no word.

    Order, repetition, case and punctuation of the words do not matter. If all words of one text
    occur in the other, the ratio is 100.
    """
    words, others = _words(one), _words(other)
    if not words or not others:
        return 0
    both = " ".join(sorted(words & others))
    left = f"{both} {' '.join(sorted(words - others))}".strip()
    right = f"{both} {' '.join(sorted(others - words))}".strip()
    return max(_ratio(both, left), _ratio(both, right), _ratio(left, right))


def _words(text: str) -> set[str]:
    return set(_NOT_WORD.sub(" ", text.translate(_LATIN_1)).lower().split())


def _ratio(one: str, other: str) -> int:
    """Return the share of matching characters, 0 to 100, rounded to a whole number."""
    if one == other:
        return 100 if one else 0
    if not one or not other:
        return 0
    matcher = SequenceMatcher(None, one, other)
    return round(100 * matcher.ratio())
