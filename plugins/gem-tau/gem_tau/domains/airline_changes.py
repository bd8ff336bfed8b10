"""Goals of the airline's customers that change a reservation: flights, cabin, bags, passengers."""

from typing import Any

from gem_tau.database import Record
from gem_tau.domains.airline_bookings import FLIGHT_WORDS, TIMES, flight_rule
from gem_tau.domains.airline_customer import Customer, Legs, Wish, cabin_words, day, money
from gem_tau.domains.airline_people import LAST_NAMES
from gem_tau.domains.airline_records import BAG_FEE
from gem_tau.domains.airline_rules import CABINS, free_bags
from gem_tau.domains.airline_world import DATES
from gem_tau.scenario import Fact, Goal

__all__ = [
    "add_bags",
    "bags_call",
    "change_cabin",
    "change_flights",
    "correct_passenger",
    "upgrade_or_bags",
]

_MONEY_WORDS = ("pay", "refund", "card")
_CORRECT_WORDS = ("correct", "should", "spell", "new")
_FUTURE = DATES[15:]


def change_flights(customer: Customer, record: Record) -> Wish | None:
    """Move a one-way trip, or the way back of a round trip, to another day."""
    kept, old, ends = _to_move(record)
    first = kept[-1]["date"] if kept else ""
    dates = [one for one in _FUTURE if one > first and one != old]
    if ends not in customer.records.index.between or not dates or not customer.claim("seats"):
        return None
    date, after = customer.rng.choice(dates), customer.rng.choice(TIMES)
    count = len(record["passengers"])
    found = customer.records.cheapest_direct(ends, date, after, record["cabin"], count)
    if found is None:
        return None
    moved = sum(leg["price"] for leg in record["flights"][len(kept) :])
    legs = [(leg["flight_number"], leg["date"]) for leg in kept] + found[1]
    payment_id, words = customer.payer(count * (found[0] - moved))
    trip, facts = customer.trip(record)
    what = f"the return flight of {trip}" if kept else f"the flight of {trip}"
    wish = f"I would like to move {what} to {day(date)}."
    further = (
        Fact("date", f"The new date is {day(date)}.", ("new date", "when")),
        Fact("flight", flight_rule(after), FLIGHT_WORDS),
        _payment(words),
    )
    search = {"origin": ends[0], "destination": ends[1], "date": date}
    return Wish(
        Goal(wish, (*facts, *further)),
        (
            _look(record),
            ("search_direct_flight", search),
            _update(record, record["cabin"], legs, payment_id),
        ),
    )


def _to_move(record: Record) -> tuple[list[Record], str, tuple[str, str]]:
    """Return the flights that stay, the date of those that move, and the ends of these."""
    legs, ends = record["flights"], (record["origin"], record["destination"])
    if record["flight_type"] == "one_way":
        return [], legs[0]["date"], ends
    half = len(legs) // 2
    return legs[:half], legs[half]["date"], ends[::-1]


def change_cabin(customer: Customer, record: Record) -> Wish | None:
    """Change the cabin of all flights of a reservation."""
    cabin = customer.rng.choice([one for one in CABINS if one != record["cabin"]])
    difference = _difference(customer, record, cabin)
    if not difference or not customer.claim("seats"):
        return None
    payment_id, words = customer.payer(difference)
    trip, facts = customer.trip(record)
    asks = customer.rng.random() < 0.6
    question = "pay for it" if difference > 0 else "get back"
    say = f"I would like to change {trip} to {cabin_words(cabin)}, with the same flights."
    say += f" Please tell me how much I {question} in total." if asks else ""
    new_cabin = Fact("cabin", f"I want {cabin_words(cabin)} on all flights.")
    return Wish(
        Goal(say, (*facts, new_cabin, _payment(words))),
        (_look(record), _update(record, cabin, _legs(record), payment_id)),
        (str(abs(difference)),) if asks else (),
    )


