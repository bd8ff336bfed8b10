"""Customers of a generated airline, and the words in which they name what they want."""

import functools
import itertools
from collections.abc import Iterator
from random import Random

from gem_tau.database import Record
from gem_tau.domains.airline.calls import Legs, bags_call
from gem_tau.domains.airline.database import airline
from gem_tau.domains.airline.records import (
    FlightIndex,
    free_bags,
    may_be_cancelled,
    next_day,
    statuses,
)
from gem_tau.domains.airline.words import ASKS, CITIES, REASONS
from gem_tau.domains.wishes import BaseCustomer, Unfit
from gem_tau.scenario import Fact
from gem_tau.task import Call

__all__ = [
    "ANY_TIME",
    "Customer",
    "Index",
    "bags_words",
    "cabin_words",
    "day",
    "indexed",
    "kind_words",
    "money",
    "more_words",
    "paid_for",
    "payment_fact",
    "place",
]

_MONTHS = ("", "January", "February", "March", "April", "May", "June")
ANY_TIME = "00:00"
"""The earliest time of departure, for a customer to whom it does not matter."""
_COMING = {"available", "on time", "delayed"}
_DISTURBED = {"cancelled", "delayed"}


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


def more_words(count: int) -> str:
    """Return a number of further bags in words of a customer."""
    return f"{count} more checked bag{'s' * (count > 1)}"


def payment_fact(words: str) -> Fact:
    """Return the fact that tells how to pay for a change."""
    also = (f"With {words}, please.", f"I would like to use {words}.")
    return Fact("payment", f"Please use {words}.", ASKS["payment_of_change"], also)


def paid_for(record: Record) -> int:
    """Return the total payment for a reservation, in dollars."""
    return sum(int(payment["amount"]) for payment in record["payment_history"])


class Index:
    """An airline, prepared for drawing tasks.

    Args:
        number: The number of the airline.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.base = airline(number)
        self.users = self.base.tables["users"]
        self.reservations = self.base.tables["reservations"]
        self.flights = self.base.tables["flights"]
        self.routes = FlightIndex.of(self.base)
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
        self.direct = sorted(self.routes.between)
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
        """Return the time of a flight's departure, HH:MM:SS."""
        return str(self.flights[number]["scheduled_departure_time_est"])

    def cheapest_direct(
        self, ends: tuple[str, str], date: str, after: str, cabin: str, count: int
    ) -> tuple[int, Legs]:
        """Return the price and the legs of the only cheapest direct flight.

        Args:
            ends: The airports of departure and arrival.
            date: The date.
            after: The earliest time of departure.
            cabin: The cabin.
            count: The number of passengers.

        Raises:
            Unfit: No flight fits, or several have the lowest price.
        """
        found = [
            (price, [(number, date)])
            for number in self.routes.between.get(ends, ())
            if self.departure(number) >= after
            and (price := self.offer(number, date, cabin, count)) is not None
        ]
        return _only_cheapest(found)

    def cheapest_onestop(
        self, ends: tuple[str, str], date: str, after: str, cabin: str, count: int
    ) -> tuple[int, Legs]:
        """Return the only cheapest pair of flights with one stop; see ``cheapest_direct``."""
        found = []
        for number, stop in self.routes.leaving.get(ends[0], ()):
            onward = self.routes.between.get((stop, ends[1]))
            if not onward or self.departure(number) < after:
                continue
            first = self.offer(number, date, cabin, count)
            if first is not None:
                arrival = self.flights[number]["scheduled_arrival_time_est"]
                later = next_day(date) if "+1" in arrival else date
                found += [
                    (first + second, [(number, date), (other, later)])
                    for other in onward
                    if self.departure(other) >= arrival
                    and (second := self.offer(other, later, cabin, count)) is not None
                ]
        return _only_cheapest(found)


def _only_cheapest(found: list[tuple[int, Legs]]) -> tuple[int, Legs]:
    lowest = min((price for price, _ in found), default=0)
    best = [one for one in found if one[0] == lowest]
    if len(best) != 1:
        raise Unfit
    return best[0]


@functools.lru_cache(maxsize=16)
def indexed(number: int) -> Index:
    """Return the index of an airline."""
    return Index(number)


class Customer(BaseCustomer):
    """A user of an airline, for whom wishes are drawn.

    Args:
        index: The airline.
        rng: The random stream of the task.
        user_id: The user.
    """

    def __init__(self, index: Index, rng: Random, user_id: str) -> None:
        super().__init__(rng, index.users[user_id])
        self.index = index

    def reservations(self) -> list[Record]:
        """Return the reservations of the customer."""
        return [self.index.reservations[one] for one in self.user["reservations"]]

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
        if usable and self.rng.random() < 0.4 and self.take_if_free("gift_cards"):
            words = "my gift card" if len(cards) == 1 else "my gift card with the highest balance"
            return cards[-1]["id"], words
        return self.credit_card()

    def reason_for(self, record: Record) -> str:
        """Draw a reason for which a reservation may be cancelled.

        Raises:
            Unfit: It may not be cancelled for the reason that was drawn.
        """
        found = self.index.statuses[record["reservation_id"]]
        is_cancelled = "cancelled" in found
        reason = "airline" if is_cancelled else self.rng.choice(("health", "weather", "plans"))
        if not may_be_cancelled(found, record, reason):
            raise Unfit
        return reason

    def reason_fact(self, reason: str) -> Fact:
        """Draw the fact that tells a reason."""
        return Fact("reason", self.rng.choice(REASONS[reason]), ASKS["reason"])

    def paid_bags(self, record: Record, more: int) -> int:
        """Return the number of paid bags of a reservation after adding some."""
        free = len(record["passengers"]) * free_bags(self.user["membership"], record["cabin"])
        total: int = record["total_baggages"] + more
        return max(0, total - free)

    def add_bags(self, record: Record, more: int, payment_id: str) -> Call:
        """Return the call that adds bags to a reservation, the free ones first."""
        total = record["total_baggages"] + more
        return bags_call(record, total, self.paid_bags(record, more), payment_id)

    def trip(self, record: Record) -> tuple[str, tuple[Fact, ...]]:
        """Return words for a reservation, and the facts that tell which one it is.

        A customer does not know each number, but then the trip is the only one of its kind.
        """
        date = day(record["flights"][0]["date"])
        route = f"from {place(record['origin'])} to {place(record['destination'])}"
        words = f"{kind_words(record['flight_type'])} {route} on {date}"
        key = record["reservation_id"]
        number = Fact("reservation_id", f"The number is {key}.", also=(f"It is {key}.",))
        facts = [Fact("trip", f"It is my {words}.", ASKS["trip"], (f"I mean my {words}.",))]
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
