import unittest
from datetime import date

from rota import Rule, parse_rule
from rota.errors import ParseError, RuleError


def pattern(text: str) -> tuple[str, tuple[int, ...], int | None, int]:
    rule = parse_rule(text)
    return rule.unit, rule.days, rule.nth, rule.interval


def ends(text: str) -> tuple[date | None, int | None, tuple[date, ...]]:
    rule = parse_rule(text)
    return rule.until, rule.count, rule.exceptions


def position(text: str) -> int:
    try:
        parse_rule(text)
    except ParseError as error:
        return error.position
    return 0


def days(rule: Rule, start: date, last: date) -> list[str]:
    return [f"{day:%m-%d}" for day in rule.occurrences(start, last)]


class PatternTest(unittest.TestCase):
    def test_a_daily_rule_needs_no_more_than_its_unit(self) -> None:
        self.assertEqual(pattern("every day"), ("day", (), None, 1))
        self.assertEqual(pattern("every 10 days"), ("day", (), None, 10))
        self.assertEqual(ends("every day"), (None, None, ()))

    def test_other_stands_for_two(self) -> None:
        self.assertEqual(pattern("every other day"), ("day", (), None, 2))
        self.assertEqual(pattern("every other week on mon"), ("week", (0,), None, 2))

    def test_weekdays_are_listed_with_commas(self) -> None:
        self.assertEqual(pattern("every week on mon,thu"), ("week", (0, 3), None, 1))
        self.assertEqual(pattern("every 2 weeks on sun"), ("week", (6,), None, 2))
        self.assertEqual(pattern("every 1 week on tue,wed,sat"), ("week", (1, 2, 5), None, 1))

    def test_a_range_of_weekdays_may_pass_the_end_of_the_week(self) -> None:
        self.assertEqual(parse_rule("every week on mon-fri").days, (0, 1, 2, 3, 4))
        self.assertEqual(parse_rule("every week on sat-tue,thu").days, (5, 6, 0, 1, 3))
        self.assertEqual(parse_rule("every week on wed-wed").days, (2,))

    def test_a_day_of_the_month_has_a_number(self) -> None:
        self.assertEqual(pattern("every month on day 15"), ("month", (15,), None, 1))
        self.assertEqual(pattern("every 3 months on day 1"), ("month", (1,), None, 3))
        self.assertEqual(pattern("every month on last day"), ("month", (-1,), None, 1))
        self.assertEqual(pattern("every month on 3rd day"), ("month", (3,), None, 1))

    def test_a_weekday_of_the_month_has_an_ordinal(self) -> None:
        self.assertEqual(pattern("every month on 1st mon"), ("month", (0,), 1, 1))
        self.assertEqual(pattern("every other month on 5th wed"), ("month", (2,), 5, 2))
        self.assertEqual(pattern("every month on last fri"), ("month", (4,), -1, 1))

    def test_case_and_space_do_not_matter(self) -> None:
        self.assertEqual(pattern("  Every   2 WEEKS on Mon "), ("week", (0,), None, 2))
        self.assertEqual(pattern("EVERY MONTH ON 2ND TUE"), ("month", (1,), 2, 1))


class EndTest(unittest.TestCase):
    def test_a_rule_may_end_on_a_day(self) -> None:
        self.assertEqual(ends("every day until 2024-06-30"), (date(2024, 6, 30), None, ()))
        weekly = "every week on fri until 2025-01-01"
        self.assertEqual(ends(weekly), (date(2025, 1, 1), None, ()))

    def test_a_rule_may_end_after_a_number_of_times(self) -> None:
        self.assertEqual(ends("every day for 12 times"), (None, 12, ()))
        self.assertEqual(ends("every month on last day for 1 times"), (None, 1, ()))

    def test_exceptions_may_come_before_or_after_the_end(self) -> None:
        first = (date(2024, 5, 1),)
        both = (date(2024, 5, 1), date(2024, 5, 3))
        self.assertEqual(ends("every day except 2024-05-01"), (None, None, first))
        self.assertEqual(
            ends("every day for 9 times except 2024-05-01,2024-05-03"), (None, 9, both)
        )
        self.assertEqual(ends("every day except 2024-05-01 for 9 times"), (None, 9, first))

    def test_the_last_of_repeated_parts_counts(self) -> None:
        self.assertEqual(ends("every day for 3 times for 4 times"), (None, 4, ()))
        later = ends("every day except 2024-05-01 except 2024-05-03")
        self.assertEqual(later, (None, None, (date(2024, 5, 3),)))

    def test_a_parsed_rule_recurs(self) -> None:
        rule = parse_rule("every 2 weeks on mon,thu until 2024-01-18 except 2024-01-15")
        self.assertEqual(
            days(rule, date(2024, 1, 1), date(2024, 9, 9)), ["01-01", "01-04", "01-18"]
        )
        monthly = parse_rule("every month on last sun for 2 times")
        self.assertEqual(days(monthly, date(2024, 1, 1), date(2024, 9, 9)), ["01-28", "02-25"])


class ParseErrorTest(unittest.TestCase):
    def test_a_text_that_ends_too_soon_is_at_fault_after_its_last_word(self) -> None:
        self.assertEqual(position(""), 1)
        self.assertEqual(position("every"), 2)
        self.assertEqual(position("every 2 weeks on"), 5)
        self.assertEqual(position("every day until"), 4)
        self.assertEqual(position("every day for 3"), 5)

    def test_an_unknown_word_is_at_fault_itself(self) -> None:
        self.assertEqual(position("each day"), 1)
        self.assertEqual(position("every year"), 2)
        self.assertEqual(position("every 2 years"), 3)
        self.assertEqual(position("every week at mon"), 3)
        self.assertEqual(position("every day soon"), 3)

    def test_an_unknown_day_is_at_fault_itself(self) -> None:
        self.assertEqual(position("every week on mon,xyz"), 4)
        self.assertEqual(position("every week on mon-abc"), 4)
        self.assertEqual(position("every month on 6th mon"), 4)
        self.assertEqual(position("every month on 2nd week"), 5)
        self.assertEqual(position("every month on day x"), 5)

    def test_a_wrong_number_or_date_is_at_fault_itself(self) -> None:
        self.assertEqual(position("every day until 2024-02-30"), 4)
        self.assertEqual(position("every day except 2024-02-29,2023-02-29"), 4)
        self.assertEqual(position("every day for many times"), 4)
        self.assertEqual(position("every day for 3 days"), 5)

    def test_text_that_cannot_be_read_is_an_error(self) -> None:
        with self.assertRaises(ParseError):
            parse_rule("every week mon")
        with self.assertRaises(ParseError):
            parse_rule("every day until tomorrow")

    def test_a_rule_that_makes_no_sense_is_an_error(self) -> None:
        with self.assertRaises(RuleError):
            parse_rule("every 0 days")
        with self.assertRaises(RuleError):
            parse_rule("every day for 0 times")
        with self.assertRaises(RuleError):
            parse_rule("every day for 3 times until 2024-01-01")
