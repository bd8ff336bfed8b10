from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal

from ledger.book import Book, RegisterLine
from ledger.money import Money, parse_money
from ledger.transactions import build

ACCOUNTS = ("assets:bank", "assets", "equity:retained", "income:pay", "expenses:food")


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def on(day: int, month: int = 1) -> date:
    return date(2024, month, day)


def move(book: Book, day: date, payee: str, source: str, target: str, amount: str) -> None:
    book.post(build(day, payee, [(target, parse_money(amount)), (source, None)]))


def attempt(book: Book, day: date, source: str, target: str, amount: str) -> str:
    """The name of the error that such a movement raises, "" if none."""
    return raised(lambda: move(book, day, "", source, target, amount))


def empty() -> Book:
    book = Book()
    for name in ACCOUNTS:
        book.chart.open(name, on(1))
    return book


def sample() -> Book:
    book = empty()
    move(book, on(20), "Grocer", "assets:bank", "expenses:food", "30.00 EUR")
    move(book, on(10), "Employer", "income:pay", "assets:bank", "100.00 EUR")
    move(book, on(20), "Baker", "assets", "expenses:food", "4.50 EUR")
    move(book, on(5, 2), "Grocer", "assets:bank", "expenses:food", "8.00 EUR")
    move(book, on(20), "Abroad", "assets:bank", "expenses:food", "900 JPY")
    return book


def shown(lines: Iterable[RegisterLine]) -> list[tuple[int, str, str, str]]:
    return [(one.day.day, one.payee, str(one.change), str(one.running)) for one in lines]


def test_transactions_are_ordered_by_day_then_by_posting() -> None:
    payees = [one.payee for one in sample().transactions()]
    assert payees == ["Employer", "Grocer", "Baker", "Abroad", "Grocer"]
    assert [one.day.day for one in sample().transactions()] == [10, 20, 20, 20, 5]


def test_transactions_are_chosen_by_days_that_both_count() -> None:
    book = sample()
    assert [one.day for one in book.transactions(end=on(10))] == [on(10)]
    assert [one.day for one in book.transactions(on(5, 2))] == [on(5, 2)]
    assert len(list(book.transactions(on(11), on(20)))) == 3
    assert [one.payee for one in book.transactions(on(11), on(19))] == []
    assert len(list(book.transactions(on(10), on(4, 2)))) == 4


def test_a_posting_needs_an_account_that_is_open() -> None:
    book = empty()
    book.chart.close("income:pay", on(20))
    assert attempt(book, on(21), "income:pay", "assets", "1 JPY") == "AccountError"
    assert attempt(book, date(2023, 12, 31), "income:pay", "assets", "1 JPY") == "AccountError"
    assert attempt(book, on(20), "income:pay", "assets", "1 JPY") == ""
    assert attempt(book, on(2), "income:gift", "assets", "1 JPY") == "AccountError"


def test_a_posting_needs_the_currency_of_its_account() -> None:
    book = empty()
    book.chart.open("assets:yen", on(3), "JPY")
    assert attempt(book, on(4), "income:pay", "assets:yen", "1 JPY") == ""
    assert attempt(book, on(4), "income:pay", "assets:yen", "1.00 EUR") == "CurrencyError"
    assert attempt(book, on(4), "assets:yen", "assets", "1.00 EUR") == "CurrencyError"


def test_a_refused_transaction_leaves_no_trace() -> None:
    book = sample()
    assert attempt(book, on(9), "income:none", "assets:bank", "7.00 EUR") == "AccountError"
    assert len(list(book.transactions())) == 5
    assert book.balance("assets:bank", "EUR") == Decimal("62.00")


def test_a_lock_refuses_its_day_and_those_before() -> None:
    book = sample()
    book.lock(on(20))
    assert attempt(book, on(20), "assets", "equity:retained", "1 JPY") == "BookError"
    assert attempt(book, on(2), "assets", "equity:retained", "1 JPY") == "BookError"
    assert attempt(book, on(21), "assets", "equity:retained", "1 JPY") == ""


def test_a_lock_only_moves_forward() -> None:
    book = sample()
    book.lock(on(20))
    assert raised(lambda: book.lock(on(19))) == "BookError"
    assert book.locked == date(2024, 1, 20)
    assert raised(lambda: book.lock(on(20))) == ""
    book.lock(on(21))
    assert book.locked == date(2024, 1, 21)


def test_a_balance_includes_accounts_below() -> None:
    book = sample()
    assert book.balance("assets", "EUR") == Decimal("57.50")
    assert book.balance("assets:bank", "EUR") == Decimal("62.00")
    assert book.balance("assets:bank", "JPY") == Decimal(-900)
    assert book.balance("income", "EUR") == Decimal(-100)


def test_a_balance_that_is_not_deep_is_of_the_account_alone() -> None:
    book = sample()
    assert book.balance("assets", "EUR", deep=False) == Decimal("-4.50")
    assert book.balance("expenses", "EUR", deep=False) == Decimal(0)
    assert book.balance("expenses:food", "EUR", deep=False) == Decimal("42.50")


