"""Exact match and F1 of short text answers.

Texts are compared after the normalisation of SQuAD (Rajpurkar et al. 2016, section 6.1): lower
case, no ASCII punctuation, without the words a, an and the, single spaces. With ``compare="squad"``
that is all, except that an answer of which nothing is left matches only itself. The default,
``compare="text"``, has these rules beyond it:

- Typographic punctuation (curly quotes, long dashes, ellipses, invisible marks) is removed like
  ASCII punctuation, and characters are composed (NFC), as the same text is often typed both ways.
  Compatibility forms (NFKC) are kept apart: they would make 10² equal to 102.
- If nothing is left of an answer, it is compared with its articles, and if it consists of
  punctuation, as it is. So blood type "A" and the band "The The" are valid answers, while "a"
  does not match "the", and an empty answer matches nothing.
- Two plain numbers are compared as numbers: 1.5 is not 15, although they differ only in
  punctuation, and 5.0 is 5.
- Signs that make another answer are kept: those between digits (1/2, 2:1, 1.5 kg; not the commas of
  thousands), a minus before a number (-5 degrees), + and # after a word (C++, C#, A+), and a minus
  after one or two letters (A-). Currencies and percent signs are removed: $5 and 5% are 5.

``compare="meaning"`` reads number words (three is 3, forty-six is 46, minus 5 is -5), "percent" and
its sign, and letters without accents (Beyoncé is Beyonce) alike as well, for data whose answers are
written in either way.
"""

import re
import string
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from gem_core.errors import ConfigError, near_names
from gem_qa.reading import marked, plain

__all__ = ["Compare", "check_compare", "exact_match", "f1", "normalize_answer", "unformatted"]

Compare = Literal["text", "meaning", "squad"]
"""How answers are compared."""
_COMPARES: tuple[Compare, ...] = ("text", "meaning", "squad")

_TYPOGRAPHIC = (
    "\u2018\u2019\u201a\u201b\u2032\u02bc"  # single quotes, prime, apostrophe
    "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a"  # double quotes, guillemets
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # hyphens, dashes, minus
    "\u2026\u037e\u1fef"  # ellipsis; what NFC makes ; and ` of
    "\u00ad\u200b\u2060\ufeff"  # soft hyphen, zero-width marks
)
_DELETED = dict.fromkeys(map(ord, string.punctuation + _TYPOGRAPHIC))
_ASCII_DELETED = dict.fromkeys(map(ord, string.punctuation))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
# Digits after a leading zero are not a number: 007, a postcode.
_NUMBER = re.compile(
    r"[+\-\u2212]?(?:(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*|0)(?:\.[0-9]+)?\.?|\.[0-9]+)"
)
_MAX_NUMBER_LENGTH = 100
_LONGEST_KEPT = 1000
# Models often format even a single word: \boxed{\text{True}}.
_FORMATTING = re.compile(r"\\(?:boxed|fbox|emph|operatorname|text[a-z]*|math[a-z]+)\s*\{")
_ESCAPED = re.compile(r"\\([#%$&_])")
_NO_BRACES = {ord("{"): None, ord("}"): None}
_CLOSED = frozenset({"yes", "no", "noanswer"})


def unformatted(answer: str) -> str:
    r"""Return an answer without LaTeX commands that format it, such as ``\text{...}``."""
    plain, count = _FORMATTING.subn("", _ESCAPED.sub(r"\1", answer))
    return (plain.translate(_NO_BRACES) if count else plain).strip("{} ")


def normalize_answer(text: str) -> str:
    """Return ``text`` in lower case, without punctuation and articles, with single spaces.

    Example:
        >>> normalize_answer("The  A-Team, an (ok)!")
        'ateam ok'
    """
    return " ".join(_ARTICLE.sub(" ", _bare(text)).split())


def check_compare(compare: str) -> Compare:
    """Return the name of a way to compare.

    Raises:
        ConfigError: There is no such way.
    """
    for known in _COMPARES:
        if compare == known:
            return known
    raise ConfigError(
        f"compare must be one of {', '.join(_COMPARES)}; got {compare!r}."
        f"{near_names(str(compare), _COMPARES)}"
    )


def exact_match(prediction: str, golds: Iterable[str], compare: Compare = "text") -> bool:
    """Return whether the prediction matches one of the gold answers."""
    answer = _form(prediction, compare)
    return any(_same(answer, _form(gold, compare)) for gold in golds)


def f1(prediction: str, golds: Iterable[str], compare: Compare = "text") -> float:
    """Return the highest F1 score of the prediction against a gold answer, in [0, 1].

    F1 is the harmonic mean of precision and recall over the bags of normalised words, as in SQuAD.
    A wrong yes or no (as in HotpotQA, Yang et al. 2018) and a wrong number score 0: "no, not yet"
    shares nothing with the gold answer "no".
    """
    answer = _form(prediction, compare)
    return max((_f1(answer, _form(gold, compare)) for gold in golds), default=0.0)


class _Form(NamedTuple):
    """The normalised form of an answer: its words, and its value if it is a plain number."""

    text: str
    number: Decimal | None


def _form(text: str, compare: Compare) -> _Form:
    """Return the normalised form; that of a short text is kept for the next time."""
    return _kept_form(text, compare) if len(text) <= _LONGEST_KEPT else _new_form(text, compare)


@lru_cache(maxsize=4096)
def _kept_form(text: str, compare: Compare) -> _Form:
    return _new_form(text, compare)


def _new_form(text: str, compare: Compare) -> _Form:
    if compare == "squad":
        bare = text.lower().translate(_ASCII_DELETED)
        return _Form(" ".join(_ARTICLE.sub(" ", bare).split()) or text.strip(), None)
    text = (plain(text) if compare == "meaning" else text).strip()
    kept = marked(text)
    words = normalize_answer(kept) or " ".join(_bare(kept).split()) or text
    return _Form(words, _number(text))


def _bare(text: str) -> str:
    """Return ``text`` in lower case, composed, without punctuation."""
    bare = text.translate(_DELETED).lower()
    return bare if bare.isascii() else unicodedata.normalize("NFC", bare)


def _number(text: str) -> Decimal | None:
    if len(text) > _MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
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
