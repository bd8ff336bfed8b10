"""Units of measurement, their names and their conversion.

A unit is a factor and powers of base units. Any other noun (``18 eggs``) is treated as its own base
unit, so that eggs equal only eggs.
"""

import itertools
import re
from dataclasses import dataclass
from fractions import Fraction

from gem_math.grading.names import names

__all__ = ["DEGREE", "PERCENT", "Unit", "is_unit", "read_unit"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement.

    Args:
        factor: The size of the unit in base units.
        powers: The exponent of each base unit, sorted by name.
    """

    factor: Fraction
    powers: tuple[tuple[str, int], ...]

    def times(self, other: "Unit", power: int = 1) -> "Unit":
        """Return the product with a power of another unit."""
        powers = dict(self.powers)
        for name, exponent in other.powers:
            powers[name] = powers.get(name, 0) + power * exponent
        kept = {name: exponent for name, exponent in powers.items() if exponent}
        return Unit(self.factor * other.factor**power, tuple(sorted(kept.items())))

    @property
    def base(self) -> "Unit":
        """The unit with a factor of 1."""
        return Unit(Fraction(1), self.powers)


_F = Fraction
_TABLE: dict[str, tuple[Fraction, str, str]] = {
    # symbol: (factor, base unit, names)
    "m": (_F(1), "m", "meter metre"),
    "cm": (_F(1, 100), "m", "centimeter centimetre"),
    "mm": (_F(1, 1000), "m", "millimeter millimetre"),
    "dm": (_F(1, 10), "m", "decimeter decimetre"),
    "km": (_F(1000), "m", "kilometer kilometre"),
    "nm": (_F(1, 10**9), "m", "nanometer nanometre"),
    "microm": (_F(1, 10**6), "m", "micrometer micrometre micron"),
    "in": (_F(254, 10000), "m", "inch inches"),
    "ft": (_F(3048, 10000), "m", "foot feet"),
    "yd": (_F(9144, 10000), "m", "yard"),
    "mi": (_F(1609344, 1000), "m", "mile"),
    "g": (_F(1), "g", "gram gramme"),
    "kg": (_F(1000), "g", "kilogram kilo"),
    "mg": (_F(1, 1000), "g", "milligram"),
    "microg": (_F(1, 10**6), "g", "microgram"),
    "lb": (_F(45359237, 100000), "g", "pound"),
    "oz": (_F(45359237, 1600000), "g", "ounce"),
    "ton": (_F(1), "ton", "tonne"),
    "s": (_F(1), "s", "second sec"),
    "ms": (_F(1, 1000), "s", "millisecond"),
    "micros": (_F(1, 10**6), "s", "microsecond"),
    "min": (_F(60), "s", "minute"),
    "h": (_F(3600), "s", "hour hr"),
    "day": (_F(86400), "s", "day"),
    "week": (_F(604800), "s", "week"),
    "month": (_F(1), "month", "month"),
    "year": (_F(12), "month", "year yr"),
    "L": (_F(1, 1000), "litre", "liter litre l"),
    "mL": (_F(1, 10**6), "litre", "milliliter millilitre ml"),
    "microL": (_F(1, 10**9), "litre", "microliter microlitre"),
    "gal": (_F(1), "gallon", "gallon"),
    "qt": (_F(1, 4), "gallon", "quart"),
    "pint": (_F(1, 8), "gallon", "pint pt"),
    "cup": (_F(1, 16), "gallon", "cup"),
    "$": (_F(1), "$", "dollar usd buck USD"),
    "cent": (_F(1, 100), "$", "cent"),
    "€": (_F(1), "€", "euro eur EUR"),
    "£": (_F(1), "£", "gbp GBP"),
    "¥": (_F(1), "¥", "yen jpy JPY yuan"),
    "₹": (_F(1), "₹", "rupee inr INR Rs"),
    "°": (_F(1), "°", "degree deg"),
    "rad": (_F(1), "rad", "radian"),
    "%": (_F(1, 100), "%", "percent percentage pct"),
    "J": (_F(1), "J", "joule"),
    "kJ": (_F(1000), "J", "kilojoule"),
    "N": (_F(1), "N", "newton"),
    "W": (_F(1), "W", "watt"),
    "kW": (_F(1000), "W", "kilowatt"),
    "V": (_F(1), "V", "volt"),
    "A": (_F(1), "A", "ampere amp"),
    "Hz": (_F(1), "Hz", "hertz"),
    "kHz": (_F(1000), "Hz", "kilohertz"),
    "MHz": (_F(10**6), "Hz", "megahertz"),
    "Pa": (_F(1), "Pa", "pascal"),
    "kPa": (_F(1000), "Pa", "kilopascal"),
    "K": (_F(1), "K", "kelvin"),
    "°C": (_F(1), "°C", "celsius"),
    "°F": (_F(1), "°F", "fahrenheit"),
    "mol": (_F(1), "mol", "mole"),
    "C": (_F(1), "C", "coulomb"),
    "T": (_F(1), "T", "tesla"),
    "microA": (_F(1, 10**6), "A", "microampere"),
    "microV": (_F(1, 10**6), "V", "microvolt"),
    "microW": (_F(1, 10**6), "W", "microwatt"),
    "F": (_F(1), "farad", "farad"),
    "microF": (_F(1, 10**6), "farad", "microfarad"),
    "ohm": (_F(1), "ohm", "ohms"),
    "kohm": (_F(1000), "ohm", "kiloohm kilohm"),
    "Mohm": (_F(10**6), "ohm", "megaohm megohm"),
    "eV": (_F(1), "eV", "electronvolt"),
    "acre": (_F(1), "acre", "acre"),
    "unit": (_F(1), "unit", "units"),
}
_COMPOSED = {"mph": "mile/hour", "kph": "km/h", "kmh": "km/h", "mps": "m/s", "sqft": "ft^2"}


def _names() -> dict[str, tuple[Fraction, str]]:
    names: dict[str, tuple[Fraction, str]] = {}
    for symbol, (factor, base, words) in _TABLE.items():
        for word in (symbol, *words.split()):
            names[word] = (factor, base)
            if len(word) > 2 or word in {"hr", "lb", "yd", "oz", "yr", "pt", "qt"}:
                names.setdefault(word + "s", (factor, base))
    return names


_NAMES = _names()
PERCENT = Unit(_F(1, 100), (("%", 1),))
DEGREE = Unit(_F(1), (("°", 1),))
_WORD = re.compile(r"(°[CF]|[^\W\d_]+(?:['-][^\W\d_]+)*|[$€£¥₹°%])(?:\^?\{?(-?\d)\}?)?")
_NO_NOUNS = names(
    "or and not to more less than if only no is are the of a an at most least about around "
    "between from with without does do undefined none all any for when where which million "
    "billion trillion thousand hundred dozen mod base minus plus times divided multiplied "
    "factorial pi root half halves but except unless as many much"
)
_DETAILS = names("of in on at for to from with between among each every a an the")
"""Words after a noun that start a detail of it: ``students in the class`` are students."""
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cubed": 3, "cu": 3}
_WORDS_AT_MOST = 4


def is_unit(word: str) -> bool:
    """Return whether letters without a number name a unit (``cm``, ``hours``)."""
    return word in _NAMES or word in _COMPOSED or (len(word) > 3 and word.lower() in _NAMES)


def read_unit(text: str) -> Unit | None:
    """Return the unit with a name such as ``cm^2``, ``miles per hour`` or ``eggs``, or None."""
    text = re.sub(r"\bpercentage points?\b", "percent", text)
    text = re.sub(r"\bper\b|^(?:an?|each|every)\b(?= \w)", "/", text)
    text = re.sub(r"[{}()]", "", text).replace("*", " ").replace("\\cdot", " ")
    for name, meaning in _COMPOSED.items():
        text = re.sub(rf"\b{name}\b", meaning, text)
    numerator, *denominators = text.split("/")
    powers: dict[str, int] = {}
    factor = Fraction(1)
    above = [] if denominators and not numerator.strip() else [(numerator, 1)]  # 15/hour
    for part, sign in [*above, *((part, -1) for part in denominators)]:
        read = _read_product(part)
        if read is None:
            return None
        factor *= read[0] ** sign
        for base, power in read[1].items():
            powers[base] = powers.get(base, 0) + sign * power
    return Unit(factor, tuple(sorted(powers.items())))


def _without_detail(words: list[str]) -> list[str]:
    """Return ``students`` for ``students in the class``, and for ``of the students``."""
    lower = [word.lower() for word in words]
    while len(lower) > 1 and lower[0] in {"of", "the"}:
        lower, words = lower[1:], words[1:]
    for at, (before, word) in enumerate(itertools.pairwise(lower[:-1]), 1):
        if word in _DETAILS and before not in _POWERS:  # "sq in" is a unit
            is_detail = not set(lower[at:]) & _NO_NOUNS - _DETAILS
            return words[:at] if is_detail else words
    return words


def _read_product(text: str) -> tuple[Fraction, dict[str, int]] | None:
    words = _without_detail(text.split())
    if words[:1] in (["choose"], ["over"]):
        return None
    if not 0 < len(words) <= _WORDS_AT_MOST:
        return None
    parts: list[tuple[Fraction, str, int]] = []
    noun: list[str] = []
    pending = 1
    for word in words:
        power = _POWERS.get(word.lower())
        match = _WORD.fullmatch(word)
        if power is not None and parts and word.lower().endswith("ed"):
            factor, base, old = parts[-1]
            parts[-1] = (factor, base, old * power)
        elif power is not None:
            pending = power
        elif match is None or word.lower() in _NO_NOUNS:
            return None
        elif (known := _known(match[1])) is not None:
            parts.append((*known, int(match[2] or 1) * pending))
            pending = 1
        else:
            noun.append(word.lower())
    if noun:
        parts.append((Fraction(1), _singular(" ".join(noun)), 1))
    return _product(parts) if parts else None


def _known(name: str) -> tuple[Fraction, str] | None:
    return _NAMES.get(name) or (_NAMES.get(name.lower()) if len(name) > 2 else None)


def _product(parts: list[tuple[Fraction, str, int]]) -> tuple[Fraction, dict[str, int]]:
    product, powers = Fraction(1), dict[str, int]()
    for factor, base, power in parts:
        product *= factor**power
        powers[base] = powers.get(base, 0) + power
    return product, powers


def _singular(noun: str) -> str:
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
