import unittest
from datetime import date

from tabler import ColumnError, Table, run_query

SALES = Table(
    ["name", "region", "amount", "day", "paid"],
    [
        ("Ann", "n", 40, date(2024, 1, 5), True),
        ("bob", "s", 25, date(2024, 1, 9), False),
        ("Ann", "n", 15, date(2024, 2, 1), True),
        ("Cy", "w", 90, date(2024, 2, 3), None),
        ("Dee", "s", None, date(2024, 2, 9), True),
        ("Eve", None, 10, None, False),
    ],
)


def names(condition: str) -> list[object]:
    return list(run_query(SALES, f"select name where {condition}").column("name"))


class SelectTest(unittest.TestCase):
    def test_a_star_selects_every_column(self) -> None:
        self.assertEqual(run_query(SALES, "select *").columns, SALES.columns)
        self.assertEqual(run_query(SALES, "select *").rows, SALES.rows)
        self.assertEqual(run_query(SALES, "select * where amount = 25").rows, SALES.rows[1:2])

    def test_columns_can_be_selected_and_named_anew(self) -> None:
        table = run_query(SALES, "select amount as price, name")
        self.assertEqual(table.columns, ("price", "name"))
        self.assertEqual(table.rows[1], (25, "bob"))
        self.assertEqual(run_query(SALES, "select name, name as who").rows[5], ("Eve", "Eve"))

    def test_words_of_the_language_have_any_case(self) -> None:
        table = run_query(SALES, "SELECT name As who WHERE amount >= 40 Order By amount DESC")
        self.assertEqual(table.columns, ("who",))
        self.assertEqual(table.rows, [("Cy",), ("Ann",)])

    def test_names_in_brackets_may_be_anything(self) -> None:
        table = Table(["unit price", "limit", "a,b"], [(3, 4, 5), (1, 2, 0)])
        self.assertEqual(run_query(table, "select [limit], [a,b]").rows, [(4, 5), (2, 0)])
        found = run_query(table, "select [unit price] as [order by] where [limit] > 2")
        self.assertEqual((found.columns, found.rows), (("order by",), [(3,)]))

    def test_unknown_columns_are_column_errors(self) -> None:
        with self.assertRaises(ColumnError):
            run_query(SALES, "select nam")
        with self.assertRaises(ColumnError):
            run_query(SALES, "select name where total > 1")
        with self.assertRaises(ColumnError):
            run_query(SALES, "select name, region as name")


class WhereTest(unittest.TestCase):
    def test_numbers_are_compared(self) -> None:
        self.assertEqual(names("amount > 25"), ["Ann", "Cy"])
        self.assertEqual(names("amount >= 25"), ["Ann", "bob", "Cy"])
        self.assertEqual(names("amount < 25"), ["Ann", "Eve"])
        self.assertEqual(names("amount <= 25"), ["bob", "Ann", "Eve"])
        self.assertEqual(names("amount > -2.5 and amount<15.5"), ["Ann", "Eve"])

    def test_equal_and_unequal(self) -> None:
        self.assertEqual(names("amount = 25.0"), ["bob"])
        self.assertEqual(names("amount != 25"), ["Ann", "Ann", "Cy", "Eve"])
        self.assertEqual(names('name = "ann"'), [])
        self.assertEqual(names('region != "n"'), ["bob", "Cy", "Dee"])

    def test_dates_and_bools_can_be_written(self) -> None:
        self.assertEqual(names("day >= 2024-02-03"), ["Cy", "Dee"])
        self.assertEqual(names("day < 2024-01-09"), ["Ann"])
        self.assertEqual(names("paid = true"), ["Ann", "Ann", "Dee"])
        self.assertEqual(names("paid = FALSE"), ["bob", "Eve"])

    def test_two_quotes_in_a_text_stand_for_one(self) -> None:
        table = Table(["t"], [('say "hi"',), ("",), ("order by",)])
        self.assertEqual(run_query(table, 'select t where t = "say ""hi"""').rows, table.rows[:1])
        self.assertEqual(run_query(table, 'select t where t = ""').rows, [("",)])
        self.assertEqual(run_query(table, 'select t where t = "order by"').rows, [("order by",)])

    def test_in_looks_for_one_of_several_values(self) -> None:
        self.assertEqual(names('region in ("n", "w")'), ["Ann", "Ann", "Cy"])
        self.assertEqual(names("amount in (10)"), ["Eve"])
        self.assertEqual(names("amount in (90, 25.0, true)"), ["bob", "Cy"])
        self.assertEqual(names('region not in ("n", "w")'), ["bob", "Dee"])

    def test_between_includes_both_ends(self) -> None:
        self.assertEqual(names("amount between 15 and 40"), ["Ann", "bob", "Ann"])
        self.assertEqual(names("amount between 16 and 39"), ["bob"])
        self.assertEqual(names("amount not between 15 and 40"), ["Cy", "Eve"])
        self.assertEqual(names("amount between 40 and 15"), [])

    def test_empty_cells_can_be_found(self) -> None:
        self.assertEqual(names("amount is empty"), ["Dee"])
        self.assertEqual(names("region is empty"), ["Eve"])
        self.assertEqual(names("paid is not empty"), ["Ann", "bob", "Ann", "Dee", "Eve"])

    def test_an_empty_cell_passes_no_other_test(self) -> None:
        self.assertEqual(names('name = "Dee" and amount < 1000'), [])
        self.assertEqual(names('name = "Dee" and amount != 3'), [])
        self.assertEqual(names('name = "Eve" and region not in ("n")'), [])
        self.assertEqual(names('not region = "n"'), ["bob", "Cy", "Dee", "Eve"])

    def test_and_binds_closer_than_or(self) -> None:
        self.assertEqual(names('amount > 80 or region = "s" and paid = true'), ["Cy", "Dee"])
        self.assertEqual(names('region = "s" and paid = true or amount > 80'), ["Cy", "Dee"])
        self.assertEqual(names('(region = "n" or region = "s") and amount > 20'), ["Ann", "bob"])
        self.assertEqual(names('region = "n" and amount > 20 and paid = true'), ["Ann"])
        self.assertEqual(names("amount = 10 or amount = 15 or amount = 25"), ["bob", "Ann", "Eve"])

    def test_not_turns_the_next_test_only(self) -> None:
        self.assertEqual(names("not amount > 20"), ["Ann", "Dee", "Eve"])
        self.assertEqual(names('not region = "s" and amount < 50'), ["Ann", "Ann", "Eve"])
        self.assertEqual(names('not (region = "s" or amount > 20)'), ["Ann", "Eve"])
        self.assertEqual(names("not not amount > 40"), ["Cy"])


