"""Comparison of answers by wording: choices, times, dates, names."""

import re

from gem_math.grading.names import names

__all__ = ["same_wording"]

Form = tuple[object, ...] | str | None
"""The value to compare, or None if a text has another form."""

_STYLED = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|bf)\s*\{([^{}]*)\}")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(?:([ap])\.?\s?m\.?)?", re.IGNORECASE)
_MONTHS = names("jan feb mar apr may jun jul aug sep oct nov dec")
_CHOICE = re.compile(r"(?:(?:option|choice|answer)\s+)*[(\[]?([A-Za-z])[)\].:]?", re.IGNORECASE)
_CHOICE_AND_MORE = re.compile(
    r"(?:\(([A-Z])\)|([A-Z])[).:])\s*(?!and\b|or\b|[-+*/=^, ])((?!\([A-H]\)).)+", re.DOTALL
)
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[' .,!?\"-])*")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_JOINT = re.compile(r",(?:\s*and\b)?|\band\b")
_LETTERS = re.compile(r"[A-HIV]{1,4}(?:(?:, *and|,| +and) +[A-HIV]{1,4})+")
_LETTER = re.compile(r"[A-Z]+")
_ARTICLE = re.compile(r"^(?:an?|the) +(?=[a-z]{2})", re.IGNORECASE)
_LONGEST_NAME = 3
"""The words of a name in a list of names, which has no order."""
_CHOICES = re.compile(r"\([A-H]\)|\b[A-H][).:]|\b(?:or|and) [A-H]\b")
_FACTORS = frozenset("abcdkmnpqrstuvwxyz")
"""Letters of which two are more likely a product than a word."""
_SYNONYMS = {
    "dne": "does not exist",
    "no solutions": "no solution",
    "none": "no solution",
    "no real solution": "no real solutions",
}


def same_wording(answer: str, gold: str) -> bool | None:
    """Return whether two clean answers have the same wording, or None if that is undecided."""
    if answer == gold:
        return True
    plain = tuple(_STYLED.sub(r"\1", text).strip() for text in (answer, gold))
    for form in (_time, _date, _words):
        first, second = map(form, plain)
        if first and second:
            return first == second
    return _same_choice(*plain, is_marked=len(gold) > 1)


def _time(text: str) -> Form:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, half = match.groups("")
    return int(hours), minutes, seconds, half.lower()


def _date(text: str) -> Form:
    """Return the month, day and year, as far as given, of a date with the month in words."""
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", text.lower()))
    months = [word[:3] for word in words if word[:3] in _MONTHS and len(word) > 2]
    numbers = sorted(word.lstrip("0") for word in words if word.isdigit())
    if len(months) != 1 or not numbers or 1 + len(numbers) != len(words):
        return None
    return (months[0], *numbers)


def _words(text: str) -> Form:
    """Return the canonical form of a text of words only; products of letters are not words."""
    if _LETTERS.fullmatch(text):
        return tuple(sorted(set(_LETTER.findall(text))))
    text = _ARTICLE.sub("", text, count=1)
    found = _WORD.findall(text) if _WORDS.fullmatch(text) else []
    if not found or any(len(word) == 1 for word in found):
        return None
    listed = [part.split() for part in _JOINT.split(text.casefold().rstrip(". "))]
    if len(listed) > 1 and all(0 < len(part) <= _LONGEST_NAME for part in listed):
        return tuple(sorted(" ".join(part) for part in listed))
    words = " ".join(found)
    factors = _FACTORS if len(words) == 2 else frozenset("xyzw")
    if len(words) < 4 and set(words) <= factors:
        return None
    return _SYNONYMS.get(words.casefold(), words.casefold())


def _same_choice(answer: str, gold: str, *, is_marked: bool) -> bool | None:
    given, wanted = _CHOICE.fullmatch(answer), _CHOICE.fullmatch(gold)
    if given and wanted:
        # The case of a choice does not matter, but the case of a variable does.
        is_choice = is_marked or wanted[1] in "ABCDEFGH"
        letters = (given[1].upper(), wanted[1].upper()) if is_choice else (given[1], wanted[1])
        return letters[0] == letters[1]
    for choice, other in ((wanted, answer), (given, gold)):
        more = _CHOICE_AND_MORE.fullmatch(other) if choice and choice[1].isupper() else None
        if choice and more and not _CHOICES.search(other, 2):
            return bool((more[1] or more[2]) == choice[1])
    return None
