"""Short text answers: when are two the same, and how much do they share?

Texts are compared after the normalisation of SQuAD (Rajpurkar et al. 2016, section 6.1): lower
case, no ASCII punctuation, none of the words a, an, the, single spaces. Three things are decided
here rather than left to accident:

- Typographic punctuation (curly quotes, long dashes, ellipses, invisible marks) goes the way of
  its ASCII cousins, and characters are composed (NFC), as the same text is often typed both ways.
  Compatibility forms (NFKC) are left alone: they would make 10² the same as 102.
- An answer that normalises to nothing is compared before its articles are removed, and one of
  punctuation alone as it is. So blood type "A" and the band "The The" can be answered, while "a"
  is not "the" and an empty answer is nothing's match.
- Two plain numbers are compared as numbers: 1.5 is not 15 although they differ in punctuation
  only, and 5.0 is 5.
"""

import re
import string
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

__all__ = ["exact_match", "f1", "normalize_answer"]

_TYPOGRAPHIC = (
    "\u2018\u2019\u201a\u201b\u2032\u02bc"  # single quotes, prime, apostrophe
    "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a"  # double quotes, guillemets
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # hyphens, dashes, minus
    "\u2026\u037e\u1fef"  # ellipsis; what NFC makes ; and ` of
    "\u00ad\u200b\u2060\ufeff"  # soft hyphen, zero-width marks
)
_DELETED = dict.fromkeys(map(ord, string.punctuation + _TYPOGRAPHIC))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
# A leading zero means something else than a number: 007, a postcode.
_NUMBER = re.compile(r"[+\-\u2212]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*|0)(?:\.[0-9]+)?\.?")
_DIGITS_AT_MOST = 100
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalize_answer(text: str) -> str:
    """Return ``text`` in lower case, without punctuation and articles, single-spaced.

    Example:
        >>> normalize_answer("The  A-Team, an (ok)!")
        'ateam ok'
    """
    return " ".join(_ARTICLE.sub(" ", _bare(text)).split())


def exact_match(prediction: str, golds: Iterable[str]) -> bool:
    """Return whether the prediction is the same answer as one of the golds."""
    answer = _form(prediction)
    return any(_same(answer, _form(gold)) for gold in golds)


def f1(prediction: str, golds: Iterable[str]) -> float:
    """Return the best F1 score of the prediction's words against a gold's, in [0, 1].

    The harmonic mean of precision and recall over the bags of normalised words, as SQuAD defines
    it. A wrong yes or no, as HotpotQA (Yang et al. 2018) has it, and a wrong number score 0:
    "no, not yet" owes nothing to a gold "no".
    """
    answer = _form(prediction)
    return max((_f1(answer, _form(gold)) for gold in golds), default=0.0)


class _Form(NamedTuple):
    """What is compared of an answer: its words, and its value if it is a plain number."""

    text: str
    number: Decimal | None


@lru_cache(maxsize=4096)
def _form(text: str) -> _Form:
    words = normalize_answer(text) or " ".join(_bare(text).split()) or text.strip()
    return _Form(words, _number(text.strip()))


def _bare(text: str) -> str:
    """Return ``text`` in lower case, composed, without punctuation."""
    bare = text.translate(_DELETED).lower()
    return bare if bare.isascii() else unicodedata.normalize("NFC", bare)


def _number(text: str) -> Decimal | None:
    if len(text) > _DIGITS_AT_MOST or not _NUMBER.fullmatch(text):
        return None
    return Decimal(text.rstrip(".").replace(",", "").replace("\u2212", "-"))


def _same(answer: _Form, gold: _Form) -> bool:
    if answer.number is not None and gold.number is not None:
        return answer.number == gold.number
    return answer.text == gold.text != ""


def _f1(answer: _Form, gold: _Form) -> float:
    if _same(answer, gold):
        return 1.0
    both_numbers = answer.number is not None and gold.number is not None
    if both_numbers or _CLOSED & {answer.text, gold.text}:
        return 0.0
    words, wanted = answer.text.split(), gold.text.split()
    common = set(words).intersection(wanted)
    shared = sum(min(words.count(word), wanted.count(word)) for word in common)
    return 2 * shared / (len(words) + len(wanted)) if shared else 0.0
