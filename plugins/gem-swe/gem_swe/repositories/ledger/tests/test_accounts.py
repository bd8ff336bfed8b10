from collections.abc import Callable
from datetime import date

from ledger.accounts import Account, Chart, is_within, normal_sign, sort_key, split_name


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def sample() -> Chart:
    chart = Chart()
    chart.open("expenses:food", date(2024, 1, 1))
    chart.open("assets:bank:savings", date(2024, 3, 1), "USD")
    chart.open("assets:bank", date(2024, 2, 1), "EUR")
    return chart


def span(account: Account) -> tuple[date, date]:
    return account.opened, account.closed


def test_a_name_is_split_at_its_colons() -> None:
    assert split_name("assets:bank:checking") == ["assets", "bank", "checking"]
    assert split_name("equity") == ["equity"]


def test_a_name_starts_with_one_of_five_kinds() -> None:
    assert [split_name(kind)[0] for kind in ("assets", "liabilities")] == ["assets", "liabilities"]
    assert [split_name(kind)[0] for kind in ("income", "expenses")] == ["income", "expenses"]
    assert raised(lambda: split_name("asset:bank")) == "AccountError"
    assert raised(lambda: split_name("bank:assets")) == "AccountError"
    assert raised(lambda: split_name("")) == "AccountError"


def test_a_name_has_at_most_four_parts_below_its_kind() -> None:
    assert split_name("assets:a:b:c:d") == ["assets", "a", "b", "c", "d"]
    assert raised(lambda: split_name("assets:a:b:c:d:e")) == "AccountError"
    assert raised(lambda: split_name("income:a:b:c:d:e:f")) == "AccountError"


def test_parts_have_lower_case_letters_digits_and_hyphens() -> None:
    assert split_name("assets:n26-main") == ["assets", "n26-main"]
    assert raised(lambda: split_name("assets:Bank")) == "AccountError"
    assert raised(lambda: split_name("assets:my bank")) == "AccountError"
    assert raised(lambda: split_name("expenses:food:a_b")) == "AccountError"


def test_parts_start_with_a_letter() -> None:
    assert raised(lambda: split_name("assets:1bank")) == "AccountError"
    assert raised(lambda: split_name("assets:-bank")) == "AccountError"
    assert raised(lambda: split_name("assets::bank")) == "AccountError"
    assert raised(lambda: split_name("assets:")) == "AccountError"


def test_an_account_is_within_itself_and_those_above() -> None:
    assert is_within("assets:bank", "assets:bank")
    assert is_within("assets:bank:savings", "assets")
    assert not is_within("assets", "assets:bank")
    assert not is_within("assets:banking", "assets:bank")


def test_debits_increase_assets_and_expenses_only() -> None:
    assert [normal_sign(kind) for kind in ("assets:cash", "expenses")] == [1, 1]
    assert [normal_sign(kind) for kind in ("liabilities", "equity", "income:pay")] == [-1, -1, -1]


def test_accounts_are_ordered_by_kind_then_by_parts() -> None:
    names = ["expenses:a", "income:z", "equity", "assets:b", "liabilities:c", "assets"]
    assert sorted(names, key=sort_key) == [
        "assets", "assets:b", "liabilities:c", "equity", "income:z", "expenses:a",
    ]  # fmt: skip
    assert sort_key("income:pay:bonus") == (3, ["pay", "bonus"])


def test_an_account_can_be_opened_only_once() -> None:
    chart = sample()
    assert raised(lambda: chart.open("assets:bank", date(2025, 1, 1))) == "AccountError"
    chart.close("expenses:food", date(2024, 1, 9))
    assert raised(lambda: chart.open("expenses:food", date(2024, 2, 1))) == "AccountError"
    assert raised(lambda: chart.open("expenses:fun", date(2024, 2, 1))) == ""


def test_a_malformed_account_cannot_be_opened() -> None:
    chart = sample()
    assert raised(lambda: chart.open("wallet", date(2024, 1, 1))) == "AccountError"
    assert raised(lambda: chart.open("assets:My", date(2024, 1, 1))) == "AccountError"
    assert len(chart.tree()) == 5


