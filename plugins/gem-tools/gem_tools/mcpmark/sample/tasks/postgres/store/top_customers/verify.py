"""Verifies the table of the five best customers."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


EXPECTED = [
    (8, "Customer 8", "8360.86"),
    (29, "Customer 29", "9412.32"),
    (41, "Customer 41", "4268.15"),
    (44, "Customer 44", "9588.76"),
    (53, "Customer 53", "11164.34"),
]


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute(
        "SELECT customer_id, name, total::text FROM top_customers ORDER BY customer_id"
    ).fetchall()
    require(rows == EXPECTED, f"top_customers has {rows}.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
