"""The reference calls of wishes."""

from collections.abc import Sequence
from typing import Any

from gem_tau.database import Record
from gem_tau.task import Call

__all__ = [
    "Legs",
    "bags_call",
    "cancel_call",
    "certificate_call",
    "flights_call",
    "legs_of",
    "listed",
    "look",
    "passengers_call",
    "profile_call",
    "search_call",
]

Legs = list[tuple[str, str]]
"""The numbers and dates of flights."""


def look(record: Record) -> Call:
    """Return the call that reads a reservation."""
    return Call("get_reservation_details", {"reservation_id": record["reservation_id"]})


def profile_call(user_id: str) -> Call:
    """Return the call that reads the profile of a user."""
    return Call("get_user_details", {"user_id": user_id})


def search_call(ends: tuple[str, str], date: str, *, onestop: bool = False) -> Call:
    """Return the call that searches the flights between two airports on a date."""
    name = "search_onestop_flight" if onestop else "search_direct_flight"
    return Call(name, {"origin": ends[0], "destination": ends[1], "date": date})


def cancel_call(record: Record) -> Call:
    """Return the call that cancels a reservation."""
    return Call("cancel_reservation", {"reservation_id": record["reservation_id"]})


def certificate_call(user_id: str, amount: int) -> Call:
    """Return the call that sends a user a certificate of an amount of dollars."""
    return Call("send_certificate", {"user_id": user_id, "amount": amount})


def bags_call(record: Record, total: int, paid: int, payment_id: str) -> Call:
    """Return the call that sets the number of bags, and of those that are paid."""
    arguments = {
        "reservation_id": record["reservation_id"],
        "total_baggages": total,
        "nonfree_baggages": paid,
        "payment_id": payment_id,
    }
    return Call("update_reservation_baggages", arguments)


def flights_call(record: Record, cabin: str, legs: Legs, payment_id: str) -> Call:
    """Return the call that sets the cabin and the flights of a reservation."""
    arguments = {
        "reservation_id": record["reservation_id"],
        "cabin": cabin,
        "flights": listed(legs),
        "payment_id": payment_id,
    }
    return Call("update_reservation_flights", arguments)


def passengers_call(record: Record, passengers: Sequence[Record]) -> Call:
    """Return the call that replaces the passengers of a reservation."""
    arguments = {"reservation_id": record["reservation_id"], "passengers": passengers}
    return Call("update_reservation_passengers", arguments)


def legs_of(record: Record) -> Legs:
    """Return the numbers and dates of the flights of a reservation."""
    return [(leg["flight_number"], leg["date"]) for leg in record["flights"]]


def listed(legs: Legs) -> list[dict[str, Any]]:
    """Return flights as the tools take them."""
    return [{"flight_number": number, "date": date} for number, date in legs]
