"""What the generator of the airline's tasks knows: the records of an airline, and one customer."""

import functools
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from gem_tau.database import Record
from gem_tau.domains.airline_records import FlightIndex
from gem_tau.domains.airline_rules import statuses
from gem_tau.domains.airline_world import airline
from gem_tau.domains.airports import CITIES
from gem_tau.scenario import Fact, Goal

__all__ = [
    "Customer",
    "Legs",
    "Records",
    "Wish",
    "bags_words",
    "cabin_words",
    "day",
    "kind_words",
    "money",
    "place",
    "records_of",
]

Legs = list[tuple[str, str]]
"""The numbers and dates of flights."""
_MONTHS = ("", "January", "February", "March", "April", "May", "June")
_TRIP_WORDS = ("reservation", "booking", "which flight", "which one")

_COMING = {"available", "on time", "delayed"}
_DISTURBED = {"cancelled", "delayed"}


@dataclass(frozen=True)
class Wish:
    """A goal with the calls that reach it.

    Args:
        goal: The goal.
        calls: Names and arguments of the calls.
        says: What the assistant must say.
    """

    goal: Goal
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    says: tuple[str, ...] = ()

    def words(self) -> str:
        """Return what is said and called for it anyway, in lower case without commas."""
        told = " ".join(fact.say for fact in self.goal.facts)
        goal = self.goal
        parts = (goal.say, goal.change, goal.condition, told, json.dumps(self.calls))
        return " ".join(parts).lower().replace(",", "")


def money(amount: float) -> str:
    """Return an amount of dollars in words of a customer."""
    return f"${amount:,.0f}"


def day(date: str) -> str:
    """Return a date in words of a customer, such as ``May 20``."""
    _, month, number = date.split("-")
    return f"{_MONTHS[int(month)]} {int(number)}"


def place(code: str) -> str:
    """Return a city with the code of its airport."""
    return f"{CITIES[code]} ({code})"


def kind_words(flight_type: str) -> str:
    """Return the kind of a trip in words of a customer."""
    return "round trip" if flight_type == "round_trip" else "one-way trip"


def cabin_words(cabin: str) -> str:
    """Return the name of a cabin in words of a customer."""
    return cabin.replace("_", " ")


def bags_words(count: int) -> str:
    """Return the sentence that tells the number of bags of a booking."""
    if not count:
        return "No bags to check."
    return f"We have {count} bag{'s' * (count > 1)} to check in total."


