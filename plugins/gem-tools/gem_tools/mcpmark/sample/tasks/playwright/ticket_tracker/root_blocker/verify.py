"""Verifies the ticket at the end of the chain, and that no other was changed."""

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
    """Return the error in the tickets; empty without one."""
    expected = {one["id"]: one for one in data_of("SITE_START")["tickets"]}
    last = expected[403]
    while last["blocked_by"]:
        last = expected[last["blocked_by"]]
    last |= {"priority": "high", "assignee": "Ravi Menon", "comments": ["Blocks 403"]}
    for one in data_of("SITE_STATE")["tickets"]:
        if one != expected[one["id"]]:
            return f"Ticket {one['id']} is not as it should be."
    return ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)
