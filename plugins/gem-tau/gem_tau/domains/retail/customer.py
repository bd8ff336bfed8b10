"""Customers of a generated shop, and the words in which they name what they want.

A wish names orders by an item that the customer bought once, and payment methods by their kind, so
that exactly one record fits. What a wish depends on is taken, so that wishes do not interfere.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random

from gem_tau.database import Base, Record
from gem_tau.domains.retail.database import shop
from gem_tau.domains.retail.words import ASKS, REASONS
from gem_tau.domains.wishes import BaseCustomer, Unfit
from gem_tau.scenario import Fact

__all__ = [
    "SAME_METHOD",
    "Customer",
    "Index",
    "address_text",
    "amount",
    "indexed",
    "listed",
    "payment_fact",
    "reason_fact",
    "the",
]

SAME_METHOD = "the payment method that I paid with"


class Index:
    """A shop, prepared for drawing tasks.

    Args:
        number: The number of the shop.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.base: Base = shop(number)
        tables = self.base.tables
        self.orders = tables["orders"]
        self.users = [one for one in tables["users"].values() if len(one["orders"]) > 1]
        self.products: list[Record] = list(tables["products"].values())
        self.pending = [one for one in self.orders.values() if one["status"] == "pending"]
        self.available = {
            one["product_id"]: [each for each in one["variants"].values() if each["available"]]
            for one in self.products
        }
        self.prices = {
            one["product_id"]: " ".join(str(each["price"]) for each in one["variants"].values())
            for one in self.products
        }
        """The prices of each product, as text."""


@lru_cache(maxsize=16)
def indexed(number: int) -> Index:
    """Return the index of a shop."""
    return Index(number)


class Customer(BaseCustomer):
    """A user of a shop, for whom wishes are drawn.

    Args:
        index: The shop.
        rng: The random stream of the task.
    """

    def __init__(self, index: Index, rng: Random) -> None:
        super().__init__(rng, rng.choice(index.users))
        self.index = index
        self.orders = [index.orders[order_id] for order_id in self.user["orders"]]
        self.bought = Counter(item["name"] for one in self.orders for item in one["items"])

    def items(self, order: Record) -> list[Record]:
        """Return the items of an order that are the only ones of their product."""
        return [item for item in order["items"] if self.bought[item["name"]] == 1]

    def take_order(self, *statuses: str, items: int = 1) -> Record:
        """Take an order that can be named.

        Args:
            statuses: The statuses that it may have.
            items: The least number of items that can be named.

        Raises:
            Unfit: There is none.
        """
        fitting = [
            order
            for order in self.orders
            if order["status"] in statuses
            and order["order_id"] not in self.taken
            and len(self.items(order)) >= items
        ]
        order = self.one_of(fitting)
        self.take(order["order_id"])
        return order

    def take_product(self) -> Record:
        """Take a product that the customer has not bought.

        Raises:
            Unfit: The product that was drawn is one that the customer has bought.
        """
        product = self.rng.choice(self.index.products)
        if product["name"] in self.bought:
            raise Unfit
        self.take(product["product_id"])
        return product

    def methods(self, cost: float = 0) -> list[Record]:
        """Return the payment methods that are not taken and can pay an amount."""
        return [
            method
            for method_id, method in self.user["payment_methods"].items()
            if method_id not in self.taken and method.get("balance", cost) >= cost
        ]

    def take_method(self, methods: Iterable[Record]) -> Record:
        """Draw one of some payment methods; a gift card is taken, because it has a balance.

        Raises:
            Unfit: There is none.
        """
        method = self.one_of([one for one in methods if one["id"] not in self.taken])
        if method["source"] == "gift_card":
            self.take(method["id"])
        return method

    def paid_with(self, order: Record) -> Record:
        """Return the payment method that paid for an order."""
        method: Record = self.user["payment_methods"][_paid(order)]
        return method

    def method_name(self, method: Record) -> str:
        """Return the customer's words for a payment method.

        Raises:
            Unfit: Two of the methods have the same name.
        """
        names = [_method_name(one) for one in self.user["payment_methods"].values()]
        if len(set(names)) < len(names):
            raise Unfit
        return _method_name(method)

    def order_name(self, order: Record) -> str:
        """Draw the customer's words for an order."""
        return f"the order with the {self.rng.choice(self.items(order))['name'].lower()}"

    def order_facts(self, order: Record, name: str) -> tuple[Fact, ...]:
        """Draw the facts that tell which order it is: by its number, or by its items."""
        if self.rng.random() < 0.5:
            number = order["order_id"]
            also = (f"It is order {number}.", f"That would be {number}.")
            return (Fact("order_id", f"The order number is {number}.", ASKS["order"], also),)
        also = (f"It is {name}.", f"That would be {name}.")
        return (Fact("items", f"I mean {name}.", ASKS["order"], also),)

    def item_facts(self, order: Record, items: Sequence[Record]) -> tuple[Fact, ...]:
        """Draw the facts that tell which order and which items it is about."""
        facts = self.order_facts(order, f"the order with {the(items)}")
        if facts[0].name == "items":
            return facts
        also = (f"I mean {the(items)}.", f"Just {the(items)}, please.")
        return (*facts, Fact("items", f"It is about {the(items)}.", ASKS["items"], also))

    def limit(self, value: float) -> tuple[int, bool]:
        """Draw a limit in dollars, and return it with whether a value keeps it.

        The limit is above the value, or below it and 1 or more.
        """
        keeps = value < 3 or self.rng.random() < 0.5
        if keeps:
            return math.ceil(value) + self.rng.randint(1, 15), True
        return max(1, math.floor(value) - self.rng.randint(1, 15)), False

    def amounts(self, order: Record, items: Sequence[Record] = (), cost: float = 0) -> str:
        """Return ids and amounts that an assistant may say about an order and items in it.

        Args:
            order: The order.
            items: The items that are returned or replaced.
            cost: What the replacements cost more.
        """
        paid = order["payment_history"][0]["amount"]
        refund = sum(item["price"] for item in items)
        changes = (0, paid, -paid, cost, -cost, refund)
        methods = self.user["payment_methods"].values()
        balances = [one["balance"] for one in methods if "balance" in one]
        values = [*changes, paid + cost, *(each + one for each in balances for one in changes)]
        prices = [self.index.prices[item["product_id"]] for item in items]
        return " ".join([str(order), *prices, *(f"{abs(value):.2f}" for value in values)])


