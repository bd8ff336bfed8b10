"""Working calendars: shifts of the week, holidays and special days."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from rota.dates import ONE_DAY
from rota.errors import CalendarError
from rota.intervals import NO_TIME, Interval, IntervalSet

SEARCH_DAYS = 400


@dataclass(frozen=True)
class Shift:
    """Hours of work on a day. A shift whose end is not after its start ends on the next day."""

    start: time
    end: time

    def on(self, day: date) -> Interval:
        """The interval of the shift that starts on `day`."""
        last = day if self.end > self.start else day + ONE_DAY
        return Interval(datetime.combine(day, self.start), datetime.combine(last, self.end))


class WorkCalendar:
    """When work is done: the same shifts each week, but for holidays and special days."""

    def __init__(self, week: Mapping[int, Sequence[Shift]], holidays: Iterable[date] = ()) -> None:
        self._week = dict(week)
        self._special: dict[date, Sequence[Shift]] = {day: () for day in holidays}

    def set_special(self, day: date, *shifts: Shift) -> None:
        """Give `day` these shifts in place of those of its weekday or of a holiday."""
        self._special[day] = shifts

    def shifts_on(self, day: date) -> Sequence[Shift]:
        """The shifts that start on `day`; none on a holiday."""
        return self._special.get(day, self._week.get(day.weekday(), ()))

    def working(self, window: Interval) -> IntervalSet:
        """The working time inside of `window`, with the rest of a night shift before it."""
        first = window.start.date() - ONE_DAY
        count = (window.end.date() - first).days + 1
        days = [first + number * ONE_DAY for number in range(count)]
        shifts = IntervalSet(shift.on(day) for day in days for shift in self.shifts_on(day))
        return shifts.intersection(IntervalSet([window]))

    def time_between(self, start: datetime, end: datetime) -> timedelta:
        """How much working time there is from `start` to `end`; negative if `end` is first."""
        if end <= start:
            return NO_TIME if end == start else -self.time_between(end, start)
        return self.working(Interval(start, end)).total

    def add_time(self, moment: datetime, work: timedelta) -> datetime:
        """The earliest moment at which `work` has been done since `moment`.

        Where the work ends with a shift, this is the end of the shift. Without any work it is
        `moment` itself during working time, or else the next start of work. Raises
        CalendarError for a negative `work`, and if SEARCH_DAYS days are not enough.
        """
        if work < NO_TIME:
            raise CalendarError("work cannot be negative")
        for span in self.working(Interval.lasting(moment, SEARCH_DAYS * ONE_DAY)):
            if work <= span.length:
                return span.start + work
            work -= span.length
        raise CalendarError(f"not enough working time after {moment}")

    def add_workdays(self, day: date, count: int) -> date:
        """The `count`-th workday after `day`, or before it if `count` is negative.

        For 0 it is `day` itself if a shift starts on it, or else the next workday. Raises
        CalendarError if it is more than SEARCH_DAYS days away.
        """
        if count == 0:
            return self.add_workdays(day - ONE_DAY, 1)
        step = ONE_DAY if count > 0 else -ONE_DAY
        missing = abs(count)
        for distance in range(1, SEARCH_DAYS + 1):
            if self.shifts_on(day + distance * step):
                missing -= 1
            if missing == 0:
                return day + distance * step
        raise CalendarError(f"not enough workdays around {day}")
