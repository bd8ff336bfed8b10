import unittest
from datetime import date

from tabler.cells import (
    common_kind,
    compare,
    format_cell,
    identity,
    kind_of,
    number,
    parse_cell,
    sort_key,
)
from tabler.errors import CellError


class ParseCellTest(unittest.TestCase):
    def test_nothing_but_blanks_is_an_empty_cell(self) -> None:
        self.assertIsNone(parse_cell(""))
        self.assertIsNone(parse_cell("  \t"))
        self.assertEqual(parse_cell("-"), "-")

    def test_whole_numbers_are_ints(self) -> None:
        self.assertEqual(parse_cell("12"), 12)
        self.assertEqual(parse_cell(" -3 "), -3)
        self.assertEqual(kind_of(parse_cell("0")), "int")
        self.assertEqual(kind_of(parse_cell("100")), "int")

    def test_numbers_with_leading_zeros_or_a_plus_stay_text(self) -> None:
        self.assertEqual(parse_cell("007"), "007")
        self.assertEqual(parse_cell("00"), "00")
        self.assertEqual(parse_cell("+5"), "+5")
        self.assertEqual(parse_cell("1,000"), "1,000")

    def test_floats_need_digits_on_both_sides_of_the_point(self) -> None:
        self.assertEqual(parse_cell("2.50"), 2.5)
        self.assertEqual(parse_cell("-0.125"), -0.125)
        self.assertEqual(parse_cell("2."), "2.")
        self.assertEqual(parse_cell(".5"), ".5")
        self.assertEqual(kind_of(parse_cell("4.0")), "float")

    def test_true_and_false_are_bools_in_any_case(self) -> None:
        self.assertTrue(parse_cell("TRUE"))
        self.assertFalse(parse_cell(" False"))
        self.assertEqual(kind_of(parse_cell("true")), "bool")
        self.assertEqual(kind_of(parse_cell("false")), "bool")
        self.assertEqual(parse_cell("yes"), "yes")

    def test_dates_must_be_in_the_calendar(self) -> None:
        self.assertEqual(parse_cell("2024-02-29"), date(2024, 2, 29))
        self.assertEqual(parse_cell(" 1999-12-31"), date(1999, 12, 31))
        self.assertEqual(parse_cell("2023-02-29"), "2023-02-29")
        self.assertEqual(parse_cell("20240229x"), "20240229x")
        self.assertEqual(parse_cell("2024-13-01"), "2024-13-01")

    def test_other_text_loses_the_blanks_around_it_only(self) -> None:
        self.assertEqual(parse_cell("  New  York "), "New  York")
        self.assertEqual(parse_cell("12 km"), "12 km")


class KindTest(unittest.TestCase):
    def test_every_cell_has_a_kind(self) -> None:
        cells = [None, False, 0, 0.0, date(2024, 1, 1), ""]
        expected = ["empty", "bool", "int", "float", "date", "text"]
        self.assertEqual([kind_of(cell) for cell in cells], expected)
        self.assertEqual(kind_of(True), "bool")

    def test_empty_cells_do_not_change_the_kind_of_a_column(self) -> None:
        self.assertEqual(common_kind([None, 3, 4, None]), "int")
        self.assertEqual(common_kind([True, None]), "bool")
        self.assertEqual(common_kind([None, date(2024, 1, 1)]), "date")

    def test_ints_with_floats_are_a_float_column(self) -> None:
        self.assertEqual(common_kind([1, 2.5]), "float")
        self.assertEqual(common_kind([0.5, None, 3]), "float")
        self.assertEqual(common_kind([0.5, 1.5]), "float")

    def test_other_mixtures_and_empty_columns_are_text(self) -> None:
        self.assertEqual(common_kind([1, "a"]), "text")
        self.assertEqual(common_kind([1, 2.5, True]), "text")
        self.assertEqual(common_kind([None, None]), "text")
        self.assertEqual(common_kind([]), "text")


