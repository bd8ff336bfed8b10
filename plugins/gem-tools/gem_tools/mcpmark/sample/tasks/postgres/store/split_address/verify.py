"""Verifies the table of addresses, and the customers without theirs."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


EXPECTED = [
    (13, "39 Mill Road", "Derby", 10221),
    (26, "78 Mill Road", "Brigg", 10442),
    (39, "117 Mill Road", "Ely", 10663),
    (52, "156 Mill Road", "Calne", 10884),
]


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    ((columns,),) = database.execute(
        "SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute "
        "WHERE attrelid = 'customers'::regclass AND attnum > 0 AND NOT attisdropped"
    ).fetchall()
    require(columns == "id name joined_on", f"customers has the columns {columns}.")
    ((count,),) = database.execute(
        "SELECT count(*) FROM customers JOIN addresses ON customer_id = id "
        "WHERE name = 'Customer ' || id"
    ).fetchall()
    require(count == 60, f"{count} of 60 customers have an address.")
    rows = database.execute(
        "SELECT customer_id, street, town, postal_code FROM addresses "
        "WHERE customer_id % 13 = 0 ORDER BY 1"
    ).fetchall()
    require(rows == EXPECTED, f"addresses has {rows}.")
    for values in ("(9001, 'a', 'b', 1)", "(1, 'a', 'b', 1)", "(2, NULL, 'b', 1)"):
        try:
            database.execute(f"INSERT INTO addresses VALUES {values}")
        except psycopg.errors.IntegrityError:
            continue
        raise AssertionError(f"addresses takes {values}.")


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
