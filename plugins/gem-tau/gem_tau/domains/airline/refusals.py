"""Wishes of an airline's customers that the policy forbids."""

from gem_tau.database import Record
from gem_tau.domains.airline.calls import look
from gem_tau.domains.airline.customer import Customer, place
from gem_tau.domains.airline.records import may_be_cancelled, may_be_compensated
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Goal

__all__ = [
    "refuse_bags",
    "refuse_cancellation",
    "refuse_compensation",
    "refuse_destination",
    "refuse_flights",
    "refuse_insurance",
    "refuse_passenger",
]


def refuse_cancellation(customer: Customer, record: Record) -> Wish:
    """Ask for a cancellation that the rules forbid."""
    found = customer.index.statuses[record["reservation_id"]]
    if may_be_cancelled(found, record, "plans"):
        raise Unfit
    trip, facts = customer.trip(record)
    reason = customer.reason_fact("plans")
    goal = Goal(
        f"I want to cancel {trip} and get the money back.", (*facts, reason), kind="refusal"
    )
    return Wish(goal, (look(record),))


def refuse_flights(customer: Customer, record: Record) -> Wish:
    """Ask for other flights in basic economy."""
    if record["cabin"] != "basic_economy":
        raise Unfit
    return _refused(customer, record, "Please move the flights of {} to the next day.")


def refuse_destination(customer: Customer, record: Record) -> Wish:
    """Ask for another destination."""
    codes = sorted(set(customer.index.routes.leaving) - {record["origin"], record["destination"]})
    new = place(customer.rng.choice(codes))
    return _refused(customer, record, f"Please change the destination of {{}} to {new}.")


def refuse_bags(customer: Customer, record: Record) -> Wish:
    """Ask to remove bags."""
    if not record["total_baggages"]:
        raise Unfit
    return _refused(customer, record, "Please take one checked bag out of {}.")


def refuse_insurance(customer: Customer, record: Record) -> Wish:
    """Ask for insurance after the booking."""
    if record["insurance"] == "yes":
        raise Unfit
    return _refused(customer, record, "I would like to add travel insurance to {}.")


def refuse_passenger(customer: Customer, record: Record) -> Wish:
    """Ask for a further passenger."""
    return _refused(customer, record, "I would like to add my cousin as a passenger to {}.")


def refuse_compensation(customer: Customer, record: Record) -> Wish:
    """Ask for a compensation that the rules do not grant."""
    found = customer.index.statuses[record["reservation_id"]]
    if may_be_compensated(customer.user["membership"], record):
        raise Unfit
    what = next((one for one in ("cancelled", "delayed") if one in found), "")
    if not what:
        raise Unfit
    return _refused(customer, record, f"A flight of {{}} is {what}. I want a certificate for that.")


def _refused(customer: Customer, record: Record, say: str) -> Wish:
    trip, facts = customer.trip(record)
    return Wish(Goal(say.format(trip), facts, kind="refusal"), (look(record),))
