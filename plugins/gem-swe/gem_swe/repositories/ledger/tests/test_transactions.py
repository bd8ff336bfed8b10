from collections.abc import Callable
from datetime import date
from decimal import Decimal

from ledger.money import parse_money
from ledger.transactions import Posting, Transaction, add_months, build, residuals

DAY = date(2024, 1, 31)


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def made(*entries: tuple[str, str]) -> Transaction:
    """A transaction from accounts and amounts; an empty amount is left open."""
    pairs = [(name, parse_money(text) if text else None) for name, text in entries]
    return build(DAY, "Shop", pairs)


def texts(transaction: Transaction) -> list[str]:
    return [f"{one.account} {one.money}" for one in transaction.postings]


def trip() -> Transaction:
    return made(
        ("assets:bank", "-80.00 EUR"),
        ("expenses:food", "30.00 EUR"),
        ("expenses:food:snacks", "5.00 EUR"),
        ("expenses:travel", "45.00 EUR"),
        ("expenses:food", "2.00 USD"),
        ("assets:cash", "-2.00 USD"),
    )


def test_a_balanced_transaction_keeps_its_postings_in_order() -> None:
    two = made(("assets:cash", "-3.00 EUR"), ("expenses:food", "3.00 EUR"))
    assert texts(two) == ["assets:cash -3.00 EUR", "expenses:food 3.00 EUR"]
    assert len(trip().postings) == 6
    assert texts(trip())[2] == "expenses:food:snacks 5.00 EUR"


def test_a_transaction_has_its_day_payee_and_note() -> None:
    entries = [("assets", parse_money("1 JPY")), ("equity", None)]
    one = build(date(2024, 2, 29), "Zoo", entries, "late")
    assert (one.day, one.payee, one.note) == (date(2024, 2, 29), "Zoo", "late")
    two = build(DAY, "Bar", entries)
    assert (two.day, two.payee, two.note) == (date(2024, 1, 31), "Bar", "")


def test_transactions_and_postings_cannot_be_changed() -> None:
    one = made(("assets", "1.00 EUR"), ("equity", ""))
    assert raised(lambda: setattr(one, "payee", "Bar")) == "FrozenInstanceError"
    assert raised(lambda: setattr(one.postings[0], "account", "income")) == "FrozenInstanceError"
    assert (one.payee, one.postings[0].account) == ("Shop", "assets")


def test_the_sum_has_to_be_zero() -> None:
    two = (("assets", "1.00 EUR"), ("equity", "-1.01 EUR"))
    assert raised(lambda: made(*two)) == "UnbalancedError"
    three = (("assets", "1.00 EUR"), ("equity", "-0.50 EUR"), ("income", "-0.49 EUR"))
    assert raised(lambda: made(*three)) == "UnbalancedError"
    assert len(made(("assets", "1.00 EUR"), ("equity", "-1.00 EUR")).postings) == 2


def test_each_currency_has_to_balance_alone() -> None:
    mixed = (("assets", "1.00 EUR"), ("equity", "-1.00 USD"))
    assert raised(lambda: made(*mixed)) == "UnbalancedError"
    assert raised(lambda: made(("assets", "5 JPY"), ("assets", "-5.00 GBP"))) == "UnbalancedError"
    both = made(("assets", "1.00 EUR"), ("equity", "-1.00 EUR"), ("assets", "0 JPY"))
    assert texts(both)[2] == "assets 0 JPY"


def test_two_entries_are_needed() -> None:
    assert raised(lambda: made()) == "UnbalancedError"
    assert raised(lambda: made(("assets", "0.00 EUR"))) == "UnbalancedError"
    assert raised(lambda: made(("assets", "1.00 EUR"))) == "UnbalancedError"


def test_an_open_entry_takes_what_balances_the_others() -> None:
    last = made(("expenses:food", "12.00 EUR"), ("expenses:fun", "3.50 EUR"), ("assets", ""))
    assert texts(last)[-1] == "assets -15.50 EUR"
    first = made(("assets:cash", ""), ("income", "-9 JPY"))
    assert texts(first) == ["assets:cash 9 JPY", "income -9 JPY"]