def test_an_account_is_usable_from_its_first_through_its_last_day() -> None:
    chart = sample()
    chart.close("assets:bank:savings", date(2024, 3, 5))
    span_of = span(chart.usable("assets:bank:savings", date(2024, 3, 1)))
    assert span_of == (date(2024, 3, 1), date(2024, 3, 5))
    assert chart.usable("assets:bank:savings", date(2024, 3, 5)).currency == "USD"
    before, after = date(2024, 2, 29), date(2024, 3, 6)
    assert raised(lambda: chart.usable("assets:bank:savings", before)) == "AccountError"
    assert raised(lambda: chart.usable("assets:bank:savings", after)) == "AccountError"


def test_an_account_that_was_never_opened_is_not_usable() -> None:
    chart = sample()
    assert raised(lambda: chart.usable("assets", date(2024, 5, 1))) == "AccountError"
    assert raised(lambda: chart.close("income", date(2024, 5, 1))) == "AccountError"
    assert raised(lambda: chart.require("equity", date(2024, 5, 1), "EUR")) == "AccountError"


def test_an_account_is_changed_by_its_chart_only() -> None:
    account = sample().usable("assets:bank", date(2024, 2, 1))
    assert raised(lambda: setattr(account, "closed", date(2024, 2, 2))) == "FrozenInstanceError"
    assert raised(lambda: setattr(account, "currency", None)) == "FrozenInstanceError"
    assert span(account) == (date(2024, 2, 1), date.max)


def test_an_account_takes_only_the_currency_it_is_limited_to() -> None:
    chart, day = sample(), date(2024, 6, 1)
    assert raised(lambda: chart.require("assets:bank", day, "EUR")) == ""
    assert raised(lambda: chart.require("assets:bank", day, "USD")) == "CurrencyError"
    assert raised(lambda: chart.require("assets:bank:savings", day, "EUR")) == "CurrencyError"
    assert raised(lambda: chart.require("expenses:food", day, "GBP")) == ""


def test_an_account_stays_open_as_long_as_one_below_it() -> None:
    chart = sample()
    assert raised(lambda: chart.close("assets:bank", date(2024, 4, 1))) == "AccountError"
    chart.close("assets:bank:savings", date(2024, 4, 2))
    assert raised(lambda: chart.close("assets:bank", date(2024, 4, 1))) == "AccountError"
    chart.close("assets:bank", date(2024, 4, 2))
    assert span(chart.usable("assets:bank", date(2024, 4, 2)))[1] == date(2024, 4, 2)


def test_accounts_elsewhere_do_not_keep_an_account_open() -> None:
    chart = sample()
    chart.close("expenses:food", date(2024, 2, 2))
    assert span(chart.usable("expenses:food", date(2024, 2, 2)))[1] == date(2024, 2, 2)
    chart.close("assets:bank:savings", date(2024, 3, 1))
    assert span(chart.usable("assets:bank:savings", date(2024, 3, 1)))[1] == date(2024, 3, 1)


def test_an_account_may_be_closed_again_on_an_earlier_day_only() -> None:
    chart = sample()
    chart.close("expenses:food", date(2024, 5, 5))
    assert raised(lambda: chart.close("expenses:food", date(2024, 5, 6))) == "AccountError"
    chart.close("expenses:food", date(2024, 5, 1))
    assert raised(lambda: chart.usable("expenses:food", date(2024, 5, 2))) == "AccountError"
    assert raised(lambda: chart.close("expenses:food", date(2023, 12, 31))) == "AccountError"


def test_the_tree_has_the_accounts_above_opened_ones_too() -> None:
    assert sample().tree() == [
        (0, "assets"),
        (1, "assets:bank"),
        (2, "assets:bank:savings"),
        (0, "expenses"),
        (1, "expenses:food"),
    ]
    assert Chart().tree() == []


def test_the_tree_can_be_cut_at_a_depth() -> None:
    assert sample().tree(1) == [(0, "assets"), (0, "expenses")]
    assert [name for _, name in sample().tree(2)] == [
        "assets", "assets:bank", "expenses", "expenses:food",
    ]  # fmt: skip
    assert sample().tree(0) == []


def test_the_tree_is_not_cut_unless_told() -> None:
    chart = Chart()
    chart.open("income:a:b:c:d", date(2024, 1, 1))
    assert [depth for depth, _ in chart.tree()] == [0, 1, 2, 3, 4]
    assert chart.tree()[-1] == (4, "income:a:b:c:d")
