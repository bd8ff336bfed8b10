"""A fork of an episode of a tool world."""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gem_core

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (1_600, 6_400, 25_600)
UNIT = "ms"
TITLE = "a fork of tools:Folder with n records"
GROWTH = 0
_FORKS = 10
_TOOLS = '''
from general_agent.tools import DB, Tools, tool
from pydantic import BaseModel


class Record(BaseModel):
    id: str
    status: str = "open"
    tags: list[str] = []


class TaskDB(DB):
    records: dict[str, Record] = {}


class TaskTools(Tools):
    db: TaskDB

    @tool
    def show(self, id: str) -> dict:
        """Show a record."""
        return self.db.records[id].model_dump()

    @tool
    def close(self, id: str) -> str:
        """Close a record."""
        self.db.records[id].status = "closed"
        return "closed"
'''


def measure(size: int) -> float:
    """Return the median time of a fork, in ms."""
    with _playing(size) as env:
        times = []
        for _ in range(_FORKS):
            begun = time.perf_counter()
            env.fork()
            times.append(time.perf_counter() - begun)
        return 1e3 * statistics.median(times)


def _call(name: str, record: int) -> str:
    return json.dumps({"name": name, "arguments": {"id": f"r{record}"}})


@contextmanager
def _playing(size: int) -> Iterator[Any]:
    """Yield an environment with ``size`` records, in an episode that has changed one of them."""
    records = {f"r{n}": {"id": f"r{n}", "tags": ["a", "b"]} for n in range(size)}
    with tempfile.TemporaryDirectory() as name:
        files = {
            "instruction.md": "Close record r1.",
            "db.json": json.dumps({"records": records}),
            "tools.py": _TOOLS,
            "gold.json": json.dumps([["close", {"id": "r1"}]]),
        }
        for file, text in files.items():
            (Path(name) / file).write_text(text, encoding="utf-8")
        with gem_core.make("tools:Folder", data=name, trust=True, max_turns=10**9) as env:
            env.reset(seed=0)
            env.step(_call("close", 0))
            yield env
