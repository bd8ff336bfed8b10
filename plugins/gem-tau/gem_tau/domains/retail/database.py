"""Generated online shops: about 500 users, 1,000 orders and 50 types of products each.

A record has the fields that it has in tau2: a user its name, address, email, payment methods and
order ids; an order its items, address, status, shipments and payments; a product its variants. The
data is consistent: an order was paid with a payment method of its user, the payment is the sum of
its items, a cancelled order was refunded, and what was sent has a tracking id.
"""

import itertools
from collections.abc import Iterator
from functools import lru_cache
from random import Random

from gem_core.errors import ConfigError
from gem_tau.database import Base, Record
from gem_tau.domains.retail.words import (
    BRANDS,
    CITIES,
    FIRST_NAMES,
    LAST_NAMES,
    PRODUCTS,
    REASONS,
    STREETS,
)

__all__ = ["new_address", "shop"]

_USERS, _ORDERS = 500, 1_000
_MOST_ORDERS = 5  # of one user
_STATUSES = ("pending", "processed", "delivered", "cancelled")
_SHARES = (38, 14, 40, 8)


@lru_cache(maxsize=16)
def shop(number: int) -> Base:
    """Return the shop of a number; two numbers have no user in common.

    Args:
        number: 0 or more.

    Raises:
        ConfigError: The number is not an integer of 0 or more.
    """
    if type(number) is not int or number < 0:
        raise ConfigError(f"A shop has a number of 0 or more; got {number!r}.")
    rng = Random(f"shop-{number}")
    products = _products(rng)
    users = _users(rng, number)
    orders = _orders(rng, users, products)
    tables = {"users": users, "orders": orders, "products": products}
    return Base(tables, origin=(shop, (number,)))


def new_address(rng: Random) -> Record:
    """Draw an address."""
    city, state, zip_code = rng.choice(CITIES)
    house = f"{rng.choice(('Apartment', 'Suite', 'Unit'))} {rng.randrange(2, 99)}"
    return {
        "address1": f"{rng.randrange(11, 990)} {rng.choice(STREETS)} Street",
        "address2": house if rng.random() < 0.6 else "",
        "city": city,
        "state": state,
        "country": "USA",
        "zip": f"{zip_code}{rng.randrange(10, 99)}",
    }


def _products(rng: Random) -> dict[str, Record]:
    product_ids = _ids(rng, len(PRODUCTS))
    item_ids = iter(_ids(rng, 20 * len(PRODUCTS)))
    products = {}
    for product_id, (name, (price, options)) in zip(product_ids, PRODUCTS.items(), strict=True):
        variants = _variants(rng, price, options, item_ids)
        products[product_id] = {"name": name, "product_id": product_id, "variants": variants}
    return products


def _ids(rng: Random, count: int) -> list[str]:
    """Draw different ids of ten digits."""
    return [str(number) for number in rng.sample(range(10**9, 10**10), count)]


def _variants(
    rng: Random, price: int, options: dict[str, tuple[str, ...]], item_ids: Iterator[str]
) -> dict[str, Record]:
    """Draw variants with different options and different prices."""
    combinations = list(itertools.product(*options.values()))
    count = rng.randint(6, min(20, len(combinations)))
    cents = rng.sample(range(85 * price, 125 * price), count)
    variants = {}
    for values, cent in zip(rng.sample(combinations, count), cents, strict=True):
        item_id = next(item_ids)
        variants[item_id] = {
            "item_id": item_id,
            "options": dict(zip(options, values, strict=True)),
            "available": rng.random() < 0.8,
            "price": cent / 100,
        }
    return variants


def _users(rng: Random, number: int) -> dict[str, Record]:
    """Draw users with different names; the number of the shop is a part of their ids."""
    names = rng.sample(list(itertools.product(FIRST_NAMES, LAST_NAMES)), _USERS)
    users = {}
    for first, last in names:
        serial = f"{number}{rng.randrange(10_000):04}"
        user_id = f"{first}_{last}_{serial}".lower()
        users[user_id] = {
            "user_id": user_id,
            "name": {"first_name": first, "last_name": last},
            "address": new_address(rng),
            "email": f"{first}.{last}{serial}@example.com".lower(),
            "payment_methods": _payment_methods(rng),
            "orders": [],
        }
    return users


def _payment_methods(rng: Random) -> dict[str, Record]:
    """Draw one to four methods: up to two credit cards, a PayPal account, and a gift card."""
    cards = rng.choice((0, 1, 1, 1, 2))
    kinds = ["credit_card"] * cards
    kinds += ["paypal"] * (rng.random() < 0.5) + ["gift_card"] * (rng.random() < 0.6)
    methods = {}
    for kind in kinds or ["paypal"]:
        method_id = f"{kind}_{rng.randrange(10**6, 10**7)}"
        methods[method_id] = _payment_method(rng, kind, method_id)
    return methods


def _payment_method(rng: Random, kind: str, method_id: str) -> Record:
    method: Record = {"source": kind, "id": method_id}
    if kind == "credit_card":
        method |= {"brand": rng.choice(BRANDS), "last_four": f"{rng.randrange(10_000):04}"}
    elif kind == "gift_card":
        method["balance"] = rng.randrange(500, 30_000) / 100
    return method


def _orders(
    rng: Random, users: dict[str, Record], products: dict[str, Record]
) -> dict[str, Record]:
    owners = _owners(rng, list(users))
    serials = rng.sample(range(10**6, 10**7), len(owners))
    catalog = [(one, list(one["variants"].values())) for one in products.values()]
    orders = {}
    for owner, serial in zip(owners, serials, strict=True):
        order_id = f"#W{serial}"
        orders[order_id] = _order(rng, order_id, users[owner], catalog)
        users[owner]["orders"].append(order_id)
    return orders


def _owners(rng: Random, users: list[str]) -> list[str]:
    """Draw the owner of each order: every user has one or more."""
    slots = [user for user in users for _ in range(_MOST_ORDERS - 1)]
    owners = [*users, *rng.sample(slots, _ORDERS - len(users))]
    rng.shuffle(owners)
    return owners


def _order(
    rng: Random, order_id: str, user: Record, catalog: list[tuple[Record, list[Record]]]
) -> Record:
    chosen = rng.sample(catalog, rng.choice((1, 2, 2, 3, 3, 4)))
    items = [_item(product, rng.choice(variants)) for product, variants in chosen]
    status = rng.choices(_STATUSES, _SHARES)[0]
    order: Record = {
        "order_id": order_id,
        "user_id": user["user_id"],
        "address": dict(user["address"]) if rng.random() < 0.7 else new_address(rng),
        "items": items,
        "fulfillments": [],
        "status": status,
        "payment_history": [],
    }
    total = round(sum(item["price"] for item in items), 2)
    payment = {
        "transaction_type": "payment",
        "amount": total,
        "payment_method_id": rng.choice(list(user["payment_methods"])),
    }
    order["payment_history"].append(payment)
    if status in {"processed", "delivered"}:
        order["fulfillments"].append(_shipment(rng, items))
    elif status == "cancelled":
        order["cancel_reason"] = rng.choice(list(REASONS))
        order["payment_history"].append({**payment, "transaction_type": "refund"})
    return order


def _item(product: Record, variant: Record) -> Record:
    return {
        "name": product["name"],
        "product_id": product["product_id"],
        "item_id": variant["item_id"],
        "price": variant["price"],
        "options": dict(variant["options"]),
    }


def _shipment(rng: Random, items: list[Record]) -> Record:
    return {
        "tracking_id": [str(rng.randrange(10**11, 10**12))],
        "item_ids": [item["item_id"] for item in items],
    }
