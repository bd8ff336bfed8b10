"""The meaning of the signs and words of a short answer, beyond SQuAD's normalisation.

``marked`` keeps punctuation that makes another answer: C++ and C#, A+ and A-, 1/2, 2:1, 1.5 and the
minus of -5. ``plain`` reads what data sets write in several ways: three and 3, minus 5 and -5, 15
percent and 15%, Beyoncé and Beyonce.
"""

import re
import unicodedata

__all__ = ["marked", "plain"]

_MINUS = "\u2010\u2011\u2012\u2013\u2014\u2212-"
_SIGNS = "+#-/:.^*=,"
_LETTERS = {sign: chr(0xA500 + number) for number, sign in enumerate(_SIGNS)}
"""Letters of a script that no answer is written in; they stand for signs that are kept."""
_LETTERS.update(dict.fromkeys(_MINUS, _LETTERS["-"]))
_KEPT = re.compile(
    r"(?<=\d),(?=\d{3}(?!\d))"  # of thousands; it goes
    rf"|(?<=\d)\s*(?P<between>[/:^*=.,{_MINUS}])\s*(?=\d)"
    r"|(?<=\w)(?P<after>[+#]+)(?!\d)"
    rf"|(?<=\d)\s*(?P<plus>\+)\s*(?=\d)"
    rf"|(?<=[^\W\d_])(?<!\w\w\w)(?P<grade>[{_MINUS}])(?!\w)"
    rf"|(?<![\w)])(?P<minus>[{_MINUS}])(?=[$\u20ac\u00a3]?\.?\d)"
    r"|(?<![\w.])(?P<point>\.)(?=\d)"
)
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: number for number, word in enumerate(_SMALL)}
_VALUES.update({word: 10 * number for number, word in enumerate(_TENS, start=2)})
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORD = "|".join((*_VALUES, *_SCALES))
_SPELLED = re.compile(rf"\b(?:{_WORD})(?:[\s-]+(?:and[\s-]+)?(?:{_WORD}))*\b", re.IGNORECASE)
_SPELLED_MINUS = re.compile(r"\b(?:minus|negative)\s+(?=[$\u20ac\u00a3]?\.?\d)", re.IGNORECASE)
_PERCENT = re.compile(r"(?<=\d)\s*(?:%|per\s?cent\b)", re.IGNORECASE)


def marked(text: str) -> str:
    """Return ``text`` with the signs that matter as letters, which no normalisation removes."""
    return _KEPT.sub(_kept, text)


def _kept(match: re.Match[str]) -> str:
    return "".join(_LETTERS[sign] for sign in match[0].strip() if match.lastgroup)


def plain(text: str) -> str:
    """Return ``text`` with digits and signs for number words, and no percent signs and accents."""
    text = _SPELLED_MINUS.sub("-", _PERCENT.sub("", _SPELLED.sub(_digits, text)))
    letters = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(one for one in letters if not _is_accent(one)))


def _is_accent(letter: str) -> bool:
    return "\u0300" <= letter <= "\u036f"


def _digits(match: re.Match[str]) -> str:
    """Return the digits of number words; the words if they are not one number, as in years."""
    words = " ".join(re.findall(r"[a-z]+", match[0], re.IGNORECASE))
    total = current = 0
    for word in words.lower().split():
        value, scale = _VALUES.get(word), _SCALES.get(word)
        if value is not None:
            if current % 100 and not (value < 10 and current % 10 == 0 and current % 100 >= 20):
                return words
            current += value
        elif scale is not None:
            if not current or (scale == 100 and current > 99) or (total and scale > total):
                return words
            current *= scale
            if scale > 100:
                total, current = total + current, 0
    return str(total + current)
