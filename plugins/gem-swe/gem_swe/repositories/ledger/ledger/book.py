"""The book: transactions posted to a chart of accounts, and what they add up to."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from .accounts import Chart
from .money import LedgerError, Money
from .transactions import Transaction, build


class BookError(LedgerError):
    """A book does not allow an operation, or a balance is not as expected."""


@dataclass(frozen=True)
class RegisterLine:
    """What a transaction changed in an account, and the balance after it."""

    day: date
    payee: str
    change: Decimal
    running: Decimal


class Book:
    """Transactions in order of their days; those of one day in the order of posting."""

    def __init__(self) -> None:
        self.chart = Chart()
        self.locked = date.min
        self._transactions: list[Transaction] = []

    def post(self, transaction: Transaction) -> None:
        """Add a transaction. BookError if its day is locked; AccountError or CurrencyError if an
        account cannot be used. Nothing is added then."""
        if transaction.day <= self.locked:
            raise BookError(f"the book is locked through {self.locked}")
        for posting in transaction.postings:
            self.chart.require(posting.account, transaction.day, posting.money.currency)
        place = bisect_right(self._transactions, transaction.day, key=lambda one: one.day)
        self._transactions.insert(place, transaction)

    def lock(self, through: date) -> None:
        """Refuse transactions on that day and before it; BookError if it was locked further."""
        if through < self.locked:
            raise BookError(f"the book is locked through {self.locked}")
        self.locked = through

    def transactions(self, start: date = date.min, end: date = date.max) -> Iterator[Transaction]:
        """Yield the transactions from `start` through `end`."""
        for transaction in self._transactions:
            if start <= transaction.day <= end:
                yield transaction

    def balance(
        self,
        account: str,
        currency: str,
        end: date = date.max,
        start: date = date.min,
        deep: bool = True,
    ) -> Decimal:
        """Sum of the changes from `start` through `end`, with accounts below it if `deep`."""
        changes = (one.change(account, currency, deep) for one in self.transactions(start, end))
        return sum(changes, Decimal(0))

    def require_balance(self, account: str, expected: Money, end: date) -> None:
        """BookError if the deep balance at the end of that day differs from the expected one."""
        found = self.balance(account, expected.currency, end)
        if found != expected.amount:
            raise BookError(f"{account} has {found} {expected.currency}, not {expected}")

    def register(
        self, account: str, currency: str, start: date = date.min, end: date = date.max
    ) -> Iterator[RegisterLine]:
        """Yield a line for each transaction from `start` through `end` that changes the account.
        The account includes those below it, and the running balance what came before `start`."""
        running = Decimal(0)
        for one in self.transactions(end=end):
            change = one.change(account, currency)
            running += change
            if one.day >= start and change != 0:
                yield RegisterLine(one.day, one.payee, change, running)

    def trial_balance(self, currency: str, end: date = date.max) -> list[tuple[str, Decimal]]:
        """The accounts whose own balance is not zero at the end of that day, in chart order. Debits
        are positive and credits negative, so the balances add up to zero."""
        names = [name for _, name in self.chart.tree()]
        balances = [(name, self.balance(name, currency, end, deep=False)) for name in names]
        return [(name, amount) for name, amount in balances if amount != 0]

    def close_period(self, through: date, currency: str, equity: str = "equity:retained") -> bool:
        """Move income and expenses through that day to an equity account, and lock the book. The
        transaction is dated on that day. Returns whether there was a profit or loss to move; if
        not, nothing is posted. The book is locked through the day in either case."""
        entries: list[tuple[str, Money | None]] = []
        for name, amount in self.trial_balance(currency, through):
            if name.startswith(("income", "expenses")):
                entries.append((name, Money(-amount, currency)))
        result = sum(self.balance(one, currency, through) for one in ("income", "expenses"))
        if result != 0:
            self.post(build(through, "closing", [*entries, (equity, None)]))
        self.lock(through)
        return result != 0
