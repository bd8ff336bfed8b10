"""Verifies the materialized view of the sales by category."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


EXPECTED = [
    ("books", "890", "33.3"),
    ("garden", "623", "23.3"),
    ("kitchen", "712", "26.7"),
    ("toys", "445", "16.7"),
]
QUERY = "SELECT category, pieces::text, share::text FROM category_sales ORDER BY category"


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    ((kind,),) = database.execute(
        "SELECT relkind FROM pg_class WHERE oid = 'category_sales'::regclass"
    ).fetchall()
    require(kind in {"m", b"m"}, "category_sales is not a materialized view.")
    rows = database.execute(QUERY).fetchall()
    require(rows == EXPECTED, f"category_sales has {rows}.")
    database.execute("REFRESH MATERIALIZED VIEW CONCURRENTLY category_sales")
    database.execute("INSERT INTO orders VALUES (9001, 1, '2024-12-30', 'paid')")
    database.execute("INSERT INTO order_items VALUES (9001, 4, 100)")  # books
    require(database.execute(QUERY).fetchall() == EXPECTED, "It changed without a refresh.")
    database.execute("SELECT refresh_category_sales()")
    first = database.execute(QUERY).fetchall()[0]
    more = int(first[1]) - int(EXPECTED[0][1])
    require(more == 100, f"After the refresh there are {more} books more, not 100.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
