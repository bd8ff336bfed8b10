"""Verifies the table in the last message."""

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
    """Return the error in the table; empty without one."""
    start = data_of("SITE_START")
    if data_of("SITE_STATE") != start:
        return "Something was changed."
    expected = [
        {"number": one["id"], "title": one["title"], "assignee": one["assignee"]}
        for one in start["tickets"]
        if one["part"] == "Import" and one["state"] == "open"
    ]
    try:
        table = json.loads(last_message())
    except ValueError:
        return "The last message is not JSON."
    return "" if table == expected else "The table is wrong."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)
