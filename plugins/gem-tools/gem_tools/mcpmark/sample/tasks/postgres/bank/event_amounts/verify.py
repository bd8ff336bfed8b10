"""Verifies the table of amounts, and the index."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


EXPECTED = [
    ("login", "android", 33, 752),
    ("login", "ios", 33, 1682),
    ("payment", "android", 33, 800),
    ("payment", "ios", 34, 1605),
    ("refund", "android", 34, 848),
    ("refund", "ios", 33, 1663),
]


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute(
        "SELECT kind, os, events::integer, total::integer FROM event_amounts ORDER BY 1, 2"
    ).fetchall()
    require(rows == EXPECTED, f"event_amounts has {rows}.")
    database.execute("SET enable_seqscan = off")
    plan = database.execute(
        'EXPLAIN SELECT id FROM events WHERE payload @> \'{"kind": "login"}\''
    ).fetchall()
    require(any("Index Scan" in line for (line,) in plan), f"{plan}")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
