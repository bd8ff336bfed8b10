"""Generated airlines: users, reservations and flights that are consistent with each other.

Each airline has a number, which decides all of it. The records have the layout of tau2's airline.
"""

import functools
from datetime import date as calendar_date
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

from gem_core.errors import ConfigError
from gem_tau.database import Base, Record
from gem_tau.domains.airline.records import NOW, free_bags
from gem_tau.domains.airline.words import CITIES, FIRST_NAMES, LAST_NAMES, STATES, STREETS

__all__ = ["DATES", "FUTURE", "airline"]

DATES = tuple(str(calendar_date(2024, 5, day)) for day in range(1, 31))
"""The dates of the flights."""
FUTURE = DATES[15:]
"""The dates of the flights that can be booked."""
_TODAY = NOW[:10]
_USERS, _RESERVATIONS = 500, 800
_AIRPORTS, _PAIRS, _FLIGHTS_A_DAY = 16, 30, 5
_IDS_PER_AIRLINE = 1000
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_LOWEST = {"basic_economy": (50, 60), "economy": (110, 110), "business": (240, 280)}
_SEATS = 20


@functools.lru_cache(maxsize=16)
def airline(number: int) -> Base:
    """Return a generated airline: 500 users, 800 reservations, 300 flights on 30 dates.

    Args:
        number: The number of the airline, 0 or more. The users of two airlines are different.

    Raises:
        ConfigError: The number is not an integer from 0.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ConfigError(f"An airline has a number, 0 or more; got {number!r}.")
    rng = Random(f"airline {number}")
    flights = _flights(rng)
    users = _users(rng, number)
    reservations = _Booker(rng, flights, users).reservations()
    tables = {"users": users, "reservations": reservations, "flights": flights}
    return Base(tables, origin=(airline, (number,)))


def _flights(rng: Random) -> dict[str, Record]:
    """Return flights in both directions between pairs of airports, which are all connected."""
    codes = rng.sample(sorted(CITIES), _AIRPORTS)
    pairs = {tuple(sorted(pair)) for pair in pairwise([*codes, codes[0]])}
    while len(pairs) < _PAIRS:
        pairs.add(tuple(sorted(rng.sample(codes, 2))))
    flights: dict[str, Record] = {}
    for one, other in sorted(pairs):
        minutes = rng.randrange(60, 361, 15)
        for origin, destination in ((one, other), (other, one)):
            for hour in sorted(rng.sample(range(5, 23), _FLIGHTS_A_DAY)):
                number = f"GC{101 + len(flights)}"
                start = 60 * hour + rng.choice((0, 15, 30, 45))
                flights[number] = _flight(
                    rng, number, (origin, destination), start, start + minutes
                )
    return flights


def _flight(
    rng: Random, number: str, ends: tuple[str, str], start: int, end: int
) -> dict[str, Any]:
    return {
        "flight_number": number,
        "origin": ends[0],
        "destination": ends[1],
        "scheduled_departure_time_est": _clock(start),
        "scheduled_arrival_time_est": _clock(end % 1440) + ("+1" if end >= 1440 else ""),
        "dates": {date: _on_date(rng, date, start, end) for date in DATES},
    }


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}:00"


def _on_date(rng: Random, date: str, start: int, end: int) -> Record:
    """Return the status of a flight on a date, with its times, or its seats and prices."""
    chance = rng.random()
    if date != _TODAY and chance < 0.06:
        return {"status": "cancelled"}
    if date > _TODAY:
        return _available(rng)
    late = int(chance * 40)
    delay = 0 if chance < 0.7 else 90 + late
    begins, ends = _moment(date, start + late + delay), _moment(date, end + late + delay)
    if ends <= NOW:
        return {
            "status": "landed",
            "actual_departure_time_est": begins,
            "actual_arrival_time_est": ends,
        }
    if begins <= NOW:
        return {
            "status": "flying",
            "actual_departure_time_est": begins,
            "estimated_arrival_time_est": ends,
        }
    return {
        "status": "delayed" if delay else "on time",
        "estimated_departure_time_est": begins,
        "estimated_arrival_time_est": ends,
    }


def _available(rng: Random) -> Record:
    draw = rng.random
    return {
        "status": "available",
        "available_seats": {cabin: int(draw() * (_SEATS + 1)) for cabin in _LOWEST},
        "prices": {cabin: low + int(draw() * width) for cabin, (low, width) in _LOWEST.items()},
    }


def _moment(date: str, minutes: int) -> str:
    return (datetime.fromisoformat(date) + timedelta(minutes=minutes)).isoformat()


def _users(rng: Random, number: int) -> dict[str, Record]:
    suffixes = rng.sample(range(_IDS_PER_AIRLINE), _USERS)
    users: dict[str, Record] = {}
    for suffix in suffixes:
        user = _user(rng, f"{number * _IDS_PER_AIRLINE + suffix:04}")
        users[user["user_id"]] = user
    return users


def _user(rng: Random, suffix: str) -> Record:
    (first, *others), last = rng.sample(FIRST_NAMES, 4), rng.choice(LAST_NAMES)
    code = rng.choice(list(CITIES))
    return {
        "user_id": f"{first}_{last}_{suffix}".lower(),
        "name": {"first_name": first, "last_name": last},
        "address": {
            "address1": f"{rng.randrange(1, 999)} {rng.choice(STREETS)}",
            "address2": f"Apartment {rng.randrange(1, 60)}",
            "city": CITIES[code],
            "country": "USA",
            "state": STATES[code],
            "zip": f"{rng.randrange(10000, 99999)}",
        },
        "email": f"{first}.{last}{suffix}@example.com".lower(),
        "dob": _birthday(rng),
        "payment_methods": _payment_methods(rng),
        "saved_passengers": [_passenger(rng, one, last) for one in others[rng.randrange(4) :]],
        "membership": rng.choice(("regular", "silver", "gold")),
        "reservations": [],
    }


def _birthday(rng: Random) -> str:
    return f"{rng.randrange(1945, 2004)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


def _passenger(rng: Random, first: str, family: str) -> Record:
    last = family if rng.random() < 0.5 else rng.choice(LAST_NAMES)
    return {"first_name": first, "last_name": last, "dob": _birthday(rng)}


def _payment_methods(rng: Random) -> dict[str, Record]:
    """Return one or two credit cards, and up to three gift cards and certificates each."""
    numbers = iter(rng.sample(range(1_000_000, 10_000_000), 8))
    digits = iter(rng.sample(range(1000, 10_000), 2))
    methods: list[Record] = [
        {
            "source": "credit_card",
            "brand": rng.choice(("visa", "mastercard")),
            "last_four": str(four),
        }
        for four in (next(digits) for _ in range(rng.randrange(1, 3)))
    ]
    for source, step in (("gift_card", 1), ("certificate", 25)):
        amounts = rng.sample(range(100 // step, 500 // step), rng.choice((0, 1, 1, 2, 3)))
        methods += [{"source": source, "amount": step * amount} for amount in amounts]
    for method in methods:
        method["id"] = f"{method['source']}_{next(numbers)}"
    return {method["id"]: method for method in methods}


class _Booker:
    """A generator of the reservations of users."""

    def __init__(self, rng: Random, flights: dict[str, Record], users: dict[str, Record]) -> None:
        self.rng = rng
        self.flights = flights
        self.users = users
        self.leaving: dict[str, list[Record]] = {}
        for flight in flights.values():
            self.leaving.setdefault(flight["origin"], []).append(flight)

    def reservations(self) -> dict[str, Record]:
        """Return all reservations, and list them in the profiles."""
        user_ids = list(self.users)
        found: dict[str, Record] = {}
        while len(found) < _RESERVATIONS:
            reservation_id = "".join(self.rng.choices(_LETTERS, k=6))
            if reservation_id in found or reservation_id.isdigit():
                continue
            user = self.users[user_ids[int(len(user_ids) * self.rng.random() ** 2)]]
            found[reservation_id] = self._reservation(reservation_id, user)
            user["reservations"].append(reservation_id)
        return found

    def _reservation(self, reservation_id: str, user: Record) -> Record:
        rng = self.rng
        first = rng.choice(DATES[-15:-3] if rng.random() < 0.75 else DATES[:15])
        way = self._way(rng.choice(list(self.leaving)))
        kind, cabin = rng.choice(("one_way", "round_trip")), rng.choice(list(_LOWEST))
        legs = self._legs(way, first, cabin)
        if kind == "round_trip":
            later = DATES[min(DATES.index(first) + rng.randrange(2, 7), len(DATES) - 1)]
            legs += self._legs(way[::-1], later, cabin)
        record = {
            "reservation_id": reservation_id,
            "user_id": user["user_id"],
            "origin": way[0],
            "destination": way[-1],
            "flight_type": kind,
            "cabin": cabin,
            "flights": legs,
            "passengers": self._passengers(user),
        }
        return record | self._extras(record, user)

    def _way(self, origin: str) -> list[str]:
        """Return the airports of a trip: two, or three with a stop between others."""
        stop = self.rng.choice(self.leaving[origin])["destination"]
        onward = {one["destination"] for one in self.leaving[stop]} - {origin}
        if not onward or self.rng.random() < 0.5:
            return [origin, stop]
        return [origin, stop, self.rng.choice(sorted(onward))]

    def _legs(self, way: list[str], date: str, cabin: str) -> list[Record]:
        """Return flights along airports on a date, the second as late as possible."""
        legs = []
        for place, (origin, destination) in enumerate(pairwise(way)):
            direct = [one for one in self.leaving[origin] if one["destination"] == destination]
            flight = self.rng.choice(direct[:2] if len(way) == 3 and not place else direct)
            legs.append(self._leg(flight if not place else direct[-1], date, cabin))
        return legs

    def _leg(self, flight: Record, date: str, cabin: str) -> Record:
        low, width = _LOWEST[cabin]
        prices = flight["dates"][date].get("prices")
        return {
            "origin": flight["origin"],
            "destination": flight["destination"],
            "flight_number": flight["flight_number"],
            "date": date,
            "price": prices[cabin] if prices else self.rng.randrange(low, low + width),
        }

    def _passengers(self, user: Record) -> list[Record]:
        oneself = {**user["name"], "dob": user["dob"]}
        others = user["saved_passengers"][: self.rng.randrange(3)]
        return [oneself, *(dict(one) for one in others)]

    def _extras(self, record: Record, user: Record) -> Record:
        """Return the bags, the insurance, the time of the booking, and its payment."""
        rng, count = self.rng, len(record["passengers"])
        free = count * free_bags(user["membership"], record["cabin"])
        bags = rng.choice((0, free, free // 2, free + 1, free + 2))
        paid, insurance = max(0, bags - free), rng.choice(("yes", "no"))
        price = count * sum(leg["price"] for leg in record["flights"]) + 50 * paid
        price += 30 * count if insurance == "yes" else 0
        methods = [
            key for key, one in user["payment_methods"].items() if one["source"] != "certificate"
        ]
        return {
            "payment_history": [{"payment_id": rng.choice(methods), "amount": price}],
            "created_at": self._created(record["flights"][0]["date"]),
            "total_baggages": bags,
            "nonfree_baggages": paid,
            "insurance": insurance,
        }

    def _created(self, first: str) -> str:
        """Return the time of a booking: for an eighth of the next trips in the last 24 hours."""
        now = datetime.fromisoformat(NOW)
        if first > _TODAY and self.rng.random() < 0.125:
            return (now - timedelta(minutes=self.rng.randrange(60, 23 * 60))).isoformat()
        start = min(datetime.fromisoformat(first), now - timedelta(days=2))
        return (start - timedelta(minutes=self.rng.randrange(60, 15 * 1440))).isoformat()
