import unittest
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

from rota import Agenda, Interval, Rule, Shift, SlotFinder, WorkCalendar, common_free
from rota.errors import BookingError
from rota.slots import round_up

HOUR = timedelta(hours=1)
QUARTER = timedelta(minutes=15)


def at(hour: int, minute: int = 0, day: int = 4) -> datetime:
    return datetime(2024, 3, day, hour, minute)


def hours(start: int, end: int, day: int = 4) -> Interval:
    return Interval(at(start, day=day), at(end, day=day))


def shown(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.start:%d %H:%M}-{interval.end:%H:%M}"


def listed(intervals: Iterable[Interval]) -> list[str]:
    return [f"{interval.start:%H:%M}-{interval.end:%H:%M}" for interval in intervals]


def office() -> WorkCalendar:
    return WorkCalendar({weekday: [Shift(time(9), time(17))] for weekday in range(5)})


class AgendaTest(unittest.TestCase):
    def setUp(self) -> None:
        self.plain = Agenda(office())
        self.careful = Agenda(office(), pause=QUARTER)

    def test_working_time_is_free_until_booked(self) -> None:
        self.assertEqual(listed(self.plain.free(hours(0, 20))), ["09:00-17:00"])
        self.plain.book(hours(10, 11))
        self.assertEqual(listed(self.plain.free(hours(0, 20))), ["09:00-10:00", "11:00-17:00"])
        self.plain.book(hours(16, 17))
        self.assertEqual(listed(self.plain.free(hours(12, 20))), ["12:00-16:00"])

    def test_a_booked_time_cannot_be_booked_again(self) -> None:
        self.plain.book(hours(10, 12))
        with self.assertRaises(BookingError):
            self.plain.book(hours(11, 13))
        with self.assertRaises(BookingError):
            self.plain.book(hours(9, 13))
        self.assertEqual(listed(self.plain.bookings), ["10:00-12:00"])

    def test_neighbours_can_be_booked_without_a_pause(self) -> None:
        self.plain.book(hours(10, 11))
        self.plain.book(hours(11, 12))
        self.plain.book(hours(9, 10))
        self.assertEqual(listed(self.plain.bookings), ["10:00-11:00", "11:00-12:00", "09:00-10:00"])
        self.assertEqual(listed(self.plain.free(hours(9, 13))), ["12:00-13:00"])

    def test_only_working_time_can_be_booked(self) -> None:
        with self.assertRaises(BookingError):
            self.plain.book(hours(8, 10))
        with self.assertRaises(BookingError):
            self.plain.book(hours(16, 18))
        with self.assertRaises(BookingError):
            self.plain.book(hours(10, 11, day=9))
        self.plain.book(hours(9, 17))
        self.assertEqual(listed(self.plain.bookings), ["09:00-17:00"])

    def test_a_pause_is_kept_before_and_after_a_booking(self) -> None:
        self.careful.book(hours(10, 11))
        self.assertEqual(listed(self.careful.free(hours(9, 17))), ["09:00-09:45", "11:15-17:00"])
        with self.assertRaises(BookingError):
            self.careful.book(hours(11, 12))
        with self.assertRaises(BookingError):
            self.careful.book(Interval(at(9), at(9, 46)))
        self.careful.book(Interval(at(11, 15), at(12)))
        self.assertEqual(listed(self.careful.free(hours(9, 17))), ["09:00-09:45", "12:15-17:00"])

    def test_a_rule_books_its_days(self) -> None:
        refused = self.plain.repeat(Rule("day", interval=2), hours(9, 10), date(2024, 3, 8))
        self.assertEqual(refused, [])
        self.assertEqual(
            [shown(booking) for booking in self.plain.bookings],
            ["04 09:00-10:00", "06 09:00-10:00", "08 09:00-10:00"],
        )

    def test_days_that_are_not_free_are_refused(self) -> None:
        self.plain.book(hours(13, 14, day=5))
        weekend = self.plain.repeat(Rule("day"), hours(12, 14), date(2024, 3, 11))
        self.assertEqual(weekend, [date(2024, 3, 5), date(2024, 3, 9), date(2024, 3, 10)])
        again = self.plain.repeat(Rule("week", (0, 1)), hours(13, 15), date(2024, 3, 11))
        self.assertEqual(again, [date(2024, 3, 4), date(2024, 3, 5), date(2024, 3, 11)])
        self.assertEqual(len(self.plain.bookings), 6)


class CommonFreeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.people = [Agenda(office()), Agenda(office()), Agenda(office())]
        self.people[0].book(hours(9, 11))
        self.people[1].book(hours(10, 12))
        self.people[2].book(hours(15, 16))

    def test_all_have_to_be_free_by_default(self) -> None:
        free = common_free(self.people, hours(0, 23))
        self.assertEqual(listed(free), ["12:00-15:00", "16:00-17:00"])
        self.assertEqual(listed(common_free(self.people[:2], hours(0, 23))), ["12:00-17:00"])
        self.assertEqual(listed(common_free(self.people, hours(13, 14), 3)), ["13:00-14:00"])

    def test_some_people_may_be_enough(self) -> None:
        two = common_free(self.people, hours(0, 23), 2)
        self.assertEqual(listed(two), ["09:00-10:00", "11:00-17:00"])
        one = common_free(self.people, hours(0, 23), needed=1)
        self.assertEqual(listed(one), ["09:00-17:00"])

    def test_people_may_relieve_each_other(self) -> None:
        self.people[0].book(hours(12, 14))
        self.people[1].book(hours(14, 17))
        pair = self.people[:2]
        self.assertEqual(listed(common_free(pair, hours(12, 17), 1)), ["12:00-17:00"])
        self.assertEqual(listed(common_free(pair, hours(12, 17), 2)), [])

    def test_the_number_of_people_has_to_be_possible(self) -> None:
        with self.assertRaises(BookingError):
            common_free(self.people, hours(9, 17), 4)
        with self.assertRaises(BookingError):
            common_free(self.people, hours(9, 17), -1)
        with self.assertRaises(BookingError):
            common_free([], hours(9, 17))


class RoundUpTest(unittest.TestCase):
    def test_a_multiple_of_the_step_stays(self) -> None:
        self.assertEqual(round_up(at(9, 30), QUARTER), datetime(2024, 3, 4, 9, 30))
        self.assertEqual(round_up(at(0), HOUR), datetime(2024, 3, 4))

    def test_other_moments_move_to_the_next_multiple(self) -> None:
        self.assertEqual(round_up(at(9, 31), QUARTER), datetime(2024, 3, 4, 9, 45))
        self.assertEqual(round_up(at(9, 1), 2 * HOUR), datetime(2024, 3, 4, 10))
        self.assertEqual(round_up(at(23, 50), HOUR), datetime(2024, 3, 5))


class SlotFinderTest(unittest.TestCase):
    def setUp(self) -> None:
        self.first = Agenda(office())
        self.second = Agenda(office())
        self.first.book(Interval(at(9, 20), at(10, 40)))
        self.second.book(hours(12, 17))

    def test_slots_follow_each_other(self) -> None:
        finder = SlotFinder([self.first, self.second], hours(8, 18), timedelta(minutes=30))
        self.assertEqual(shown(finder.next()), "04 10:45-11:15")
        self.assertEqual(shown(finder.next()), "04 11:15-11:45")
        self.assertIsNone(finder.next())

    def test_a_slot_may_fill_the_free_time(self) -> None:
        finder = SlotFinder([self.first], Interval(at(9), at(12, 15)), timedelta(minutes=90))
        self.assertEqual(shown(finder.next()), "04 10:45-12:15")
        self.assertIsNone(finder.next())
        short = SlotFinder([self.first], Interval(at(9), at(12, 14)), timedelta(minutes=90))
        self.assertIsNone(short.next())

    def test_slots_start_at_multiples_of_the_step(self) -> None:
        finder = SlotFinder(
            [self.first], hours(8, 13), timedelta(minutes=20), timedelta(minutes=30)
        )
        self.assertEqual(
            [shown(finder.next()) for _ in range(3)],
            ["04 09:00-09:20", "04 11:00-11:20", "04 11:30-11:50"],
        )
        fine = SlotFinder([self.first], hours(10, 13), HOUR, step=timedelta(minutes=10))
        self.assertEqual(shown(fine.next()), "04 10:40-11:40")

    def test_slots_go_on_with_the_next_working_day(self) -> None:
        finder = SlotFinder([self.second], Interval(at(9), at(17, day=5)), 2 * HOUR)
        self.assertEqual(shown(finder.next()), "04 09:00-11:00")
        self.assertEqual(shown(finder.next()), "05 09:00-11:00")
        self.assertEqual(shown(finder.next()), "05 11:00-13:00")

    def test_not_everybody_needs_to_be_there(self) -> None:
        people = [self.first, self.second]
        finder = SlotFinder(people, hours(9, 17), 4 * HOUR, needed=1)
        self.assertEqual(
            [shown(finder.next()) for _ in range(2)], ["04 09:00-13:00", "04 13:00-17:00"]
        )
        self.assertIsNone(SlotFinder(people, hours(9, 17), 4 * HOUR).next())

    def test_bookings_made_meanwhile_are_respected(self) -> None:
        finder = SlotFinder([self.second], hours(9, 17), HOUR)
        self.assertEqual(shown(finder.next()), "04 09:00-10:00")
        self.second.book(Interval(at(10), at(10, 50)))
        self.assertEqual(shown(finder.next()), "04 11:00-12:00")
        self.assertIsNone(finder.next())

    def test_the_cursor_stays_at_the_end_of_the_last_slot(self) -> None:
        finder = SlotFinder([self.second], hours(9, 17), 2 * HOUR)
        self.assertIsNone(finder.cursor)
        self.assertEqual(shown(finder.next()), "04 09:00-11:00")
        self.assertEqual(finder.cursor, datetime(2024, 3, 4, 11))
        self.assertIsNone(finder.next())
        self.assertEqual(finder.cursor, datetime(2024, 3, 4, 11))

    def test_the_cursor_can_be_set(self) -> None:
        finder = SlotFinder([self.second], hours(9, 17), HOUR)
        finder.cursor = at(10, 20)
        self.assertEqual(shown(finder.next()), "04 10:30-11:30")
        finder.cursor = None
        self.assertEqual(shown(finder.next()), "04 09:00-10:00")
