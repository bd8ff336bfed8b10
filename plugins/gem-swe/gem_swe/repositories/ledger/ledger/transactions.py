"""Transactions: postings to accounts that add up to zero."""

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from .accounts import is_within, split_name
from .money import LedgerError, Money


class UnbalancedError(LedgerError):
    """The postings of a transaction do not add up to zero, or cannot be made to."""


@dataclass(frozen=True)
class Posting:
    """Money that goes to an account (from it, if negative)."""

    account: str
    money: Money


@dataclass(frozen=True)
class Transaction:
    """What happened on a day. `build` makes transactions that are known to balance."""

    day: date
    payee: str
    postings: tuple[Posting, ...]
    note: str = ""

    def change(self, account: str, currency: str, deep: bool = True) -> Decimal:
        """What it adds to an account, with those below it if `deep`, in one currency."""
        total = Decimal(0)
        for posting in self.postings:
            inside = is_within(posting.account, account) if deep else posting.account == account
            if inside and posting.money.currency == currency:
                total += posting.money.amount
        return total


def residuals(postings: Iterable[Posting]) -> list[Money]:
    """What the postings add up to in each currency, in order of appearance, without zeros."""
    sums: dict[str, Money] = {}
    for posting in postings:
        money = posting.money
        sums[money.currency] = sums.get(money.currency, Money.of(0, money.currency)) + money
    return [money for money in sums.values() if money.amount != 0]


def build(
    day: date, payee: str, entries: Sequence[tuple[str, Money | None]], note: str = ""
) -> Transaction:
    """Make a transaction from at least two entries. One entry may leave its money open (None). In
    its place come postings that balance the others, one for each currency that needs it.
    UnbalancedError if there are too few entries, several open ones, an open one with nothing to
    balance, or if the sum is not zero."""
    if len(entries) < 2:
        raise UnbalancedError(f"{payee}: a transaction needs two entries")
    rest = residuals(Posting(name, money) for name, money in entries if money is not None)
    postings: list[Posting] = []
    for name, money in entries:
        split_name(name)
        if money is not None:
            postings.append(Posting(name, money))
        elif rest:
            postings.extend(Posting(name, -missing) for missing in rest)
        else:
            raise UnbalancedError(f"nothing is left for {name}")
    if residuals(postings):
        raise UnbalancedError(f"{payee}: the postings do not balance")
    return Transaction(day, payee, tuple(postings), note)


def add_months(day: date, count: int) -> date:
    """The same day `count` months later (earlier if negative), or the last of a shorter month."""
    years, month = divmod(day.month - 1 + count, 12)
    last = calendar.monthrange(day.year + years, month + 1)[1]
    return date(day.year + years, month + 1, min(day.day, last))
