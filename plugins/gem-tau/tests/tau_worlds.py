"""Tool worlds for tests: one that we have written, and a generator of random ones."""

import json
from pathlib import Path
from random import Random

COUNTER = '''
from general_agent.tools import DB, Tools, tool


class TaskDB(DB):
    counts: dict[str, int] = {}
    log: list[str] = []


class TaskTools(Tools):
    db: TaskDB

    @tool
    def show(self) -> dict:
        """Show the counts."""
        return self.db.counts

    @tool
    def add(self, name: str, amount: int = 1) -> str:
        """Add to a count.

        Args:
            name: The count.
            amount: How much.
        """
        self.db.log.append(name)
        self.db.counts[name] += amount
        if self.db.counts[name] > 9:
            raise ValueError("The count is full.")
        return f"{name} is {self.db.counts[name]}."
'''
VERIFY = """

def verify(db: TaskDB) -> float:
    return float(db.counts["a"] == 3)
"""


def world_folder(folder: Path, *, tools: str = COUNTER + VERIFY, gold=None, db=None) -> Path:
    """Write a world of counts; return its folder."""
    folder.mkdir(parents=True)
    (folder / "instruction.md").write_text("Make the count a 3.")
    (folder / "db.json").write_text(json.dumps(db or {"counts": {"a": 1, "b": 2}}))
    (folder / "tools.py").write_text(tools)
    gold = [["show", {}], ["add", {"name": "a", "amount": 2}]] if gold is None else gold
    (folder / "gold.json").write_text(json.dumps(gold))
    return folder


_HEAD = '''"""A world that was drawn at random."""

from typing import Optional

from general_agent.tools import DB, Tools, tool
from pydantic import BaseModel

'''
_MODEL = """
class {model}(BaseModel):
    id: str
    label: str = ""
    amount: float = 0.0
    parent: Optional[str] = None
    tags: list[str] = []

"""
_TOOLS = '''
    @tool
    def list_{table}(self) -> list[dict]:
        """List all {table}."""
        return [one.model_dump() for one in self.db.{table}]

    @tool
    def add_{table}(self, id: str, label: str, amount: float = 0.0) -> dict:
        """Add one to the {table}."""
        if any(one.id == id for one in self.db.{table}):
            raise ValueError("The id is taken.")
        self.db.{table}.append({model}(id=id, label=label, amount=amount))
        return self.db.{table}[-1].model_dump()

    @tool
    def remove_{table}(self, id: str) -> str:
        """Remove one of the {table}."""
        self.db.{table}.remove(self._{table}(id))
        return "removed"

    @tool
    def change_{table}(
        self, id: str, amount: Optional[float] = None, tag: str | None = None
    ) -> dict:
        """Change one of the {table}."""
        found = self._{table}(id)
        if tag is not None:
            found.tags.append(tag)
        if amount is not None:
            found.amount += amount
            if found.amount < 0:
                raise ValueError("An amount may not be negative.")
        return found.model_dump()

    def _{table}(self, id: str) -> {model}:
        for one in self.db.{table}:
            if one.id == id:
                return one
        raise ValueError(f"There is nothing with the id {{id}}.")
'''
_VERIFY = '''

def verify(db: TaskDB) -> float:
    """Return 1 if the content is the expected one."""
    return float(db.model_dump(mode="json") == {expected!r})
'''


class _Drawn:
    """The tables of a random world, and calls that change them as its tools do."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        names = rng.sample(["boxes", "trees", "songs", "boats", "coins"], rng.randint(1, 3))
        self.tables = {name: [self.row(i) for i in range(rng.randint(1, 5))] for name in names}
        self.made = 100

    def row(self, number: int, label: str = "", amount: float | None = None) -> dict:
        amount = self.rng.randint(0, 40) / 4 if amount is None else amount
        row = {"id": f"x{number}", "label": label, "amount": amount}
        return row | {"parent": None, "tags": []}

    def call(self) -> list:
        table = self.rng.choice(sorted(self.tables))
        rows = self.tables[table]
        kind = self.rng.choice(["add", "change", "remove", "list"]) if rows else "add"
        if kind == "list":
            return [f"list_{table}", {}]
        if kind == "add":
            self.made += 1
            rows.append(self.row(self.made, "new", 2.5))
            return [f"add_{table}", {"id": f"x{self.made}", "label": "new", "amount": 2.5}]
        row = self.rng.choice(rows)
        if kind == "remove":
            rows.remove(row)
            return [f"remove_{table}", {"id": row["id"]}]
        row["amount"] += 1.25
        row["tags"].append("t")
        return [f"change_{table}", {"id": row["id"], "amount": 1.25, "tag": "t"}]


def random_world(folder: Path, seed: int) -> Path:
    """Write a random world, whose solution changes something; return its folder."""
    rng = Random(seed)
    drawn = _Drawn(rng)
    start = json.loads(json.dumps(drawn.tables))
    gold = [drawn.call() for _ in range(rng.randint(1, 8))]
    while drawn.tables == start:
        gold.append(drawn.call())
    models = {table: table.capitalize() for table in drawn.tables}
    parts = [_HEAD, *(_MODEL.format(model=model) for model in models.values())]
    fields = "".join(f"    {table}: list[{model}] = []\n" for table, model in models.items())
    parts.append(f"\nclass TaskDB(DB):\n{fields}\n\nclass TaskTools(Tools):\n    db: TaskDB\n")
    parts += [_TOOLS.format(table=table, model=model) for table, model in models.items()]
    if rng.random() < 0.5:
        parts.append(_VERIFY.format(expected=drawn.tables))
    return world_folder(folder, tools="".join(parts), gold=gold, db=start)
