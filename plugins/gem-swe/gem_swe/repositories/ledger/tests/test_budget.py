from collections.abc import Callable
from datetime import date
from decimal import Decimal

from ledger.book import Book
from ledger.budget import Budget, BudgetLine
from ledger.journal import load

SPENDING = """\
currency EUR
2023-01-01 open assets:cash
2023-01-01 open expenses:food
2023-01-01 open expenses:food:snacks
2023-01-01 open expenses:fun
2023-12-31 * Before
  expenses:food 999.00
  assets:cash
2024-01-01 * First
  expenses:food 30.00
  assets:cash
2024-01-31 * Last
  expenses:food:snacks 10.00
  expenses:fun 5.00
  assets:cash
2024-02-29 * Leap
  expenses:food 130.00
  assets:cash
2024-04-02 * Small
  expenses:food 0.99
  expenses:food 500 JPY
  assets:cash
"""


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def spending() -> Book:
    return load(SPENDING)


def line(granted: str, carried: str, spent: str) -> BudgetLine:
    return BudgetLine(date(2024, 1, 1), Decimal(granted), Decimal(carried), Decimal(spent))


def food(rollover: str = "none", cap: Decimal | None = None) -> Budget:
    budget = Budget("expenses:food", "EUR", rollover, cap)
    budget.grant(date(2024, 1, 15), Decimal(100), 4)
    return budget


def carried(budget: Budget) -> list[str]:
    return [str(one.carried) for one in budget.lines(spending(), date(2024, 4, 30))]


def test_what_is_left_counts_what_was_carried() -> None:
    assert line("100", "0", "30").left == Decimal(70)
    assert line("100", "25.50", "30").left == Decimal("95.50")
    assert line("100", "-20", "95").left == Decimal(-15)


def test_a_line_cannot_be_changed() -> None:
    assert raised(lambda: setattr(line("1", "0", "0"), "spent", 1)) == "FrozenInstanceError"
    assert raised(lambda: setattr(line("1", "0", "0"), "granted", 2)) == "FrozenInstanceError"


def test_the_percentage_is_rounded_down() -> None:
    assert line("60", "0", "20").percent() == 33
    assert line("60", "0", "40").percent() == 66
    assert line("50", "50", "99.99").percent() == 99
    assert line("80", "20", "150").percent() == 150


def test_the_percentage_of_nothing_is_zero() -> None:
    assert line("0", "0", "5").percent() == 0
    assert line("10", "-10", "5").percent() == 0
    assert line("10", "-20", "5").percent() == 0
    assert line("0.50", "0", "0.25").percent() == 50


def test_a_month_is_over_if_too_much_was_spent() -> None:
    assert line("10", "0", "10.01").status() == "over"
    assert line("10", "-5", "6").status() == "over"
    assert line("10", "0", "10.00").status() == "near"
    assert line("0", "-1", "0").status() == "over"


def test_a_month_is_unused_if_nothing_was_spent() -> None:
    assert line("10", "0", "0").status() == "unused"
    assert line("10", "0", "-2").status() == "unused"
    assert line("10", "0", "0.01").status() == "ok"
    assert line("10", "0", "0").status(0) == "unused"


def test_a_month_is_near_its_limit_from_eighty_percent_on() -> None:
    assert line("100", "0", "79.99").status() == "ok"
    assert line("100", "0", "80").status() == "near"
    assert line("50", "50", "79").status() == "ok"


def test_the_warning_can_be_set() -> None:
    assert line("100", "0", "50").status(50) == "near"
    assert line("100", "0", "49").status(50) == "ok"
    assert line("100", "0", "85").status(warn_at=90) == "ok"


def test_each_month_has_what_was_spent_in_it() -> None:
    lines = food().lines(spending(), date(2024, 4, 1))
    assert [str(one.spent) for one in lines] == ["40.00", "130.00", "0", "0.99"]
    assert [one.month for one in lines] == [date(2024, n, 1) for n in (1, 2, 3, 4)]
    assert [one.status() for one in lines] == ["ok", "over", "unused", "ok"]


def test_lines_run_from_the_first_grant_through_the_month_of_a_day() -> None:
    assert len(food().lines(spending(), date(2024, 2, 1))) == 2
    assert len(food().lines(spending(), date(2024, 1, 31))) == 1
    assert food().lines(spending(), date(2023, 12, 31)) == []
    assert len(food().lines(spending(), date(2025, 2, 3))) == 14


