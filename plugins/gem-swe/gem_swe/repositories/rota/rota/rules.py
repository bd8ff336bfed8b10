"""Recurrence rules: which days an event falls on."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import count

from rota.dates import ONE_DAY, month_day, month_start, nth_weekday, week_start
from rota.errors import RuleError


@dataclass(frozen=True)
class Rule:
    """Every `interval`-th "day", "week" or "month" (the unit), up to an end.

    A weekly rule falls on the weekdays in `days`, from 0 (Monday) to 6; weeks begin on Monday.
    A monthly rule falls on the days of the month in `days`, -1 being the last; or with `nth`,
    on the nth of each weekday in `days`, where -1 is the last. It passes over days which a
    month does not have. The rule ends after the day `until`, which may occur itself, or once
    it has met `count` days. Days in `exceptions` are left out, though they use up the count.

    Raises RuleError for another unit, an interval or count below 1, both `until` and `count`,
    a weekly or monthly rule without days, and weekdays outside of 0 to 6.
    """

    unit: str
    days: tuple[int, ...] = ()
    nth: int | None = None
    interval: int = 1
    until: date | None = None
    count: int | None = None
    exceptions: tuple[date, ...] = ()

    def __post_init__(self) -> None:
        if self.unit not in ("day", "week", "month"):
            raise RuleError(f"unknown unit {self.unit!r}")
        if self.interval < 1:
            raise RuleError("the interval must be at least 1")
        if self.count is not None and (self.count < 1 or self.until is not None):
            raise RuleError("the count must be at least 1, and excludes a last day")
        if self.unit != "day" and not self.days:
            raise RuleError("the rule needs days")
        on_weekdays = self.unit == "week" or self.nth is not None
        if on_weekdays and any(not 0 <= day <= 6 for day in self.days):
            raise RuleError("weekdays go from 0 to 6")

    def occurrences(self, start: date, last: date) -> Iterator[date]:
        """The days of the rule from `start` to `last`, both included, in order and each once.

        Periods and the count begin at `start`, which occurs only if it fits the rule.
        """
        if self.until is not None:
            last = min(last, self.until)
        for number, day in enumerate(self._matches(start, last)):
            if number == self.count:
                return
            if day not in self.exceptions:
                yield day

    def _matches(self, start: date, last: date) -> Iterator[date]:
        for number in count(step=self.interval):
            first = self._period(start, number)
            if first > last:
                return
            found = sorted(set(self._days_in(first)))
            yield from (day for day in found if start <= day <= last)

    def _period(self, start: date, number: int) -> date:
        if self.unit == "day":
            return start + number * ONE_DAY
        if self.unit == "week":
            return week_start(start) + 7 * number * ONE_DAY
        return month_start(start, number)

    def _days_in(self, first: date) -> list[date]:
        if self.unit == "day":
            return [first]
        if self.unit == "week":
            return [first + weekday * ONE_DAY for weekday in self.days]
        if self.nth is None:
            found = [month_day(first, number) for number in self.days]
        else:
            found = [nth_weekday(first, weekday, self.nth) for weekday in self.days]
        return [day for day in found if day is not None]
