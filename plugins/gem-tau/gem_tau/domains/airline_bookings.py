"""Goals of the airline's customers: bookings of the only flights that fit."""

from dataclasses import dataclass
from typing import Any

from gem_tau.database import Record
from gem_tau.domains.airline_customer import (
    Customer,
    Legs,
    Wish,
    bags_words,
    cabin_words,
    day,
    kind_words,
    place,
)
from gem_tau.domains.airline_people import FIRST_NAMES, LAST_NAMES
from gem_tau.domains.airline_records import BAG_FEE, INSURANCE_FEE
from gem_tau.domains.airline_rules import CABINS, free_bags
from gem_tau.domains.airline_world import DATES
from gem_tau.scenario import Fact, Goal

__all__ = [
    "FLIGHT_WORDS",
    "TIMES",
    "book_one_way",
    "book_onestop",
    "book_round_trip",
    "flight_rule",
]

TIMES = ("00:00", "08:00", "10:00", "12:00", "14:00")
"""The times from which customers want to depart; the first means at any time."""
FLIGHT_WORDS = (
    *("prefer", "which one", "which of", "option", "choose", "stop", "direct", "which flight"),
    *("flight number", "time", "depart", "leave", "flights would", "flight would"),
)
"""The words that ask which flight a customer wants."""
_PASSENGER_WORDS = ("who", "travel", "people", "how many pass", "first name", "birth", "just you")
_KIND_WORDS = ("round trip", "round-trip", "one way", "one-way", "return")
_FUTURE = DATES[15:]


@dataclass(frozen=True)
class _Trip:
    """What a customer wants to book, and the only flights that fit."""

    ends: tuple[str, str]
    dates: tuple[str, ...]
    onestop: bool
    after: str
    cabin: str
    passengers: list[Record]
    who: str

    @property
    def ways(self) -> list[tuple[tuple[str, str], str]]:
        """The airports and the date of each direction."""
        return list(zip((self.ends, self.ends[::-1]), self.dates, strict=False))

    @property
    def kind(self) -> str:
        """The kind of trip, as the tools name it."""
        return "round_trip" if len(self.dates) == 2 else "one_way"


def book_one_way(customer: Customer) -> Wish | None:
    """Book the cheapest direct flight of a day."""
    ends = customer.rng.choice(customer.records.direct)
    return _book(customer, ends, (customer.rng.choice(_FUTURE),))


def book_round_trip(customer: Customer) -> Wish | None:
    """Book the cheapest direct flights there and back."""
    ends = customer.rng.choice(customer.records.direct)
    return _book(customer, ends, tuple(sorted(customer.rng.sample(_FUTURE, 2))))


def book_onestop(customer: Customer) -> Wish | None:
    """Book the cheapest flights with a stop, where no direct flight exists."""
    ends = customer.rng.choice(customer.records.onestop)
    return _book(customer, ends, (customer.rng.choice(_FUTURE[:-1]),), onestop=True)


def _book(
    customer: Customer, ends: tuple[str, str], dates: tuple[str, ...], *, onestop: bool = False
) -> Wish | None:
    if customer.has_trip(*ends, dates[0]) or not customer.claim("seats"):
        return None
    rng = customer.rng
    passengers, who = _passengers(customer)
    trip = _Trip(ends, dates, onestop, rng.choice(TIMES), rng.choice(CABINS), passengers, who)
    found = _flights(customer, trip)
    if found is None:
        return None
    price, legs = found
    return _wish(customer, trip, price, legs)


def _flights(customer: Customer, trip: _Trip) -> tuple[int, Legs] | None:
    """Return the price for a passenger and the legs of the only cheapest flights, if any."""
    search = customer.records.cheapest_onestop if trip.onestop else customer.records.cheapest_direct
    price = 0
    legs: Legs = []
    for ends, date in trip.ways:
        found = search(ends, date, trip.after, trip.cabin, len(trip.passengers))
        if found is None:
            return None
        price, legs = price + found[0], legs + found[1]
    return price, legs


def _passengers(customer: Customer) -> tuple[list[Record], str]:
    """Return the passengers of a booking, and the sentence that names them."""
    rng, user = customer.rng, customer.user
    passengers = [{**user["name"], "dob": user["dob"]}]
    saved = user["saved_passengers"]
    saved = saved[: rng.randrange(len(saved) + 1)]
    names = [f"{one['first_name']} {one['last_name']}, who is saved in my profile" for one in saved]
    others = [dict(one) for one in saved]
    if rng.random() < 0.25:
        one = _stranger(customer)
        others.append(one)
        names.append(f"{one['first_name']} {one['last_name']}, born on {one['dob']}")
    if not others:
        return passengers, "I travel alone."
    return [*passengers, *others], f"The passengers are {', then '.join(['me', *names])}."


def _stranger(customer: Customer) -> Record:
    """Return somebody whose first name neither the customer nor a saved passenger has."""
    rng, user = customer.rng, customer.user
    taken = {user["name"]["first_name"], *(one["first_name"] for one in user["saved_passengers"])}
    first = next(name for name in rng.sample(FIRST_NAMES, len(taken) + 1) if name not in taken)
    dob = f"{rng.randrange(1950, 2004)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    return {"first_name": first, "last_name": rng.choice(LAST_NAMES), "dob": dob}


