"""Requests of an airline's customers: cancellations, compensation, cabins, bags and passengers."""

from gem_tau.database import Record
from gem_tau.domains.airline.calls import (
    cancel_call,
    certificate_call,
    flights_call,
    legs_of,
    look,
    passengers_call,
)
from gem_tau.domains.airline.customer import (
    Customer,
    cabin_words,
    money,
    more_words,
    paid_for,
    payment_fact,
)
from gem_tau.domains.airline.records import BAG_FEE, CABINS, may_be_cancelled, may_be_compensated
from gem_tau.domains.airline.words import ASKS, LAST_NAMES
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Fact, Goal

__all__ = [
    "add_bags",
    "cancel",
    "cancel_or_bags",
    "change_cabin",
    "compensate",
    "correct_passenger",
    "upgrade_or_bags",
]

_CANCELLED, _DELAYED = 100, 50  # dollars for each passenger


def cancel(customer: Customer, record: Record) -> Wish:
    """Cancel a reservation that may be cancelled; half of the customers ask for the refund."""
    reason = customer.reason_for(record)
    trip, facts = customer.trip(record)
    asks = customer.rng.random() < 0.5
    say = customer.rng.choice((f"I want to cancel {trip}.", f"Please cancel {trip} for me."))
    say += " Please tell me also how much I get back." if asks else ""
    goal = Goal(say, (*facts, customer.reason_fact(reason)))
    answer = str(paid_for(record)) if asks else ""
    return Wish(goal, (look(record), cancel_call(record)), answer)


def cancel_or_bags(customer: Customer, record: Record) -> Wish:
    """Cancel a reservation if the rules allow it, and else add bags."""
    found, more = customer.index.statuses[record["reservation_id"]], customer.rng.randrange(1, 4)
    reason = customer.rng.choice(("health", "weather", "plans"))
    payment_id, words = customer.credit_card()
    trip, facts = customer.trip(record)
    rule = f"if your rules allow to cancel it, cancel it, and otherwise add {more_words(more)}"
    call = (
        cancel_call(record)
        if may_be_cancelled(found, record, reason)
        else customer.add_bags(record, more, payment_id)
    )
    payment = Fact("payment", f"Please use {words}.", ASKS["payment"])
    goal = Goal(
        f"Please look at {trip} and, {rule}.",
        (*facts, customer.reason_fact(reason), payment),
        condition=f"it follows what I said, that is, {rule}",
    )
    return Wish(goal, (look(record), call))


def compensate(customer: Customer, record: Record) -> Wish:
    """Get a certificate for a cancelled flight, or for a delayed one with the cancellation."""
    found = customer.index.statuses[record["reservation_id"]]
    if not may_be_compensated(customer.user["membership"], record):
        raise Unfit
    customer.take("certificates")
    count = len(record["passengers"])
    trip, facts = customer.trip(record)
    if "cancelled" in found:
        say = f"The airline cancelled a flight of {trip}. I want a compensation for that, no more."
        call = certificate_call(customer.id, _CANCELLED * count)
        return Wish(Goal(say, facts), (look(record), call))
    reason = customer.rng.choice(("health", "weather", "plans"))
    if "delayed" not in found or not may_be_cancelled(found, record, reason):
        raise Unfit
    say = f"A flight of {trip} is delayed. Cancel the reservation, and compensate me for the delay."
    calls = (look(record), cancel_call(record), certificate_call(customer.id, _DELAYED * count))
    return Wish(Goal(say, (*facts, customer.reason_fact(reason))), calls)


def change_cabin(customer: Customer, record: Record) -> Wish:
    """Change the cabin of all flights of a reservation."""
    cabin = customer.rng.choice([one for one in CABINS if one != record["cabin"]])
    difference = _difference(customer, record, cabin)
    if not difference:
        raise Unfit
    customer.take("seats")
    payment_id, words = customer.payer(difference)
    trip, facts = customer.trip(record)
    asks = customer.rng.random() < 0.6
    question = "pay for it" if difference > 0 else "get back"
    say = f"I would like to change {trip} to {cabin_words(cabin)}, with the same flights."
    say += f" Please tell me how much I {question} in total." if asks else ""
    new_cabin = Fact("cabin", f"I want {cabin_words(cabin)} on all flights.")
    return Wish(
        Goal(say, (*facts, new_cabin, payment_fact(words))),
        (look(record), flights_call(record, cabin, legs_of(record), payment_id)),
        str(abs(difference)) if asks else "",
    )


