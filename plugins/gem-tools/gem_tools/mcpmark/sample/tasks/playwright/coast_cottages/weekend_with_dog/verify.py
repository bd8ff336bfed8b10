"""Verifies the booking."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def data_of(variable: str) -> dict[str, Any]:
    """Return the data of the site: its first data (SITE_START) or its last (SITE_STATE)."""
    state = json.loads(Path(os.environ[variable]).read_text(encoding="utf-8"))
    data: dict[str, Any] = state["data"]
    return data


NIGHTS = ["2027-06-11", "2027-06-12", "2027-06-13"]
WEEKEND_NIGHTS = 2


def total(one: dict[str, Any]) -> int:
    """Return the price of the stay, in cents."""
    nights = one["night"] * len(NIGHTS) + one["weekend"] * WEEKEND_NIGHTS
    return int(nights + one["cleaning"] + one["dog"])


def problem() -> str:
    """Return the error in the bookings; empty without one."""
    fitting = [
        one
        for one in data_of("SITE_START")["cottages"]
        if one["dogs"] and one["guests"] >= 4 and not set(NIGHTS) & set(one["taken"])
    ]
    bookings = data_of("SITE_STATE")["bookings"]
    if len(bookings) != 1:
        return f"There are {len(bookings)} bookings, not one."
    expected = {
        "cottage": min(fitting, key=total)["id"],
        "nights": NIGHTS,
        "guests": 4,
        "dog": True,
        "linen": "rent",
        "name": "Noor Haddad",
        "email": "noor@example.com",
        "time": "18",
    }
    wrong = [key for key, value in expected.items() if bookings[0][key] != value]
    return f"Wrong in the booking: {', '.join(wrong)}." if wrong else ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)