def _wish(customer: Customer, trip: _Trip, price: int, legs: Legs) -> Wish:
    rng, count = customer.rng, len(trip.passengers)
    free = count * free_bags(customer.user["membership"], trip.cabin)
    bags, insured = rng.choice((0, 1, free, free + 1, free + 2)), rng.random() < 0.4
    paid = max(0, bags - free)
    total = count * (price + (INSURANCE_FEE if insured else 0)) + BAG_FEE * paid
    payments, how = _payments(customer, total)
    booking = _call(customer, trip, legs) | {
        "payment_methods": payments,
        "total_baggages": bags,
        "nonfree_baggages": paid,
        "insurance": "yes" if insured else "no",
    }
    facts = [
        *_facts(trip),
        Fact("baggage", bags_words(bags)),
        Fact("payment", how, ("pay", "card")),
    ]
    goal = _goal(customer, trip, facts, insured=insured)
    return Wish(goal, (*_searches(trip), ("book_reservation", booking)))


def _call(customer: Customer, trip: _Trip, legs: Legs) -> dict[str, Any]:
    return {
        "user_id": customer.user_id,
        "origin": trip.ends[0],
        "destination": trip.ends[1],
        "flight_type": trip.kind,
        "cabin": trip.cabin,
        "flights": [{"flight_number": number, "date": date} for number, date in legs],
        "passengers": trip.passengers,
    }


def _searches(trip: _Trip) -> list[tuple[str, dict[str, Any]]]:
    name = "search_onestop_flight" if trip.onestop else "search_direct_flight"
    return [
        (name, {"origin": origin, "destination": destination, "date": date})
        for (origin, destination), date in trip.ways
    ]


def _facts(trip: _Trip) -> list[Fact]:
    return [
        Fact("cabin", f"I want to fly in {cabin_words(trip.cabin)}.", ("economy", "business")),
        Fact(
            "flight",
            flight_rule(trip.after, onestop=trip.onestop, both=len(trip.dates) > 1),
            FLIGHT_WORDS,
        ),
        Fact("passengers", trip.who, _PASSENGER_WORDS),
        Fact("date", _dates_words(trip), ("when",)),
        Fact("origin", f"I leave from {place(trip.ends[0])}.", ("airport", "where")),
        Fact("destination", f"I fly to {place(trip.ends[1])}.", ("airport", "where")),
        Fact("trip_type", f"It is a {kind_words(trip.kind)}.", _KIND_WORDS),
    ]


def flight_rule(after: str, *, onestop: bool = False, both: bool = False) -> str:
    """Return the sentence that says which flight a customer wants."""
    what = "flights with one stop" if onestop else "direct flight"
    when = (
        "" if after == TIMES[0] else f" that {'leave' if onestop else 'leaves'} at {after} or later"
    )
    ways = ", in each direction" if both else ""
    return f"I want the cheapest {what}{when}{ways}."


def _dates_words(trip: _Trip) -> str:
    words = f"I leave on {day(trip.dates[0])}"
    return (
        f"{words}, and fly back on {day(trip.dates[-1])}." if len(trip.dates) > 1 else f"{words}."
    )


def _payments(customer: Customer, total: int) -> tuple[list[Record], str]:
    """Return payments that add up to a total, and the sentence that tells how to pay."""
    rng, methods, words = customer.rng, [], []
    certificates, cards = customer.methods("certificate"), customer.methods("gift_card")
    if certificates and rng.random() < 0.5 and customer.claim("certificates"):
        methods.append(certificates[-1])
        words.append(_the("travel certificate", certificates))
    if cards and rng.random() < 0.5 and customer.claim("gift_cards"):
        methods.append(cards[-1])
        words.append(_the("gift card", cards))
    payments = []
    for method in methods:
        amount = min(total, method["amount"])
        total -= amount
        if amount:
            payments.append({"payment_id": method["id"], "amount": amount})
    card, name = customer.credit_card()
    if total:
        payments.append({"payment_id": card, "amount": total})
    return payments, f"I want to pay with {', then '.join([*words, name])}."


def _the(name: str, methods: list[Record]) -> str:
    return f"my {name}" if len(methods) == 1 else f"my {name} with the highest value"


def _goal(customer: Customer, trip: _Trip, facts: list[Fact], *, insured: bool) -> Goal:
    """Return the goal; in a quarter of them the customer changes the wish for insurance."""
    origin, destination = (place(one) for one in trip.ends)
    say = customer.rng.choice(
        (
            f"I would like to book a trip from {origin} to {destination}.",
            f"Book a {kind_words(trip.kind)} from {origin} to {destination}. {_dates_words(trip)}",
            f"I need to fly to {destination} on {day(trip.dates[0])}. I live near {origin}.",
        )
    )
    if customer.rng.random() < 0.75:
        words = "I want the travel insurance." if insured else "I do not want travel insurance."
        return Goal(say, (*facts, Fact("insurance", words)))
    first, then = ("without", "with") if insured else ("with", "without")
    change = f"Sorry, I have changed my mind. Please book it {then} travel insurance instead."
    return Goal(f"{say} I want it {first} travel insurance.", tuple(facts), change=change)
