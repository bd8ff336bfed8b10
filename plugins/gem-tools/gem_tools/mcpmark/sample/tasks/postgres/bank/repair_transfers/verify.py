"""Verifies the rejected transfers, and the constraints."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


EXPECTED = [
    (31, 531, 90, "228.00", "source"),
    (41, 84, 741, "98.00", "target"),
    (53, 60, 8, "-53.00", "amount"),
    (62, 562, 89, "155.00", "source"),
    (82, 77, 782, "195.00", "target"),
    (93, 593, 88, "82.00", "source"),
    (106, 29, 15, "-106.00", "amount"),
    (123, 70, 823, "292.00", "target"),
    (124, 624, 87, "9.00", "source"),
    (155, 655, 86, "236.00", "source"),
    (159, 88, 22, "-159.00", "amount"),
    (164, 63, 864, "89.00", "target"),
    (186, 686, 85, "163.00", "source"),
    (205, 56, 905, "186.00", "target"),
    (212, 57, 29, "-212.00", "amount"),
    (217, 717, 84, "90.00", "source"),
    (246, 49, 946, "283.00", "target"),
    (248, 748, 83, "17.00", "source"),
    (265, 26, 36, "-265.00", "amount"),
    (279, 779, 82, "244.00", "source"),
    (287, 42, 987, "80.00", "target"),
]


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute(
        "SELECT id, source, target, amount::text, reason FROM rejected_transfers ORDER BY id"
    ).fetchall()
    require(rows == EXPECTED, f"rejected_transfers has {rows}.")
    kept = database.execute("SELECT count(*), sum(id), sum(amount)::text FROM transfers").fetchone()
    require(kept == (279, 41812, "42683.00"), f"transfers has {kept}.")
    for values in ("(9001, 999, 1, 5)", "(9002, 1, 999, 5)", "(9003, 1, 2, 0)", "(9004, 1, 2, -1)"):
        try:
            database.execute(f"INSERT INTO transfers VALUES {values}")
        except psycopg.errors.IntegrityError:
            continue
        raise AssertionError(f"transfers takes {values}.")
    database.execute("INSERT INTO transfers VALUES (9005, 1, 2, 5)")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
