"""Rules as text, such as "every 2 weeks on mon,thu until 2024-06-30"."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import TypeVar

from rota.errors import ParseError
from rota.rules import Rule

T = TypeVar("T")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th")


class _Words:
    def __init__(self, text: str) -> None:
        self._words = text.lower().split()
        self._taken = 0

    @property
    def at_end(self) -> bool:
        return self._taken == len(self._words)

    def take(self, *expected: str) -> str:
        self._taken += 1
        if self._taken > len(self._words):
            raise ParseError("the text ends too soon", self._taken)
        word = self._words[self._taken - 1]
        if expected and word not in expected:
            raise ParseError(f"{word!r} instead of {' or '.join(expected)}", self._taken)
        return word

    def read(self, reader: Callable[[str], T], text: str) -> T:
        try:
            return reader(text)
        except ValueError:
            raise ParseError(f"{text!r} is not understood", self._taken) from None


def parse_rule(text: str) -> Rule:
    """Read a rule, in upper or lower case, of this form:

        every [N | other] day(s)   | week(s) on WEEKDAYS   | month(s) on DAY
        [until YYYY-MM-DD] [for N times] [except YYYY-MM-DD,...]

    WEEKDAYS are short names or ranges, split by commas ("mon,wed" or "sat-tue,thu"). DAY is
    "day N", "last day", "2nd tue" (1st to 5th) or "last fri". "other" means every second.
    The parts at the end may come in any order; if one is repeated, the last counts. Another
    form raises ParseError; a text that ends too soon is at fault one word after its last.
    """
    words = _Words(text)
    words.take("every")
    unit = words.take()
    interval = 1
    if unit not in ("day", "week", "month"):
        interval = 2 if unit == "other" else words.read(int, unit)
        unit = words.take("day", "days", "week", "weeks", "month", "months").removesuffix("s")
    days, nth = _pattern(words, unit)
    rule = Rule(unit, days, nth, interval)
    while not words.at_end:
        rule = _limited(words, rule)
    return rule


def _pattern(words: _Words, unit: str) -> tuple[tuple[int, ...], int | None]:
    if unit == "day":
        return (), None
    words.take("on")
    if unit == "week":
        return tuple(_weekdays(words, words.take())), None
    ordinal = words.take("day", "last", *ORDINALS)
    if ordinal == "day":
        return (words.read(int, words.take()),), None
    nth = -1 if ordinal == "last" else ORDINALS.index(ordinal) + 1
    target = words.take("day", *WEEKDAYS)
    if target == "day":
        return (nth,), None
    return (WEEKDAYS.index(target),), nth


def _weekdays(words: _Words, text: str) -> list[int]:
    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin = words.read(WEEKDAYS.index, first)
        steps = (words.read(WEEKDAYS.index, last) - begin) % 7 if dash else 0
        found += [(begin + step) % 7 for step in range(steps + 1)]
    return found


def _limited(words: _Words, rule: Rule) -> Rule:
    word = words.take("until", "for", "except")
    if word == "until":
        return replace(rule, until=words.read(date.fromisoformat, words.take()))
    if word == "for":
        rule = replace(rule, count=words.read(int, words.take()))
        words.take("times")
        return rule
    parts = words.take().split(",")
    return replace(rule, exceptions=tuple(words.read(date.fromisoformat, day) for day in parts))