def reason_fact(reason: str) -> Fact:
    """Return the fact that tells a reason in ``REASONS``."""
    say, *also = REASONS[reason]
    return Fact("reason", say, ASKS["reason"], tuple(also))


def payment_fact(method: str, suffix: str = "") -> Fact:
    """Return the fact that tells which payment method to use.

    Args:
        method: How the customer names it.
        suffix: What follows it, with a space before it.
    """
    also = (f"I would like to use {method}{suffix}.", f"With {method}{suffix}, please.")
    return Fact("payment", f"Please use {method}{suffix}.", ASKS["payment"], also)


def _paid(order: Record) -> str:
    method_id: str = order["payment_history"][0]["payment_method_id"]
    return method_id


def _method_name(method: Record) -> str:
    if method["source"] == "credit_card":
        return f"my {method['brand']} card ending in {method['last_four']}"
    return "my PayPal account" if method["source"] == "paypal" else "my gift card"


def address_text(address: Record) -> str:
    """Return an address as a customer writes it."""
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    return f"{street}, {address['city']}, {address['state']} {address['zip']}, USA"


def amount(value: float) -> str:
    """Return an amount as an assistant writes it.

    Raises:
        Unfit: Its last digit is 0, which some would leave out.
    """
    text = f"{abs(value):.2f}"
    if text.endswith("0"):
        raise Unfit
    return text


def listed(parts: Sequence[str]) -> str:
    """Return parts as an enumeration: ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def the(items: Sequence[Record]) -> str:
    """Return a customer's words for items: ``the hammock and the floor rug``."""
    return listed([f"the {item['name'].lower()}" for item in items])


def changed(item: Record, variant: Record) -> dict[str, str]:
    """Return the options of a variant that an item does not have."""
    old = item["options"]
    return {name: value for name, value in variant["options"].items() if old[name] != value}


def options_text(item: Record, variant: Record) -> str:
    """Return words for the difference of a variant from an item, which fit no other variant."""
    others = [f"the {name} {value}" for name, value in changed(item, variant).items()]
    rest = ", and otherwise like mine" if len(others) < len(item["options"]) else ""
    return f"with {listed(others)}{rest}"
