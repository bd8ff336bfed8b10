import unittest
from datetime import datetime, timedelta

from rota import Interval, Roster, RotaError
from rota.errors import RosterError

HOUR = timedelta(hours=1)


def shift(day: int, start: int = 8, length: int = 8) -> Interval:
    return Interval.lasting(datetime(2024, 3, day, start), length * HOUR)


def days(shifts: list[Interval]) -> list[int]:
    return [one.start.day for one in shifts]


class TurnTest(unittest.TestCase):
    def setUp(self) -> None:
        self.roster = Roster()
        for name in ("ann", "bob", "cem"):
            self.roster.join(name)

    def test_shifts_go_round_in_the_order_of_joining(self) -> None:
        taken = [self.roster.assign(shift(day)) for day in (4, 5, 6, 7)]
        self.assertEqual(taken, ["ann", "bob", "cem", "ann"])
        self.assertEqual(self.roster.turn, "bob")
        self.assertEqual(days(self.roster.shifts_of("ann")), [4, 7])
        self.assertEqual(days(self.roster.shifts_of("cem")), [6])

    def test_somebody_who_cannot_take_a_shift_is_passed_over(self) -> None:
        self.roster.join("dan", limit=1)
        taken = [self.roster.assign(shift(day)) for day in (4, 5, 6, 7, 8, 9, 10)]
        self.assertEqual(taken, ["ann", "bob", "cem", "dan", "ann", "bob", "cem"])
        self.assertEqual(self.roster.turn, "dan")
        self.assertEqual(self.roster.assign(shift(10, 20, 2)), "ann")
        self.assertEqual(self.roster.turn, "bob")

    def test_the_turn_stays_if_nobody_can_take_the_shift(self) -> None:
        taken = [self.roster.assign(shift(4)) for _ in range(4)]
        self.assertEqual(taken, ["ann", "bob", "cem", None])
        self.assertEqual(self.roster.turn, "ann")
        self.assertEqual(self.roster.assign(shift(5)), "ann")

    def test_an_empty_roster_takes_no_shifts(self) -> None:
        self.assertIsNone(Roster().turn)
        self.assertIsNone(Roster().assign(shift(4)))

    def test_shifts_are_listed_by_time(self) -> None:
        alone = Roster()
        alone.join("eve")
        taken = [alone.assign(shift(day)) for day in (6, 4, 5)]
        self.assertEqual(taken, ["eve", "eve", "eve"])
        self.assertEqual(days(alone.shifts_of("eve")), [4, 5, 6])
        self.assertEqual(days(alone.leave("eve")), [4, 5, 6])


class LimitTest(unittest.TestCase):
    def test_a_person_works_five_shifts_a_week_by_default(self) -> None:
        roster = Roster()
        roster.join("ann")
        taken = [roster.assign(shift(day)) for day in range(4, 11)]
        self.assertEqual(taken, ["ann"] * 5 + [None, None])
        self.assertEqual(roster.assign(shift(11)), "ann")
        self.assertEqual(days(roster.shifts_of("ann")), [4, 5, 6, 7, 8, 11])

    def test_a_week_goes_from_monday_to_sunday(self) -> None:
        roster = Roster(limit=1)
        roster.join("ann")
        taken = [roster.assign(shift(day)) for day in (10, 11, 4, 17, 18)]
        self.assertEqual(taken, ["ann", "ann", None, None, "ann"])
        self.assertEqual(days(roster.shifts_of("ann")), [10, 11, 18])

    def test_a_night_counts_for_the_week_in_which_it_starts(self) -> None:
        roster = Roster(limit=1, rest=HOUR)
        roster.join("ann")
        self.assertEqual(roster.assign(shift(10, 22)), "ann")
        self.assertEqual(roster.assign(shift(11, 8)), "ann")
        self.assertIsNone(roster.assign(shift(10, 2)))

    def test_a_person_may_have_another_limit(self) -> None:
        roster = Roster(limit=2)
        roster.join("ann")
        roster.join("bob", limit=3)
        roster.join("cem", limit=0)
        taken = [roster.assign(shift(day)) for day in range(4, 10)]
        self.assertEqual(taken, ["ann", "bob", "ann", "bob", "bob", None])
        self.assertEqual(days(roster.shifts_of("bob")), [5, 7, 8])
        self.assertEqual(days(roster.shifts_of("cem")), [])


