"""Verifies the function that transfers money."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def balances(database: psycopg.Connection) -> dict[int, float]:
    """Return the balances of the accounts by number."""
    found = database.execute("SELECT id, balance FROM accounts").fetchall()
    return {number: float(balance) for number, balance in found}


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    before = balances(database)
    require((len(before), sum(before.values())) == (90, 91515.0), "The balances have changed.")
    ((number,),) = database.execute("SELECT transfer(1, 2, 100.5)").fetchall()
    require(number == 301, f"The first transfer is number {number}.")
    after = balances(database)
    expected = {**before, 1: before[1] - 100.5, 2: before[2] + 100.5}
    require(after == expected, "The balances are wrong.")
    row = database.execute("SELECT source, target, amount::float FROM transfers WHERE id = 301")
    require(row.fetchone() == (1, 2, 100.5), "The row of the transfer is wrong.")
    for call in ("1, 999, 5", "999, 1, 5", "1, 1, 5", "1, 2, 0", "1, 2, -5", "1, 2, 1000000"):
        try:
            database.execute(f"SELECT transfer({call})")
        except psycopg.Error:
            require(balances(database) == after, f"transfer({call}) changed balances.")
            continue
        raise AssertionError(f"transfer({call}) succeeded.")
    ((count,),) = database.execute("SELECT count(*) FROM transfers").fetchall()
    require(count == 301, f"There are {count} transfers.")
    require(database.execute("SELECT transfer(2, 1, 1)").fetchone() == (302,), "No number 302.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
