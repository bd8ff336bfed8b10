import unittest
from datetime import date

from rota import Rule
from rota.errors import RuleError

MONDAY = date(2024, 1, 1)


def days(rule: Rule, start: date, last: date) -> list[str]:
    return [f"{day:%m-%d}" for day in rule.occurrences(start, last)]


class DailyTest(unittest.TestCase):
    def test_a_daily_rule_includes_both_borders(self) -> None:
        rule = Rule("day")
        self.assertEqual(days(rule, MONDAY, date(2024, 1, 3)), ["01-01", "01-02", "01-03"])
        self.assertEqual(days(rule, MONDAY, MONDAY), ["01-01"])
        self.assertEqual(days(rule, MONDAY, date(2023, 12, 31)), [])

    def test_an_interval_leaves_days_out(self) -> None:
        found = days(Rule("day", interval=3), MONDAY, date(2024, 1, 10))
        self.assertEqual(found, ["01-01", "01-04", "01-07", "01-10"])
        other = days(Rule("day", interval=2), date(2024, 2, 28), date(2024, 3, 3))
        self.assertEqual(other, ["02-28", "03-01", "03-03"])


class WeeklyTest(unittest.TestCase):
    def test_a_weekly_rule_falls_on_its_weekdays_in_order(self) -> None:
        found = days(Rule("week", (3, 0)), MONDAY, date(2024, 1, 11))
        self.assertEqual(found, ["01-01", "01-04", "01-08", "01-11"])
        self.assertEqual(days(Rule("week", (6,)), MONDAY, date(2024, 1, 14)), ["01-07", "01-14"])

    def test_days_before_the_start_are_not_part_of_it(self) -> None:
        found = days(Rule("week", (0, 2, 4)), date(2024, 1, 3), date(2024, 1, 8))
        self.assertEqual(found, ["01-03", "01-05", "01-08"])
        later = days(Rule("week", (0, 2)), date(2024, 1, 4), date(2024, 1, 10))
        self.assertEqual(later, ["01-08", "01-10"])

    def test_weeks_between_are_counted_from_the_week_of_the_start(self) -> None:
        rule = Rule("week", (0, 4), interval=2)
        self.assertEqual(
            days(rule, date(2024, 1, 3), date(2024, 1, 19)), ["01-05", "01-15", "01-19"]
        )
        self.assertEqual(days(rule, date(2024, 1, 7), date(2024, 1, 16)), ["01-15"])

    def test_a_weekday_given_twice_comes_once(self) -> None:
        self.assertEqual(days(Rule("week", (1, 1)), MONDAY, date(2024, 1, 10)), ["01-02", "01-09"])
        twice = Rule("week", (1, 2, 1), count=3)
        self.assertEqual(days(twice, MONDAY, date(2024, 2, 1)), ["01-02", "01-03", "01-09"])


class MonthlyTest(unittest.TestCase):
    def test_a_monthly_rule_falls_on_its_days(self) -> None:
        found = days(Rule("month", (15, 1)), MONDAY, date(2024, 2, 14))
        self.assertEqual(found, ["01-01", "01-15", "02-01"])
        self.assertEqual(days(Rule("month", (1,)), date(2024, 1, 2), date(2024, 2, 1)), ["02-01"])

    def test_months_that_lack_the_day_are_passed_over(self) -> None:
        found = days(Rule("month", (31,)), MONDAY, date(2024, 6, 30))
        self.assertEqual(found, ["01-31", "03-31", "05-31"])
        thirtieth = days(Rule("month", (30,)), MONDAY, date(2024, 4, 30))
        self.assertEqual(thirtieth, ["01-30", "03-30", "04-30"])

    def test_negative_days_count_from_the_end(self) -> None:
        found = days(Rule("month", (-1,)), MONDAY, date(2024, 4, 30))
        self.assertEqual(found, ["01-31", "02-29", "03-31", "04-30"])
        both = days(Rule("month", (31, -1)), date(2024, 3, 1), date(2024, 5, 31))
        self.assertEqual(both, ["03-31", "04-30", "05-31"])

    def test_an_interval_leaves_months_out(self) -> None:
        quarterly = Rule("month", (10,), interval=3)
        self.assertEqual(days(quarterly, MONDAY, date(2024, 8, 1)), ["01-10", "04-10", "07-10"])
        late = days(quarterly, date(2023, 11, 11), date(2024, 5, 10))
        self.assertEqual(late, ["02-10", "05-10"])

    def test_nth_weekdays_come_once_a_month(self) -> None:
        second_tuesday = Rule("month", (1,), nth=2)
        self.assertEqual(
            days(second_tuesday, MONDAY, date(2024, 3, 12)), ["01-09", "02-13", "03-12"]
        )
        last_friday = Rule("month", (4,), nth=-1)
        self.assertEqual(days(last_friday, MONDAY, date(2024, 3, 31)), ["01-26", "02-23", "03-29"])

    def test_a_fifth_weekday_is_rare(self) -> None:
        found = days(Rule("month", (0,), nth=5), MONDAY, date(2024, 7, 31))
        self.assertEqual(found, ["01-29", "04-29", "07-29"])
        several = days(Rule("month", (6, 0), nth=1), MONDAY, date(2024, 2, 29))
        self.assertEqual(several, ["01-01", "01-07", "02-04", "02-05"])


