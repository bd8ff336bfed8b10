"""Verifies the record of changes of balances."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    ((count,),) = database.execute("SELECT count(*) FROM balance_audit").fetchall()
    require(count == 0, f"balance_audit has {count} rows before anything has changed.")
    database.execute("INSERT INTO accounts VALUES (9001, 1, 'north', 10)")
    database.execute("UPDATE accounts SET balance = 25 WHERE id = 9001")
    database.execute("UPDATE accounts SET branch = 'west' WHERE id = 9001")
    database.execute("UPDATE accounts SET balance = 25 WHERE id = 9001")
    database.execute("DELETE FROM accounts WHERE id = 9001")
    rows = database.execute(
        "SELECT account_id, old_balance::float, new_balance::float, changed_at <= now() "
        "FROM balance_audit"
    ).fetchall()
    expected = [(9001, None, 10, True), (9001, 10, 25, True), (9001, 25, None, True)]
    require(rows == expected, f"balance_audit has {rows}.")
    for attempt in (
        "UPDATE balance_audit SET new_balance = 0",
        "DELETE FROM balance_audit",
    ):
        try:
            database.execute(attempt)
        except psycopg.Error:
            continue
        raise AssertionError(f"{attempt} succeeded.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
