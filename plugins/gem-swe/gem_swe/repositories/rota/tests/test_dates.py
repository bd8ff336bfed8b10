import unittest
from datetime import date

from rota.dates import month_day, month_length, month_start, nth_weekday, week_start


class MonthTest(unittest.TestCase):
    def test_months_have_thirty_or_thirty_one_days(self) -> None:
        lengths = [month_length(2023, month) for month in range(1, 13)]
        self.assertEqual(lengths, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
        self.assertEqual(month_length(2024, 11), 30)

    def test_february_is_longer_every_fourth_year(self) -> None:
        self.assertEqual(month_length(2024, 2), 29)
        self.assertEqual(month_length(2028, 2), 29)
        self.assertEqual([month_length(year, 2) for year in (2025, 2026, 2027)], [28, 28, 28])

    def test_only_every_fourth_century_begins_with_a_leap_year(self) -> None:
        self.assertEqual([month_length(year, 2) for year in (2000, 2400)], [29, 29])
        self.assertEqual([month_length(year, 2) for year in (1900, 2100, 2200)], [28, 28, 28])

    def test_a_later_month_begins_on_its_first_day(self) -> None:
        self.assertEqual(month_start(date(2024, 3, 31), 0), date(2024, 3, 1))
        self.assertEqual(month_start(date(2024, 1, 31), 1), date(2024, 2, 1))
        self.assertEqual(month_start(date(2024, 3, 1), -2), date(2024, 1, 1))

    def test_months_run_over_into_other_years(self) -> None:
        self.assertEqual(month_start(date(2023, 12, 5), 0), date(2023, 12, 1))
        self.assertEqual(month_start(date(2023, 11, 5), 2), date(2024, 1, 1))
        self.assertEqual(month_start(date(2024, 1, 5), 23), date(2025, 12, 1))
        self.assertEqual(month_start(date(2024, 1, 5), -1), date(2023, 12, 1))

    def test_a_day_of_a_month_has_a_number(self) -> None:
        self.assertEqual(month_day(date(2024, 4, 1), 1), date(2024, 4, 1))
        self.assertEqual(month_day(date(2024, 4, 1), 30), date(2024, 4, 30))
        self.assertIsNone(month_day(date(2024, 4, 1), 31))
        self.assertIsNone(month_day(date(2024, 4, 1), 0))

    def test_negative_numbers_count_from_the_end_of_the_month(self) -> None:
        self.assertEqual(month_day(date(2024, 2, 1), -1), date(2024, 2, 29))
        self.assertEqual(month_day(date(2024, 4, 1), -3), date(2024, 4, 28))
        self.assertEqual(month_day(date(2024, 4, 1), -30), date(2024, 4, 1))
        self.assertIsNone(month_day(date(2024, 4, 1), -31))


class WeekdayTest(unittest.TestCase):
    def test_a_week_begins_on_monday(self) -> None:
        self.assertEqual(week_start(date(2024, 3, 4)), date(2024, 3, 4))
        self.assertEqual(week_start(date(2024, 3, 10)), date(2024, 3, 4))
        self.assertEqual(week_start(date(2024, 3, 1)), date(2024, 2, 26))

    def test_the_nth_weekday_counts_from_the_first_of_its_kind(self) -> None:
        march = date(2024, 3, 1)
        self.assertEqual(nth_weekday(march, 4, 1), date(2024, 3, 1))
        self.assertEqual(nth_weekday(march, 3, 1), date(2024, 3, 7))
        self.assertEqual(nth_weekday(march, 1, 2), date(2024, 3, 12))
        self.assertEqual(nth_weekday(march, 4, 5), date(2024, 3, 29))

    def test_the_last_weekday_is_number_minus_one(self) -> None:
        march = date(2024, 3, 1)
        self.assertEqual(nth_weekday(march, 6, -1), date(2024, 3, 31))
        self.assertEqual(nth_weekday(march, 0, -1), date(2024, 3, 25))
        self.assertEqual(nth_weekday(march, 0, -4), date(2024, 3, 4))

    def test_a_weekday_that_does_not_come_so_often_is_none(self) -> None:
        march = date(2024, 3, 1)
        self.assertIsNone(nth_weekday(march, 0, 5))
        self.assertIsNone(nth_weekday(march, 0, -5))
        self.assertIsNone(nth_weekday(march, 4, 0))
        self.assertEqual(nth_weekday(march, 4, -5), date(2024, 3, 1))
