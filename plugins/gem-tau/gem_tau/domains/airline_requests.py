"""Goals of the airline's customers: cancellations, compensation, questions, and what is refused."""

from typing import Any

from gem_tau.database import Record
from gem_tau.domains.airline_bookings import TIMES
from gem_tau.domains.airline_changes import bags_call
from gem_tau.domains.airline_customer import Customer, Wish, cabin_words, day, place
from gem_tau.domains.airline_records import BAG_FEE
from gem_tau.domains.airline_rules import CABINS, may_be_cancelled, may_be_compensated
from gem_tau.domains.airline_world import DATES
from gem_tau.scenario import Fact, Goal

__all__ = [
    "ask_bags",
    "ask_balance",
    "ask_fare",
    "ask_paid",
    "ask_refund",
    "cancel",
    "cancel_or_bags",
    "compensate",
    "reason_for",
    "refuse_bags",
    "refuse_cancellation",
    "refuse_compensation",
    "refuse_destination",
    "refuse_flights",
    "refuse_insurance",
    "refuse_passenger",
]

_REASONS = {
    "health": ("I have fallen ill and cannot travel.", "I broke a leg and have to stay at home."),
    "weather": ("A storm is forecast on that day.", "Heavy snow is forecast, so I cannot travel."),
    "plans": ("My plans have changed.", "I do not need the trip any more."),
    "airline": ("The airline has cancelled one of the flights.",),
}
_REASON_WORDS = ("cancelling", "canceling", "due to", "prompt", "made you decide")
_CANCELLED, _DELAYED = 100, 50  # dollars for each passenger
Look = tuple[str, dict[str, Any]]


def reason_for(customer: Customer, record: Record) -> str:
    """Return a reason for which a reservation may be cancelled; empty if there is none."""
    found = customer.records.statuses[record["reservation_id"]]
    if "cancelled" in found:
        return "airline" if may_be_cancelled(found, record, "airline") else ""
    reason = customer.rng.choice(("health", "weather", "plans"))
    return reason if may_be_cancelled(found, record, reason) else ""


def cancel(customer: Customer, record: Record) -> Wish | None:
    """Cancel a reservation that may be cancelled; half of the customers ask for the refund."""
    reason = reason_for(customer, record)
    if not reason:
        return None
    trip, facts = customer.trip(record)
    asks = customer.rng.random() < 0.5
    say = customer.rng.choice((f"I want to cancel {trip}.", f"Please cancel {trip} for me."))
    say += " Please tell me also how much I get back." if asks else ""
    goal = Goal(say, (*facts, _why(customer, reason)))
    return Wish(goal, (_look(record), _cancel(record)), (str(_paid(record)),) if asks else ())


def cancel_or_bags(customer: Customer, record: Record) -> Wish:
    """Cancel a reservation if the rules allow it, and else add bags."""
    found, more = customer.records.statuses[record["reservation_id"]], customer.rng.randrange(1, 4)
    reason = customer.rng.choice(("health", "weather", "plans"))
    payment_id, words = customer.credit_card()
    trip, facts = customer.trip(record)
    rule = (
        f"if your rules allow to cancel it, cancel it, and otherwise add {more} more checked "
        f"bag{'s' * (more > 1)}"
    )
    call = (
        _cancel(record)
        if may_be_cancelled(found, record, reason)
        else bags_call(customer, record, more, payment_id)
    )
    payment = Fact("payment", f"Please use {words}.", ("pay", "card"))
    goal = Goal(
        f"Please look at {trip} and, {rule}.",
        (*facts, _why(customer, reason), payment),
        condition=f"it follows what I said, that is, {rule}",
    )
    return Wish(goal, (_look(record), call))


def compensate(customer: Customer, record: Record) -> Wish | None:
    """Get a certificate for a cancelled flight, or for a delayed one with the cancellation."""
    found = customer.records.statuses[record["reservation_id"]]
    if not may_be_compensated(customer.user["membership"], record):
        return None
    if not customer.claim("certificates"):
        return None
    count = len(record["passengers"])
    trip, facts = customer.trip(record)
    if "cancelled" in found:
        say = f"The airline cancelled a flight of {trip}. I want a compensation for that, no more."
        return Wish(Goal(say, facts), (_look(record), _certificate(customer, _CANCELLED * count)))
    reason = customer.rng.choice(("health", "weather", "plans"))
    if "delayed" not in found or not may_be_cancelled(found, record, reason):
        return None
    say = f"A flight of {trip} is delayed. Cancel the reservation, and compensate me for the delay."
    calls = (_look(record), _cancel(record), _certificate(customer, _DELAYED * count))
    return Wish(Goal(say, (*facts, _why(customer, reason))), calls)


def ask_refund(customer: Customer, record: Record) -> Wish | None:
    """Ask what a cancellation would pay back."""
    reason = reason_for(customer, record)
    if not reason:
        return None
    trip, facts = customer.trip(record)
    say = f"How much money would I get back if I cancelled {trip}? Do not cancel it, I only ask."
    goal = Goal(say, (*facts, _why(customer, reason)), kind="question")
    return Wish(goal, (_look(record),), (str(_paid(record)),))


