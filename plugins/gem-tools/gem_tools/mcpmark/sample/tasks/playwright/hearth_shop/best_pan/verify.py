"""Verifies the answer about the best pan."""

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


def problem() -> str:
    """Return the error in the answer; empty without one."""
    fitting = [
        one
        for one in data_of("SITE_START")["products"]
        if one["kind"] == "Pans" and one["stock"] and one["price"] <= 7000 and one["warranty"] >= 3
    ]
    best = max(fitting, key=lambda one: one["rating"])
    price = f"€{best['price'] // 100}.{best['price'] % 100:02}"
    if data_of("SITE_STATE")["orders"]:
        return "Something was ordered."
    expected = f"Answer: {best['name']}; {best['id']}; {price}"
    return "" if last_message() == expected else "The answer is wrong."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)
