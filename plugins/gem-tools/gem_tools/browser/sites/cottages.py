"""Holiday cottages: prices to compare, and a booking in several steps."""

import random
import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, ClassVar

from gem_tools.browser.sites.app import (
    App,
    Request,
    Response,
    choice,
    form,
    items,
    link,
    money,
    paragraph,
    table,
    text_field,
    tick,
    to,
)

__all__ = ["Cottages", "total_of"]

_NAMES = ("Rowan", "Birch", "Heron", "Harbour", "Lantern", "Meadow", "Quarry", "Juniper")
_MONTH = [date(2027, 6, day) for day in range(1, 31)]


class Cottages(App):
    """The cottages.

    Its data has ``cottages`` (``id``, ``name``, ``guests`` at most, ``dogs``, prices in cents:
    ``night``, ``weekend`` more for the nights of Friday and Saturday, ``cleaning``, ``dog`` for a
    stay; ``long`` percent off the nights from seven nights on; and ``taken``, nights in June 2027),
    ``draft``, the booking that is being made, and ``bookings``.
    """

    title = "Coast Cottages"
    links: ClassVar[Mapping[str, str]] = {
        "/": "Cottages",
        "/prices": "How prices work",
        "/bookings": "My bookings",
    }
    routes: ClassVar[Mapping[str, str]] = {
        "GET /": "overview",
        "GET /prices": "prices",
        "GET /cottages/#": "cottage",
        "POST /cottages/#/book": "begin",
        "GET /booking/guests": "guests_form",
        "POST /booking/guests": "guests",
        "GET /booking/contact": "contact_form",
        "POST /booking/contact": "contact",
        "GET /booking/confirm": "summary",
        "POST /booking/confirm": "confirm",
        "GET /bookings": "bookings",
    }

    @classmethod
    def first_data(cls, seed: int) -> dict[str, Any]:
        chance = random.Random(seed)
        cottages = []
        for place, name in enumerate(_NAMES):
            taken = set[str]()
            for _ in range(2):
                first = chance.choice(_MONTH[:26])
                taken |= {str(first + timedelta(night)) for night in range(chance.randint(2, 4))}
            cottages.append(
                {
                    "id": 31 + place,
                    "name": f"{name} Cottage",
                    "guests": chance.choice([2, 4, 4, 5, 6]),
                    "dogs": chance.random() < 0.6,
                    "night": chance.randrange(6500, 12500, 500),
                    "weekend": chance.randrange(500, 2500, 500),
                    "cleaning": chance.randrange(2000, 6500, 250),
                    "dog": chance.randrange(1000, 3000, 250),
                    "long": chance.choice([0, 5, 10, 15, 20]),
                    "taken": sorted(taken),
                }
            )
        return {"cottages": cottages, "draft": {}, "bookings": []}

    def overview(self, request: Request) -> Response:
        rows = [
            (
                link(f"/cottages/{one['id']}", one["name"]),
                f"up to {one['guests']}",
                "allowed" if one["dogs"] else "not allowed",
            )
            for one in self.data["cottages"]
        ]
        return self.page("Cottages", table(["Name", "Guests", "Dogs"], rows))

    def prices(self, request: Request) -> Response:
        rules = [
            "Each night costs the price of the cottage.",
            "The nights of Friday and Saturday cost the weekend surcharge more.",
            "From seven nights on, the discount is taken off all nights, surcharges included.",
            "Cleaning is paid once for each stay; so is a dog. Neither gets a discount.",
        ]
        return self.page("How prices work", items(rules))

    def cottage(self, request: Request, number: int) -> Response:
        one = self._cottage(number)
        if one is None:
            return self.not_found()
        facts = [
            f"Guests: up to {one['guests']}",
            f"A night: {money(one['night'])}",
            f"Weekend surcharge: {money(one['weekend'])} a night",
            f"Cleaning: {money(one['cleaning'])}",
            f"A dog: {money(one['dog'])}" if one["dogs"] else "Dogs are not allowed",
            f"Long-stay discount: {one['long']} %" if one["long"] else "No long-stay discount",
        ]
        nights = ", ".join(str(int(night[-2:])) for night in one["taken"])
        begin = form(
            f"/cottages/{number}/book",
            "Book",
            text_field("Arrival (YYYY-MM-DD)", "arrival"),
            text_field("Departure (YYYY-MM-DD)", "departure"),
        )
        taken = paragraph(f"Nights that are taken in June 2027, by the day of arrival: {nights}.")
        return self.page(one["name"], items(facts), taken, begin)

    def begin(self, request: Request, number: int) -> Response:
        one = self._cottage(number)
        if one is None:
            return self.not_found()
        nights = _nights(request.form.get("arrival", ""), request.form.get("departure", ""))
        if not nights or not set(nights) <= {str(day) for day in _MONTH}:
            why = "Arrival and departure are days in June 2027, and the departure is later."
            return self.problem([why], f"/cottages/{number}")
        if set(nights) & set(one["taken"]):
            return self.problem(["The cottage is taken then."], f"/cottages/{number}")
        self.data["draft"] = {"cottage": number, "nights": nights}
        return to("/booking/guests")

    def guests_form(self, request: Request) -> Response:
        if not self.data["draft"]:
            return to("/")
        numbers = {str(number): str(number) for number in range(1, 9)}
        fields = (
            choice("Guests", "guests", numbers),
            tick("We bring a dog", "dog"),
            choice("Bed linen", "linen", {"bring": "We bring our own", "rent": "We rent it"}),
        )
        return self.page("Step 1 of 3: guests", form("/booking/guests", "Continue", *fields))

    def guests(self, request: Request) -> Response:
        one = self._cottage(self.data["draft"].get("cottage", 0))
        if one is None:
            return to("/")
        asked = request.form.get("guests", "")
        count = int(asked) if re.fullmatch("[1-8]", asked) else 0
        dog = request.form.get("dog") == "yes"
        problems = []
        if not 1 <= count <= one["guests"]:
            problems.append(f"The cottage takes 1 to {one['guests']} guests.")
        if dog and not one["dogs"]:
            problems.append("Dogs are not allowed in this cottage.")
        if request.form.get("linen") not in {"bring", "rent"}:
            problems.append("Choose who brings the bed linen.")
        if problems:
            return self.problem(problems, "/booking/guests")
        self.data["draft"] |= {"guests": count, "dog": dog, "linen": request.form["linen"]}
        return to("/booking/contact")

    def contact_form(self, request: Request) -> Response:
        if "guests" not in self.data["draft"]:
            return to("/booking/guests")
        fields = (
            text_field("Full name", "name"),
            text_field("E-mail", "email"),
            choice("Arrival time", "time", {"": "Choose", "16": "16:00", "18": "18:00"}),
        )
        return self.page("Step 2 of 3: contact", form("/booking/contact", "Continue", *fields))

    def contact(self, request: Request) -> Response:
        if "guests" not in self.data["draft"]:
            return to("/booking/guests")
        sent = {key: request.form.get(key, "").strip() for key in ("name", "email", "time")}
        problems = []
        if not sent["name"]:
            problems.append("Enter the full name.")
        if not re.fullmatch(r"[^@\s]+@[^@\s.]+\.[^@\s]+", sent["email"]):
            problems.append("Enter an e-mail address, such as name@example.com.")
        if sent["time"] not in {"16", "18"}:
            problems.append("Choose the arrival time.")
        if problems:
            return self.problem(problems, "/booking/contact")
        self.data["draft"] |= sent
        return to("/booking/confirm")

    def summary(self, request: Request) -> Response:
        draft = self.data["draft"]
        one = self._cottage(draft.get("cottage", 0))
        if one is None or "name" not in draft:
            return to("/booking/contact")
        facts = [
            f"Cottage: {one['name']}",
            f"Nights: {len(draft['nights'])}, from {draft['nights'][0]}",
            f"Guests: {draft['guests']}" + " and a dog" * draft["dog"],
            f"Bed linen: {'rented' if draft['linen'] == 'rent' else 'your own'}",
            f"Name: {draft['name']}, {draft['email']}, arrival at {draft['time']}:00",
            f"Total: {money(total_of(one, draft['nights'], dog=draft['dog']))}",
        ]
        confirm = form("/booking/confirm", "Book now")
        return self.page("Step 3 of 3: confirm", items(facts), confirm)

    def confirm(self, request: Request) -> Response:
        draft = self.data["draft"]
        one = self._cottage(draft.get("cottage", 0))
        if one is None or "name" not in draft:
            return to("/booking/contact")
        one["taken"] = sorted({*one["taken"], *draft["nights"]})
        self.data["bookings"].append({"id": 801 + len(self.data["bookings"]), **draft})
        self.data["draft"] = {}
        return to("/bookings")

    def bookings(self, request: Request) -> Response:
        if not self.data["bookings"]:
            return self.page("My bookings", paragraph("You have not booked anything yet."))
        names = {one["id"]: one["name"] for one in self.data["cottages"]}
        rows = [
            (str(one["id"]), names[one["cottage"]], one["nights"][0], str(len(one["nights"])))
            for one in self.data["bookings"]
        ]
        return self.page("My bookings", table(["Booking", "Cottage", "Arrival", "Nights"], rows))

    def _cottage(self, number: int) -> dict[str, Any] | None:
        return next((one for one in self.data["cottages"] if one["id"] == number), None)


def total_of(cottage: Mapping[str, Any], nights: list[str], *, dog: bool) -> int:
    """Return the price of a stay, in cents."""
    price = sum(
        cottage["night"] + cottage["weekend"] * (date.fromisoformat(night).weekday() in {4, 5})
        for night in nights
    )
    if len(nights) >= 7:
        price -= price * cottage["long"] // 100
    return int(price + cottage["cleaning"] + cottage["dog"] * dog)


def _nights(arrival: str, departure: str) -> list[str]:
    """Return the nights of a stay; none if the dates are not valid."""
    try:
        first, last = date.fromisoformat(arrival.strip()), date.fromisoformat(departure.strip())
    except ValueError:
        return []
    return [str(first + timedelta(night)) for night in range(min((last - first).days, 60))]
