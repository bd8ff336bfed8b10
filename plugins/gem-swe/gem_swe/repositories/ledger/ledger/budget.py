"""Budgets: what may be spent on an account in each month."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from .book import Book
from .money import LedgerError
from .transactions import add_months


class BudgetError(LedgerError):
    """A budget is set wrongly, or there is none."""


@dataclass(frozen=True)
class BudgetLine:
    """A month (as its first day) of a budget: what was granted, carried over and spent."""

    month: date
    granted: Decimal
    carried: Decimal
    spent: Decimal

    @property
    def left(self) -> Decimal:
        """What may still be spent; negative if too much was."""
        return self.granted + self.carried - self.spent

    def percent(self) -> int:
        """The share that was spent, rounded down; 0 if there was nothing to spend."""
        allowed = self.granted + self.carried
        return int(self.spent * 100 / allowed) if allowed > 0 else 0

    def status(self, warn_at: int = 80) -> str:
        """One of "over" (if `left` is negative), "unused" (if nothing was spent), "near" (from
        `warn_at` percent on) and "ok"; the first that applies."""
        if self.left < 0:
            return "over"
        if self.spent <= 0:
            return "unused"
        return "near" if self.percent() >= warn_at else "ok"


class Budget:
    """Monthly grants for one account (and those below it) in one currency. At the end of a month,
    rollover "none" drops what is left, "unspent" carries it to the next month if it is positive,
    and "all" carries what is overspent too. No more than `cap` is carried, if that is given."""

    def __init__(
        self, account: str, currency: str, rollover: str = "none", cap: Decimal | None = None
    ) -> None:
        if rollover not in ("none", "unspent", "all"):
            raise BudgetError(f"unknown rollover {rollover!r}")
        self.account, self.currency = account, currency
        self.rollover, self.cap = rollover, cap
        self._grants: dict[date, Decimal] = {}

    def grant(self, month: date, amount: Decimal, count: int = 1) -> None:
        """Allow an amount in each of `count` months, in place of what was granted before.
        BudgetError if the amount is negative or the count less than one."""
        if amount < 0 or count < 1:
            raise BudgetError(f"cannot grant {amount} in {count} months")
        for index in range(count):
            self._grants[add_months(month.replace(day=1), index)] = amount

    def _carry(self, left: Decimal) -> Decimal:
        if self.rollover == "none":
            return Decimal(0)
        if self.rollover == "unspent":
            left = max(left, Decimal(0))
        return left if self.cap is None else min(left, self.cap)

    def lines(self, book: Book, through: date) -> list[BudgetLine]:
        """A line for each month from the first granted one through that of the given day. A month
        in between has a grant of zero. BudgetError if nothing was granted at all."""
        if not self._grants:
            raise BudgetError(f"nothing was granted for {self.account}")
        first = min(self._grants)
        carried = Decimal(0)
        result = []
        for index in range((through.year - first.year) * 12 + through.month - first.month + 1):
            month = add_months(first, index)
            end = add_months(month, 1) - timedelta(days=1)
            spent = book.balance(self.account, self.currency, end, month)
            result.append(BudgetLine(month, self._grants.get(month, Decimal(0)), carried, spent))
            carried = self._carry(result[-1].left)
        return result
