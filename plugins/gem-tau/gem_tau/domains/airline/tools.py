"""The airline: tools over users, reservations and flights.

The tools have the names, the parameters and the effects of tau2's airline; ``AirlineToolsV1`` has
the effects of tau-bench 1. The tools check availability and payment, and leave the rules of the
policy to the assistant.
"""

from pathlib import Path
from typing import Literal

from gem_tau.database import Record
from gem_tau.domains.airline.records import (
    BAG_FEE,
    CERTIFICATE_IDS,
    INSURANCE_FEE,
    NOW,
    RESERVATION_IDS,
    AirlineRecords,
    Cabin,
    FlightIndex,
    Leg,
    Passenger,
    Payment,
    next_day,
)
from gem_tau.domains.airline.words import CITIES
from gem_tau.task import Domain
from gem_tau.toolkit import ToolFailure, read, write

__all__ = ["AIRLINE", "AirlineTools", "AirlineToolsV1"]


class AirlineTools(AirlineRecords):
    """The tools of an airline's assistant."""

    @write
    def book_reservation(
        self,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: Literal["one_way", "round_trip"],
        cabin: Cabin,
        flights: list[Leg],
        passengers: list[Passenger],
        payment_methods: list[Payment],
        total_baggages: int,
        nonfree_baggages: int,
        insurance: Literal["yes", "no"],
    ) -> Record:
        """Book flights for one or more passengers.

        Args:
            user_id: The id in the profile of the user.
            origin: The airport where the trip starts, such as BOS.
            destination: The airport that the trip goes to, such as SEA.
            flight_type: Whether the trip goes one way, or there and back.
            cabin: The cabin of all flights and passengers.
            flights: All flights of the trip in the order of travel.
            passengers: All passengers.
            payment_methods: The payments; the amounts add up to the total price.
            total_baggages: The number of checked bags of all passengers together.
            nonfree_baggages: How many of these bags must be paid.
            insurance: Whether to add travel insurance for all passengers.
        """
        self._user(user_id)
        reservation_id = self._new_reservation_id()
        booked = [self._priced(leg, cabin, len(passengers)) for leg in flights]
        price = sum(leg["price"] for leg in booked)
        price += INSURANCE_FEE if insurance == "yes" else 0
        payments = [self._payment(payment) for payment in payment_methods]
        self._pay(user_id, payments, len(passengers) * price + BAG_FEE * nonfree_baggages)
        self._take_seats(booked, cabin, len(passengers))
        record = {
            "reservation_id": reservation_id,
            "user_id": user_id,
            "origin": origin,
            "destination": destination,
            "flight_type": flight_type,
            "cabin": cabin,
            "flights": booked,
            "passengers": [self._stored(passenger) for passenger in passengers],
            "payment_history": payments,
            "created_at": NOW,
            "total_baggages": total_baggages,
            "nonfree_baggages": nonfree_baggages,
            "insurance": insurance,
        }
        self._insert_reservation(reservation_id, record)
        self.db.edit("users", user_id)["reservations"].append(reservation_id)
        return record

    @write
    def cancel_reservation(self, reservation_id: str) -> Record:
        """Cancel a whole reservation and refund what was paid for it.

        Args:
            reservation_id: The reservation.
        """
        self._reservation(reservation_id)
        record = self.db.edit("reservations", reservation_id)
        record["payment_history"] += [
            {"payment_id": payment["payment_id"], "amount": -payment["amount"]}
            for payment in record["payment_history"]
        ]
        record["status"] = "cancelled"
        return record

    @read
    def get_reservation_details(self, reservation_id: str) -> Record:
        """Get a reservation: its flights, passengers, payments, bags and insurance.

        Args:
            reservation_id: The reservation.
        """
        return self._reservation(reservation_id)

    @read
    def get_user_details(self, user_id: str) -> Record:
        """Get the profile of a user: payment methods, membership, reservations and more.

        Args:
            user_id: The id of the user.
        """
        return self._user(user_id)

    @read
    def list_all_airports(self) -> list[dict[str, str]]:
        """List the airports that the airline flies to, with their cities."""
        codes = dict.fromkeys(flight["origin"] for _, flight in self.db.records("flights"))
        return [{"iata": code, "city": CITIES.get(code, code)} for code in codes]

    @read
    def search_direct_flight(self, origin: str, destination: str, date: str) -> list[Record]:
        """Search the direct flights between two airports that can be booked on a date.

        Args:
            origin: The airport of departure, such as BOS.
            destination: The airport of arrival, such as SEA.
            date: The date of departure, YYYY-MM-DD.
        """
        numbers = FlightIndex.of(self.db.base).between.get((origin, destination), ())
        return [found for number in numbers if (found := self._offer(number, date))]

    @read
    def search_onestop_flight(self, origin: str, destination: str, date: str) -> list[list[Record]]:
        """Search the pairs of flights with one stop that can be booked on a date.

        Args:
            origin: The airport of departure, such as BOS.
            destination: The airport of arrival, such as SEA.
            date: The date of the first departure, YYYY-MM-DD.
        """
        index = FlightIndex.of(self.db.base)
        found = []
        for number, stop in index.leaving.get(origin, ()):
            first = self._offer(number, date)
            for onward in index.between.get((stop, destination), ()) if first else ():
                arrival = first["scheduled_arrival_time_est"]
                later = next_day(date) if "+1" in arrival else date
                second = self._offer(onward, later)
                if second and second["scheduled_departure_time_est"] >= arrival:
                    found.append([{**first, "date": date}, {**second, "date": later}])
        return found

    @write
    def send_certificate(self, user_id: str, amount: int | float) -> str:  # noqa: PYI041 - keeps 50 from becoming 50.0
        """Send a travel certificate to a user, as a compensation that the policy grants.

        Args:
            user_id: The id of the user.
            amount: The value in dollars.
        """
        methods = self._user(user_id)["payment_methods"]
        free = next((one for one in CERTIFICATE_IDS if one not in methods), None)
        if free is None:
            return self._no_certificate_left()
        self.db.edit("users", user_id)["payment_methods"][free] = {
            "source": "certificate",
            "amount": amount,
            "id": free,
        }
        return f"User {user_id} has the new {free} of {amount} dollars."

    @write
    def update_reservation_baggages(
        self, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
    ) -> Record:
        """Change the number of checked bags of a reservation.

        Args:
            reservation_id: The reservation.
            total_baggages: The new number of bags of all passengers together.
            nonfree_baggages: How many of these bags must be paid.
            payment_id: The payment method of the profile that pays for further bags.
        """
        record = self._reservation(reservation_id)
        more = max(0, nonfree_baggages - record["nonfree_baggages"])
        self._charge(reservation_id, payment_id, BAG_FEE * more)
        record = self.db.edit("reservations", reservation_id)
        record.update(total_baggages=total_baggages, nonfree_baggages=nonfree_baggages)
        return record

    @write
    def update_reservation_flights(
        self, reservation_id: str, cabin: Cabin, flights: list[Leg], payment_id: str
    ) -> Record:
        """Change the flights or the cabin of a reservation.

        A flight that stays, in the same cabin, keeps the price that was paid for it.

        Args:
            reservation_id: The reservation.
            cabin: The cabin of all flights after the change.
            flights: All flights after the change, also those that stay.
            payment_id: The payment method of the profile that pays the difference, or gets it back.
        """
        record = self._reservation(reservation_id)
        count = len(record["passengers"])
        legs = [
            self._kept(record, leg, cabin) or self._priced(leg, cabin, count) for leg in flights
        ]
        before = sum(leg["price"] for leg in record["flights"])
        difference = count * sum(leg["price"] for leg in legs) - count * before
        self._charge(reservation_id, payment_id, difference)
        record = self.db.edit("reservations", reservation_id)
        record["flights"] = legs
        if self.stores_cabin:
            record["cabin"] = cabin
        return record

    @write
    def update_reservation_passengers(
        self, reservation_id: str, passengers: list[Passenger]
    ) -> Record:
        """Replace the passengers of a reservation; their number stays the same.

        Args:
            reservation_id: The reservation.
            passengers: All passengers after the change.
        """
        count = len(self._reservation(reservation_id)["passengers"])
        if len(passengers) != count:
            raise ToolFailure(f"the reservation is for {count} passengers, not {len(passengers)}")
        record = self.db.edit("reservations", reservation_id)
        record["passengers"] = [self._stored(passenger) for passenger in passengers]
        return record

    @read
    def get_flight_status(self, flight_number: str, date: str) -> str:
        """Get the status of a flight on a date, such as available, delayed or cancelled.

        Args:
            flight_number: The number of the flight.
            date: The date of departure, YYYY-MM-DD.
        """
        return str(self._on_date(flight_number, date)["status"])


class AirlineToolsV1(AirlineTools):
    """The tools with the effects of tau-bench 1.

    There is no ``get_flight_status``. Seats stay as they are, a change of cabin changes the prices
    only, unknown keys are stored, a fourth booking replaces the third, and a fourth certificate
    changes nothing.
    """

    get_flight_status = None  # type: ignore[assignment] # tau-bench 1 does not have it
    takes_seats = False
    stores_cabin = False
    keeps_extras = True

    def _new_reservation_id(self) -> str:
        first, second, last = RESERVATION_IDS
        free = (one for one in (first, second) if self.db.get("reservations", one) is None)
        return next(free, last)

    def _insert_reservation(self, reservation_id: str, record: Record) -> None:
        if self.db.get("reservations", reservation_id) is not None:
            self.db.delete("reservations", reservation_id)
        self.db.insert("reservations", reservation_id, record)

    def _no_certificate_left(self) -> str:
        return "The user has all certificates that can be sent."


AIRLINE = Domain(
    name="airline",
    toolkit=AirlineTools,
    policy=Path(__file__).with_name("policy.md").read_text(encoding="utf-8"),
    origin="gem_tau.domains.airline.tools:AIRLINE",
)
"""The airline of the generated tasks."""
