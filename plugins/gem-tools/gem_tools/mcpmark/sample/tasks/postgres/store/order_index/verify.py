"""Verifies the partial index for the open orders of a customer."""

import sys

import psycopg


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def check(database: psycopg.Connection) -> None:
    """Raise an exception if the task was not done."""
    rows = database.execute(
        """
        SELECT pg_get_indexdef(i.indexrelid, 1, true), pg_get_indexdef(i.indexrelid, 2, true),
          pg_get_expr(i.indpred, i.indrelid), i.indisvalid
        FROM pg_index i WHERE i.indrelid = 'orders'::regclass AND NOT i.indisprimary
        """
    ).fetchall()
    require(len(rows) == 1, f"orders has {len(rows)} indexes besides its primary key.")
    first, second, condition, is_valid = rows[0]
    require((first, second) == ("customer_id", "ordered_on"), f"It is on {first}, {second}.")
    require(condition == "(status = 'open'::text)", f"Its condition is {condition}.")
    require(is_valid, "The index is not valid.")
    database.execute("SET enable_seqscan = off")
    plan = database.execute(
        "EXPLAIN SELECT id, ordered_on FROM orders WHERE customer_id = 7 AND status = 'open' "
        "ORDER BY ordered_on DESC LIMIT 3"
    ).fetchall()
    text = "\n".join(line for (line,) in plan)
    require("Index" in text, text)
    require("Sort" not in text, text)


def main() -> None:
    """End with status 0 if the task was done."""
    with psycopg.connect(autocommit=True) as database:
        try:
            check(database)
        except (AssertionError, psycopg.Error) as error:
            sys.exit(str(error) or type(error).__name__)


main()