def test_an_open_entry_is_filled_once_for_each_unbalanced_currency() -> None:
    one = made(("assets", "2.00 EUR"), ("assets", "-3.00 USD"), ("equity", ""))
    assert texts(one)[2:] == ["equity -2.00 EUR", "equity 3.00 USD"]
    rows = (("income", "-1 JPY"), ("equity", ""), ("assets", "1.00 GBP"), ("expenses", "1 JPY"))
    assert texts(made(*rows))[1:3] == ["equity -1.00 GBP", "assets 1.00 GBP"]


def test_only_one_entry_may_be_open() -> None:
    two = (("assets", ""), ("equity", ""))
    assert raised(lambda: made(*two)) == "UnbalancedError"
    assert raised(lambda: made(*two, ("income", "-4.00 EUR"))) == "UnbalancedError"
    assert raised(lambda: made(("assets", ""), ("income", "-4.00 EUR"))) == ""


def test_an_open_entry_needs_something_to_balance() -> None:
    rows = (("assets", "1.00 EUR"), ("equity", "-1.00 EUR"), ("income", ""))
    assert raised(lambda: made(*rows)) == "UnbalancedError"
    assert raised(lambda: made(("assets", "0.00 EUR"), ("income", ""))) == "UnbalancedError"


def test_account_names_are_checked() -> None:
    assert raised(lambda: made(("cash", "1.00 EUR"), ("equity", ""))) == "AccountError"
    assert raised(lambda: made(("assets", "1.00 EUR"), ("equity:X", ""))) == "AccountError"


def test_a_change_includes_accounts_below() -> None:
    assert trip().change("expenses:food", "EUR") == Decimal("35.00")
    assert trip().change("expenses", "EUR") == Decimal("80.00")
    assert trip().change("assets", "EUR") == Decimal("-80.00")
    assert trip().change("income", "EUR") == Decimal(0)


def test_a_change_that_is_not_deep_is_of_the_account_alone() -> None:
    assert trip().change("expenses:food", "EUR", deep=False) == Decimal("30.00")
    assert trip().change("expenses", "EUR", False) == Decimal(0)
    assert trip().change("expenses:food:snacks", "EUR", False) == Decimal("5.00")


def test_a_change_is_in_one_currency() -> None:
    assert trip().change("expenses", "USD") == Decimal("2.00")
    assert trip().change("assets", "USD") == Decimal("-2.00")
    assert trip().change("assets:bank", "USD", False) == Decimal(0)


def test_residuals_are_sums_without_zeros_in_order_of_appearance() -> None:
    texts_of = ("5.00 USD", "1.00 EUR", "7 JPY", "2.50 EUR", "-7 JPY")
    postings = [Posting("assets", parse_money(text)) for text in texts_of]
    assert [str(one) for one in residuals(postings)] == ["5.00 USD", "3.50 EUR"]
    assert [str(one) for one in residuals(postings[1:4])] == ["3.50 EUR", "7 JPY"]
    assert residuals([]) == []


def test_months_are_added_across_years() -> None:
    assert add_months(date(2024, 1, 15), 1) == date(2024, 2, 15)
    assert add_months(date(2024, 11, 3), 1) == date(2024, 12, 3)
    assert add_months(date(2024, 12, 3), 1) == date(2025, 1, 3)
    assert add_months(date(2024, 6, 30), 31) == date(2027, 1, 30)


def test_months_can_be_taken_away() -> None:
    assert add_months(date(2024, 3, 10), -3) == date(2023, 12, 10)
    assert add_months(date(2024, 3, 10), -2) == date(2024, 1, 10)
    assert add_months(date(2024, 3, 10), 0) == date(2024, 3, 10)


def test_a_day_beyond_a_shorter_month_becomes_its_last() -> None:
    assert add_months(DAY, 1) == date(2024, 2, 29)
    assert add_months(DAY, 13) == date(2025, 2, 28)
    assert add_months(date(2023, 12, 31), 2) == date(2024, 2, 29)
    assert add_months(date(2024, 5, 31), 1) == date(2024, 6, 30)
    assert add_months(date(2024, 2, 29), 1) == date(2024, 3, 29)
