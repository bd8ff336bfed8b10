import unittest

from tabler import CellError, ColumnError, Table, lag, rank, running_total

GAMES = Table(
    ["team", "day", "score"],
    [
        ("red", 1, 5),
        ("blue", 1, 7),
        ("red", 2, None),
        ("red", 3, 2),
        ("blue", 2, 7),
        ("blue", 3, 1),
        ("red", 4, 5),
    ],
)


def scores(*cells: float | str | None) -> Table:
    return Table(["score"], [(cell,) for cell in cells])


class RunningTotalTest(unittest.TestCase):
    def test_each_row_has_the_sum_so_far(self) -> None:
        self.assertEqual(running_total(scores(3, 4, -2, 0.5), "score"), [3, 7, 5, 5.5])
        self.assertEqual(running_total(GAMES, "score"), [5, 12, 12, 14, 21, 22, 27])

    def test_groups_have_totals_of_their_own(self) -> None:
        self.assertEqual(running_total(GAMES, "score", ["team"]), [5, 7, 5, 7, 14, 15, 12])
        self.assertEqual(running_total(GAMES, "day", by=["score"]), [1, 1, 2, 3, 3, 3, 5])

    def test_the_total_is_empty_until_there_is_a_number(self) -> None:
        self.assertEqual(running_total(scores(None, 2, None, 0), "score"), [None, 2, 2, 2])
        self.assertEqual(running_total(scores(None, None, 0, 3), "score"), [None, None, 0, 3])

    def test_only_numbers_are_added(self) -> None:
        with self.assertRaises(CellError):
            running_total(GAMES, "team")
        with self.assertRaises(CellError):
            running_total(scores(1, "2"), "score")

    def test_totals_can_become_a_column(self) -> None:
        table = GAMES.with_column("sum", running_total(GAMES, "score", ["team"]))
        self.assertEqual(table.rows[4], ("blue", 2, 7, 14))
        self.assertEqual(table.columns[3], "sum")


class RankTest(unittest.TestCase):
    def test_the_least_cell_is_the_first(self) -> None:
        self.assertEqual(rank(scores(30, 10, 20), "score"), [3, 1, 2])
        self.assertEqual(rank(scores("b", "A", "c"), "score"), [2, 1, 3])

    def test_the_greatest_is_the_first_when_descending(self) -> None:
        self.assertEqual(rank(scores(30, 10, 20), "score", descending=True), [1, 3, 2])
        self.assertEqual(rank(scores("b", "A", "c"), "score", (), True), [2, 3, 1])

    def test_ties_share_a_rank_and_leave_a_gap(self) -> None:
        self.assertEqual(rank(scores(5, 9, 5, 5.0, 7), "score"), [1, 5, 1, 1, 4])
        self.assertEqual(rank(scores(5, 9, 9, 7), "score", descending=True), [4, 1, 1, 3])

    def test_dense_ranks_have_no_gaps(self) -> None:
        self.assertEqual(rank(scores(5, 9, 5, 5, 7), "score", dense=True), [1, 3, 1, 1, 2])
        self.assertEqual(rank(scores(5, 9, 9, 7), "score", (), True, True), [3, 1, 1, 2])

    def test_empty_cells_have_no_rank(self) -> None:
        self.assertEqual(rank(scores(None, 4, None, 3), "score"), [None, 2, None, 1])
        self.assertEqual(rank(scores(None, 4, 6), "score", descending=True), [None, 2, 1])

    def test_ranks_start_again_in_each_group(self) -> None:
        self.assertEqual(rank(GAMES, "score", ["team"]), [2, 2, None, 1, 2, 1, 2])
        self.assertEqual(rank(GAMES, "day", by=["team"], descending=True), [4, 3, 3, 2, 2, 1, 1])


class LagTest(unittest.TestCase):
    def test_each_row_sees_the_one_before_it(self) -> None:
        self.assertEqual(lag(scores(1, 2, 3), "score"), [None, 1, 2])
        self.assertEqual(lag(GAMES, "score"), [None, 5, 7, None, 2, 7, 1])

    def test_the_distance_can_be_chosen(self) -> None:
        self.assertEqual(lag(scores(1, 2, 3, 4), "score", offset=2), [None, None, 1, 2])
        self.assertEqual(lag(scores(1, 2), "score", offset=0), [1, 2])
        self.assertEqual(lag(scores(1, 2), "score", offset=3), [None, None])

    def test_a_negative_offset_looks_ahead(self) -> None:
        self.assertEqual(lag(scores(1, 2, 3), "score", offset=-1), [2, 3, None])
        self.assertEqual(lag(scores(1, 2, 3), "score", offset=-2, default=0), [3, 0, 0])

    def test_rows_that_are_not_there_have_the_default(self) -> None:
        self.assertEqual(lag(scores(1, 2, 3), "score", default=9), [9, 1, 2])
        self.assertEqual(lag(scores(None, 2, 3), "score", (), 1, -1), [-1, None, 2])

    def test_rows_look_at_their_own_group_only(self) -> None:
        self.assertEqual(lag(GAMES, "day", ["team"]), [None, None, 1, 2, 1, 2, 3])
        leads = lag(GAMES, "score", by=["team"], offset=-1)
        self.assertEqual(leads, [None, 7, 2, 5, 1, None, None])

    def test_columns_must_be_known(self) -> None:
        with self.assertRaises(ColumnError):
            lag(GAMES, "points")
        with self.assertRaises(ColumnError):
            rank(GAMES, "score", ["league"])
