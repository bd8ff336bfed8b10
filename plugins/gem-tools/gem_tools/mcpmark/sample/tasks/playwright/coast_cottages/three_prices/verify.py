"""Verifies the answer about the prices."""

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


def last_message() -> str:
    """Return the agent's last message."""
    messages = json.loads(Path(os.environ["MCP_MESSAGES"]).read_text(encoding="utf-8"))
    return str(messages[-1]["content"][-1]["text"]).strip()


NAMES = {"Birch Cottage", "Harbour Cottage", "Lantern Cottage"}
NIGHTS, WEEKEND_NIGHTS = 8, 3


def total(one: dict[str, Any]) -> int:
    """Return the price of the stay, in cents."""
    nights = one["night"] * NIGHTS + one["weekend"] * WEEKEND_NIGHTS
    return int(nights - nights * one["long"] // 100 + one["cleaning"])


def problem() -> str:
    """Return the error in the answer; empty without one."""
    if data_of("SITE_STATE")["bookings"]:
        return "Something was booked."
    cottages = [one for one in data_of("SITE_START")["cottages"] if one["name"] in NAMES]
    best = min(cottages, key=total)
    expected = f"Answer: {best['name']}; €{total(best) // 100}.{total(best) % 100:02}"
    return "" if last_message() == expected else "The answer is wrong."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)
