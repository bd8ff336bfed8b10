"""Reports: plain text made from a book. Lines have no trailing spaces and no final newline."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from .accounts import normal_sign
from .book import Book


def table(rows: Sequence[Sequence[str]], gap: int = 2) -> str:
    """Lay rows out in columns; the first is flush left, the others flush right. Each column is as
    wide as its widest cell, with `gap` spaces between columns. No rows make an empty text, and rows of
    different lengths a ValueError."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.rjust(widths[index]) for index, cell in enumerate(row)]
        cells[0] = row[0].ljust(widths[0])
        lines.append((" " * gap).join(cells).rstrip())
    return "\n".join(lines)


def balance_report(book: Book, currency: str, end: date = date.max, levels: int = 5) -> str:
    """The tree of accounts with their balances, leaving out those of zero. Balances have the sign
    that is normal for their account: an income is positive."""
    rows = []
    for depth, name in book.chart.tree(levels):
        amount = normal_sign(name) * book.balance(name, currency, end)
        if amount != 0:
            rows.append(["  " * depth + name.rpartition(":")[2], f"{amount:,}"])
    return table(rows)


def trial_report(book: Book, currency: str, end: date = date.max) -> str:
    """The trial balance: debits, credits, and a last line with their totals."""
    rows = [["account", "debit", "credit"]]
    debits = credits = Decimal(0)
    for name, amount in book.trial_balance(currency, end):
        if amount > 0:
            debits += amount
            rows.append([name, f"{amount:,}", ""])
        else:
            credits -= amount
            rows.append([name, "", f"{-amount:,}"])
    return table([*rows, ["total", f"{debits:,}", f"{credits:,}"]])
