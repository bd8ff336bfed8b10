"""Numbers in words: ``twenty-five``, ``two thirds``."""

from fractions import Fraction

__all__ = ["spelled_number"]

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: value for value, word in enumerate(_ONES)}
_VALUES |= {word: 10 * value for value, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6}
_PARTS = {"half": 2, "third": 3, "fourth": 4, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8}
_PARTS |= {"tenth": 10}
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth"),
)
_NUMBERS = {word: number for number, word in enumerate(_ORDINALS, 1)}
_NUMBERS |= {f"{word[:-1]}ieth": value for word, value in _VALUES.items() if value >= 20}


def spelled_number(text: str) -> Fraction | None:
    """Return the number with a name such as ``twenty-five``, ``two thirds`` or ``seventh``."""
    if (number := _ordinal(text.lower())) is not None:
        return Fraction(number)
    words = [word for word in text.lower().replace("-", " ").split() if word != "and"]
    part = _part(words[-1]) if words else None
    whole = _whole(words[:-1] if part else words)
    if whole is None:
        return None
    return Fraction(whole, part or 1)


def _ordinal(text: str) -> int | None:
    """Return the number of an ordinal of one word, such as ``seventh`` or ``twenty-first``."""
    tens, _, ones = text.replace(" - ", "-").rpartition("-")
    if tens in _TENS and _NUMBERS.get(ones, 10) < 10:
        return _VALUES[tens] + _NUMBERS[ones]
    return None if tens else _NUMBERS.get(ones)


def _part(word: str) -> int | None:
    return _PARTS.get("half" if word == "halves" else word.removesuffix("s"))


def _whole(words: list[str]) -> int | None:
    total, group = 0, 0
    for word in words:
        if word in _VALUES:
            group += _VALUES[word]
        elif word == "hundred" and group:
            group *= 100
        elif word in _SCALES and group:
            total, group = total + group * _SCALES[word], 0
        else:
            return None
    return total + group if words else None
