import unittest
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

from rota import Interval, Shift, WorkCalendar
from rota.errors import CalendarError

MORNING = Shift(time(8), time(12))
AFTERNOON = Shift(time(13), time(17))
NIGHT = Shift(time(22), time(6))
HOUR = timedelta(hours=1)


def march(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2024, 3, day, hour, minute)


def listed(intervals: Iterable[Interval]) -> list[str]:
    return [f"{span.start:%d %H:%M} to {span.end:%d %H:%M}" for span in intervals]


class ShiftTest(unittest.TestCase):
    def test_a_day_shift_ends_on_the_same_day(self) -> None:
        self.assertEqual(listed([MORNING.on(date(2024, 3, 4))]), ["04 08:00 to 04 12:00"])
        self.assertEqual(AFTERNOON.on(date(2024, 2, 29)).end, datetime(2024, 2, 29, 17))

    def test_a_night_shift_ends_on_the_next_day(self) -> None:
        self.assertEqual(listed([NIGHT.on(date(2024, 3, 4))]), ["04 22:00 to 05 06:00"])
        self.assertEqual(NIGHT.on(date(2024, 2, 29)).end, datetime(2024, 3, 1, 6))
        late = Shift(time(16), time(0))
        self.assertEqual(listed([late.on(date(2024, 3, 4))]), ["04 16:00 to 05 00:00"])

    def test_a_shift_from_an_hour_to_the_same_hour_lasts_a_day(self) -> None:
        self.assertEqual(Shift(time(7), time(7)).on(date(2024, 3, 4)).length, timedelta(days=1))
        self.assertEqual(Shift(time(0), time(0)).on(date(2024, 3, 4)).end, datetime(2024, 3, 5))


class OfficeTest(unittest.TestCase):
    def setUp(self) -> None:
        week = {weekday: [MORNING, AFTERNOON] for weekday in range(4)}
        week[4] = [MORNING]
        self.office = WorkCalendar(week, [date(2024, 3, 12)])

    def test_each_weekday_has_its_shifts(self) -> None:
        starts = [shift.start.hour for shift in self.office.shifts_on(date(2024, 3, 4))]
        self.assertEqual(starts, [8, 13])
        self.assertEqual(len(self.office.shifts_on(date(2024, 3, 8))), 1)
        self.assertEqual(len(self.office.shifts_on(date(2024, 3, 9))), 0)

    def test_there_is_no_work_on_a_holiday(self) -> None:
        self.assertEqual(len(self.office.shifts_on(date(2024, 3, 12))), 0)
        around = self.office.working(Interval(march(11, 12), march(13, 10)))
        self.assertEqual(listed(around), ["11 13:00 to 11 17:00", "13 08:00 to 13 10:00"])

    def test_a_special_day_has_shifts_of_its_own(self) -> None:
        self.office.set_special(date(2024, 3, 12), NIGHT)
        self.office.set_special(date(2024, 3, 4), AFTERNOON, MORNING)
        self.office.set_special(date(2024, 3, 5))
        starts = [shift.start.hour for shift in self.office.shifts_on(date(2024, 3, 12))]
        self.assertEqual(starts, [22])
        self.assertEqual(len(self.office.shifts_on(date(2024, 3, 4))), 2)
        self.assertEqual(len(self.office.shifts_on(date(2024, 3, 5))), 0)

    def test_working_time_is_cut_to_the_window(self) -> None:
        window = Interval(march(4, 10), march(4, 14, 30))
        self.assertEqual(
            listed(self.office.working(window)), ["04 10:00 to 04 12:00", "04 13:00 to 04 14:30"]
        )
        self.assertEqual(listed(self.office.working(Interval(march(4, 12), march(4, 13)))), [])

    def test_working_time_between_two_moments_is_added_up(self) -> None:
        self.assertEqual(self.office.time_between(march(4, 9), march(5, 9)), timedelta(hours=8))
        self.assertEqual(self.office.time_between(march(8, 11), march(11, 9)), timedelta(hours=2))
        self.assertEqual(self.office.time_between(march(9), march(11)), timedelta(0))

    def test_working_time_backwards_is_negative(self) -> None:
        self.assertEqual(self.office.time_between(march(4, 10), march(4, 9)), timedelta(hours=-1))
        self.assertEqual(self.office.time_between(march(5, 9), march(4, 9)), timedelta(hours=-8))
        self.assertEqual(self.office.time_between(march(4, 9), march(4, 9)), timedelta(0))

    def test_work_goes_on_after_a_break(self) -> None:
        self.assertEqual(self.office.add_time(march(4, 9), 2 * HOUR), datetime(2024, 3, 4, 11))
        self.assertEqual(self.office.add_time(march(4, 11), 2 * HOUR), datetime(2024, 3, 4, 14))
        self.assertEqual(self.office.add_time(march(7, 16), 6 * HOUR), datetime(2024, 3, 11, 9))
        self.assertEqual(self.office.add_time(march(11, 16), 2 * HOUR), datetime(2024, 3, 13, 9))

    def test_work_that_fills_a_shift_ends_with_it(self) -> None:
        self.assertEqual(self.office.add_time(march(4, 9), 3 * HOUR), datetime(2024, 3, 4, 12))
        self.assertEqual(self.office.add_time(march(4, 9), 7 * HOUR), datetime(2024, 3, 4, 17))

    def test_no_work_leads_to_the_next_working_moment(self) -> None:
        self.assertEqual(self.office.add_time(march(4, 9), timedelta(0)), datetime(2024, 3, 4, 9))
        self.assertEqual(self.office.add_time(march(4, 12), timedelta(0)), datetime(2024, 3, 4, 13))
        self.assertEqual(self.office.add_time(march(9, 7), timedelta(0)), datetime(2024, 3, 11, 8))

    def test_negative_work_is_an_error(self) -> None:
        with self.assertRaises(CalendarError):
            self.office.add_time(march(4, 9), -HOUR)
        with self.assertRaises(CalendarError):
            self.office.add_time(march(4, 9), timedelta(microseconds=-1))

    def test_workdays_are_counted_in_both_directions(self) -> None:
        self.assertEqual(self.office.add_workdays(date(2024, 3, 4), 3), date(2024, 3, 7))
        self.assertEqual(self.office.add_workdays(date(2024, 3, 8), 2), date(2024, 3, 13))
        self.assertEqual(self.office.add_workdays(date(2024, 3, 13), -1), date(2024, 3, 11))
        self.assertEqual(self.office.add_workdays(date(2024, 3, 9), -2), date(2024, 3, 7))

    def test_no_workdays_lead_to_the_next_workday(self) -> None:
        self.assertEqual(self.office.add_workdays(date(2024, 3, 8), 0), date(2024, 3, 8))
        self.assertEqual(self.office.add_workdays(date(2024, 3, 9), 0), date(2024, 3, 11))
        self.assertEqual(self.office.add_workdays(date(2024, 3, 12), 0), date(2024, 3, 13))


