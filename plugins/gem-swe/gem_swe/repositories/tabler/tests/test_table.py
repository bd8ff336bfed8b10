import unittest

from tabler import CellError, ColumnError, Table, TablerError

STAFF = Table(
    ["name", "team", "pay"],
    [
        ("Ann", "red", 300),
        ("bob", "blue", 250),
        ("Cy", None, 300),
        ("Dee", "red", None),
        ("Eve", "blue", 310),
    ],
)


class TableTest(unittest.TestCase):
    def test_a_table_knows_its_columns_and_rows(self) -> None:
        self.assertEqual(STAFF.columns, ("name", "team", "pay"))
        self.assertEqual(len(STAFF), 5)
        self.assertEqual(STAFF.rows[2], ("Cy", None, 300))
        self.assertEqual(len(Table(["a"])), 0)

    def test_columns_are_found_by_name(self) -> None:
        self.assertEqual(STAFF.column("pay"), [300, 250, 300, None, 310])
        self.assertEqual(STAFF.column("team"), ["red", "blue", None, "red", "blue"])
        self.assertEqual([STAFF.index_of("name"), STAFF.index_of("pay")], [0, 2])

    def test_an_unknown_column_is_an_error(self) -> None:
        with self.assertRaises(ColumnError):
            STAFF.column("Pay")
        with self.assertRaises(TablerError):
            STAFF.select("name", "age")
        with self.assertRaises(ColumnError):
            STAFF.order_by("age")

    def test_a_column_cannot_be_named_twice(self) -> None:
        with self.assertRaises(ColumnError):
            Table(["a", "b", "a"], [(1, 2, 3)])
        with self.assertRaises(ColumnError):
            STAFF.select("pay", "pay")

    def test_rows_are_as_long_as_the_header(self) -> None:
        with self.assertRaises(ColumnError):
            Table(["a", "b"], [(1, 2), (3,)])
        with self.assertRaises(ColumnError):
            Table(["a", "b"], [(1, 2, 3)])

    def test_rows_give_cells_by_name_and_know_their_place(self) -> None:
        self.assertEqual([row["name"] for row in STAFF], ["Ann", "bob", "Cy", "Dee", "Eve"])
        self.assertEqual([row.place for row in STAFF], [0, 1, 2, 3, 4])
        self.assertEqual([row.pick(["pay", "name"]) for row in STAFF][1], (250, "bob"))


class SelectionTest(unittest.TestCase):
    def test_selected_columns_come_in_the_order_asked_for(self) -> None:
        self.assertEqual(STAFF.select("pay", "name").columns, ("pay", "name"))
        self.assertEqual(STAFF.select("pay", "name").rows[0], (300, "Ann"))
        self.assertEqual(STAFF.select("team").rows[1:3], [("blue",), (None,)])

    def test_where_keeps_the_rows_that_meet_a_condition(self) -> None:
        rich = STAFF.where(lambda row: row["pay"] == 300)
        self.assertEqual(rich.column("name"), ["Ann", "Cy"])
        self.assertEqual(STAFF.where(lambda row: False).rows, [])
        self.assertEqual(rich.columns, ("name", "team", "pay"))

    def test_a_new_column_stands_at_the_right(self) -> None:
        wide = STAFF.with_column("age", [30, 41, 52, 23, 34])
        self.assertEqual(wide.columns, ("name", "team", "pay", "age"))
        self.assertEqual(wide.rows[1], ("bob", "blue", 250, 41))
        self.assertEqual(STAFF.columns, ("name", "team", "pay"))

    def test_a_new_column_must_be_as_long_as_the_table(self) -> None:
        with self.assertRaises(ColumnError):
            STAFF.with_column("age", [30, 41, 52, 23])
        with self.assertRaises(ColumnError):
            STAFF.with_column("age", [30, 41, 52, 23, 34, 45])
        with self.assertRaises(ColumnError):
            STAFF.with_column("pay", [1, 2, 3, 4, 5])


class OrderByTest(unittest.TestCase):
    def test_rows_are_ordered_upwards_at_first(self) -> None:
        shuffled = STAFF.order_by("pay").order_by("name")
        self.assertEqual(shuffled.column("name"), ["Ann", "bob", "Cy", "Dee", "Eve"])
        self.assertEqual(STAFF.order_by("pay").column("pay"), [250, 300, 300, 310, None])

    def test_empty_cells_come_last_in_either_direction(self) -> None:
        down = STAFF.order_by("pay", descending=["pay"])
        self.assertEqual(down.column("pay"), [310, 300, 300, 250, None])
        self.assertEqual(STAFF.order_by("team").column("name")[-1], "Cy")
        self.assertEqual(STAFF.order_by("team", descending=["team"]).column("name")[-1], "Cy")

    def test_later_keys_decide_between_equal_rows(self) -> None:
        up = STAFF.order_by("team", "pay")
        self.assertEqual(up.column("name"), ["bob", "Eve", "Ann", "Dee", "Cy"])
        mixed = STAFF.order_by("team", "pay", descending=["pay"])
        self.assertEqual(mixed.column("name"), ["Eve", "bob", "Ann", "Dee", "Cy"])
        other = STAFF.order_by("team", "pay", descending=["team"])
        self.assertEqual(other.column("name"), ["Ann", "Dee", "bob", "Eve", "Cy"])

    def test_rows_that_are_equal_in_all_keys_stay_in_order(self) -> None:
        pairs = Table(["key", "at"], [(2, 0), (1, 1), (2, 2), (None, 3), (1, 4), (None, 5)])
        self.assertEqual(pairs.order_by("key").column("at"), [1, 4, 0, 2, 3, 5])
        down = pairs.order_by("key", descending=["key"])
        self.assertEqual(down.column("at"), [0, 2, 1, 4, 3, 5])

    def test_ordering_leaves_the_table_as_it_is(self) -> None:
        numbers = Table(["n"], [(3,), (1,), (2,)])
        self.assertEqual(numbers.order_by("n").rows, [(1,), (2,), (3,)])
        self.assertEqual(numbers.rows, [(3,), (1,), (2,)])


class LimitTest(unittest.TestCase):
    def test_limit_takes_rows_from_the_top(self) -> None:
        self.assertEqual(STAFF.limit(2).column("name"), ["Ann", "bob"])
        self.assertEqual(len(STAFF.limit(0)), 0)
        self.assertEqual(len(STAFF.limit(9)), 5)

    def test_skipped_rows_do_not_count(self) -> None:
        self.assertEqual(STAFF.limit(2, skip=1).column("name"), ["bob", "Cy"])
        self.assertEqual(STAFF.limit(3, skip=4).column("name"), ["Eve"])
        self.assertEqual(STAFF.limit(3, 5).rows, [])

    def test_neither_number_may_be_negative(self) -> None:
        with self.assertRaises(CellError):
            STAFF.limit(-1)
        with self.assertRaises(CellError):
            STAFF.limit(2, skip=-1)
