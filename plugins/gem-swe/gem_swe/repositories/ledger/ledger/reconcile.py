"""Reconciliation: checking an account against the statements of a bank."""

from datetime import date
from decimal import Decimal

from .book import Book, RegisterLine
from .money import LedgerError


class ReconcileError(LedgerError):
    """A step of the reconciliation is not possible now."""


class Reconciler:
    """Compares an account of a book with one statement after another. `is_open` is true from
    `begin` to `finish`. `balance` is the closing balance of the last finished statement, and
    `outstanding` has the entries (register lines) of the book, through the end of the last
    statement begun, which no finished statement has confirmed."""

    def __init__(self, book: Book, account: str, currency: str) -> None:
        self.is_open = False
        self.balance = self._closing = Decimal(0)
        self.outstanding: list[RegisterLine] = []
        self._book, self._account, self._currency = book, account, currency
        self._start = self._end = date.min
        self._lines: list[tuple[date, Decimal]] = []
        self._matches: dict[int, int] = {}

    def _require(self, is_open: bool) -> None:
        if self.is_open != is_open:
            raise ReconcileError("a statement is open" if self.is_open else "no statement is open")

    def begin(self, end: date, closing: Decimal) -> None:
        """Start on a statement that runs through `end` and closes with a balance. ReconcileError if
        `end` is not after the end of the last statement."""
        self._require(False)
        if end <= self._end:
            raise ReconcileError(f"there is a statement through {self._end} already")
        register = self._book.register(self._account, self._currency, end=end)
        self.outstanding += [entry for entry in register if entry.day > self._end]
        self._start, self._end, self._closing = self._end, end, closing
        self.is_open = True

    def add(self, day: date, amount: Decimal) -> int:
        """Enter a line of the statement and return its index, from 0. ReconcileError if the day is
        not after the last statement and through the end of this."""
        self._require(True)
        if not self._start < day <= self._end:
            raise ReconcileError(f"{day} is not in the statement")
        self._lines.append((day, amount))
        return len(self._lines) - 1

    def match(self, window: int = 3) -> int:
        """Pair each free line with the free entry of the same amount that is nearest in time.
        Entries more than `window` days away are not considered; of two equally near ones the first
        is taken. Lines are treated in order. Returns how many pairs were made."""
        before = len(self._matches)
        for line in self.unmatched():
            day, amount = self._lines[line]
            taken, candidates = self._matches.values(), []
            for place, entry in enumerate(self.outstanding):
                away = abs((entry.day - day).days)
                if entry.change == amount and away <= window and place not in taken:
                    candidates.append((away, place))
            if candidates:
                self._matches[line] = min(candidates)[1]
        return len(self._matches) - before

    def unmatched(self) -> list[int]:
        """The indices of the statement lines without an entry."""
        self._require(True)
        return [line for line in range(len(self._lines)) if line not in self._matches]

    def difference(self) -> Decimal:
        """What the closing balance is above the last one and the paired lines together."""
        self._require(True)
        paired = sum((self._lines[line][1] for line in self._matches), Decimal(0))
        return self._closing - self.balance - paired

    def finish(self) -> int:
        """Accept the statement and return how many entries stay outstanding. ReconcileError if a
        line is unmatched or the difference is not zero."""
        if self.unmatched() or self.difference() != 0:
            raise ReconcileError("the statement does not agree with the book")
        paired = self._matches.values()
        self.outstanding = [one for i, one in enumerate(self.outstanding) if i not in paired]
        self._lines, self._matches = [], {}
        self.balance, self.is_open = self._closing, False
        return len(self.outstanding)
