import unittest

from tabler import CellError, ColumnError, Table, join

ORDERS = Table(
    ["id", "customer", "amount"],
    [(1, "ann", 30), (2, "bob", 20), (3, None, 50), (4, "ann", 10), (5, "eve", 40)],
)
PEOPLE = Table(
    ["customer", "city", "id"],
    [("bob", "Oslo", 91), ("ann", "Rome", 92), (None, "Nowhere", 93), ("joe", "Bern", 94)],
)


class JoinTest(unittest.TestCase):
    def test_an_inner_join_keeps_the_rows_that_match(self) -> None:
        joined = join(ORDERS, PEOPLE.select("customer", "city"), ["customer"])
        self.assertEqual(joined.columns, ("id", "customer", "amount", "city"))
        self.assertEqual(joined.column("id"), [1, 2, 4])
        self.assertEqual(joined.rows[2], (4, "ann", 10, "Rome"))

    def test_a_left_join_keeps_every_left_row(self) -> None:
        joined = join(ORDERS, PEOPLE, ["customer"], how="left")
        self.assertEqual(joined.column("id"), [1, 2, 3, 4, 5])
        self.assertEqual(joined.column("city"), ["Rome", "Oslo", None, "Rome", None])
        self.assertEqual(joined.rows[4], (5, "eve", 40, None, None))

    def test_every_match_makes_a_row(self) -> None:
        left = Table(["k", "a"], [(1, "x"), (2, "y"), (1, "z")])
        right = Table(["k", "b"], [(1, "p"), (2, "q"), (1, "r")])
        pairs = [("x", "p"), ("x", "r"), ("y", "q"), ("z", "p"), ("z", "r")]
        self.assertEqual(join(left, right, ["k"]).select("a", "b").rows, pairs)
        self.assertEqual(join(left, right, ["k"], how="left").select("a", "b").rows, pairs)

    def test_empty_keys_match_nothing(self) -> None:
        joined = join(ORDERS, PEOPLE, ["customer"])
        self.assertEqual([row for row in joined.rows if row[1] is None], [])
        left = Table(["a", "b"], [(1, None), (None, 2), (1, 2)])
        right = Table(["a", "b", "c"], [(1, None, "x"), (None, 2, "y"), (1, 2, "z")])
        self.assertEqual(join(left, right, ["a", "b"]).column("c"), ["z"])
        self.assertEqual(join(left, right, ["a", "b"], how="left").column("c"), [None, None, "z"])

    def test_all_key_columns_must_match(self) -> None:
        left = Table(["a", "b"], [(1, 1), (1, 2), (2, 1)])
        right = Table(["a", "b", "c"], [(2, 1, "x"), (1, 1, "y")])
        self.assertEqual(join(left, right, ["a", "b"]).rows, [(1, 1, "y"), (2, 1, "x")])
        self.assertEqual(join(left, right, ["a", "b"], ["b", "a"]).column("c"), ["y", "x"])

    def test_key_columns_may_have_other_names_at_the_right(self) -> None:
        prices = Table(["code", "price"], [("b", 5), ("a", 7)])
        items = Table(["item", "n"], [("a", 1), ("b", 2)])
        joined = join(items, prices, ["item"], ["code"])
        self.assertEqual(joined.columns, ("item", "n", "price"))
        self.assertEqual(joined.rows, [("a", 1, 7), ("b", 2, 5)])
        swapped = join(prices, items, ["code"], right_on=["item"])
        self.assertEqual(swapped.rows, [("b", 5, 2), ("a", 7, 1)])

    def test_columns_of_both_tables_get_a_suffix_at_the_right(self) -> None:
        joined = join(ORDERS, PEOPLE, ["customer"])
        self.assertEqual(joined.columns, ("id", "customer", "amount", "city", "id_right"))
        self.assertEqual(joined.column("id_right"), [92, 91, 92])
        other = join(ORDERS, PEOPLE, ["customer"], suffix="2")
        self.assertEqual(other.columns[4], "id2")

    def test_numbers_match_numbers_but_not_bools_or_text(self) -> None:
        left = Table(["k"], [(1,), (True,), ("1",)])
        right = Table(["k", "v"], [(1.0, "float"), ("1", "text")])
        self.assertEqual(join(left, right, ["k"]).column("v"), ["float", "text"])
        self.assertEqual(join(left, right, ["k"], how="left").column("v"), ["float", None, "text"])

    def test_key_columns_must_be_as_many_on_both_sides(self) -> None:
        with self.assertRaises(ColumnError):
            join(ORDERS, PEOPLE, [])
        with self.assertRaises(ColumnError):
            join(ORDERS, PEOPLE, ["customer"], ["customer", "id"])
        with self.assertRaises(ColumnError):
            join(ORDERS, PEOPLE, ["customer", "id"], ["customer"])

    def test_unknown_kinds_of_joins_are_refused(self) -> None:
        with self.assertRaises(CellError):
            join(ORDERS, PEOPLE, ["customer"], how="outer")
        with self.assertRaises(CellError):
            join(ORDERS, PEOPLE, ["customer"], how="")
