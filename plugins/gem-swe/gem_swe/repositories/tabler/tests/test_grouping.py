import unittest
from datetime import date

from tabler import Aggregate, CellError, ColumnError, Table, aggregate, group_by
from tabler.grouping import partition

SALES = Table(
    ["region", "item", "amount"],
    [
        ("n", "pen", 10),
        ("s", "ink", 25),
        ("n", "ink", None),
        (None, "pen", 5),
        ("n", "pen", 20),
        ("s", "pen", 5),
    ],
)


class AggregateTest(unittest.TestCase):
    def test_count_passes_over_empty_cells(self) -> None:
        self.assertEqual(aggregate("count", [3, None, "a", False]), 3)
        self.assertEqual(aggregate("count", [0]), 1)
        self.assertEqual(aggregate("count", [None]), 0)

    def test_sum_adds_the_numbers(self) -> None:
        self.assertEqual(aggregate("sum", [3, None, 4]), 7)
        self.assertEqual(aggregate("sum", [0.5, 2, -1]), 1.5)
        self.assertEqual(str(aggregate("sum", [2, -2])), "0")

    def test_mean_divides_by_the_filled_cells(self) -> None:
        self.assertEqual(aggregate("mean", [1, None, 2]), 1.5)
        self.assertEqual(aggregate("mean", [2, 4, 9]), 5.0)

    def test_min_and_max_work_for_all_kinds(self) -> None:
        self.assertEqual(aggregate("min", [3, None, 1.5, 2]), 1.5)
        self.assertEqual(aggregate("max", [3, None, 1.5, 7, 2]), 7)
        self.assertEqual(aggregate("min", ["bob", "Ann", "cy"]), "Ann")
        days = [date(2024, 1, 5), date(2023, 12, 31), date(2024, 1, 1)]
        self.assertEqual(aggregate("max", days), date(2024, 1, 5))
        self.assertEqual(aggregate("min", days), date(2023, 12, 31))

    def test_of_equal_cells_the_first_is_the_extreme(self) -> None:
        self.assertEqual(str(aggregate("min", [2, 1.0, 1])), "1.0")
        self.assertEqual(str(aggregate("max", [3, 3.0, 1])), "3")

    def test_median_is_the_number_in_the_middle(self) -> None:
        self.assertEqual(aggregate("median", [9, 1, None, 5]), 5)
        self.assertEqual(aggregate("median", [4]), 4)
        self.assertEqual(aggregate("median", [8, 1, 3, 2, 100]), 3)

    def test_median_of_an_even_count_is_between_the_two_in_the_middle(self) -> None:
        self.assertEqual(aggregate("median", [10, 1, 4, 2]), 3.0)
        self.assertEqual(aggregate("median", [2, 3]), 2.5)
        self.assertEqual(aggregate("median", [7, 1, 1, 30, 9, 2]), 4.5)

    def test_without_cells_only_the_count_is_known(self) -> None:
        self.assertEqual(aggregate("count", []), 0)
        results = [aggregate(name, [None]) for name in ("sum", "mean", "min", "max", "median")]
        self.assertEqual(results, [None, None, None, None, None])

    def test_only_numbers_can_be_added(self) -> None:
        with self.assertRaises(CellError):
            aggregate("sum", [1, "2"])
        with self.assertRaises(CellError):
            aggregate("mean", [True])
        with self.assertRaises(CellError):
            aggregate("median", ["a"])

    def test_extremes_need_cells_of_one_kind(self) -> None:
        with self.assertRaises(CellError):
            aggregate("min", [1, "a"])
        with self.assertRaises(CellError):
            aggregate("max", [date(2024, 1, 1), 3])

    def test_unknown_functions_are_refused(self) -> None:
        with self.assertRaises(CellError):
            aggregate("avg", [1])
        with self.assertRaises(CellError):
            aggregate("Sum", [])

    def test_titles_are_the_label_or_the_call(self) -> None:
        self.assertEqual(Aggregate("sum", "amount").title, "sum(amount)")
        self.assertEqual(Aggregate("count").title, "count(*)")
        self.assertEqual(Aggregate("sum", "amount", "total").title, "total")


class PartitionTest(unittest.TestCase):
    def test_groups_come_in_the_order_of_their_first_rows(self) -> None:
        groups = [[row.place for row in group] for group in partition(SALES, ["region"])]
        self.assertEqual(groups, [[0, 2, 4], [1, 5], [3]])
        pairs = [[row.place for row in group] for group in partition(SALES, ["item", "region"])]
        self.assertEqual(pairs, [[0, 4], [1], [2], [3], [5]])

    def test_without_names_there_is_one_group(self) -> None:
        self.assertEqual([len(group) for group in partition(SALES, [])], [6])
        self.assertEqual(partition(Table(["a"]), []), [[]])
        self.assertEqual(partition(Table(["a"]), ["a"]), [])

    def test_bools_are_not_grouped_with_numbers(self) -> None:
        mixed = Table(["v"], [(1,), (True,), (1.0,), ("1",), (None,), (None,)])
        groups = [[row.place for row in group] for group in partition(mixed, ["v"])]
        self.assertEqual(groups, [[0, 2], [1], [3], [4, 5]])
        self.assertEqual(len(partition(Table(["v"], [(0,), (False,)]), ["v"])), 2)


class GroupByTest(unittest.TestCase):
    def test_each_group_makes_a_row(self) -> None:
        table = group_by(SALES, ["region"], [Aggregate("sum", "amount", "total")])
        self.assertEqual(table.columns, ("region", "total"))
        self.assertEqual(table.rows, [("n", 30), ("s", 30), (None, 5)])

    def test_several_keys_and_aggregates_stand_in_the_order_given(self) -> None:
        calls = [Aggregate("max", "amount"), Aggregate("min", "item")]
        table = group_by(SALES, ["item", "region"], calls)
        self.assertEqual(table.columns, ("item", "region", "max(amount)", "min(item)"))
        self.assertEqual(table.rows[0], ("pen", "n", 20, "pen"))
        self.assertEqual(table.rows[2], ("ink", "n", None, "ink"))

    def test_a_count_of_all_rows_includes_empty_cells(self) -> None:
        calls = [Aggregate("count"), Aggregate("count", "amount")]
        self.assertEqual(group_by(SALES, ["region"], calls).rows[0], ("n", 3, 2))
        self.assertEqual(group_by(SALES, [], calls).rows, [(6, 5)])
        self.assertEqual(group_by(SALES, ["item"], calls).rows, [("pen", 4, 4), ("ink", 2, 1)])

    def test_only_a_count_can_be_of_all_rows(self) -> None:
        with self.assertRaises(ColumnError):
            group_by(SALES, [], [Aggregate("sum")])
        with self.assertRaises(ColumnError):
            group_by(SALES, ["region"], [Aggregate("max", "*")])

    def test_without_keys_there_is_one_row_even_for_an_empty_table(self) -> None:
        calls = [Aggregate("sum", "amount"), Aggregate("count")]
        self.assertEqual(group_by(SALES, [], calls).rows, [(65, 6)])
        self.assertEqual(group_by(SALES.limit(0), [], calls).rows, [(None, 0)])
        self.assertEqual(group_by(SALES.limit(0), ["item"], calls).rows, [])

    def test_without_aggregates_the_distinct_keys_remain(self) -> None:
        self.assertEqual(group_by(SALES, ["item"], []).rows, [("pen",), ("ink",)])
        self.assertEqual(group_by(SALES, ["region"], []).rows, [("n",), ("s",), (None,)])
