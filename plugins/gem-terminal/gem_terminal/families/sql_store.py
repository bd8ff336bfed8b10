"""Files become a SQLite database that answers queries."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from gem_terminal.families.draft import Draft, python
from gem_terminal.families.words import CITIES, WORDS, people
from gem_terminal.task import Check

__all__ = ["draw"]

_AT = "/app/store.db"
_TABLES = """\
    customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT)
    orders (id INTEGER PRIMARY KEY, customer_id INTEGER, product TEXT, cents INTEGER)"""
_EASY = """\
import json, sqlite3
database = sqlite3.connect('/app/store.db')
database.execute('CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT)')
database.execute('''CREATE TABLE orders
    (id INTEGER PRIMARY KEY, customer_id INTEGER, product TEXT, cents INTEGER)''')
customers = json.load(open('/app/customers.json'))
database.executemany('INSERT INTO customers VALUES (:id, :name, :city)', customers)
for line in open('/app/orders.csv').read().splitlines()[1:]:
    number, customer, product, price = line.split(',')
    row = int(number), int(customer), product, int(price.replace('.', ''))
    database.execute('INSERT INTO orders VALUES (?, ?, ?, ?)', row)
"""
_HARD = """\
database.execute('DELETE FROM orders WHERE customer_id NOT IN (SELECT id FROM customers)')
database.execute('''CREATE VIEW totals AS
    SELECT city, COUNT(orders.id) AS orders, COALESCE(SUM(cents), 0) AS cents
    FROM customers LEFT JOIN orders ON customer_id = customers.id GROUP BY city''')
best = database.execute('''SELECT name FROM customers JOIN orders ON customer_id = customers.id
    GROUP BY customers.id ORDER BY SUM(cents) DESC LIMIT 1''').fetchone()
open('/app/best.txt', 'w').write(best[0] + '\\n')
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: two tables; if hard, also rows to leave out, a view and a question."""
    customers = [
        {"id": number, "name": name, "city": random.choice(CITIES[:6])}
        for number, name in enumerate(people(random, 20 if hard else 8), start=1)
    ]
    orders = [
        (
            number,
            random.randint(1, len(customers)),
            random.choice(WORDS),
            random.randint(100, 99_999),
        )
        for number in range(1, 61 if hard else 16)
    ]
    unknown = [(1000 + number, 900 + number, "ghost", 100) for number in range(3)] if hard else []
    rows = random.sample([*orders, *unknown], len(orders) + len(unknown))
    lines = ["id,customer,product,price"]
    lines += [f"{i},{who},{what},{cents // 100}.{cents % 100:02}" for i, who, what, cents in rows]
    further = (
        "\n\nLeave out orders of customers that do not exist. Add a view totals with the columns "
        "city, orders and cents: for each city of a customer, the number of orders from there and "
        "the sum of their cents (0 for none). Write the name of the customer whose orders cost "
        "most in total to /app/best.txt."
    )
    return Draft(
        instruction=(
            f"Put the customers of /app/customers.json and the orders of /app/orders.csv into a "
            f"new SQLite database, {_AT}, with these tables:\n\n{_TABLES}\n\n"
            f"A price of 12.34 is 1234 cents. Python's module sqlite3 is there."
            + (further if hard else "")
        ),
        files={
            "/app/customers.json": json.dumps(customers, indent=1).encode(),
            "/app/orders.csv": "".join(f"{line}\n" for line in lines).encode(),
        },
        checks=[
            _rows(
                "SELECT id, name, city FROM customers ORDER BY id",
                [tuple(c.values()) for c in customers],
            ),
            _rows("SELECT id, customer_id, product, cents FROM orders ORDER BY id", orders),
            *(_further(customers, orders) if hard else []),
        ],
        solution=python(_EASY + (_HARD if hard else "") + "database.commit()\n"),
    )


def _further(
    customers: list[dict[str, Any]], orders: list[tuple[int, int, str, int]]
) -> list[Check]:
    totals: dict[str, tuple[int, int]] = {customer["city"]: (0, 0) for customer in customers}
    spent: dict[str, int] = {}
    for _, number, _, cents in orders:
        customer = customers[number - 1]
        count, total = totals[customer["city"]]
        totals[customer["city"]] = count + 1, total + cents
        spent[customer["name"]] = spent.get(customer["name"], 0) + cents
    best = max(spent, key=lambda name: spent[name])
    rows = sorted((city, *total) for city, total in totals.items())
    return [
        _rows("SELECT city, orders, cents FROM totals ORDER BY city", rows),
        {"kind": "text", "path": "/app/best.txt", "text": best},
    ]


def _rows(query: str, rows: Sequence[tuple[object, ...]]) -> Check:
    return {"kind": "rows", "path": _AT, "query": query, "rows": [list(row) for row in rows]}
