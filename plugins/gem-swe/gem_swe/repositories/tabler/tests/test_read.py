import unittest
from datetime import date

from tabler import ColumnError, ParseError, read_table
from tabler.text import split_records


def position_of_error(text: str) -> int:
    try:
        read_table(text)
    except ParseError as error:
        return error.position
    return -1


def texts(text: str, delimiter: str = ",") -> list[list[str]]:
    return [[field for field, _ in fields] for _, fields in split_records(text, delimiter)]


class SplitRecordsTest(unittest.TestCase):
    def test_fields_end_at_delimiters_and_line_ends(self) -> None:
        self.assertEqual(texts("a,b\nc,d"), [["a", "b"], ["c", "d"]])
        self.assertEqual(texts("a,,\n,b\n"), [["a", "", ""], ["", "b"]])
        self.assertEqual(texts("a,b\r\nc\r\n"), [["a", "b"], ["c"]])

    def test_the_delimiter_can_be_chosen(self) -> None:
        self.assertEqual(texts("a;b,c", ";"), [["a", "b,c"]])
        self.assertEqual(texts("a\tb\n1\t2\n", "\t"), [["a", "b"], ["1", "2"]])

    def test_quoted_fields_may_hold_anything(self) -> None:
        self.assertEqual(texts('"a,b",c'), [["a,b", "c"]])
        self.assertEqual(texts('x,"two\nlines"\ny'), [["x", "two\nlines"], ["y"]])
        self.assertEqual(texts('"say ""hi""",b'), [['say "hi"', "b"]])
        self.assertEqual(texts('""""'), [['"']])

    def test_a_quote_inside_of_a_plain_field_is_an_ordinary_character(self) -> None:
        self.assertEqual(texts('5" nail,b'), [['5" nail', "b"]])
        self.assertEqual(texts('a, "b"'), [["a", ' "b"']])

    def test_fields_tell_whether_they_were_quoted(self) -> None:
        self.assertEqual(list(split_records('"1",1')), [(1, [("1", True), ("1", False)])])
        self.assertEqual(list(split_records(',""')), [(1, [("", False), ("", True)])])
        self.assertEqual(list(split_records('"a""b"')), [(1, [('a"b', True)])])

    def test_blank_lines_are_passed_over(self) -> None:
        self.assertEqual(texts("\na\n\n  \nb\n\n"), [["a"], ["b"]])
        self.assertEqual(texts('a\n""\nb'), [["a"], [""], ["b"]])
        self.assertEqual(texts("a\n,\n"), [["a"], ["", ""]])
        self.assertEqual(texts(""), [])

    def test_records_know_the_line_on_which_they_begin(self) -> None:
        lines = [line for line, _ in split_records('a\n\n"b\nb",1\nc\n"d\n\nd"\ne')]
        self.assertEqual(lines, [1, 3, 5, 6, 9])
        self.assertEqual([line for line, _ in split_records("\n\nx\ny")], [3, 4])


class ReadTableTest(unittest.TestCase):
    def test_cells_are_read_by_their_kind(self) -> None:
        table = read_table("id,price,day,sold,note\n7,2.50,2024-03-01,true,ok\n8,,,,\n")
        self.assertEqual(table.columns, ("id", "price", "day", "sold", "note"))
        self.assertEqual(table.rows[0], (7, 2.5, date(2024, 3, 1), True, "ok"))
        self.assertEqual(table.rows[1], (8, None, None, None, None))

    def test_quoted_cells_are_always_text(self) -> None:
        self.assertEqual(read_table('a,b\n"7",""\n').rows, [("7", "")])
        self.assertEqual(read_table('a,b\n" true ",7\n').rows, [(" true ", 7)])

    def test_short_records_are_filled_with_empty_cells(self) -> None:
        self.assertEqual(read_table("a,b,c\n1\n2,3\n").rows, [(1, None, None), (2, 3, None)])
        self.assertEqual(read_table("a,b,c\n1,2,3\n").rows, [(1, 2, 3)])

    def test_long_records_are_refused(self) -> None:
        with self.assertRaises(ParseError):
            read_table("a,b\n1,2,3\n")
        with self.assertRaises(ParseError):
            read_table("1\n2,\n", header=False)

    def test_without_a_header_columns_are_numbered(self) -> None:
        table = read_table("1,x\n2,y\n", header=False)
        self.assertEqual(table.columns, ("c1", "c2"))
        self.assertEqual(table.rows, [(1, "x"), (2, "y")])
        self.assertEqual(read_table("1;x;z", ";", False).columns, ("c1", "c2", "c3"))

    def test_missing_names_are_replaced_by_numbers(self) -> None:
        self.assertEqual(read_table("a,,c\n1,2,3").columns, ("a", "c2", "c"))
        self.assertEqual(read_table(" a , \n1,2").columns, ("a", "c2"))

    def test_a_repeated_name_is_a_column_error(self) -> None:
        with self.assertRaises(ColumnError):
            read_table("a,b,a\n")
        with self.assertRaises(ColumnError):
            read_table("c2,\n1,2\n")

    def test_text_without_records_is_refused(self) -> None:
        with self.assertRaises(ParseError):
            read_table("")
        self.assertEqual(position_of_error("\n \n"), 1)

    def test_errors_tell_the_line_of_the_record(self) -> None:
        self.assertEqual(position_of_error("a,b\n1,2\n\n1,2,3\n"), 4)
        self.assertEqual(position_of_error('a\n"x\ny"z\n'), 2)
        self.assertEqual(position_of_error('a\n1\n"x\ny\nz'), 3)
        self.assertEqual(position_of_error("a,b\n1,2\n"), -1)

    def test_nothing_may_stand_between_a_closing_quote_and_the_delimiter(self) -> None:
        self.assertEqual(position_of_error('a,b\n"1"x,2'), 2)
        self.assertEqual(position_of_error('a,b\n1,2\n"1" ,2'), 3)

    def test_a_quote_must_be_closed(self) -> None:
        self.assertEqual(position_of_error('a,b\n"1,2\n'), 2)
        self.assertEqual(position_of_error('"a""'), 1)
