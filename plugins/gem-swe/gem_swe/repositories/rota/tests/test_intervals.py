import unittest
from collections.abc import Iterable
from datetime import datetime, timedelta

from rota import Interval, IntervalSet
from rota.errors import IntervalError

HOUR = timedelta(hours=1)


def at(hour: int) -> datetime:
    return datetime(2024, 3, 4, hour)


def hours(start: int, end: int) -> Interval:
    return Interval(at(start), at(end))


def bounds(interval: Interval | None) -> tuple[int, int] | None:
    return None if interval is None else (interval.start.hour, interval.end.hour)


def listed(intervals: Iterable[Interval]) -> list[tuple[int, int]]:
    return [(interval.start.hour, interval.end.hour) for interval in intervals]


class IntervalTest(unittest.TestCase):
    def test_an_interval_is_never_empty(self) -> None:
        with self.assertRaises(IntervalError):
            hours(9, 9)
        with self.assertRaises(IntervalError):
            hours(10, 9)
        with self.assertRaises(IntervalError):
            Interval.lasting(at(9), timedelta(0))

    def test_a_length_gives_the_end(self) -> None:
        self.assertEqual(Interval.lasting(at(9), 3 * HOUR).end, datetime(2024, 3, 4, 12))
        self.assertEqual(Interval.lasting(at(22), 3 * HOUR).end, datetime(2024, 3, 5, 1))
        self.assertEqual(hours(9, 17).length, timedelta(hours=8))

    def test_neighbours_do_not_overlap(self) -> None:
        self.assertFalse(hours(9, 11).overlaps(hours(11, 12)))
        self.assertFalse(hours(11, 12).overlaps(hours(9, 11)))
        self.assertTrue(hours(9, 12).overlaps(hours(11, 13)))
        self.assertTrue(hours(11, 13).overlaps(hours(9, 12)))

    def test_an_interval_overlaps_one_inside_it(self) -> None:
        self.assertTrue(hours(9, 17).overlaps(hours(12, 13)))
        self.assertTrue(hours(12, 13).overlaps(hours(9, 17)))
        self.assertFalse(hours(9, 10).overlaps(hours(12, 13)))

    def test_the_common_part_is_inside_both(self) -> None:
        self.assertEqual(bounds(hours(9, 12).common(hours(10, 14))), (10, 12))
        self.assertEqual(bounds(hours(10, 14).common(hours(9, 12))), (10, 12))
        self.assertEqual(bounds(hours(8, 18).common(hours(10, 11))), (10, 11))
        self.assertIsNone(hours(9, 10).common(hours(10, 14)))

    def test_widening_moves_both_borders_outwards(self) -> None:
        self.assertEqual(bounds(hours(9, 12).widened(HOUR, 2 * HOUR)), (8, 14))
        self.assertEqual(bounds(hours(9, 12).widened(3 * HOUR, 0 * HOUR)), (6, 12))

    def test_intervals_sort_by_start_and_then_by_end(self) -> None:
        mixed = [hours(10, 11), hours(9, 12), hours(9, 10)]
        self.assertEqual(listed(sorted(mixed)), [(9, 10), (9, 12), (10, 11)])
        again = [hours(5, 9), hours(4, 6), hours(4, 5)]
        self.assertEqual(listed(sorted(again)), [(4, 5), (4, 6), (5, 9)])


class IntervalSetTest(unittest.TestCase):
    def setUp(self) -> None:
        self.day = IntervalSet([hours(13, 17), hours(8, 12)])

    def test_intervals_are_sorted(self) -> None:
        self.assertEqual(listed(self.day), [(8, 12), (13, 17)])
        self.assertEqual(listed(IntervalSet([hours(5, 6), hours(1, 2)])), [(1, 2), (5, 6)])
        self.assertEqual(listed(IntervalSet()), [])

    def test_intervals_that_overlap_or_touch_are_merged(self) -> None:
        self.assertEqual(listed(IntervalSet([hours(8, 10), hours(9, 12)])), [(8, 12)])
        self.assertEqual(listed(IntervalSet([hours(10, 12), hours(8, 10)])), [(8, 12)])
        later = [hours(8, 9), hours(13, 15), hours(12, 14)]
        self.assertEqual(listed(IntervalSet(later)), [(8, 9), (12, 15)])
        nested = [hours(8, 12), hours(9, 10), hours(11, 13)]
        self.assertEqual(listed(IntervalSet(nested)), [(8, 13)])

    def test_an_inner_interval_does_not_shorten_the_outer_one(self) -> None:
        self.assertEqual(listed(IntervalSet([hours(8, 12), hours(9, 10)])), [(8, 12)])
        again = [hours(8, 12), hours(8, 9), hours(14, 15)]
        self.assertEqual(listed(IntervalSet(again)), [(8, 12), (14, 15)])

    def test_the_total_counts_shared_time_once(self) -> None:
        self.assertEqual(self.day.total, timedelta(hours=8))
        self.assertEqual(IntervalSet([hours(8, 11), hours(9, 12)]).total, timedelta(hours=4))
        self.assertEqual(IntervalSet().total, timedelta(0))

    def test_a_union_has_the_moments_of_both(self) -> None:
        noon = IntervalSet([hours(12, 13)])
        self.assertEqual(listed(self.day.union(noon)), [(8, 17)])
        evening = IntervalSet([hours(20, 22)])
        self.assertEqual(listed(evening.union(self.day)), [(8, 12), (13, 17), (20, 22)])
        self.assertEqual(listed(self.day), [(8, 12), (13, 17)])

    def test_an_intersection_has_the_shared_moments(self) -> None:
        middle = IntervalSet([hours(11, 14), hours(16, 20)])
        self.assertEqual(listed(self.day.intersection(middle)), [(11, 12), (13, 14), (16, 17)])
        self.assertEqual(listed(self.day.intersection(IntervalSet([hours(12, 13)]))), [])

    def test_a_difference_lacks_the_moments_of_the_other(self) -> None:
        middle = IntervalSet([hours(9, 10), hours(11, 14)])
        self.assertEqual(listed(self.day.difference(middle)), [(8, 9), (10, 11), (14, 17)])
        self.assertEqual(listed(middle.difference(self.day)), [(12, 13)])
        self.assertEqual(listed(self.day.difference(self.day)), [])

    def test_the_gaps_of_a_window_include_its_ends(self) -> None:
        self.assertEqual(listed(self.day.gaps(hours(6, 20))), [(6, 8), (12, 13), (17, 20)])
        self.assertEqual(listed(self.day.gaps(hours(8, 17))), [(12, 13)])
        self.assertEqual(listed(self.day.gaps(hours(9, 16))), [(12, 13)])
        self.assertEqual(listed(self.day.gaps(hours(18, 20))), [(18, 20)])

    def test_a_covered_window_has_no_gaps(self) -> None:
        self.assertEqual(listed(self.day.gaps(hours(8, 12))), [])
        self.assertEqual(listed(self.day.gaps(hours(14, 15))), [])
        self.assertEqual(listed(IntervalSet().gaps(hours(14, 15))), [(14, 15)])
