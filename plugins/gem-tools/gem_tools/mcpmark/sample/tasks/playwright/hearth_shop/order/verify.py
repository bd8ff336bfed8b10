"""Verifies the order."""

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


def problem() -> str:
    """Return the error in the orders; empty without one."""
    start, end = data_of("SITE_START"), data_of("SITE_STATE")
    kettles = [one for one in start["products"] if one["kind"] == "Kettles" and one["stock"] >= 2]
    kettle = min(kettles, key=lambda one: one["price"])
    lamp = next(one for one in start["products"] if one["name"] == "Corvi Studio Lamp")
    if len(end["orders"]) != 1:
        return f"There are {len(end['orders'])} orders, not one."
    order = end["orders"][0]
    expected = {
        "products": {str(kettle["id"]): 2, str(lamp["id"]): 1},
        "name": "Lena Brandt",
        "street": "4 Linden Road",
        "postcode": "AB 2041",
        "town": "Fernhill",
        "delivery": "express",
        "note": "Ring twice",
    }
    wrong = [key for key, value in expected.items() if order[key] != value]
    return f"Wrong in the order: {', '.join(wrong)}." if wrong else ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)
