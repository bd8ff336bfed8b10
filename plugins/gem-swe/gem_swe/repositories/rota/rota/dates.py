"""Arithmetic on days, weeks and months."""

from datetime import date, timedelta

ONE_DAY = timedelta(days=1)


def month_length(year: int, month: int) -> int:
    """How many days a month has in the Gregorian calendar, from 28 to 31."""
    if month == 2:
        leap = year % 400 == 0 if year % 100 == 0 else year % 4 == 0
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def week_start(day: date) -> date:
    """The Monday of the week that `day` is in."""
    return day - day.weekday() * ONE_DAY


def month_start(day: date, later: int) -> date:
    """The first day of the month that comes `later` months after the month of `day`."""
    year, month = divmod(day.year * 12 + day.month - 1 + later, 12)
    return date(year, month + 1, 1)


def month_day(first: date, number: int) -> date | None:
    """A day of the month that begins at `first`; -1 is the last, None stands for no such day."""
    length = month_length(first.year, first.month)
    if number < 0:
        number += length + 1
    return first.replace(day=number) if 1 <= number <= length else None


def nth_weekday(first: date, weekday: int, nth: int) -> date | None:
    """The nth of one weekday in the month that begins at `first`; -1 is the last.

    None if the weekday does not come that often, or for 0.
    """
    earliest = 1 + (weekday - first.weekday()) % 7
    numbers = range(earliest, month_length(first.year, first.month) + 1, 7)
    if nth == 0 or abs(nth) > len(numbers):
        return None
    return first.replace(day=numbers[nth - 1 if nth > 0 else nth])
