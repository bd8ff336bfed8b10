"""The records of an airline: their types, how the tools change them, and the rules on them.

The tools leave the rules of the policy to the assistant; the generator of tasks applies them.
"""

import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date as calendar_date
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, NoReturn

from gem_tau.database import Base, Record
from gem_tau.toolkit import ToolFailure, Toolkit

__all__ = [
    "BAG_FEE",
    "CABINS",
    "CERTIFICATE_IDS",
    "COVERED",
    "INSURANCE_FEE",
    "NOW",
    "RESERVATION_IDS",
    "AirlineRecords",
    "Cabin",
    "FlightIndex",
    "Leg",
    "Passenger",
    "Payment",
    "free_bags",
    "may_be_cancelled",
    "may_be_compensated",
    "next_day",
    "statuses",
]

NOW = "2024-05-15T15:00:00"
"""The current time of the domain, Eastern time."""
BAG_FEE = 50
"""The price of a checked bag that is not free, in dollars."""
INSURANCE_FEE = 30
"""The price of the travel insurance for a passenger, in dollars."""
RESERVATION_IDS = ("HATHAT", "HATHAU", "HATHAV")
"""The ids of the reservations that are booked in an episode, in this order."""
CERTIFICATE_IDS = tuple(f"certificate_{number}" for number in (3221322, 3221323, 3221324))
"""The ids of the certificates that are sent in an episode, in this order."""
_OPEN: dict[str, Any] = {"extra": "allow"}

Cabin = Literal["basic_economy", "economy", "business"]
CABINS = ("basic_economy", "economy", "business")
COVERED = ("health", "weather")
"""The reasons for a cancellation that the insurance covers."""
_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_CABIN_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
_DEPARTED = {"landed", "flying"}


@dataclass
class Leg:
    """A flight on a date, written YYYY-MM-DD."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _OPEN
    flight_number: str
    date: str


@dataclass
class Passenger:
    """A passenger; the date of birth is written YYYY-MM-DD."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _OPEN
    first_name: str
    last_name: str
    dob: str


@dataclass
class Payment:
    """An amount in dollars, paid with a method of the user's profile."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _OPEN
    payment_id: str
    amount: int | float


class FlightIndex:
    """The numbers of the flights by origin and destination, in the order of the base.

    Args:
        flights: The flights of a base by number.
    """

    def __init__(self, flights: Mapping[str, Record]) -> None:
        self.leaving: dict[str, list[tuple[str, str]]] = {}
        """The pairs of a flight's number and its destination, by origin."""
        self.between: dict[tuple[str, str], list[str]] = {}
        """The numbers of the flights, by origin and destination."""
        for number, flight in flights.items():
            origin, destination = flight["origin"], flight["destination"]
            self.leaving.setdefault(origin, []).append((number, destination))
            self.between.setdefault((origin, destination), []).append(number)

    @classmethod
    def of(cls, base: Base) -> "FlightIndex":
        """Return the index of a base, made once and kept as long as the base."""
        if base not in _INDICES:
            _INDICES[base] = cls(base.tables.get("flights", {}))
        return _INDICES[base]


_INDICES: weakref.WeakKeyDictionary[Base, FlightIndex] = weakref.WeakKeyDictionary()


