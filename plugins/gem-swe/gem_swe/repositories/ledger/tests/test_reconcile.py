from collections.abc import Callable
from datetime import date
from decimal import Decimal

from ledger.journal import load
from ledger.reconcile import Reconciler

JOURNAL = """\
currency EUR
2024-01-01 open assets:bank
2024-01-01 open expenses
2024-01-01 open income
2024-01-02 * Pay
  assets:bank 100.00
  income
2024-01-10 * Early
  expenses 20.00
  assets:bank
2024-01-14 * Late
  expenses 20.00
  assets:bank
2024-01-31 * Yen
  assets:bank 700 JPY
  assets:bank 50.00
  income
2024-02-01 * Rent
  expenses 60.00
  assets:bank
"""


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def on(day: int, month: int = 1) -> date:
    return date(2024, month, day)


def fresh() -> Reconciler:
    return Reconciler(load(JOURNAL), "assets:bank", "EUR")


def begun(closing: str = "110.00") -> Reconciler:
    bank = fresh()
    bank.begin(on(31), Decimal(closing))
    return bank


def payees(bank: Reconciler) -> list[str]:
    return [entry.payee for entry in bank.outstanding]


def test_a_new_reconciliation_has_no_statement() -> None:
    bank = fresh()
    assert not bank.is_open
    assert bank.balance == Decimal(0)
    assert bank.outstanding == []


def test_a_statement_has_to_be_begun() -> None:
    assert raised(lambda: fresh().add(on(2), Decimal(100))) == "ReconcileError"
    assert raised(lambda: fresh().match()) == "ReconcileError"
    assert raised(lambda: fresh().unmatched()) == "ReconcileError"
    assert raised(lambda: fresh().difference()) == "ReconcileError"
    assert raised(lambda: fresh().finish()) == "ReconcileError"


def test_only_one_statement_is_open_at_a_time() -> None:
    bank = begun()
    assert bank.is_open
    assert raised(lambda: bank.begin(on(29, 2), Decimal(0))) == "ReconcileError"
    assert payees(bank) == ["Pay", "Early", "Late", "Yen"]


def test_movements_through_the_end_are_outstanding() -> None:
    bank = fresh()
    bank.begin(on(10), Decimal(80))
    assert payees(bank) == ["Pay", "Early"]
    assert [str(entry.change) for entry in bank.outstanding] == ["100.00", "-20.00"]
    yen = Reconciler(load(JOURNAL), "assets", "JPY")
    yen.begin(on(31), Decimal(700))
    assert [str(entry.change) for entry in yen.outstanding] == ["700"]


def test_lines_are_numbered_from_zero() -> None:
    bank = begun()
    assert bank.add(on(3), Decimal(100)) == 0
    assert bank.add(on(3), Decimal(100)) == 1
    assert bank.add(on(31), Decimal(-20)) == 2
    assert bank.unmatched() == [0, 1, 2]


def test_a_line_has_a_day_of_the_statement() -> None:
    bank = begun()
    assert raised(lambda: bank.add(on(1, 2), Decimal(-60))) == "ReconcileError"
    assert raised(lambda: bank.add(on(31), Decimal(-60))) == ""
    assert bank.unmatched() == [0]
    assert raised(lambda: bank.add(date(2023, 5, 5), Decimal(3))) == ""


def test_lines_are_paired_with_entries_of_the_same_amount() -> None:
    bank = begun()
    bank.add(on(2), Decimal("100.00"))
    bank.add(on(10), Decimal("20.00"))
    bank.add(on(31), Decimal("50.01"))
    assert bank.match() == 1
    assert bank.unmatched() == [1, 2]
    bank.add(on(31), Decimal(50))
    assert bank.match() == 1
    assert bank.unmatched() == [1, 2]


def test_an_entry_is_paired_once() -> None:
    bank = begun()
    bank.add(on(2), Decimal(100))
    bank.add(on(2), Decimal(100))
    assert bank.match() == 1
    assert bank.unmatched() == [1]
    assert bank.match() == 0


def test_entries_within_three_days_are_considered() -> None:
    bank = begun()
    bank.add(on(5), Decimal(100))
    bank.add(on(27), Decimal(50))
    assert bank.match() == 1
    assert bank.unmatched() == [1]
    bank.add(on(28), Decimal(50))
    assert bank.match() == 1


def test_the_window_can_be_set() -> None:
    bank = begun()
    bank.add(on(4), Decimal(100))
    assert bank.match(1) == 0
    assert bank.match(0) == 0
    assert bank.match(2) == 1
    bank.add(on(31), Decimal(50))
    assert bank.match(window=0) == 1