class Records:
    """The records of an airline, with what does not depend on the task.

    Args:
        number: The number of the airline.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.base = airline(number)
        self.users = self.base.tables["users"]
        self.reservations = self.base.tables["reservations"]
        self.flights = self.base.tables["flights"]
        self.index = FlightIndex.of(self.base)
        self.statuses = {
            key: statuses(self.flights, record) for key, record in self.reservations.items()
        }
        """The statuses of the flights of each reservation."""
        self.pools: dict[str, list[str]] = {}
        """The ids of reservations by what can be done with them: ``any``; ``coming`` for those
        that can be changed; ``available`` for those whose flights can all be booked;
        ``changeable`` for those of these whose flights can be changed; ``disturbed`` for those
        with a delayed or cancelled flight."""
        for key in self.reservations:
            for name in self._pools_of(key):
                self.pools.setdefault(name, []).append(key)
        self.pool_sets = {name: frozenset(pool) for name, pool in self.pools.items()}
        self.user_ids = list(self.users)
        self.direct = sorted(self.index.between)
        """The pairs of airports with a direct flight."""
        self.onestop = sorted(set(self._pairs_with_stop()) - set(self.direct))
        """The pairs of airports with one stop, and no direct flight."""

    def _pools_of(self, reservation_id: str) -> Iterator[str]:
        found = self.statuses[reservation_id]
        yield "any"
        if found <= _COMING:
            yield "coming"
        if found == {"available"}:
            yield "available"
            if self.reservations[reservation_id]["cabin"] != "basic_economy":
                yield "changeable"
        if found & _DISTURBED:
            yield "disturbed"

    def _pairs_with_stop(self) -> Iterator[tuple[str, str]]:
        for (origin, stop), (second, destination) in itertools.product(self.direct, self.direct):
            if stop == second and origin != destination:
                yield origin, destination

    def offer(self, number: str, date: str, cabin: str, count: int) -> int | None:
        """Return the price of a flight for a passenger; None if it cannot be booked."""
        on_date = self.flights[number]["dates"].get(date)
        if on_date is None or on_date["status"] != "available":
            return None
        enough = on_date["available_seats"][cabin] >= count
        return int(on_date["prices"][cabin]) if enough else None

    def departure(self, number: str) -> str:
        """Return when a flight departs."""
        return str(self.flights[number]["scheduled_departure_time_est"])

    def cheapest_direct(
        self, ends: tuple[str, str], date: str, after: str, cabin: str, count: int
    ) -> tuple[int, Legs] | None:
        """Return the price and the legs of the only cheapest direct flight; None if there is none.

        Args:
            ends: The airports of departure and arrival.
            date: The date.
            after: The earliest time of departure.
            cabin: The cabin.
            count: The number of passengers.
        """
        found = [
            (price, [(number, date)])
            for number in self.index.between.get(ends, ())
            if self.departure(number) >= after
            and (price := self.offer(number, date, cabin, count)) is not None
        ]
        return _only_cheapest(found)

    def cheapest_onestop(
        self, ends: tuple[str, str], date: str, after: str, cabin: str, count: int
    ) -> tuple[int, Legs] | None:
        """Return the only cheapest pair of flights with one stop; see ``cheapest_direct``."""
        found = []
        for number, stop in self.index.leaving.get(ends[0], ()):
            onward = self.index.between.get((stop, ends[1]))
            if not onward or self.departure(number) < after:
                continue
            first = self.offer(number, date, cabin, count)
            if first is not None:
                arrival = self.flights[number]["scheduled_arrival_time_est"]
                later = _next(date) if "+1" in arrival else date
                found += [
                    (first + second, [(number, date), (other, later)])
                    for other in onward
                    if self.departure(other) >= arrival
                    and (second := self.offer(other, later, cabin, count)) is not None
                ]
        return _only_cheapest(found)


def _next(date: str) -> str:
    return f"{date[:8]}{int(date[8:]) + 1:02}"


def _only_cheapest(
    found: list[tuple[int, Legs]],
) -> tuple[int, Legs] | None:
    if not found:
        return None
    lowest = min(price for price, _ in found)
    best = [one for one in found if one[0] == lowest]
    return best[0] if len(best) == 1 else None


@functools.lru_cache(maxsize=16)
def records_of(number: int) -> Records:
    """Return the records of an airline."""
    return Records(number)


class Customer:
    """A customer for whom goals are drawn, one after the other.

    Args:
        rng: The random stream.
        records: The records of the airline.
        user_id: The user.
    """

    def __init__(self, rng: Random, records: Records, user_id: str) -> None:
        self.rng = rng
        self.records = records
        self.user_id = user_id
        self.user = records.users[user_id]
        self._claimed: set[str] = set()

    def claim(self, thing: str) -> bool:
        """Reserve something that only one goal may use; return whether it was free."""
        if thing in self._claimed:
            return False
        self._claimed.add(thing)
        return True

    def reservations(self) -> list[Record]:
        """Return the reservations of the customer."""
        return [self.records.reservations[one] for one in self.user["reservations"]]

    def methods(self, source: str) -> list[Record]:
        """Return the payment methods of a kind, the one with the lowest balance first."""
        found = [one for one in self.user["payment_methods"].values() if one["source"] == source]
        return sorted(found, key=lambda one: int(one.get("amount", 0)))

    def credit_card(self) -> tuple[str, str]:
        """Return the id of a credit card, and words for it."""
        card = self.rng.choice(self.methods("credit_card"))
        return card["id"], f"my credit card ending in {card['last_four']}"

    def payer(self, amount: int) -> tuple[str, str]:
        """Return the id of a method that can pay for a change, and words for it."""
        cards = self.methods("gift_card")
        usable = cards and cards[-1]["amount"] >= amount
        if usable and self.rng.random() < 0.4 and self.claim("gift_cards"):
            words = "my gift card" if len(cards) == 1 else "my gift card with the highest balance"
            return cards[-1]["id"], words
        return self.credit_card()

    def trip(self, record: Record) -> tuple[str, tuple[Fact, ...]]:
        """Return words for a reservation, and the facts that tell which one it is.

        A customer does not know each number, but then the trip is the only one of its kind.
        """
        date = day(record["flights"][0]["date"])
        route = f"from {place(record['origin'])} to {place(record['destination'])}"
        words = f"{kind_words(record['flight_type'])} {route} on {date}"
        key = record["reservation_id"]
        number = Fact("reservation_id", f"The number is {key}.", also=(f"It is {key}.",))
        facts = [Fact("trip", f"It is my {words}.", _TRIP_WORDS, (f"I mean my {words}.",))]
        if not self._is_only(record) or self.rng.random() < 0.5:
            facts.insert(0, number)
        return self.rng.choice(("one of my reservations", f"my {words}")), tuple(facts)

    def _is_only(self, record: Record) -> bool:
        same = [one for one in self.reservations() if _kind(one) == _kind(record)]
        return len(same) == 1

    def has_trip(self, origin: str, destination: str, date: str) -> bool:
        """Return whether a reservation starts on a date between two airports."""
        return any(_kind(one)[:3] == (origin, destination, date) for one in self.reservations())


def _kind(record: Record) -> tuple[str, str, str, str]:
    first = record["flights"][0]["date"]
    return record["origin"], record["destination"], first, record["flight_type"]