def upgrade_or_bags(customer: Customer, record: Record) -> Wish:
    """Change to a better cabin if the difference is below a limit, and else add bags."""
    better = CABINS[CABINS.index(record["cabin"]) + 1 :]
    difference = _difference(customer, record, better[-1]) if better else 0
    if difference <= 0:
        raise Unfit
    customer.take("seats")
    is_cheap, more = customer.rng.random() < 0.5, customer.rng.randrange(1, 4)
    limit = difference + customer.rng.randrange(10, 90) * (1 if is_cheap else -1)
    if limit <= 0:
        raise Unfit
    payment_id, words = customer.credit_card()
    trip, facts = customer.trip(record)
    cabin = cabin_words(better[-1])
    rule = (
        f"if {cabin} on the same flights costs at most {money(limit)} more in total, change it to "
        f"{cabin}, and otherwise leave the cabin and add {more_words(more)}"
    )
    say = f"Please look at {trip} and, {rule}."
    call = (
        flights_call(record, better[-1], legs_of(record), payment_id)
        if is_cheap
        else customer.add_bags(record, more, payment_id)
    )
    goal = Goal(
        say, (*facts, payment_fact(words)), condition=f"it follows what I said, that is, {rule}"
    )
    return Wish(goal, (look(record), call))


def add_bags(customer: Customer, record: Record) -> Wish:
    """Add bags, free or paid; a third of the customers change the number once."""
    wanted, count = customer.rng.sample(range(1, 6), 2)
    paid = customer.paid_bags(record, count) - record["nonfree_baggages"]
    payment_id, words = customer.payer(BAG_FEE * max(0, paid))
    trip, facts = customer.trip(record)
    changes = customer.rng.random() < 0.33
    said = wanted if changes else count
    change = (
        f"Sorry, I made a mistake. I need {more_words(count)}, not {wanted}." if changes else ""
    )
    say = f"I need to add {more_words(said)} to {trip}."
    goal = Goal(say, (*facts, payment_fact(words)), change=change)
    return Wish(goal, (look(record), customer.add_bags(record, count, payment_id)))


def correct_passenger(customer: Customer, record: Record) -> Wish:
    """Correct the last name or the date of birth of a passenger."""
    rng, passengers = customer.rng, [dict(one) for one in record["passengers"]]
    one = rng.choice(passengers)
    trip, facts = customer.trip(record)
    who = f"{one['first_name']} {one['last_name']}"
    names = [name for name in rng.sample(LAST_NAMES, 3) if name != one["last_name"]]
    if rng.random() < 0.5:
        key, what, wrong, right = "last_name", "last name", names[0], names[1]
    else:
        key, what = "dob", "date of birth"
        wrong, right = (
            f"{year}-06-1{rng.randrange(10)}" for year in rng.sample(range(1950, 2004), 2)
        )
    if one[key] == right:
        raise Unfit
    one[key] = right
    changes = rng.random() < 0.25
    say = f"The {what} of {who} is wrong in {trip}. It must be {wrong if changes else right}."
    change = f"Sorry, that was not right either. The {what} must be {right}." if changes else ""
    told = () if changes else (Fact("correction", f"It must be {right}.", ASKS["correction"]),)
    goal = Goal(say, (*facts, *told), change=change)
    return Wish(goal, (look(record), passengers_call(record, passengers)))


def _difference(customer: Customer, record: Record, cabin: str) -> int:
    """Return the difference in price to another cabin; 0 if it is not available."""
    count, total = len(record["passengers"]), 0
    for leg in record["flights"]:
        price = customer.index.offer(leg["flight_number"], leg["date"], cabin, count)
        if price is None:
            return 0
        total += price - leg["price"]
    return int(count * total)