class OrderTest(unittest.TestCase):
    def test_cells_of_unlike_kinds_have_a_fixed_order(self) -> None:
        cells = [None, "a", date(2024, 1, 1), 7, True]
        self.assertEqual(sorted(cells, key=sort_key), [True, 7, date(2024, 1, 1), "a", None])
        self.assertEqual(sorted(["1", 2.5, False, 1], key=sort_key), [False, 1, 2.5, "1"])

    def test_text_is_ordered_by_letters_before_case(self) -> None:
        self.assertEqual(sorted(["b", "B", "a", "C"], key=sort_key), ["a", "B", "b", "C"])
        self.assertEqual(sorted(["Zoe", "adam", "Bea"], key=sort_key), ["adam", "Bea", "Zoe"])

    def test_comparing_tells_less_equal_and_greater(self) -> None:
        self.assertEqual([compare(1, 2), compare(2, 2), compare(3, 2)], [-1, 0, 1])
        self.assertEqual([compare("a", "B"), compare("C", "b"), compare("b", "b")], [-1, 1, 0])
        self.assertEqual(compare(date(2024, 5, 1), date(2024, 4, 30)), 1)
        self.assertEqual(compare(False, True), -1)

    def test_ints_compare_with_floats(self) -> None:
        self.assertEqual(compare(2, 2.0), 0)
        self.assertEqual(compare(1.5, 2), -1)
        self.assertEqual(compare(3, 2.5), 1)

    def test_text_in_another_case_is_not_equal(self) -> None:
        self.assertEqual(compare("ann", "Ann"), 1)
        self.assertEqual(compare("Ann", "ann"), -1)

    def test_unlike_kinds_cannot_be_compared(self) -> None:
        with self.assertRaises(CellError):
            compare(1, "1")
        with self.assertRaises(CellError):
            compare(True, 1)
        with self.assertRaises(CellError):
            compare("2024-01-01", date(2024, 1, 1))

    def test_empty_cells_cannot_be_compared(self) -> None:
        with self.assertRaises(CellError):
            compare(None, 1)
        with self.assertRaises(CellError):
            compare("a", None)
        with self.assertRaises(CellError):
            compare(None, None)

    def test_identity_joins_numbers_but_not_bools(self) -> None:
        self.assertTrue(identity(1) == identity(1.0))
        self.assertFalse(identity(1) == identity(True))
        self.assertFalse(identity(0) == identity(False))
        self.assertTrue(identity(None, "a") == identity(None, "a"))
        self.assertFalse(identity("a") == identity("A"))


class NumberTest(unittest.TestCase):
    def test_numbers_are_given_back(self) -> None:
        self.assertEqual(number(4), 4)
        self.assertEqual(number(-0.5), -0.5)

    def test_what_is_no_number_is_refused(self) -> None:
        with self.assertRaises(CellError):
            number("4")
        with self.assertRaises(CellError):
            number(True)
        with self.assertRaises(CellError):
            number(None)


class FormatCellTest(unittest.TestCase):
    def test_floats_have_two_decimal_places_unless_told_otherwise(self) -> None:
        self.assertEqual(format_cell(2.5), "2.50")
        self.assertEqual(format_cell(1234.567), "1234.57")
        self.assertEqual(format_cell(2.25, 1), "2.2")
        self.assertEqual(format_cell(0.0625, 4), "0.0625")

    def test_a_rounded_zero_has_no_sign(self) -> None:
        self.assertEqual(format_cell(-0.001), "0.00")
        self.assertEqual(format_cell(-0.04, 1), "0.0")
        self.assertEqual(format_cell(-0.04), "-0.04")

    def test_other_cells_are_shown_as_they_are_read_best(self) -> None:
        self.assertEqual([format_cell(True), format_cell(False)], ["yes", "no"])
        self.assertEqual(format_cell(None), "")
        self.assertEqual(format_cell(12, 3), "12")
        self.assertEqual(format_cell(date(2024, 2, 9)), "2024-02-09")
        self.assertEqual(format_cell("yes"), "yes")
