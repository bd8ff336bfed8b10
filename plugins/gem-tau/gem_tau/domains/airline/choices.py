"""Requests of an airline's customers for the only flights that fit: bookings and other days."""

from dataclasses import dataclass

from gem_tau.database import Record
from gem_tau.domains.airline.calls import Legs, flights_call, legs_of, listed, look, search_call
from gem_tau.domains.airline.customer import (
    ANY_TIME,
    Customer,
    bags_words,
    cabin_words,
    day,
    kind_words,
    payment_fact,
    place,
)
from gem_tau.domains.airline.database import FUTURE
from gem_tau.domains.airline.records import BAG_FEE, CABINS, INSURANCE_FEE, free_bags
from gem_tau.domains.airline.words import ASKS, FIRST_NAMES, LAST_NAMES
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Fact, Goal
from gem_tau.task import Call

__all__ = ["book_one_way", "book_onestop", "book_round_trip", "change_flights"]

_TIMES = (ANY_TIME, "08:00", "10:00", "12:00", "14:00")
"""The times from which customers want to depart."""


@dataclass(frozen=True)
class _Trip:
    """A trip that a customer wants to book."""

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


def book_one_way(customer: Customer) -> Wish:
    """Book the cheapest direct flight of a day."""
    ends = customer.rng.choice(customer.index.direct)
    return _book(customer, ends, (customer.rng.choice(FUTURE),))


def book_round_trip(customer: Customer) -> Wish:
    """Book the cheapest direct flights there and back."""
    ends = customer.rng.choice(customer.index.direct)
    return _book(customer, ends, tuple(sorted(customer.rng.sample(FUTURE, 2))))


def book_onestop(customer: Customer) -> Wish:
    """Book the cheapest flights with a stop, where no direct flight exists."""
    ends = customer.rng.choice(customer.index.onestop)
    return _book(customer, ends, (customer.rng.choice(FUTURE[:-1]),), onestop=True)


def change_flights(customer: Customer, record: Record) -> Wish:
    """Move a one-way trip, or the way back of a round trip, to another day."""
    kept, old, ends = _to_move(record)
    first = kept[-1]["date"] if kept else ""
    dates = [one for one in FUTURE if one > first and one != old]
    if ends not in customer.index.routes.between or not dates:
        raise Unfit
    customer.take("seats")
    date, after = customer.rng.choice(dates), customer.rng.choice(_TIMES)
    count = len(record["passengers"])
    price, found = customer.index.cheapest_direct(ends, date, after, record["cabin"], count)
    moved = sum(leg["price"] for leg in record["flights"][len(kept) :])
    legs = legs_of(record)[: len(kept)] + found
    payment_id, words = customer.payer(count * (price - moved))
    trip, facts = customer.trip(record)
    what = f"the return flight of {trip}" if kept else f"the flight of {trip}"
    wish = f"I would like to move {what} to {day(date)}."
    further = (
        Fact("date", f"The new date is {day(date)}.", ASKS["new_date"]),
        Fact("flight", _flight_rule(after), ASKS["flight"]),
        payment_fact(words),
    )
    calls = (
        look(record),
        search_call(ends, date),
        flights_call(record, record["cabin"], legs, payment_id),
    )
    return Wish(Goal(wish, (*facts, *further)), calls)


def _to_move(record: Record) -> tuple[list[Record], str, tuple[str, str]]:
    """Return the flights that stay, the date of those that move, and the ends of these."""
    legs, ends = record["flights"], (record["origin"], record["destination"])
    if record["flight_type"] == "one_way":
        return [], legs[0]["date"], ends
    half = len(legs) // 2
    return legs[:half], legs[half]["date"], ends[::-1]


def _book(
    customer: Customer, ends: tuple[str, str], dates: tuple[str, ...], *, onestop: bool = False
) -> Wish:
    if customer.has_trip(*ends, dates[0]):
        raise Unfit
    customer.take("seats")
    rng = customer.rng
    passengers, who = _passengers(customer)
    trip = _Trip(ends, dates, onestop, rng.choice(_TIMES), rng.choice(CABINS), passengers, who)
    return _wish(customer, trip, *_flights(customer, trip))


def _flights(customer: Customer, trip: _Trip) -> tuple[int, Legs]:
    """Return the price for a passenger and the legs of the only cheapest flights."""
    search = customer.index.cheapest_onestop if trip.onestop else customer.index.cheapest_direct
    found = [
        search(ends, date, trip.after, trip.cabin, len(trip.passengers)) for ends, date in trip.ways
    ]
    return sum(price for price, _ in found), [leg for _, legs in found for leg in legs]


def _passengers(customer: Customer) -> tuple[list[Record], str]:
    """Return the passengers of a booking, and the sentence that names them."""
    rng, user = customer.rng, customer.user
    passengers = [{**user["name"], "dob": user["dob"]}]
    saved = user["saved_passengers"]
    saved = saved[: rng.randrange(len(saved) + 1)]
    names = [f"{one['first_name']} {one['last_name']}, who is saved in my profile" for one in saved]
    others = [dict(one) for one in saved]
    if rng.random() < 0.25:
        one = _new_passenger(customer)
        others.append(one)
        names.append(f"{one['first_name']} {one['last_name']}, born on {one['dob']}")
    if not others:
        return passengers, "I travel alone."
    return [*passengers, *others], f"The passengers are {', then '.join(['me', *names])}."


def _new_passenger(customer: Customer) -> Record:
    """Return a passenger with a first name that neither the customer nor a saved passenger has."""
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
    arguments = {
        "user_id": customer.id,
        "origin": trip.ends[0],
        "destination": trip.ends[1],
        "flight_type": trip.kind,
        "cabin": trip.cabin,
        "flights": listed(legs),
        "passengers": trip.passengers,
        "payment_methods": payments,
        "total_baggages": bags,
        "nonfree_baggages": paid,
        "insurance": "yes" if insured else "no",
    }
    facts = [
        *_facts(trip),
        Fact("baggage", bags_words(bags)),
        Fact("payment", how, ASKS["payment"]),
    ]
    goal = _goal(customer, trip, facts, insured=insured)
    searches = [search_call(ends, date, onestop=trip.onestop) for ends, date in trip.ways]
    return Wish(goal, (*searches, Call("book_reservation", arguments)))


def _facts(trip: _Trip) -> list[Fact]:
    return [
        Fact("cabin", f"I want to fly in {cabin_words(trip.cabin)}.", ASKS["cabin"]),
        Fact(
            "flight",
            _flight_rule(trip.after, onestop=trip.onestop, both=len(trip.dates) > 1),
            ASKS["flight"],
        ),
        Fact("passengers", trip.who, ASKS["passengers"]),
        Fact("date", _dates_words(trip), ASKS["date"]),
        Fact("origin", f"I leave from {place(trip.ends[0])}.", ASKS["end"]),
        Fact("destination", f"I fly to {place(trip.ends[1])}.", ASKS["end"]),
        Fact("trip_type", f"It is a {kind_words(trip.kind)}.", ASKS["trip_type"]),
    ]


def _flight_rule(after: str, *, onestop: bool = False, both: bool = False) -> str:
    """Return the sentence that says which flight a customer wants."""
    what = "flights with one stop" if onestop else "direct flight"
    when = (
        "" if after == ANY_TIME else f" that {'leave' if onestop else 'leaves'} at {after} or later"
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
    if certificates and rng.random() < 0.5 and customer.take_if_free("certificates"):
        methods.append(certificates[-1])
        words.append(_the("travel certificate", certificates))
    if cards and rng.random() < 0.5 and customer.take_if_free("gift_cards"):
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
