from collections.abc import Callable
from datetime import date

from ledger.book import Book
from ledger.journal import load
from ledger.reports import balance_report, table, trial_report

JOURNAL = """\
currency EUR
2024-01-01 open assets:bank:savings
2024-01-01 open assets:cash
2024-01-01 open liabilities:card
2024-01-01 open income:pay
2024-01-01 open expenses:rent
2024-01-02 * Employer
  assets:bank:savings 2,500.00
  income:pay
2024-01-03 * Landlord
  expenses:rent 1,250.00
  assets:bank:savings
2024-02-01 * Shop
  assets:cash 40.00
  liabilities:card
2024-02-02 * Trip
  expenses:rent 9,000 JPY
  liabilities:card
"""


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def test_the_first_column_is_flush_left_and_the_others_right() -> None:
    assert table([["a", "1", "22"], ["bbb", "333", "4"]]).split("\n") == [
        "a      1  22",
        "bbb  333   4",
    ]
    assert table([["long", "x"], ["s", "yy"]]) == "long   x\ns     yy"


def test_the_gap_between_columns_can_be_set() -> None:
    assert table([["a", "b", "c"]], 1) == "a b c"
    assert table([["a", "b"], ["cc", "dd"]], gap=3) == "a     b\ncc   dd"
    assert table([["a", "b"]]) == "a  b"


def test_lines_have_no_trailing_spaces() -> None:
    assert table([["a", ""], ["b", "22"]]) == "a\nb  22"
    assert table([["xyz", "1"], ["", ""]]) == "xyz  1\n"
    assert table([]) == ""


def test_the_rows_of_a_table_have_one_length() -> None:
    assert raised(lambda: table([["a", "b"], ["c"]])) == "ValueError"
    assert raised(lambda: table([["a"], ["c", "d"]])) == "ValueError"
    assert table([["a"], ["c"]]) == "a\nc"


def test_the_balance_report_is_a_tree() -> None:
    assert balance_report(load(JOURNAL), "EUR").split("\n") == [
        "assets       1,290.00",
        "  bank       1,250.00",
        "    savings  1,250.00",
        "  cash          40.00",
        "liabilities     40.00",
        "  card          40.00",
        "income       2,500.00",
        "  pay        2,500.00",
        "expenses     1,250.00",
        "  rent       1,250.00",
    ]
    assert balance_report(load(JOURNAL), "JPY").split("\n")[2:] == [
        "expenses     9,000",
        "  rent       9,000",
    ]


def test_the_balance_report_leaves_out_zeros() -> None:
    assert balance_report(load(JOURNAL), "EUR", date(2024, 1, 1)) == ""
    assert balance_report(Book(), "EUR") == ""
    assert balance_report(load(JOURNAL), "EUR", date(2024, 1, 2)).split("\n") == [
        "assets       2,500.00",
        "  bank       2,500.00",
        "    savings  2,500.00",
        "income       2,500.00",
        "  pay        2,500.00",
    ]


def test_an_unusual_balance_is_negative() -> None:
    text = "2024-03-01 * Refund\n  liabilities:card 50.00\n  assets:cash\n"
    book = load(text, load(JOURNAL), "EUR")
    lines = balance_report(book, "EUR").split("\n")
    assert lines[3] == "  cash         -10.00"
    assert lines[4:6] == ["liabilities    -10.00", "  card         -10.00"]


def test_the_balance_report_can_be_cut_at_a_level() -> None:
    assert balance_report(load(JOURNAL), "EUR", levels=1).split("\n") == [
        "assets       1,290.00",
        "liabilities     40.00",
        "income       2,500.00",
        "expenses     1,250.00",
    ]
    assert balance_report(load(JOURNAL), "EUR", date(2024, 1, 31), 2).split("\n")[:2] == [
        "assets    1,250.00",
        "  bank    1,250.00",
    ]


def test_the_balance_report_shows_all_levels_unless_told() -> None:
    text = "2024-01-01 open income:a:b:c:d\n2024-02-01 * X\n  income:a:b:c:d -7\n  assets:cash\n"
    lines = balance_report(load(text, load(JOURNAL), "GBP"), "GBP").split("\n")
    assert lines[:2] == ["assets     7.00", "  cash     7.00"]
    assert lines[-2:] == ["      c    7.00", "        d  7.00"]


def test_the_trial_report_has_debits_credits_and_totals() -> None:
    assert trial_report(load(JOURNAL), "EUR").split("\n") == [
        "account                 debit    credit",
        "assets:bank:savings  1,250.00",
        "assets:cash             40.00",
        "liabilities:card                  40.00",
        "income:pay                     2,500.00",
        "expenses:rent        1,250.00",
        "total                2,540.00  2,540.00",
    ]
    assert trial_report(load(JOURNAL), "JPY").split("\n")[1:] == [
        "liabilities:card          9,000",
        "expenses:rent     9,000",
        "total             9,000   9,000",
    ]


def test_the_trial_report_is_taken_at_the_end_of_a_day() -> None:
    assert trial_report(load(JOURNAL), "EUR", date(2024, 1, 2)).split("\n")[1:] == [
        "assets:bank:savings  2,500.00",
        "income:pay                     2,500.00",
        "total                2,500.00  2,500.00",
    ]
    assert trial_report(load(JOURNAL), "EUR", date(2024, 1, 1)).split("\n") == [
        "account  debit  credit",
        "total        0       0",
    ]


def test_the_trial_report_shows_small_balances_too() -> None:
    text = "2024-01-05 * Gum\n  expenses:rent 0.50\n  assets:cash\n"
    pounds = trial_report(load(text, load(JOURNAL), "GBP"), "GBP").split("\n")
    assert pounds[1:3] == ["assets:cash             0.50", "expenses:rent   0.50"]
    francs = trial_report(load(text, load(JOURNAL), "CHF"), "CHF").split("\n")
    assert francs[3:] == ["total           0.50    0.50"]