class GroupTest(unittest.TestCase):
    def test_groups_are_summed_up(self) -> None:
        table = run_query(SALES, "select region, sum(amount) as total group by region")
        self.assertEqual(table.columns, ("region", "total"))
        self.assertEqual(table.rows, [("n", 55), ("s", 25), ("w", 90), (None, 10)])

    def test_functions_without_groups_make_one_row(self) -> None:
        table = run_query(SALES, "select count(*), count(amount), max(name)")
        self.assertEqual(table.columns, ("count(*)", "count(amount)", "max(name)"))
        self.assertEqual(table.rows, [(6, 5, "Eve")])
        none = run_query(SALES, "select count(*) as n, mean(amount) as m where amount > 99")
        self.assertEqual(none.rows, [(0, None)])

    def test_selected_columns_keep_their_order(self) -> None:
        table = run_query(
            SALES, "select median(amount) as m, region as r, min(day) group by region"
        )
        self.assertEqual(table.columns, ("m", "r", "min(day)"))
        self.assertEqual(table.rows[0], (27.5, "n", date(2024, 1, 5)))
        self.assertEqual(table.rows[3], (10, None, None))

    def test_rows_are_filtered_before_they_are_grouped(self) -> None:
        query = "select name, count(*) as n where amount >= 25 group by name"
        self.assertEqual(run_query(SALES, query).rows, [("Ann", 1), ("bob", 1), ("Cy", 1)])
        query = "select region where paid = true group by region"
        self.assertEqual(run_query(SALES, query).rows, [("n",), ("s",)])

    def test_having_filters_the_groups(self) -> None:
        query = "select region, count(*) as n group by region having n > 1"
        self.assertEqual(run_query(SALES, query).rows, [("n", 2), ("s", 2)])
        query = (
            "select sum(amount) group by region having [sum(amount)] < 60 and region is not empty"
        )
        self.assertEqual(run_query(SALES, query).rows, [(55,), (25,)])

    def test_a_star_selects_the_grouped_columns(self) -> None:
        table = run_query(SALES, "select * group by region, paid")
        self.assertEqual(table.columns, ("region", "paid"))
        self.assertEqual(table.rows[:3], [("n", True), ("s", False), ("w", None)])

    def test_other_columns_cannot_be_selected_from_groups(self) -> None:
        with self.assertRaises(ColumnError):
            run_query(SALES, "select name, sum(amount)")
        with self.assertRaises(ColumnError):
            run_query(SALES, "select name group by region")


class OrderTest(unittest.TestCase):
    def test_rows_can_be_ordered_by_columns_that_are_not_selected(self) -> None:
        table = run_query(SALES, "select name order by amount")
        self.assertEqual(table.column("name"), ["Eve", "Ann", "bob", "Ann", "Cy", "Dee"])
        table = run_query(SALES, "select day order by amount desc limit 2")
        self.assertEqual(table.column("day"), [date(2024, 2, 3), date(2024, 1, 5)])

    def test_each_key_has_its_own_direction(self) -> None:
        table = run_query(SALES, "select name, amount order by region desc, amount asc")
        self.assertEqual(table.column("name"), ["Cy", "bob", "Dee", "Ann", "Ann", "Eve"])
        self.assertEqual(table.column("amount")[3:5], [15, 40])
        table = run_query(SALES, "select amount order by region, amount desc")
        self.assertEqual(table.column("amount"), [40, 15, 25, None, 90, 10])

    def test_titles_can_be_ordered_by(self) -> None:
        query = "select region as r, sum(amount) as total group by region order by total desc"
        self.assertEqual(run_query(SALES, query).column("r"), ["w", "n", "s", None])
        query = "select region as r, count(*) group by region order by r desc"
        self.assertEqual(run_query(SALES, query).column("r"), ["w", "s", "n", None])
        query = "select amount as name, name as who order by name limit 2"
        self.assertEqual(run_query(SALES, query).rows, [(10, "Eve"), (15, "Ann")])

    def test_limit_cuts_the_result_after_ordering(self) -> None:
        query = """select name, sum(amount) as total where amount > 10 and region in ("n", "s", "w")
            group by name order by total desc limit 2"""
        self.assertEqual(run_query(SALES, query).rows, [("Cy", 90), ("Ann", 55)])
        self.assertEqual(run_query(SALES, "select name limit 0").rows, [])
        self.assertEqual(len(run_query(SALES, "select name limit 10")), 6)
