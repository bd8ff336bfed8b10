"""Journeys by timetable. Times are minutes after midnight; the next day begins at 1440."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from routes.errors import NoPath, ParseError, UnknownNode


class Connection(NamedTuple):
    """A ride on a trip; sorted by departure, arrival, trip and stops."""

    departs: int
    arrives: int
    trip: str
    start: str
    end: str


class Journey(NamedTuple):
    """The rides from one change to the next, and the time of arrival at the end."""

    arrives: int
    legs: tuple[Connection, ...]


def parse_timetable(text: str) -> list[Connection]:
    """Read one trip a line, `T1 Alm 8:00 Bree 8:20 Cove 8:50`, into sorted connections.

    Blank lines do not count. Times go up to 47:59, for the next day. A ParseError is any
    other time, a trip that comes twice, has fewer than two stops, or is not later at each
    stop than at the one before.
    """
    found: dict[str, list[Connection]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            trip, *words = line.split()
            if trip in found or len(words) < 4 or len(words) % 2 == 1:
                raise ParseError(number, f"not a trip of its own: {trip}")
            found[trip] = list(_read_trip(trip, words, number))
    return sorted(one for trip in found.values() for one in trip)


def _read_trip(trip: str, words: list[str], number: int) -> Iterator[Connection]:
    times = [_read_clock(word, number) for word in words[1::2]]
    for (start, departs), (end, arrives) in pairwise(zip(words[::2], times, strict=True)):
        if arrives <= departs:
            raise ParseError(number, f"{trip} is not later at {end} than at {start}")
        yield Connection(departs, arrives, trip, start, end)


def _read_clock(text: str, number: int) -> int:
    hours, _, minutes = text.partition(":")
    readable = hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2
    if not readable or int(hours) >= 48 or int(minutes) >= 60:
        raise ParseError(number, f"{text!r} is no time")
    return int(hours) * 60 + int(minutes)


def earliest_arrival(
    connections: list[Connection], source: str, target: str, ready: int = 0, change: int = 5
) -> Journey:
    """The journey that arrives first, without legs if the source is the target.

    To change to another trip takes `change` minutes; to board the first does not. A trip is
    boarded where it can first be caught, and a stop is reached by the first connection, as
    they are sorted, that arrives there earliest. Errors: NoPath, and UnknownNode for stops.
    """
    for stop in (source, target):
        if not any(stop in (one.start, one.end) for one in connections):
            raise UnknownNode(stop)
    last_legs = _ride(sorted(connections), {source: ready}, change)
    legs: list[Connection] = []
    while target != source:
        if target not in last_legs:
            raise NoPath(f"from {source} to {target}")
        legs.insert(0, last_legs[target])
        target = legs[0].start
    return Journey(legs[-1].arrives if legs else ready, tuple(legs))


def _ride(rides: list[Connection], usable: dict[str, int], change: int) -> dict[str, Connection]:
    boarded: dict[str, Connection] = {}
    legs: dict[str, Connection] = {}
    for one in rides:
        if one.start in usable and usable[one.start] <= one.departs:
            boarded.setdefault(one.trip, one)
        first = boarded.get(one.trip)
        if first and (one.end not in usable or one.arrives + change < usable[one.end]):
            usable[one.end] = one.arrives + change
            legs[one.end] = first._replace(arrives=one.arrives, end=one.end)
    return legs
