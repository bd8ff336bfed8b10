from collections.abc import Callable
from datetime import date
from decimal import Decimal

from ledger.book import Book
from ledger.journal import ParseError, blocks, load

JOURNAL = """\
; household
2024-01-01 open assets:bank EUR
2024-01-01 open expenses:food
2024-01-01 open income:pay   ; no limit

currency EUR
2024-01-05 * Corner  Grocer | weekly  shopping
    expenses:food   42.50   ; bread
    ; a comment of its own
\tassets:bank
2024-01-03 * Employer
  assets:bank   1,000
  income:pay   -1,000.00 EUR
2024-01-31 balance assets:bank 957.50
"""


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def fault(text: str) -> int:
    """The line that a journal fails at, 0 if it can be read."""
    try:
        load(text)
    except ParseError as error:
        return error.line
    return 0


def texts(book: Book) -> list[list[str]]:
    return [[f"{one.account} {one.money}" for one in some.postings] for some in book.transactions()]


def test_a_journal_becomes_a_book() -> None:
    book = load(JOURNAL)
    assert texts(book) == [
        ["assets:bank 1,000.00 EUR", "income:pay -1,000.00 EUR"],
        ["expenses:food 42.50 EUR", "assets:bank -42.50 EUR"],
    ]
    assert [one.day.day for one in book.transactions()] == [3, 5]
    assert book.balance("assets", "EUR") == Decimal("957.50")


def test_a_title_has_a_payee_and_may_have_a_note() -> None:
    titles = [(one.payee, one.note) for one in load(JOURNAL).transactions()]
    assert titles == [("Employer", ""), ("Corner Grocer", "weekly shopping")]
    empty = load(JOURNAL + "2024-02-01 * | a | b\n  assets:bank 1\n  expenses:food\n")
    assert [(one.payee, one.note) for one in empty.transactions()][2:] == [("", "a | b")]


def test_blocks_are_lines_with_those_indented_below() -> None:
    found = blocks("a b\n\n  c  d ; e\n;f\n\tg\n  \nh;i\n")
    assert [(one.line, one.words) for one in found] == [(1, ["a", "b"]), (7, ["h"])]
    assert [one.body for one in found] == [[["c", "d"], ["g"]], []]
    assert blocks("") == []
    assert blocks("\n  ; only a comment\n") == []


def test_an_indented_line_needs_one_above() -> None:
    assert fault("  assets:bank 1 EUR\n") == 1
    assert fault("; comment\n\n  assets:bank\n2024-01-01 open assets\n") == 3
    assert raised(lambda: blocks(" x")) == "ParseError"


def test_accounts_are_opened_and_closed_on_their_days() -> None:
    book = load("2024-01-02 open assets:cash\n2024-02-03 close assets:cash\n")
    account = book.chart.usable("assets:cash", date(2024, 1, 2))
    assert (account.opened, account.closed) == (date(2024, 1, 2), date(2024, 2, 3))
    assert account.currency is None
    limited = load("2024-01-02 open assets:cash JPY\n").chart.usable("assets:cash", date.max)
    assert (limited.currency, limited.closed) == ("JPY", date.max)


def test_an_error_tells_the_line_its_block_begins_at() -> None:
    assert fault(JOURNAL + "2024-02-01 open assets:bank\n") == 15
    assert fault(JOURNAL + "\n2024-02-01 * X\n  assets:bank 1\n  expenses:food 1\n") == 16
    assert fault(JOURNAL + "2024-02-01 * X\n  expenses:food 1.005\n  assets:bank\n") == 15
    assert fault(JOURNAL) == 0


def test_an_error_has_its_line_in_its_text() -> None:
    assert str(ParseError(7, "oops")) == "line 7: oops"
    assert ParseError(12, "x").line == 12
    assert str(ParseError(12, "x")) == "line 12: x"


def test_a_balance_that_is_wrong_is_a_fault() -> None:
    assert fault(JOURNAL + "2024-01-31 balance assets:bank 957.51\n") == 15
    assert fault(JOURNAL + "2024-01-04 balance assets 1,000.00 EUR\n") == 0
    assert fault(JOURNAL + "2024-01-02 balance assets 1,000.00 EUR\n") == 15
    assert fault(JOURNAL + "2024-01-31 balance assets\n") == 15


def test_lines_of_unknown_kinds_are_faults() -> None:
    assert fault("2024-01-01 pay assets\n") == 1
    assert fault("2024-01-01\n") == 1
    assert fault("currency\n") == 1
    assert fault("currency EUR USD\n") == 1
    assert fault("2024-01-01 open assets EUR USD\n") == 1


def test_dates_have_to_exist() -> None:
    assert fault("2024-02-29 open assets\n2023-02-29 open equity\n") == 2
    assert fault("24-01-01 open assets\n") == 1
    assert fault("2024/01/01 open assets\n") == 1


def test_close_and_open_need_an_account() -> None:
    assert fault("2024-01-01 open\n") == 1
    assert fault("2024-01-01 close assets\n") == 1
    assert fault("2024-01-01 open assets\n2024-01-02 close assets EUR\n") == 2


def test_amounts_need_a_currency_from_somewhere() -> None:
    text = "2024-01-01 open assets\n2024-01-01 * X\n  assets 1\n  assets -1\n"
    assert fault(text) == 2
    assert fault("currency JPY\n" + text) == 0
    assert texts(load(text, currency="USD")) == [["assets 1.00 USD", "assets -1.00 USD"]]
    assert raised(lambda: load(text, Book())) == "ParseError"


def test_a_default_currency_holds_from_its_line_on() -> None:
    pair = "  assets 1\n  equity\n"
    text = "2024-01-01 open assets\n2024-01-01 open equity\n"
    text += f"currency JPY\n2024-01-01 * A\n{pair}currency GBP\n2024-01-01 * B\n{pair}"
    assert [some[0] for some in texts(load(text))] == ["assets 1 JPY", "assets 1.00 GBP"]
    assert [some[1] for some in texts(load(text))] == ["equity -1 JPY", "equity -1.00 GBP"]


def test_a_journal_can_be_added_to_a_book() -> None:
    book = load(JOURNAL)
    more = "2024-02-01 * Fair\n  expenses:food 7.50\n  assets:bank\n"
    assert load(more, book, "EUR").balance("assets", "EUR") == Decimal("950.00")
    assert book.balance("expenses", "EUR") == Decimal("50.00")
    assert len(list(book.transactions())) == 3


def test_blocks_before_a_fault_remain_applied() -> None:
    book = Book()
    text = "2024-01-01 open assets\n2024-01-01 open liability\n2024-01-01 open equity\n"
    assert raised(lambda: load(text, book)) == "ParseError"
    assert book.chart.tree() == [(0, "assets")]
    assert raised(lambda: load("  x\n" + text, book)) == "ParseError"
    assert raised(lambda: load("2024-01-01 open equity\n", book)) == ""
