"""Verifies the trigger that keeps the stock."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def stock(database: psycopg.Connection) -> int:
    """Return the stock of the first product."""
    ((pieces,),) = database.execute("SELECT stock FROM products WHERE id = 1").fetchall()
    return int(pieces)


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    ((total,),) = database.execute("SELECT sum(stock) FROM products").fetchall()
    require(total == 290, f"The stock of all products is {total}.")
    database.execute("INSERT INTO orders VALUES (9001, 1, '2024-12-30', 'paid')")
    before = stock(database)
    database.execute("INSERT INTO order_items VALUES (9001, 1, 3)")
    require(stock(database) == before - 3, "A row did not lower the stock.")
    database.execute("DELETE FROM order_items WHERE order_id = 9001")
    require(stock(database) == before, "A deleted row did not raise the stock.")
    try:
        database.execute("INSERT INTO order_items VALUES (9001, 1, %s)", [before + 1])
    except psycopg.Error:
        pass
    else:
        raise AssertionError("More than the stock was sold.")
    require(stock(database) == before, "A refused row changed the stock.")
    database.execute("INSERT INTO order_items VALUES (9001, 1, %s)", [before])
    require(stock(database) == 0, "The last pieces could not be sold.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