class AirlineRecords(Toolkit):
    """The records of an airline, for its tools."""

    takes_seats: ClassVar[bool] = True
    """Whether a booking reduces the available seats."""
    stores_cabin: ClassVar[bool] = True
    """Whether a change of flights stores the cabin."""
    keeps_extras: ClassVar[bool] = False
    """Whether unknown keys of flights, passengers and payments are stored."""

    def _found(self, table: str, what: str, record_id: str) -> Record:
        record = self.db.get(table, record_id)
        if record is None:
            raise ToolFailure(f"there is no {what} {record_id!r}")
        return record

    def _user(self, user_id: str) -> Record:
        return self._found("users", "user", user_id)

    def _reservation(self, reservation_id: str) -> Record:
        return self._found("reservations", "reservation", reservation_id)

    def _on_date(self, flight_number: str, date: str) -> Record:
        flight = self._found("flights", "flight", flight_number)
        if date not in flight["dates"]:
            raise ToolFailure(f"flight {flight_number} does not fly on {date}")
        return flight["dates"][date]

    def _offer(self, number: str, date: str) -> Record:
        """Return a flight with its seats and prices on a date; empty if it cannot be booked."""
        flight = self._found("flights", "flight", number)
        on_date = flight["dates"].get(date)
        if on_date is None or on_date["status"] != "available":
            return {}
        shown = {key: value for key, value in flight.items() if key != "dates"}
        return {**shown, **on_date}

    def _stored(self, part: Leg | Passenger | Payment) -> Record:
        """Return a part of a call as it is stored."""
        return dict(vars(part)) if self.keeps_extras else asdict(part)

    def _payment(self, payment: Payment) -> Record:
        if not self.keeps_extras and payment.amount != int(payment.amount):
            raise ToolFailure(f"an amount is in whole dollars, not {payment.amount}")
        return self._stored(payment)

    def _leg(self, leg: Leg, price: float, flight: Record) -> Record:
        ends = {key: flight[key] for key in ("origin", "destination")}
        return {**self._stored(leg), "price": price, **ends}

    def _priced(self, leg: Leg, cabin: str, count: int) -> Record:
        """Return a flight at its current price, if it has enough seats."""
        on_date = self._on_date(leg.flight_number, leg.date)
        if on_date["status"] != "available":
            raise ToolFailure(
                f"flight {leg.flight_number} on {leg.date} cannot be booked: it is "
                f"{on_date['status']}"
            )
        if on_date["available_seats"][cabin] < count:
            raise ToolFailure(
                f"flight {leg.flight_number} on {leg.date} has not enough seats in {cabin}: "
                f"{on_date['available_seats'][cabin]} for {count} passengers"
            )
        flight = self._found("flights", "flight", leg.flight_number)
        return self._leg(leg, on_date["prices"][cabin], flight)

    def _kept(self, record: Record, leg: Leg, cabin: str) -> Record | None:
        """Return a flight that a reservation has already, at the price that was paid."""
        for old in record["flights"] if cabin == record["cabin"] else ():
            if (old["flight_number"], old["date"]) == (leg.flight_number, leg.date):
                return self._leg(leg, old["price"], old)
        return None

    def _take_seats(self, legs: list[Record], cabin: str, count: int) -> None:
        for leg in legs if self.takes_seats else ():
            flight = self.db.edit("flights", leg["flight_number"])
            flight["dates"][leg["date"]]["available_seats"][cabin] -= count

    def _pay(self, user_id: str, payments: list[Record], price: float) -> None:
        """Pay for a booking; a certificate is used up."""
        methods = self._user(user_id)["payment_methods"]
        for payment in payments:
            method = _method(methods, payment["payment_id"])
            if method["source"] != "credit_card" and method["amount"] < payment["amount"]:
                _too_little(method)
        paid = sum(payment["amount"] for payment in payments)
        if paid != price:
            raise ToolFailure(f"the total price is {price} dollars, but {paid} would be paid")
        methods = self.db.edit("users", user_id)["payment_methods"]
        for payment in payments:
            method = _method(methods, payment["payment_id"])
            if method["source"] == "gift_card":
                method["amount"] -= payment["amount"]
            elif method["source"] == "certificate":
                del methods[payment["payment_id"]]

    def _charge(self, reservation_id: str, payment_id: str, amount: float) -> None:
        """Pay for a change of a reservation; a negative amount is paid back."""
        record = self._reservation(reservation_id)
        method = _method(self._user(record["user_id"])["payment_methods"], payment_id)
        if method["source"] == "certificate":
            raise ToolFailure("a certificate cannot pay for a change of a reservation")
        if method["source"] == "gift_card":
            if method["amount"] < amount:
                _too_little(method)
            methods = self.db.edit("users", record["user_id"])["payment_methods"]
            methods[payment_id]["amount"] -= amount
        if amount:
            payment = {"payment_id": payment_id, "amount": amount}
            self.db.edit("reservations", reservation_id)["payment_history"].append(payment)

    def _new_reservation_id(self) -> str:
        for one in RESERVATION_IDS:
            if self.db.get("reservations", one) is None:
                return one
        raise ToolFailure(f"at most {len(RESERVATION_IDS)} reservations can be booked")

    def _insert_reservation(self, reservation_id: str, record: Record) -> None:
        self.db.insert("reservations", reservation_id, record)

    def _no_certificate_left(self) -> str:
        raise ToolFailure(f"at most {len(CERTIFICATE_IDS)} certificates can be sent to a user")


def _method(methods: Mapping[str, Record], payment_id: str) -> Record:
    if payment_id not in methods:
        raise ToolFailure(f"the profile has no payment method {payment_id!r}")
    return methods[payment_id]


def _too_little(method: Record) -> NoReturn:
    raise ToolFailure(f"{method['id']} has only {method['amount']} dollars")


def next_day(date: str) -> str:
    """Return the day after a date.

    Raises:
        ToolFailure: It is not a date.
    """
    try:
        return str(calendar_date.fromisoformat(date) + timedelta(days=1))
    except (ValueError, OverflowError):
        raise ToolFailure(f"a date is written YYYY-MM-DD, not {date!r}") from None


def free_bags(membership: str, cabin: str) -> int:
    """Return the number of checked bags that are free for a passenger."""
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
        reason: The reason: one of ``COVERED``, or another one.
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
