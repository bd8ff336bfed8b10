import unittest
from datetime import date

from tabler import CellError, ColumnError, Table, pivot

SALES = Table(
    ["shop", "year", "sum", "who"],
    [
        ("west", 2024, 5, "b"),
        ("east", 2023, 7, "a"),
        ("west", 2023, 1, "a"),
        ("west", 2024, 4, "c"),
        ("east", None, 2, "d"),
    ],
)


class PivotTest(unittest.TestCase):
    def test_columns_are_ordered_and_rows_are_as_they_come(self) -> None:
        table = pivot(SALES, "shop", "year", "sum")
        self.assertEqual(table.columns, ("shop", "2023", "2024", "(empty)"))
        self.assertEqual(table.column("shop"), ["west", "east"])

    def test_cells_that_meet_are_added_up(self) -> None:
        table = pivot(SALES, "shop", "year", "sum")
        self.assertEqual(table.rows, [("west", 1, 9, None), ("east", 7, None, 2)])
        turned = pivot(SALES, "year", "shop", "sum")
        self.assertEqual(turned.columns, ("year", "east", "west"))
        self.assertEqual(turned.rows, [(2024, None, 9), (2023, 7, 1), (None, 2, None)])

    def test_another_function_can_be_asked_for(self) -> None:
        counts = pivot(SALES, "shop", "year", "who", "count")
        self.assertEqual(counts.rows, [("west", 1, 2, None), ("east", 1, None, 1)])
        last = pivot(SALES, "shop", "year", "who", function="max")
        self.assertEqual(last.rows, [("west", "a", "c", None), ("east", "a", None, "d")])

    def test_places_without_rows_are_filled(self) -> None:
        table = pivot(SALES, "shop", "year", "sum", fill=0)
        self.assertEqual(table.rows, [("west", 1, 9, 0), ("east", 7, 0, 2)])
        marked = pivot(SALES, "shop", "year", "who", "count", "none")
        self.assertEqual(marked.rows[1], ("east", 1, "none", 1))

    def test_empty_values_are_not_filled(self) -> None:
        table = Table(["a", "b", "v"], [("x", "p", None), ("y", "q", 3)])
        self.assertEqual(pivot(table, "a", "b", "v", fill=0).rows, [("x", None, 0), ("y", 0, 3)])
        counted = pivot(table, "a", "b", "v", "count", -1)
        self.assertEqual(counted.rows, [("x", 0, -1), ("y", -1, 1)])

    def test_columns_are_named_as_cells_are_shown(self) -> None:
        days = [(1, date(2024, 2, 1), 3), (1, date(2024, 1, 31), 4)]
        table = pivot(Table(["k", "day", "v"], days), "k", "day", "v")
        self.assertEqual(table.columns, ("k", "2024-01-31", "2024-02-01"))
        mixed = pivot(Table(["k", "b", "v"], [(1, 1.5, 3), (1, True, 4)]), "k", "b", "v")
        self.assertEqual(mixed.columns, ("k", "yes", "1.50"))
        self.assertEqual(mixed.rows, [(1, 4, 3)])

    def test_a_bool_and_a_number_are_different_columns(self) -> None:
        table = pivot(Table(["k", "b", "v"], [(1, 1, 3), (1, True, 4)]), "k", "b", "v")
        self.assertEqual(table.columns, ("k", "yes", "1"))
        self.assertEqual(table.rows, [(1, 4, 3)])

    def test_equal_numbers_share_a_column_named_by_the_first(self) -> None:
        table = pivot(Table(["k", "n", "v"], [(1, 2.0, 3), (1, 2, 4)]), "k", "n", "v")
        self.assertEqual(table.columns, ("k", "2.00"))
        self.assertEqual(table.rows, [(1, 7)])
        other = pivot(Table(["k", "n", "v"], [(1, 2, 3), (5, 2.0, 4)]), "k", "n", "v")
        self.assertEqual(other.columns, ("k", "2"))
        self.assertEqual(other.rows, [(1, 3), (5, 4)])

    def test_names_and_functions_must_be_known(self) -> None:
        with self.assertRaises(ColumnError):
            pivot(SALES, "shop", "month", "sum")
        with self.assertRaises(CellError):
            pivot(SALES, "shop", "year", "sum", "total")
