"""The rules of the airline's policy that the generator of tasks applies."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from gem_tau.database import Record
from gem_tau.domains.airline_records import NOW

__all__ = ["CABINS", "COVERED", "free_bags", "may_be_cancelled", "may_be_compensated", "statuses"]

CABINS = ("basic_economy", "economy", "business")
COVERED = ("health", "weather")
"""The reasons for a cancellation that the insurance covers."""
_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_CABIN_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
_DEPARTED = {"landed", "flying"}


def free_bags(membership: str, cabin: str) -> int:
    """Return how many checked bags are free for a passenger."""
    return _FREE_BAGS[membership] + _CABIN_BAGS[cabin]


def statuses(flights: Mapping[str, Record], reservation: Record) -> set[str]:
    """Return the statuses of the flights of a reservation."""
    return {
        flights[leg["flight_number"]]["dates"][leg["date"]]["status"]
        for leg in reservation["flights"]
    }


def may_be_cancelled(found: set[str], reservation: Record, reason: str) -> bool:
    """Return whether a reservation may be cancelled.

    Args:
        found: The statuses of its flights.
        reservation: The reservation.
        reason: Why: one of ``COVERED``, or something else.
    """
    if found & _DEPARTED or "status" in reservation:
        return False
    age = datetime.fromisoformat(NOW) - datetime.fromisoformat(reservation["created_at"])
    return (
        age <= timedelta(hours=24)
        or "cancelled" in found
        or reservation["cabin"] == "business"
        or (reservation["insurance"] == "yes" and reason in COVERED)
    )


def may_be_compensated(membership: str, reservation: Record) -> bool:
    """Return whether a cancelled or delayed flight of a reservation can be compensated."""
    return (
        membership != "regular"
        or reservation["insurance"] == "yes"
        or reservation["cabin"] == "business"
    )