def test_the_first_grant_need_not_be_made_first() -> None:
    budget = food()
    budget.grant(date(2023, 12, 9), Decimal(5))
    lines = budget.lines(spending(), date(2024, 1, 1))
    assert [str(one.granted) for one in lines] == ["5", "100"]
    assert [str(one.spent) for one in lines] == ["999.00", "40.00"]


def test_months_without_a_grant_have_zero() -> None:
    budget = Budget("expenses:fun", "EUR")
    budget.grant(date(2024, 1, 31), Decimal(20))
    budget.grant(date(2024, 3, 31), Decimal(30))
    lines = budget.lines(spending(), date(2024, 4, 1))
    assert [str(one.granted) for one in lines] == ["20", "0", "30", "0"]
    assert [str(one.spent) for one in lines] == ["5.00", "0", "0", "0"]


def test_a_later_grant_replaces_an_earlier_one() -> None:
    budget = food()
    budget.grant(date(2024, 2, 28), Decimal(7), 2)
    lines = budget.lines(spending(), date(2024, 5, 1))
    assert [str(one.granted) for one in lines] == ["100", "7", "7", "100", "0"]
    budget.grant(date(2024, 1, 1), Decimal(0))
    assert str(budget.lines(spending(), date(2024, 1, 1))[0].granted) == "0"


def test_a_grant_is_neither_negative_nor_for_no_month() -> None:
    assert raised(lambda: food().grant(date(2024, 1, 1), Decimal("-0.01"))) == "BudgetError"
    assert raised(lambda: food().grant(date(2024, 1, 1), Decimal(1), 0)) == "BudgetError"
    assert raised(lambda: food().grant(date(2024, 1, 1), Decimal(1), -1)) == "BudgetError"
    assert raised(lambda: food().grant(date(2024, 1, 1), Decimal(0), 1)) == ""


def test_a_budget_without_grants_has_no_lines() -> None:
    budget = Budget("expenses", "EUR")
    assert raised(lambda: budget.lines(spending(), date(2024, 1, 1))) == "BudgetError"
    budget.grant(date(2024, 2, 1), Decimal(10))
    assert raised(lambda: budget.lines(spending(), date(2024, 2, 1))) == ""


def test_a_budget_is_in_one_currency() -> None:
    budget = Budget("expenses", "JPY")
    budget.grant(date(2024, 4, 1), Decimal(800))
    only = budget.lines(spending(), date(2024, 4, 1))[0]
    assert (str(only.spent), str(only.left), only.percent()) == ("500", "300", 62)
    assert budget.currency == "JPY"


def test_nothing_is_carried_without_a_rollover() -> None:
    assert carried(food()) == ["0", "0", "0", "0"]
    assert carried(food("none", Decimal(50))) == ["0", "0", "0", "0"]
    assert Budget("expenses", "EUR").rollover == "none"


def test_unspent_money_is_carried_but_not_what_was_overspent() -> None:
    assert carried(food("unspent")) == ["0", "60.00", "30.00", "130.00"]
    budget = food("unspent")
    budget.grant(date(2024, 2, 1), Decimal(10))
    assert carried(budget) == ["0", "60.00", "0", "100"]


def test_all_can_be_carried() -> None:
    budget = food("all")
    assert carried(budget) == ["0", "60.00", "30.00", "130.00"]
    budget.grant(date(2024, 2, 1), Decimal(10))
    assert carried(budget) == ["0", "60.00", "-60.00", "40.00"]


def test_no_more_than_the_cap_is_carried() -> None:
    assert carried(food("unspent", Decimal(50))) == ["0", "50", "20.00", "50"]
    assert carried(food("all", Decimal(25))) == ["0", "25", "-5.00", "25"]
    assert carried(food("all", Decimal(0))) == ["0", "0", "-30.00", "0"]


def test_other_rollovers_are_refused() -> None:
    assert raised(lambda: Budget("expenses", "EUR", "some")) == "BudgetError"
    assert raised(lambda: Budget("expenses", "EUR", "")) == "BudgetError"
    assert raised(lambda: Budget("expenses", "EUR", "all")) == ""
