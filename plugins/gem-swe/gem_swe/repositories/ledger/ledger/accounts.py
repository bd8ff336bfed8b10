"""Account names, and the chart of accounts with the days on which each may be used."""

from dataclasses import dataclass, replace
from datetime import date

from .money import CurrencyError, LedgerError

KINDS = ("assets", "liabilities", "equity", "income", "expenses")


class AccountError(LedgerError):
    """An account name is malformed, or the account cannot be used that way."""


def split_name(name: str) -> list[str]:
    """The parts of an account name: a kind, then up to four parts below it. Those have lower-case
    letters, digits and hyphens, and start with a letter; AccountError for other names."""
    kind, *parts = name.split(":")
    if kind not in KINDS:
        raise AccountError(f"{name!r} is of no known kind")
    if len(parts) > 4:
        raise AccountError(f"{name!r} has too many parts")
    for part in parts:
        plain = part.replace("-", "")
        if not (part[:1].isalpha() and plain.isalnum() and plain.islower()):
            raise AccountError(f"{part!r} cannot be part of an account name")
    return [kind, *parts]


def is_within(name: str, parent: str) -> bool:
    """Whether an account is `parent` itself or somewhere below it."""
    return name == parent or name.startswith(parent + ":")


def normal_sign(name: str) -> int:
    """1 for accounts that debits increase (assets, expenses), otherwise -1."""
    return 1 if split_name(name)[0] in ("assets", "expenses") else -1


def sort_key(name: str) -> tuple[int, list[str]]:
    """Orders accounts by kind as in KINDS, then by their parts."""
    kind, *parts = split_name(name)
    return KINDS.index(kind), parts


@dataclass(frozen=True)
class Account:
    """An account, usable from the day it is opened through the day it is closed (both count)."""

    name: str
    opened: date
    currency: str | None = None
    closed: date = date.max


class Chart:
    """The accounts of a book."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}

    def open(self, name: str, day: date, currency: str | None = None) -> None:
        """Add an account, limited to one currency if that is given. AccountError if it was opened
        before, even if it is closed by now."""
        split_name(name)
        if name in self._accounts:
            raise AccountError(f"{name} was opened before")
        self._accounts[name] = Account(name, day, currency)

    def close(self, name: str, day: date) -> None:
        """Make `day` the last day of an account. It may be closed again, but only on an earlier
        day. AccountError if it is not open on that day, or an account below it stays open longer."""
        account = self.usable(name, day)
        for other in self._accounts.values():
            if other.name != name and is_within(other.name, name) and other.closed > day:
                raise AccountError(f"{other.name} stays open longer")
        self._accounts[name] = replace(account, closed=day)

    def usable(self, name: str, day: date) -> Account:
        """The account of that name; AccountError if it is not open on the day."""
        account = self._accounts.get(name)
        if account is None or not account.opened <= day <= account.closed:
            raise AccountError(f"{name} is not open on {day}")
        return account

    def require(self, name: str, day: date, currency: str) -> None:
        """AccountError unless open on the day; CurrencyError if limited to another currency."""
        if self.usable(name, day).currency not in (None, currency):
            raise CurrencyError(f"{name} does not take {currency}")

    def tree(self, levels: int = 5) -> list[tuple[int, str]]:
        """Depth and name of the opened accounts and of all accounts above them, in order. The depth
        of a kind is 0. Accounts with a depth of `levels` or more are left out."""
        known: set[str] = set()
        for name in self._accounts:
            parts = split_name(name)
            known.update(":".join(parts[:size]) for size in range(1, len(parts) + 1))
        names = sorted(known, key=sort_key)
        return [(name.count(":"), name) for name in names if name.count(":") < levels]