def test_the_nearest_entry_is_taken() -> None:
    bank = begun("80.00")
    bank.add(on(13), Decimal(-20))
    bank.add(on(2), Decimal(100))
    assert bank.match(5) == 2
    assert bank.finish() == 2
    assert payees(bank) == ["Early", "Yen"]


def test_of_two_equally_near_entries_the_first_is_taken() -> None:
    bank = begun("80.00")
    bank.add(on(12), Decimal(-20))
    bank.add(on(2), Decimal(100))
    assert bank.match() == 2
    assert bank.finish() == 2
    assert payees(bank) == ["Late", "Yen"]


def test_earlier_lines_choose_first() -> None:
    bank = begun("-20.00")
    bank.add(on(13), Decimal(-20))
    bank.add(on(14), Decimal(-20))
    assert bank.match() == 1
    assert bank.unmatched() == [1]
    assert bank.match(4) == 1


def test_the_difference_shrinks_with_each_pair() -> None:
    bank = begun()
    assert bank.difference() == Decimal("110.00")
    bank.add(on(2), Decimal(100))
    assert bank.difference() == Decimal("110.00")
    bank.match()
    assert bank.difference() == Decimal("10.00")
    bank.add(on(10), Decimal(-20))
    bank.match()
    assert bank.difference() == Decimal("30.00")


def test_a_statement_with_a_difference_cannot_be_finished() -> None:
    bank = begun("100.01")
    bank.add(on(2), Decimal(100))
    bank.match()
    assert raised(bank.finish) == "ReconcileError"
    assert bank.is_open
    assert bank.balance == Decimal(0)
    assert raised(begun("0.01").finish) == "ReconcileError"


def test_a_statement_with_an_unmatched_line_cannot_be_finished() -> None:
    bank = begun("100")
    bank.add(on(2), Decimal(100))
    assert raised(bank.finish) == "ReconcileError"
    bank.match()
    bank.add(on(3), Decimal(0))
    assert raised(bank.finish) == "ReconcileError"
    assert len(bank.outstanding) == 4


def test_finishing_keeps_the_balance_and_what_is_outstanding() -> None:
    bank = begun("100.00")
    bank.add(on(2), Decimal(100))
    bank.match()
    assert bank.finish() == 3
    assert bank.balance == Decimal("100.00")
    assert payees(bank) == ["Early", "Late", "Yen"]
    assert not bank.is_open
    assert begun("0").finish() == 4


def test_a_finished_statement_takes_no_more_lines() -> None:
    bank = begun("0")
    bank.finish()
    assert raised(lambda: bank.add(on(2), Decimal(100))) == "ReconcileError"
    assert raised(bank.finish) == "ReconcileError"
    assert raised(bank.difference) == "ReconcileError"


def test_the_next_statement_ends_later() -> None:
    bank = begun("0")
    bank.finish()
    assert raised(lambda: bank.begin(on(30), Decimal(0))) == "ReconcileError"
    assert raised(lambda: bank.begin(on(31), Decimal(0))) == "ReconcileError"
    assert raised(lambda: bank.begin(on(1, 2), Decimal(0))) == ""
    assert payees(bank) == ["Pay", "Early", "Late", "Yen", "Rent"]


def test_the_next_statement_goes_on_from_the_last() -> None:
    bank = begun("150.00")
    bank.add(on(2), Decimal(100))
    bank.add(on(30), Decimal(50))
    bank.match()
    bank.finish()
    bank.begin(on(29, 2), Decimal("70.00"))
    assert bank.unmatched() == []
    assert bank.difference() == Decimal("-80.00")
    assert raised(lambda: bank.add(on(31), Decimal(-20))) == "ReconcileError"
    assert bank.add(on(1, 2), Decimal(-60)) == 0


def test_an_outstanding_entry_can_be_paired_in_a_later_statement() -> None:
    bank = begun("80.00")
    bank.add(on(2), Decimal(100))
    bank.add(on(10), Decimal(-20))
    bank.match()
    assert bank.finish() == 2
    bank.begin(on(29, 2), Decimal("50.00"))
    bank.add(on(1, 2), Decimal(50))
    bank.add(on(2, 2), Decimal(-60))
    bank.add(on(3, 2), Decimal(-20))
    assert bank.match() == 2
    assert bank.match(20) == 1
    assert bank.finish() == 0
    assert bank.balance == Decimal("50.00")