class RestTest(unittest.TestCase):
    def test_eleven_hours_lie_between_two_shifts_by_default(self) -> None:
        roster = Roster()
        roster.join("ann")
        self.assertEqual(roster.assign(shift(4, 8, 8)), "ann")
        self.assertIsNone(roster.assign(shift(5, 2, 4)))
        self.assertEqual(roster.assign(shift(5, 3, 4)), "ann")

    def test_the_rest_counts_before_a_shift_too(self) -> None:
        roster = Roster(rest=6 * HOUR)
        roster.join("ann")
        self.assertEqual(roster.assign(shift(4, 12, 4)), "ann")
        self.assertIsNone(roster.assign(shift(4, 4, 3)))
        self.assertEqual(roster.assign(shift(4, 3, 3)), "ann")
        self.assertIsNone(roster.assign(shift(4, 13, 1)))

    def test_a_person_may_have_another_rest(self) -> None:
        roster = Roster(rest=2 * HOUR)
        roster.join("ann", rest=24 * HOUR)
        roster.join("bob", rest=timedelta(0))
        roster.join("cem")
        taken = [roster.assign(shift(4, start, 1)) for start in (8, 9, 10, 11, 12)]
        self.assertEqual(taken, ["ann", "bob", "cem", "bob", "bob"])
        self.assertEqual(roster.assign(shift(4, 13, 1)), "cem")
        self.assertIsNone(Roster().turn)


class MembersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.roster = Roster()
        for name in ("ann", "bob", "cem"):
            self.roster.join(name)

    def test_a_name_can_be_taken_once(self) -> None:
        with self.assertRaises(RosterError):
            self.roster.join("bob")
        with self.assertRaises(RotaError):
            self.roster.join("ann", limit=9)

    def test_a_name_has_to_be_known(self) -> None:
        with self.assertRaises(RosterError):
            self.roster.shifts_of("zoe")
        with self.assertRaises(RosterError):
            self.roster.leave("Ann")

    def test_the_shifts_of_one_who_leaves_are_returned(self) -> None:
        taken = [self.roster.assign(shift(day)) for day in (4, 5, 6, 7, 8)]
        self.assertEqual(taken, ["ann", "bob", "cem", "ann", "bob"])
        self.assertEqual(days(self.roster.leave("bob")), [5, 8])
        self.assertEqual(self.roster.turn, "cem")
        with self.assertRaises(RosterError):
            self.roster.shifts_of("bob")

    def test_the_turn_stays_when_somebody_else_leaves(self) -> None:
        self.assertEqual(self.roster.assign(shift(4)), "ann")
        self.assertEqual(days(self.roster.leave("ann")), [4])
        self.assertEqual(self.roster.turn, "bob")
        self.assertEqual(days(self.roster.leave("cem")), [])
        self.assertEqual(self.roster.turn, "bob")

    def test_the_turn_of_one_who_leaves_goes_to_the_next(self) -> None:
        self.assertEqual(days(self.roster.leave("ann")), [])
        self.assertEqual(self.roster.turn, "bob")
        self.assertEqual(self.roster.assign(shift(4)), "bob")
        self.assertEqual(days(self.roster.leave("cem")), [])
        self.assertEqual(self.roster.turn, "bob")

    def test_the_circle_closes_when_its_end_leaves(self) -> None:
        taken = [self.roster.assign(shift(day)) for day in (4, 5)]
        self.assertEqual(taken, ["ann", "bob"])
        self.assertEqual(days(self.roster.leave("cem")), [])
        self.assertEqual(self.roster.turn, "ann")

    def test_somebody_who_joins_comes_last(self) -> None:
        self.assertEqual(self.roster.assign(shift(4)), "ann")
        self.roster.join("dan")
        taken = [self.roster.assign(shift(day)) for day in (5, 6, 7, 8)]
        self.assertEqual(taken, ["bob", "cem", "dan", "ann"])
        self.assertEqual(days(self.roster.leave("dan")), [7])
        self.assertEqual(self.roster.turn, "bob")
