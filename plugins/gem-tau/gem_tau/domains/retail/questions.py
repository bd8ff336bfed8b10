"""Questions of a shop's customers."""

from collections.abc import Callable

from gem_tau.database import Record
from gem_tau.domains.retail.calls import look, look_at
from gem_tau.domains.retail.customer import Customer, amount, options_text
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Goal

__all__ = ["QUESTIONS"]

_WORDS = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen")
_NUMBERS = dict(enumerate((*_WORDS, "eighteen", "nineteen", "twenty"), start=11))
"""Words that are not part of another word."""


def total(customer: Customer) -> Wish:
    """Draw the question what an order cost."""
    order = customer.take_order("pending", "processed", "delivered")
    name = customer.order_name(order)
    answer = _amount(customer, order["payment_history"][0]["amount"])
    say = customer.phrase("How much did I pay in total for {}?", "What was the total amount of {}?")
    return _about_order(customer, order, name, say.format(name), answer)


def tracking(customer: Customer) -> Wish:
    """Draw the question for the tracking id of an order."""
    order = customer.take_order("processed", "delivered")
    name = customer.order_name(order)
    answer = order["fulfillments"][0]["tracking_id"][0]
    return _about_order(customer, order, name, f"What is the tracking id of {name}?", answer)


def balance(customer: Customer) -> Wish:
    """Draw the question what is left on a gift card."""
    methods = [one for one in customer.methods() if one["source"] == "gift_card"]
    method = customer.take_method(methods)
    goal = Goal("How much money is left on my gift card?", kind="question")
    return Wish(goal, (), amount(method["balance"]))


def count(customer: Customer) -> Wish:
    """Draw the question how many variants of a product are in stock."""
    product = customer.take_product()
    found = len(customer.index.available[product["product_id"]])
    if found not in _NUMBERS:
        raise Unfit
    say = (
        f"How many different versions of the {product['name'].lower()} do you have in stock? "
        f"Please spell the number out as a word."
    )
    return _about_product(customer, product, say, _NUMBERS[found])


def cheapest(customer: Customer) -> Wish:
    """Draw the question what the cheapest variant of a product costs."""
    product = customer.take_product()
    available = customer.index.available[product["product_id"]]
    answer = _amount(customer, min(one["price"] for one in available))
    say = f"What does the cheapest version of the {product['name'].lower()} in stock cost?"
    return _about_product(customer, product, say, answer)


def difference(customer: Customer) -> Wish:
    """Draw the question how much more or less another variant costs than one that was bought."""
    order = customer.take_order("processed", "delivered", "pending")
    item = customer.one_of(customer.items(order))
    customer.take(item["product_id"])
    variant = customer.one_of(
        [
            one
            for one in customer.index.available[item["product_id"]]
            if one["options"] != item["options"]
        ]
    )
    answer = _amount(customer, variant["price"] - item["price"])
    if answer in customer.amounts(order, [item]):
        raise Unfit
    name = item["name"].lower()
    say = (
        f"I bought the {name}. What is the difference in price between mine and a version "
        f"{options_text(item, variant)}? I only want to know, so please change nothing."
    )
    facts = customer.order_facts(order, f"the order with the {name}")
    goal = Goal(say, facts, kind="question")
    return Wish(goal, (look(order), look_at(item)), answer, customer.amounts(order, [item]))


QUESTIONS: tuple[Callable[[Customer], Wish], ...] = (
    *(total, tracking, balance),
    *(count, cheapest, difference),
)


def _amount(customer: Customer, value: float) -> str:
    """Return an amount as text, if the profile, which an assistant may recite, does not have it.

    Raises:
        Unfit: It is part of it, or ends with 0.
    """
    text = amount(value)
    if text in str(customer.user):
        raise Unfit
    return text


def _about_order(customer: Customer, order: Record, name: str, say: str, answer: str) -> Wish:
    goal = Goal(say, customer.order_facts(order, name), kind="question")
    return Wish(goal, (look(order),), answer, spoken=str(order))


def _about_product(customer: Customer, product: Record, say: str, answer: str) -> Wish:
    prices = customer.index.prices[product["product_id"]]
    return Wish(Goal(say, kind="question"), (look_at(product),), answer, spoken=prices)