def test_a_balance_is_limited_by_days() -> None:
    book = sample()
    assert book.balance("assets", "EUR", on(20)) == Decimal("65.50")
    assert book.balance("assets", "EUR", on(19)) == Decimal("100.00")
    assert book.balance("assets", "EUR", on(20), on(11)) == Decimal("-34.50")
    assert book.balance("assets", "EUR", start=on(5, 2)) == Decimal("-8.00")


def test_a_balance_can_be_required() -> None:
    book = sample()
    assert raised(lambda: book.require_balance("assets", Money.of("65.50", "EUR"), on(20))) == ""
    wrong = raised(lambda: book.require_balance("assets", Money.of("65.51", "EUR"), on(20)))
    assert wrong == "BookError"
    early = raised(lambda: book.require_balance("assets", Money.of("65.50", "EUR"), on(19)))
    assert early == "BookError"
    assert raised(lambda: book.require_balance("assets", Money.of(-900, "JPY"), on(1, 3))) == ""


def test_a_register_has_a_running_balance() -> None:
    assert shown(sample().register("assets:bank", "EUR")) == [
        (10, "Employer", "100.00", "100.00"),
        (20, "Grocer", "-30.00", "70.00"),
        (5, "Grocer", "-8.00", "62.00"),
    ]
    assert shown(sample().register("expenses", "JPY")) == [(20, "Abroad", "900", "900")]


def test_register_lines_cannot_be_changed() -> None:
    first, *_ = sample().register("assets", "EUR")
    assert raised(lambda: setattr(first, "running", Decimal(0))) == "FrozenInstanceError"
    assert raised(lambda: setattr(first, "payee", "")) == "FrozenInstanceError"


def test_a_register_starts_with_what_came_before() -> None:
    book = sample()
    assert shown(book.register("assets", "EUR", on(20), on(20))) == [
        (20, "Grocer", "-30.00", "70.00"),
        (20, "Baker", "-4.50", "65.50"),
    ]
    assert shown(book.register("assets", "EUR", on(21))) == [(5, "Grocer", "-8.00", "57.50")]


def test_a_register_leaves_out_what_changes_nothing() -> None:
    book = empty()
    move(book, on(3), "Swap", "assets", "assets:bank", "5.00 EUR")
    assert shown(book.register("assets", "EUR")) == []
    assert shown(book.register("income", "EUR")) == []
    assert shown(book.register("assets:bank", "EUR")) == [(3, "Swap", "5.00", "5.00")]


def test_a_trial_balance_lists_accounts_with_a_balance_of_their_own() -> None:
    assert sample().trial_balance("EUR") == [
        ("assets", Decimal("-4.50")),
        ("assets:bank", Decimal("62.00")),
        ("income:pay", Decimal("-100.00")),
        ("expenses:food", Decimal("42.50")),
    ]
    assert sample().trial_balance("JPY") == [
        ("assets:bank", Decimal(-900)),
        ("expenses:food", Decimal(900)),
    ]


def test_a_trial_balance_is_taken_at_the_end_of_a_day() -> None:
    book = sample()
    assert [name for name, _ in book.trial_balance("EUR", on(10))] == ["assets:bank", "income:pay"]
    assert book.trial_balance("EUR", on(9)) == []
    assert sum(amount for _, amount in book.trial_balance("EUR", on(20))) == 0


def test_closing_moves_a_profit_to_equity() -> None:
    book = sample()
    assert book.close_period(on(31), "EUR")
    assert book.trial_balance("EUR", on(31)) == [
        ("assets", Decimal("-4.50")),
        ("assets:bank", Decimal("70.00")),
        ("equity:retained", Decimal("-65.50")),
    ]
    assert [one.day for one in book.transactions() if one.payee == "closing"] == [on(31)]
    assert book.balance("expenses", "EUR") == Decimal("8.00")


def test_closing_moves_a_loss_to_the_equity_account_given() -> None:
    book = sample()
    book.chart.open("equity:owner", on(1))
    assert book.close_period(on(31), "JPY", "equity:owner")
    assert book.balance("equity:owner", "JPY") == Decimal(900)
    assert book.balance("expenses", "JPY") == Decimal(0)
    assert book.balance("expenses", "EUR") == Decimal("42.50")


def test_closing_locks_the_book_through_its_day() -> None:
    book = sample()
    book.close_period(on(31), "EUR")
    assert book.locked == date(2024, 1, 31)
    assert raised(lambda: book.close_period(on(31), "JPY")) == "BookError"
    assert book.close_period(on(29, 2), "EUR")
    assert book.balance("equity", "EUR") == Decimal("-57.50")


def test_closing_without_profit_or_loss_posts_nothing() -> None:
    book = sample()
    assert not book.close_period(on(9), "EUR")
    assert len(list(book.transactions())) == 5
    assert book.locked == date(2024, 1, 9)
    move(book, on(21), "Even", "income:pay", "expenses:food", "1.00 GBP")
    assert not book.close_period(on(21), "GBP")
    assert book.balance("income", "GBP") == Decimal(-1)