class NightTest(unittest.TestCase):
    def setUp(self) -> None:
        self.nights = WorkCalendar({0: [NIGHT], 1: [NIGHT]})

    def test_the_rest_of_a_night_belongs_to_the_next_day(self) -> None:
        tuesday = self.nights.working(Interval(march(5), march(6)))
        self.assertEqual(listed(tuesday), ["05 00:00 to 05 06:00", "05 22:00 to 06 00:00"])
        wednesday = self.nights.working(Interval(march(6), march(6, 23)))
        self.assertEqual(listed(wednesday), ["06 00:00 to 06 06:00"])
        self.assertEqual(listed(self.nights.working(Interval(march(4), march(4, 22)))), [])

    def test_work_at_night_runs_past_midnight(self) -> None:
        self.assertEqual(self.nights.add_time(march(4, 23), 3 * HOUR), datetime(2024, 3, 5, 2))
        self.assertEqual(self.nights.add_time(march(5, 1), 6 * HOUR), datetime(2024, 3, 5, 23))
        self.assertEqual(self.nights.add_time(march(6, 5), 2 * HOUR), datetime(2024, 3, 11, 23))

    def test_shifts_that_touch_are_one(self) -> None:
        late = Shift(time(12), time(22))
        self.nights.set_special(date(2024, 3, 4), late, NIGHT)
        merged = self.nights.working(Interval(march(4), march(5, 20)))
        self.assertEqual(listed(merged), ["04 12:00 to 05 06:00"])
        self.assertEqual(self.nights.time_between(march(4), march(5, 20)), timedelta(hours=18))


class SearchTest(unittest.TestCase):
    def setUp(self) -> None:
        self.rare = WorkCalendar({})

    def test_without_work_there_is_no_answer(self) -> None:
        with self.assertRaises(CalendarError):
            self.rare.add_time(march(4), HOUR)
        with self.assertRaises(CalendarError):
            self.rare.add_workdays(date(2024, 3, 4), -1)
        self.rare.set_special(date(2024, 3, 5), MORNING)
        with self.assertRaises(CalendarError):
            self.rare.add_time(march(4), 5 * HOUR)
        with self.assertRaises(CalendarError):
            self.rare.add_workdays(date(2024, 3, 4), 2)

    def test_workdays_are_found_up_to_four_hundred_days_away(self) -> None:
        self.rare.set_special(date(2025, 4, 8), MORNING)
        self.assertEqual(self.rare.add_workdays(date(2024, 3, 4), 1), date(2025, 4, 8))
        with self.assertRaises(CalendarError):
            self.rare.add_workdays(date(2024, 3, 3), 1)
        self.assertEqual(self.rare.add_workdays(date(2026, 5, 13), -1), date(2025, 4, 8))

    def test_work_is_found_up_to_four_hundred_days_away(self) -> None:
        self.rare.set_special(date(2025, 4, 8), MORNING)
        self.assertEqual(self.rare.add_time(march(4, 12), 4 * HOUR), datetime(2025, 4, 8, 12))
        with self.assertRaises(CalendarError):
            self.rare.add_time(march(4, 11), 4 * HOUR)