class EndTest(unittest.TestCase):
    def test_the_last_day_itself_may_occur(self) -> None:
        rule = Rule("day", until=date(2024, 1, 3))
        self.assertEqual(days(rule, MONDAY, date(2024, 12, 31)), ["01-01", "01-02", "01-03"])
        self.assertEqual(days(rule, MONDAY, date(2024, 1, 2)), ["01-01", "01-02"])
        self.assertEqual(days(rule, date(2024, 1, 4), date(2024, 12, 31)), [])

    def test_a_count_ends_the_rule(self) -> None:
        self.assertEqual(days(Rule("day", count=2), MONDAY, date(2024, 2, 1)), ["01-01", "01-02"])
        weekly = Rule("week", (0, 1), count=3)
        self.assertEqual(
            days(weekly, date(2024, 1, 2), date(2024, 2, 1)), ["01-02", "01-08", "01-09"]
        )
        self.assertEqual(days(weekly, date(2024, 1, 2), date(2024, 1, 8)), ["01-02", "01-08"])

    def test_exceptions_are_left_out(self) -> None:
        rule = Rule("day", exceptions=(date(2024, 1, 2), date(2024, 1, 4)))
        self.assertEqual(days(rule, MONDAY, date(2024, 1, 5)), ["01-01", "01-03", "01-05"])
        self.assertEqual(days(rule, date(2024, 1, 2), date(2024, 1, 2)), [])

    def test_exceptions_use_up_the_count(self) -> None:
        rule = Rule("day", count=3, exceptions=(date(2024, 1, 2),))
        self.assertEqual(days(rule, MONDAY, date(2024, 2, 1)), ["01-01", "01-03"])
        self.assertEqual(days(rule, date(2024, 1, 2), date(2024, 2, 1)), ["01-03", "01-04"])


class RuleErrorTest(unittest.TestCase):
    def test_the_unit_is_one_of_three(self) -> None:
        with self.assertRaises(RuleError):
            Rule("year")
        with self.assertRaises(RuleError):
            Rule("days", (1,))

    def test_interval_and_count_are_positive(self) -> None:
        with self.assertRaises(RuleError):
            Rule("day", interval=0)
        with self.assertRaises(RuleError):
            Rule("day", count=0)
        with self.assertRaises(RuleError):
            Rule("week", (1,), interval=-1)
        self.assertEqual(days(Rule("day", count=1), MONDAY, date(2024, 1, 9)), ["01-01"])

    def test_a_rule_has_one_end_at_most(self) -> None:
        with self.assertRaises(RuleError):
            Rule("day", count=5, until=MONDAY)
        with self.assertRaises(RuleError):
            Rule("month", (1,), until=date(2030, 1, 1), count=1)

    def test_weekly_and_monthly_rules_need_days(self) -> None:
        with self.assertRaises(RuleError):
            Rule("week")
        with self.assertRaises(RuleError):
            Rule("month", ())

    def test_weekdays_are_numbers_from_zero_to_six(self) -> None:
        with self.assertRaises(RuleError):
            Rule("week", (7,))
        with self.assertRaises(RuleError):
            Rule("week", (0, -1))
        with self.assertRaises(RuleError):
            Rule("month", (7,), nth=1)
        self.assertEqual(days(Rule("week", (0, 6)), MONDAY, date(2024, 1, 7)), ["01-01", "01-07"])
