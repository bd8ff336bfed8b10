"""Amounts of money: a decimal number together with a currency."""

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Self


class LedgerError(Exception):
    """Base of all errors of this package."""


class CurrencyError(LedgerError):
    """A currency is unknown, or differs from the one needed."""


class AmountError(LedgerError):
    """A text is no amount, or a number cannot be used as one."""


_PLACES = {"BHD": 3, "CHF": 2, "EUR": 2, "GBP": 2, "JPY": 0, "USD": 2}
_MODES = {"half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP, "down": ROUND_DOWN}


def decimal_places(currency: str) -> int:
    """Digits after the point that the currency uses (CurrencyError if it is unknown)."""
    if currency not in _PLACES:
        raise CurrencyError(f"unknown currency {currency!r}")
    return _PLACES[currency]


def parse_amount(text: str) -> Decimal:
    """Read a number such as 7, -0.25 or 1,234.50. Digits are needed before the point, and after it
    if there is one. Commas are optional, but if used they must cut the whole part into groups of
    three, of which only the first may be shorter (not empty). Anything else is an AmountError."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    whole, point, fraction = digits.partition(".")
    first, *others = whole.split(",")
    if others and (not 1 <= len(first) <= 3 or any(len(group) != 3 for group in others)):
        raise AmountError(f"misplaced comma in {text!r}")
    joined = first + "".join(others)
    if not joined.isdecimal() or (point and not fraction.isdecimal()):
        raise AmountError(f"not a number: {text!r}")
    return sign * Decimal(f"{joined}{point}{fraction}")


@dataclass(frozen=True)
class Money:
    """A number of units of a currency. `Money.of` is the way to make one from outside."""

    amount: Decimal
    currency: str

    @classmethod
    def of(cls, number: Decimal | int | str, currency: str, mode: str = "half-even") -> Self:
        """Make money, rounded to the smallest unit of its currency. Modes: "half-even" and "half-up"
        (away from zero) differ on ties only; "down" cuts towards zero. AmountError for others."""
        if mode not in _MODES:
            raise AmountError(f"unknown rounding mode {mode!r}")
        unit = Decimal(10) ** -decimal_places(currency)
        return cls(Decimal(number).quantize(unit, rounding=_MODES[mode]), currency)

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise CurrencyError(f"{self.currency} is not {other.currency}")
        return Money(self.amount + other.amount, self.currency)

    def __neg__(self) -> "Money":
        return Money(-self.amount, self.currency)

    def __str__(self) -> str:
        return f"{self.amount:,.{decimal_places(self.currency)}f} {self.currency}"


def parse_money(text: str, default: str | None = None) -> Money:
    """Read "12.50 EUR", or "12.50" if there is a default currency. AmountError if the text has
    another form or a number finer than the smallest unit."""
    words = text.split()
    if len(words) == 1 and default is not None:
        words.append(default)
    if len(words) != 2:
        raise AmountError(f"expected a number and a currency, not {text!r}")
    exact = parse_amount(words[0])
    money = Money.of(exact, words[1])
    if money.amount != exact:
        raise AmountError(f"{text!r} is finer than the smallest unit")
    return money
