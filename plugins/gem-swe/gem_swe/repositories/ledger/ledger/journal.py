"""The journal format: a plain text from which a book is made.

    currency EUR                                ; for amounts without a currency, from here on
    2024-01-01 open assets:bank                 ; a currency may follow
    2024-01-05 * Grocer | weekly shopping       ; the note after the bar is optional
        expenses:food          42.50
        assets:bank
    2024-01-31 balance assets:bank -42.50 EUR   ; at the end of that day
    2024-12-31 close assets:bank

A semicolon starts a comment. Indented lines belong to the line above them.
"""

from dataclasses import dataclass, field
from datetime import datetime

from .book import Book
from .money import LedgerError, parse_money
from .transactions import build


class ParseError(LedgerError):
    """A journal cannot be read; `line` is the number of the line at fault, from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


@dataclass
class Block:
    """The words of a line, and of the lines indented below it."""

    line: int
    words: list[str]
    body: list[list[str]] = field(default_factory=list)


def blocks(text: str) -> list[Block]:
    """The blocks of a journal, without comments and empty lines."""
    result: list[Block] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        content = raw.partition(";")[0]
        if not content.strip():
            continue
        if not content[0].isspace():
            result.append(Block(number, content.split()))
        elif result:
            result[-1].body.append(content.split())
        else:
            raise ParseError(number, "nothing to belong to")
    return result


def _apply(book: Book, block: Block, currency: str | None) -> str | None:
    if block.words[0] == "currency" and len(block.words) == 2:
        return block.words[1]
    day = datetime.strptime(block.words[0], "%Y-%m-%d").date()
    match block.words[1:]:
        case ["open", name, *limit] if len(limit) <= 1:
            book.chart.open(name, day, *limit)
        case ["close", name]:
            book.chart.close(name, day)
        case ["balance", name, *amount]:
            book.require_balance(name, parse_money(" ".join(amount), currency), day)
        case ["*", *title]:
            payee, _, note = " ".join(title).partition("|")
            entries = [
                (name, parse_money(" ".join(amount), currency) if amount else None)
                for name, *amount in block.body
            ]
            book.post(build(day, payee.strip(), entries, note.strip()))
        case _:
            raise ValueError("unknown kind of line")
    return currency


def load(text: str, book: Book | None = None, currency: str | None = None) -> Book:
    """Apply a journal to a book (a new one if none is given) and return it. Whatever goes wrong
    is a ParseError at the first line of its block; the blocks before it remain applied."""
    book = Book() if book is None else book
    for block in blocks(text):
        try:
            currency = _apply(book, block, currency)
        except (LedgerError, ValueError) as error:
            raise ParseError(block.line, str(error)) from error
    return book
