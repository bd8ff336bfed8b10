import unittest
from datetime import date

from tabler import CellError, Table, render


def lines(table: Table, places: int = 2, missing: str = "-", widest: int = 30) -> list[str]:
    return render(table, places, missing, widest).split("\n")


class RenderTest(unittest.TestCase):
    def test_numbers_are_aligned_at_the_right_and_text_at_the_left(self) -> None:
        table = Table(["item", "n", "note"], [("pen", 5, "x"), ("ink", 120, "long")])
        expected = ["item    n  note", "----  ---  ----", "pen     5  x", "ink   120  long"]
        self.assertEqual(render(table).split("\n"), expected)
        self.assertEqual(lines(table.select("n")), ["  n", "---", "  5", "120"])

    def test_floats_give_the_whole_column_their_places(self) -> None:
        table = Table(["x"], [(1,), (22.5,), (None,)])
        self.assertEqual(render(table), "    x\n-----\n 1.00\n22.50\n    -")
        self.assertEqual(lines(table, places=1), ["   x", "----", " 1.0", "22.5", "   -"])
        self.assertEqual(lines(Table(["wide"], [(1,)])), ["wide", "----", "   1"])

    def test_dates_and_bools_are_aligned_at_the_left(self) -> None:
        table = Table(["available", "n"], [(True, 1), (False, 2)])
        expected = ["available  n", "---------  -", "yes        1", "no         2"]
        self.assertEqual(lines(table), expected)
        self.assertEqual(lines(Table(["day of sale"], [(date(2024, 1, 2),)]))[2], "2024-01-02")

    def test_a_mixed_column_shows_each_cell_in_its_own_way(self) -> None:
        table = Table(["v", "w"], [(1, 0), ("abc", 0), (2.5, 0), (None, 0)])
        self.assertEqual(lines(table)[2:], ["1     0", "abc   0", "2.50  0", "-     0"])
        self.assertEqual(lines(table, missing="n/a")[5], "n/a   0")

    def test_lines_do_not_end_in_blanks(self) -> None:
        table = Table(["a", "name"], [(1, "x"), (2, "")])
        self.assertEqual(lines(table)[0], "a  name")
        self.assertEqual(lines(table)[2:], ["1  x", "2"])

    def test_long_texts_are_cut_to_the_widest_column(self) -> None:
        table = Table(["title", "n"], [("abcdef", 1), ("abcdefg", 2), ("abcdefgh", 3)])
        self.assertEqual(lines(table, widest=7)[2:], ["abcdef   1", "abcdefg  2", "abcd...  3"])
        self.assertEqual(lines(table, widest=4)[0], "t...  n")
        self.assertEqual(lines(table, widest=4)[1:3], ["----  -", "a...  1"])

    def test_columns_are_thirty_wide_at_most_by_default(self) -> None:
        table = Table(["t"], [("a" * 30,), ("b" * 31,)])
        self.assertEqual(render(table).split("\n")[2], "a" * 30)
        self.assertEqual(render(table).split("\n")[3], "b" * 27 + "...")

    def test_missing_text_is_cut_as_well(self) -> None:
        table = Table(["n"], [(None,), (1,)])
        self.assertEqual(lines(table, missing="unknown", widest=5)[2:], ["un...", "    1"])
        self.assertEqual(lines(table, missing="")[2:], ["", "1"])

    def test_columns_narrower_than_four_are_refused(self) -> None:
        with self.assertRaises(CellError):
            render(Table(["a"]), widest=3)
        self.assertEqual(render(Table(["abcde"]), widest=4), "a...\n----")

    def test_a_table_without_rows_has_a_header(self) -> None:
        self.assertEqual(render(Table(["id", "name"])), "id  name\n--  ----")
        self.assertEqual(render(Table(["x"])), "x\n-")