def upgrade_or_bags(customer: Customer, record: Record) -> Wish | None:
    """Change to a better cabin if the difference is below a limit, and else add bags."""
    better = CABINS[CABINS.index(record["cabin"]) + 1 :]
    difference = _difference(customer, record, better[-1]) if better else 0
    if difference <= 0 or not customer.claim("seats"):
        return None
    is_cheap, more = customer.rng.random() < 0.5, customer.rng.randrange(1, 4)
    limit = difference + customer.rng.randrange(10, 90) * (1 if is_cheap else -1)
    if limit <= 0:
        return None
    payment_id, words = customer.credit_card()
    trip, facts = customer.trip(record)
    cabin = cabin_words(better[-1])
    rule = (
        f"if {cabin} on the same flights costs at most {money(limit)} more in total, change it to "
        f"{cabin}, and otherwise leave the cabin and add {_more(more)}"
    )
    say = f"Please look at {trip} and, {rule}."
    call = (
        _update(record, better[-1], _legs(record), payment_id)
        if is_cheap
        else bags_call(customer, record, more, payment_id)
    )
    goal = Goal(
        say, (*facts, _payment(words)), condition=f"it follows what I said, that is, {rule}"
    )
    return Wish(goal, (_look(record), call))


def add_bags(customer: Customer, record: Record) -> Wish | None:
    """Add bags, free or paid; a third of the customers change the number once."""
    wanted, count = customer.rng.sample(range(1, 6), 2)
    call = bags_call(customer, record, count, "")
    paid = call[1]["nonfree_baggages"] - record["nonfree_baggages"]
    payment_id, words = customer.payer(BAG_FEE * max(0, paid))
    call[1]["payment_id"] = payment_id
    trip, facts = customer.trip(record)
    changes = customer.rng.random() < 0.33
    said = wanted if changes else count
    change = f"Sorry, I made a mistake. I need {_more(count)}, not {wanted}." if changes else ""
    goal = Goal(f"I need to add {_more(said)} to {trip}.", (*facts, _payment(words)), change=change)
    return Wish(goal, (_look(record), call))


def correct_passenger(customer: Customer, record: Record) -> Wish | None:
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
        return None
    one[key] = right
    changes = rng.random() < 0.25
    say = f"The {what} of {who} is wrong in {trip}. It must be {wrong if changes else right}."
    change = f"Sorry, that was not right either. The {what} must be {right}." if changes else ""
    call = {"reservation_id": record["reservation_id"], "passengers": passengers}
    told = () if changes else (Fact("correction", f"It must be {right}.", _CORRECT_WORDS),)
    goal = Goal(say, (*facts, *told), change=change)
    return Wish(goal, (_look(record), ("update_reservation_passengers", call)))


def bags_call(
    customer: Customer, record: Record, more: int, payment_id: str
) -> tuple[str, dict[str, Any]]:
    """Return the call that adds bags to a reservation, the free ones first."""
    total = record["total_baggages"] + more
    each = free_bags(customer.user["membership"], record["cabin"])
    return (
        "update_reservation_baggages",
        {
            "reservation_id": record["reservation_id"],
            "total_baggages": total,
            "nonfree_baggages": max(0, total - len(record["passengers"]) * each),
            "payment_id": payment_id,
        },
    )


def _difference(customer: Customer, record: Record, cabin: str) -> int:
    """Return what another cabin costs more; 0 if it is not available."""
    count, total = len(record["passengers"]), 0
    for leg in record["flights"]:
        price = customer.records.offer(leg["flight_number"], leg["date"], cabin, count)
        if price is None:
            return 0
        total += price - leg["price"]
    return int(count * total)


def _more(count: int) -> str:
    return f"{count} more checked bag{'s' * (count > 1)}"


def _payment(words: str) -> Fact:
    also = (f"With {words}, please.", f"I would like to use {words}.")
    return Fact("payment", f"Please use {words}.", _MONEY_WORDS, also)


def _legs(record: Record) -> Legs:
    return [(leg["flight_number"], leg["date"]) for leg in record["flights"]]


def _look(record: Record) -> tuple[str, dict[str, Any]]:
    return "get_reservation_details", {"reservation_id": record["reservation_id"]}


def _update(record: Record, cabin: str, legs: Legs, payment_id: str) -> tuple[str, dict[str, Any]]:
    return (
        "update_reservation_flights",
        {
            "reservation_id": record["reservation_id"],
            "cabin": cabin,
            "flights": [{"flight_number": number, "date": date} for number, date in legs],
            "payment_id": payment_id,
        },
    )
