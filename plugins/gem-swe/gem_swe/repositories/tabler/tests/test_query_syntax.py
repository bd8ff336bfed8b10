import unittest

from tabler import CellError, ParseError, Table, run_query
from tabler.query import tokenize

TABLE = Table(["a", "b"], [(1, "x"), (2, "y")])


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(text)]


def error_of(query: str) -> str:
    try:
        run_query(TABLE, query)
    except ParseError as error:
        return str(error)
    return ""


def position_of_error(query: str) -> int:
    try:
        run_query(TABLE, query)
    except ParseError as error:
        return error.position
    return -1


class TokenizeTest(unittest.TestCase):
    def test_every_token_has_a_kind(self) -> None:
        self.assertEqual(kinds('select a "t" 12'), ["word", "name", "text", "count", "end"])
        self.assertEqual(kinds("<= ( 1.5 [or]"), ["comparison", "symbol", "number", "name", "end"])
        self.assertEqual(
            kinds("-3 12 12x 2024-01-01"), ["number", "count", "number", "number", "end"]
        )

    def test_tokens_know_where_they_begin(self) -> None:
        self.assertEqual([token.position for token in tokenize("a  >= 10")], [0, 3, 6, 8])
        self.assertEqual([token.position for token in tokenize("")], [0])
        self.assertEqual([token.position for token in tokenize(' "x y",b ')], [1, 6, 7, 9])

    def test_words_are_put_in_lower_case_but_names_are_not(self) -> None:
        self.assertEqual([t.text for t in tokenize("Select Name")], ["select", "Name", ""])
        self.assertEqual([t.text for t in tokenize("[By] DESC")], ["[By]", "desc", ""])

    def test_signs_of_two_characters_are_one_token(self) -> None:
        self.assertEqual([t.text for t in tokenize("a<=b")], ["a", "<=", "b", ""])
        self.assertEqual([t.text for t in tokenize("<>!=>")], ["<", ">", "!=", ">", ""])

    def test_characters_outside_of_the_language_end_the_tokens(self) -> None:
        with self.assertRaises(ParseError):
            list(tokenize("a ; b"))
        with self.assertRaises(ParseError):
            kinds("a & b")
        self.assertEqual(position_of_error("a = 1 ?"), 6)

    def test_characters_outside_of_the_language_are_refused(self) -> None:
        self.assertEqual(position_of_error("select a; b"), 8)
        self.assertEqual(position_of_error('select a where b = "x'), 19)
        self.assertEqual(position_of_error("select a where a ! 1"), 17)


class SyntaxErrorTest(unittest.TestCase):
    def test_good_queries_have_no_error(self) -> None:
        self.assertEqual(position_of_error("select a"), -1)
        self.assertEqual(position_of_error("select a where a in (1, 2) order by b limit 1"), -1)

    def test_a_query_begins_with_select(self) -> None:
        self.assertEqual(position_of_error(""), 0)
        self.assertEqual(position_of_error(" where a = 1"), 1)
        self.assertEqual(position_of_error("[select] a"), 0)

    def test_words_of_the_language_are_no_names(self) -> None:
        words = ["where", "group", "by", "having", "order", "asc", "desc", "limit", "select"]
        self.assertEqual([position_of_error(f"select {word}") for word in words], [7] * 9)
        words = ["as", "and", "or", "not", "in", "between", "is", "empty", "true", "false"]
        self.assertEqual([position_of_error(f"select {word}") for word in words], [7] * 10)
        self.assertEqual(position_of_error("select a as skip"), -1)

    def test_errors_tell_what_was_expected(self) -> None:
        self.assertEqual(error_of("select"), "at 6: expected name, not ''")
        self.assertEqual(error_of("select sum(a"), "at 12: expected ), not ''")
        self.assertEqual(error_of("select a where a = b"), "at 19: expected a value, not 'b'")

    def test_parts_must_be_in_order_and_complete(self) -> None:
        self.assertEqual(position_of_error("select a limit 1 where a = 1"), 17)
        self.assertEqual(position_of_error("select a order a"), 9)
        self.assertEqual(position_of_error("select a, "), 10)
        self.assertEqual(position_of_error("select a order by a desc asc"), 25)
        self.assertEqual(position_of_error("select a b"), 9)

    def test_functions_must_be_known(self) -> None:
        self.assertEqual(position_of_error("select b, avg(a)"), 10)
        self.assertEqual(position_of_error("select SUM (a)"), 7)
        self.assertEqual(position_of_error("select sum(a)"), -1)

    def test_only_count_takes_a_star(self) -> None:
        self.assertEqual(position_of_error("select sum(*)"), 11)
        self.assertEqual(position_of_error("select count(*)"), -1)
        self.assertEqual(position_of_error("select count(a, b)"), 14)

    def test_the_limit_is_a_whole_number(self) -> None:
        self.assertEqual(position_of_error("select a limit -1"), 15)
        self.assertEqual(position_of_error("select a limit 1.5"), 15)
        self.assertEqual(position_of_error("select a limit b"), 15)
        self.assertEqual(position_of_error("select a limit"), 14)

    def test_comparisons_need_a_value(self) -> None:
        self.assertEqual(position_of_error("select a where a ="), 18)
        self.assertEqual(position_of_error("select a where a = b"), 19)
        self.assertEqual(position_of_error("select a where a = 007"), 19)
        self.assertEqual(position_of_error("select a where a = empty"), 19)

    def test_comparisons_need_a_column_and_a_sign(self) -> None:
        self.assertEqual(position_of_error("select a where 1 = a"), 15)
        self.assertEqual(position_of_error("select a where a 1"), 17)
        self.assertEqual(position_of_error("select a where a not"), 20)

    def test_tests_must_be_complete(self) -> None:
        self.assertEqual(position_of_error("select a where a in 1"), 20)
        self.assertEqual(position_of_error("select a where a in (1"), 22)
        self.assertEqual(position_of_error("select a where a between 1 or 2"), 27)
        self.assertEqual(position_of_error("select a where a is not 1"), 24)
        self.assertEqual(position_of_error("select a where (a = 1"), 21)

    def test_parse_errors_are_raised_before_rows_are_read(self) -> None:
        with self.assertRaises(ParseError):
            run_query(Table(["a"]), "select a where")
        with self.assertRaises(ParseError):
            run_query(Table(["a"]), "select z where z = 1 limit z")

    def test_values_of_the_wrong_kind_are_cell_errors(self) -> None:
        with self.assertRaises(CellError):
            run_query(TABLE, 'select a where a > "1"')
        with self.assertRaises(CellError):
            run_query(TABLE, "select sum(b)")
