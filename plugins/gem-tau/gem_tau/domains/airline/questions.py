"""Questions of an airline's customers."""

from gem_tau.database import Record
from gem_tau.domains.airline.calls import look, profile_call, search_call
from gem_tau.domains.airline.customer import (
    ANY_TIME,
    Customer,
    cabin_words,
    day,
    paid_for,
    place,
)
from gem_tau.domains.airline.database import FUTURE
from gem_tau.domains.airline.records import BAG_FEE, CABINS
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Goal

__all__ = ["ask_bags", "ask_balance", "ask_fare", "ask_paid", "ask_refund"]


def ask_refund(customer: Customer, record: Record) -> Wish:
    """Ask what a cancellation would pay back."""
    reason = customer.reason_for(record)
    trip, facts = customer.trip(record)
    say = f"How much money would I get back if I cancelled {trip}? Do not cancel it, I only ask."
    goal = Goal(say, (*facts, customer.reason_fact(reason)), kind="question")
    return Wish(goal, (look(record),), str(paid_for(record)))


def ask_paid(customer: Customer, record: Record) -> Wish:
    """Ask what was paid for a reservation."""
    trip, facts = customer.trip(record)
    goal = Goal(f"How much have I paid in total for {trip}?", facts, kind="question")
    return Wish(goal, (look(record),), str(paid_for(record)))


def ask_bags(customer: Customer, record: Record) -> Wish:
    """Ask what further bags would cost, beyond those that are free."""
    more = customer.rng.randrange(3, 9)
    price = BAG_FEE * (customer.paid_bags(record, more) - record["nonfree_baggages"])
    trip, facts = customer.trip(record)
    say = f"What would {more} more checked bags cost for {trip}? I do not want to add them now."
    return Wish(Goal(say, facts, kind="question"), (look(record),), str(price))


def ask_balance(customer: Customer) -> Wish:
    """Ask what the gift cards, or the certificates, are worth."""
    source, name, thing = customer.rng.choice(
        (
            ("gift_card", "gift cards", "gift_cards"),
            ("certificate", "travel certificates", "certificates"),
        )
    )
    methods = customer.methods(source)
    if not methods:
        raise Unfit
    customer.take(thing)
    say = f"How much are the {name} in my profile worth in total?"
    total = sum(one["amount"] for one in methods)
    return Wish(Goal(say, kind="question"), (profile_call(customer.id),), str(total))


def ask_fare(customer: Customer) -> Wish:
    """Ask for the lowest price of a direct flight."""
    rng = customer.rng
    ends, date = rng.choice(customer.index.direct), rng.choice(FUTURE)
    cabin = rng.choice(CABINS)
    price, _ = customer.index.cheapest_direct(ends, date, ANY_TIME, cabin, 1)
    customer.take("seats")
    say = (
        f"What does the cheapest direct flight from {place(ends[0])} to {place(ends[1])} on "
        f"{day(date)} cost for one passenger in {cabin_words(cabin)}? I only ask for the price."
    )
    return Wish(Goal(say, kind="question"), (search_call(ends, date),), str(price))
