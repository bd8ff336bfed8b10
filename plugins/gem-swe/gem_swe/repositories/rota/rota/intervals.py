"""Half-open intervals of time, and sets of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from rota.errors import IntervalError

NO_TIME = timedelta(0)


@dataclass(frozen=True, order=True)
class Interval:
    """The moments from `start` on and before `end`. Never empty: otherwise IntervalError."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise IntervalError(f"{self.end} is not after {self.start}")

    @classmethod
    def lasting(cls, start: datetime, length: timedelta) -> "Interval":
        """The interval of a given length from `start` on."""
        return cls(start, start + length)

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def overlaps(self, other: "Interval") -> bool:
        """Whether any moment is inside both; false for neighbours that only share a border."""
        return self.start < other.end and other.start < self.end

    def common(self, other: "Interval") -> "Interval | None":
        """The part inside both, or None if they do not overlap."""
        if not self.overlaps(other):
            return None
        return Interval(max(self.start, other.start), min(self.end, other.end))

    def widened(self, before: timedelta, after: timedelta) -> "Interval":
        """The interval that starts earlier by `before` and ends later by `after`."""
        return Interval(self.start - before, self.end + after)


class IntervalSet:
    """Moments of time, held as intervals in order.

    Intervals that overlap or share a border are merged into one.
    """

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self._spans: list[Interval] = []
        for interval in sorted(intervals):
            if self._spans and interval.start <= self._spans[-1].end:
                last = self._spans.pop()
                interval = Interval(last.start, max(last.end, interval.end))
            self._spans.append(interval)

    def __iter__(self) -> Iterator[Interval]:
        return iter(self._spans)

    @property
    def total(self) -> timedelta:
        """The length of all intervals together."""
        return sum((span.length for span in self), NO_TIME)

    def union(self, other: "IntervalSet") -> "IntervalSet":
        """The moments in this set, in the other, or in both."""
        return IntervalSet([*self, *other])

    def intersection(self, other: "IntervalSet") -> "IntervalSet":
        """The moments in both sets."""
        parts = (mine.common(theirs) for mine in self for theirs in other)
        return IntervalSet(part for part in parts if part is not None)

    def difference(self, other: "IntervalSet") -> "IntervalSet":
        """The moments in this set that are not in the other."""
        return IntervalSet(part for span in self for part in other.gaps(span))

    def gaps(self, window: Interval) -> Iterator[Interval]:
        """The parts of `window` that are not in the set, in order."""
        cursor = window.start
        for span in self:
            if not span.overlaps(window):
                continue
            if cursor < span.start:
                yield Interval(cursor, span.start)
            cursor = span.end
        if cursor < window.end:
            yield Interval(cursor, window.end)
