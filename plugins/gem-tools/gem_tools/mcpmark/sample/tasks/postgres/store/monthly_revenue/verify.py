"""Verifies the view of the revenue of each month."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


EXPECTED = [
    ("2024-01-01", "5811.72", None),
    ("2024-02-01", "6253.72", "442.00"),
    ("2024-03-01", "3886.50", "-2367.22"),
    ("2024-04-01", "6099.82", "2213.32"),
    ("2024-05-01", "6319.69", "219.87"),
    ("2024-06-01", "3374.73", "-2944.96"),
    ("2024-07-01", "6107.71", "2732.98"),
    ("2024-08-01", "5415.94", "-691.77"),
    ("2024-09-01", "3696.67", "-1719.27"),
    ("2024-10-01", "5611.89", "1915.22"),
    ("2024-11-01", "5379.92", "-231.97"),
    ("2024-12-01", "3220.82", "-2159.10"),
]
QUERY = "SELECT month::text, revenue::text, change::text FROM monthly_revenue ORDER BY month"


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute(QUERY).fetchall()
    require(rows == EXPECTED, f"monthly_revenue has {rows}.")
    database.execute("INSERT INTO orders VALUES (9001, 1, '2024-12-30', 'paid')")
    database.execute("INSERT INTO order_items VALUES (9001, 1, 10)")
    (last,) = database.execute(QUERY).fetchall()[-1:]
    more = float(last[1]) - float(EXPECTED[-1][1])
    require(abs(more - 79.9) < 0.001, f"An order of 79.90 adds {more:.2f} to its month.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
