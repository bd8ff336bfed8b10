"""Agendas of people, and the slots in which several of them are free."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from rota.errors import BookingError
from rota.intervals import NO_TIME, Interval, IntervalSet
from rota.rules import Rule
from rota.workdays import WorkCalendar

QUARTER = timedelta(minutes=15)


@dataclass
class Agenda:
    """The bookings of one person during working time, with at least `pause` in between."""

    calendar: WorkCalendar
    pause: timedelta = NO_TIME
    bookings: list[Interval] = field(default_factory=list)

    def free(self, window: Interval) -> IntervalSet:
        """The working time in `window` but for bookings and the pauses before and after."""
        kept = (booking.widened(self.pause, self.pause) for booking in self.bookings)
        return self.calendar.working(window).difference(IntervalSet(kept))

    def book(self, interval: Interval) -> None:
        """Add a booking; raises BookingError if any of it is not free."""
        if list(self.free(interval)) != [interval]:
            raise BookingError(f"not free from {interval.start} to {interval.end}")
        self.bookings.append(interval)

    def repeat(self, rule: Rule, first: Interval, last: date) -> list[date]:
        """Book the hours of `first` on the days of a rule, from its own day up to `last`.

        Days on which the person is not free are passed over, and returned in order.
        """
        refused = []
        for day in rule.occurrences(first.start.date(), last):
            start = datetime.combine(day, first.start.time())
            try:
                self.book(Interval.lasting(start, first.length))
            except BookingError:
                refused.append(day)
        return refused


def common_free(people: Sequence[Agenda], window: Interval, needed: int = 0) -> IntervalSet:
    """The time in `window` when at least `needed` of the people are free; 0 stands for all.

    Raises BookingError if `needed` is negative or above the number of people, or for nobody.
    """
    needed = needed or len(people)
    if not 1 <= needed <= len(people):
        raise BookingError(f"cannot have {needed} of {len(people)} people")
    changes: list[tuple[datetime, int]] = []
    for agenda in people:
        for span in agenda.free(window):
            changes += [(span.start, 1), (span.end, -1)]
    found = []
    present = 0
    opened = window.start
    for moment, change in sorted(changes):
        present += change
        if change == 1 and present == needed:
            opened = moment
        elif change == -1 and present == needed - 1:
            found.append(Interval(opened, moment))
    return IntervalSet(found)


def round_up(moment: datetime, step: timedelta) -> datetime:
    """The first moment not before `moment` that is a multiple of `step` after midnight."""
    midnight = datetime.combine(moment.date(), time.min)
    return midnight - (midnight - moment) // step * step


@dataclass
class SlotFinder:
    """Goes through the slots of one length in `window` in which enough people are free.

    Slots start at multiples of `step` after midnight and do not overlap. `cursor` is the end of
    the slot found last, or None to begin at the start of the window.
    """

    people: Sequence[Agenda]
    window: Interval
    length: timedelta
    step: timedelta = QUARTER
    needed: int = 0
    cursor: datetime | None = None

    def next(self) -> Interval | None:
        """The earliest slot from the cursor on, or None (and the cursor stays) if there is none.

        Bookings made since the last slot are respected.
        """
        for span in common_free(self.people, self.window, self.needed):
            start = round_up(max(span.start, self.cursor or span.start), self.step)
            if start + self.length <= span.end:
                self.cursor = start + self.length
                return Interval(start, self.cursor)
        return None
