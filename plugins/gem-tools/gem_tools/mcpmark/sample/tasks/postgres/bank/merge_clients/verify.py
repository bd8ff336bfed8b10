"""Verifies the merged clients."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute("SELECT id, name, email FROM clients ORDER BY id").fetchall()
    expected = [(n, f"Client {n}", f"client{n}@example.org") for n in range(1, 41)]
    require(rows == expected, f"clients has {len(rows)} rows, or other values.")
    owners = {n: n * 7 % 48 + 1 for n in range(1, 91)}
    merged = [(n, c if c <= 40 else (c - 40) * 3) for n, c in owners.items()]
    rows = database.execute("SELECT id, client_id FROM accounts ORDER BY id").fetchall()
    require(rows == merged, "An account has another client.")
    for email in ("client5@example.org", " CLIENT5@example.ORG "):
        try:
            database.execute("INSERT INTO clients VALUES (9001, 'Client 5', %s)", [email])
        except psycopg.errors.IntegrityError:
            continue
        raise AssertionError(f"clients takes {email!r} again.")
    database.execute("INSERT INTO clients VALUES (9002, 'Client 9002', 'new@example.org')")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
