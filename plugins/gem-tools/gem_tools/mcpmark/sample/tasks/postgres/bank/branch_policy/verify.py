"""Verifies the policy of accounts, and the rights of clerk."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


RIGHTS = "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"


def numbers(database: psycopg.Connection, branch: str) -> list[int]:
    """Return the accounts that a branch sees."""
    database.execute("SELECT set_config('app.branch', %s, false)", [branch])
    return [n for (n,) in database.execute("SELECT id FROM accounts ORDER BY id").fetchall()]


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute("SELECT id FROM accounts").fetchall()
    require(rows == [], f"Without a branch, {len(rows)} accounts are seen.")
    for rest, branch in enumerate(("north", "south", "west")):
        expected = [n for n in range(1, 91) if n % 3 == rest]
        require(numbers(database, branch) == expected, f"The accounts of {branch} are wrong.")
    done = database.execute("UPDATE accounts SET balance = 0 WHERE id = 3")  # of north
    require(done.rowcount == 0, "An account of another branch was changed.")
    database.execute("INSERT INTO accounts VALUES (9001, 1, 'west', 1)")
    for attempt in (
        "INSERT INTO accounts VALUES (9002, 1, 'south', 1)",
        "UPDATE accounts SET branch = 'south' WHERE id = 9001",
    ):
        try:
            database.execute(attempt)
        except psycopg.errors.InsufficientPrivilege:
            continue
        raise AssertionError(f"{attempt} succeeded as west.")
    for table in ("accounts", "clients"):
        found = database.execute(
            "SELECT r FROM unnest(%s::text[]) AS r WHERE has_table_privilege('clerk', %s, r)",
            [list(RIGHTS), table],
        ).fetchall()
        require(found == [("SELECT",)], f"clerk may {found} on {table}.")
    columns = database.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'accounts'::regclass AND attnum > 0 "
        "AND has_column_privilege('clerk', attrelid, attnum, 'UPDATE')"
    ).fetchall()
    require(columns == [("balance",)], f"clerk may change {columns}.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