def ask_paid(customer: Customer, record: Record) -> Wish:
    """Ask what was paid for a reservation."""
    trip, facts = customer.trip(record)
    goal = Goal(f"How much have I paid in total for {trip}?", facts, kind="question")
    return Wish(goal, (_look(record),), (str(_paid(record)),))


def ask_bags(customer: Customer, record: Record) -> Wish | None:
    """Ask what further bags would cost, beyond those that are free."""
    more = customer.rng.randrange(3, 9)
    call = bags_call(customer, record, more, "")[1]
    price = BAG_FEE * (call["nonfree_baggages"] - record["nonfree_baggages"])
    trip, facts = customer.trip(record)
    say = f"What would {more} more checked bags cost for {trip}? I do not want to add them now."
    return Wish(Goal(say, facts, kind="question"), (_look(record),), (str(price),))


def ask_balance(customer: Customer) -> Wish | None:
    """Ask what the gift cards, or the certificates, are worth."""
    source, name, thing = customer.rng.choice(
        (
            ("gift_card", "gift cards", "gift_cards"),
            ("certificate", "travel certificates", "certificates"),
        )
    )
    methods = customer.methods(source)
    if not methods or not customer.claim(thing):
        return None
    say = f"How much are the {name} in my profile worth in total?"
    total = sum(one["amount"] for one in methods)
    return Wish(Goal(say, kind="question"), (_profile(customer),), (str(total),))


def ask_fare(customer: Customer) -> Wish | None:
    """Ask for the lowest price of a direct flight."""
    rng = customer.rng
    ends, date = rng.choice(customer.records.direct), rng.choice(DATES[15:])
    cabin = rng.choice(CABINS)
    found = customer.records.cheapest_direct(ends, date, TIMES[0], cabin, 1)
    if found is None or not customer.claim("seats"):
        return None
    say = (
        f"What does the cheapest direct flight from {place(ends[0])} to {place(ends[1])} on "
        f"{day(date)} cost for one passenger in {cabin_words(cabin)}? I only ask for the price."
    )
    search = {"origin": ends[0], "destination": ends[1], "date": date}
    goal = Goal(say, kind="question")
    return Wish(goal, (("search_direct_flight", search),), (str(found[0]),))


def refuse_cancellation(customer: Customer, record: Record) -> Wish | None:
    """Ask for a cancellation that the rules forbid."""
    found = customer.records.statuses[record["reservation_id"]]
    if may_be_cancelled(found, record, "plans"):
        return None
    trip, facts = customer.trip(record)
    reason = _why(customer, "plans")
    goal = Goal(
        f"I want to cancel {trip} and get the money back.", (*facts, reason), kind="refusal"
    )
    return Wish(goal, (_look(record),))


def refuse_flights(customer: Customer, record: Record) -> Wish | None:
    """Ask for other flights in basic economy."""
    if record["cabin"] != "basic_economy":
        return None
    return _refused(customer, record, "Please move the flights of {} to the next day.")


def refuse_destination(customer: Customer, record: Record) -> Wish | None:
    """Ask for another destination."""
    codes = sorted(set(customer.records.index.leaving) - {record["origin"], record["destination"]})
    new = place(customer.rng.choice(codes))
    return _refused(customer, record, f"Please change the destination of {{}} to {new}.")


def refuse_bags(customer: Customer, record: Record) -> Wish | None:
    """Ask to remove bags."""
    if not record["total_baggages"]:
        return None
    return _refused(customer, record, "Please take one checked bag out of {}.")


def refuse_insurance(customer: Customer, record: Record) -> Wish | None:
    """Ask for insurance after the booking."""
    if record["insurance"] == "yes":
        return None
    return _refused(customer, record, "I would like to add travel insurance to {}.")


def refuse_passenger(customer: Customer, record: Record) -> Wish | None:
    """Ask for a further passenger."""
    return _refused(customer, record, "I would like to add my cousin as a passenger to {}.")


def refuse_compensation(customer: Customer, record: Record) -> Wish | None:
    """Ask for a compensation that the rules do not grant."""
    found = customer.records.statuses[record["reservation_id"]]
    if may_be_compensated(customer.user["membership"], record):
        return None
    what = next((one for one in ("cancelled", "delayed") if one in found), "")
    if not what:
        return None
    return _refused(customer, record, f"A flight of {{}} is {what}. I want a certificate for that.")


def _refused(customer: Customer, record: Record, say: str) -> Wish:
    trip, facts = customer.trip(record)
    return Wish(Goal(say.format(trip), facts, kind="refusal"), (_look(record),))


def _why(customer: Customer, reason: str) -> Fact:
    return Fact("reason", customer.rng.choice(_REASONS[reason]), _REASON_WORDS)


def _paid(record: Record) -> int:
    return sum(int(payment["amount"]) for payment in record["payment_history"])


def _look(record: Record) -> Look:
    return "get_reservation_details", {"reservation_id": record["reservation_id"]}


def _cancel(record: Record) -> Look:
    return "cancel_reservation", {"reservation_id": record["reservation_id"]}


def _profile(customer: Customer) -> Look:
    return "get_user_details", {"user_id": customer.user_id}


def _certificate(customer: Customer, amount: int) -> Look:
    return "send_certificate", {"user_id": customer.user_id, "amount": amount}
