"""What customers of a generated shop ask, and what they are refused. Each function draws one."""

from collections.abc import Callable

from gem_tau.database import Record
from gem_tau.domains.retail_calls import look, look_at
from gem_tau.domains.retail_customers import Customer, Unfit, Wish, amount
from gem_tau.domains.retail_swaps import options_text
from gem_tau.scenario import Fact, Goal

__all__ = ["QUESTIONS", "REFUSALS"]

_WORDS = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen")
_NUMBERS = dict(enumerate((*_WORDS, "eighteen", "nineteen", "twenty"), start=11))
"""Words that are no part of another word."""


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
    product = _product(customer)
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
    product = _product(customer)
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


def cancel_processed(customer: Customer) -> Wish:
    """Draw the cancellation of an order that is on its way."""
    order = customer.take_order("processed")
    reason = Fact("reason", "It is no longer needed.", ("mistake",))
    return _in_vain(customer, order, "I would like to cancel {}.", reason)


def redirect_processed(customer: Customer) -> Wish:
    """Draw another address for an order that is on its way."""
    order = customer.take_order("processed")
    address = Fact("address", "Please send it to the default address of my profile.")
    return _in_vain(customer, order, "I would like to change the address of {}.", address)


def return_processed(customer: Customer) -> Wish:
    """Draw the return of an order that has not arrived."""
    order = customer.take_order("processed")
    payment = Fact("payment", "Please refund it to the payment method that I paid with.")
    say = "{} has not arrived yet, but I already want to return everything in it."
    return _in_vain(customer, order, say, payment)


def cancel_for_price(customer: Customer) -> Wish:
    """Draw a cancellation for a reason that is not accepted."""
    order = customer.take_order("pending")
    reason = Fact("reason", "I have found it cheaper in another shop.", ("mistake",))
    say = "I would like to cancel {}, because I have found it cheaper in another shop."
    return _in_vain(customer, order, say, reason)


def remove_item(customer: Customer) -> Wish:
    """Draw the removal of an item from a pending order."""
    order = customer.take_order("pending")
    if len(order["items"]) < 2:
        raise Unfit
    item = customer.one_of(customer.items(order))
    say = (
        f"Please take the {item['name'].lower()} out of my pending order, and keep the rest of it."
    )
    return _in_vain(customer, order, say)


def other_product(customer: Customer) -> Wish:
    """Draw an exchange for another product."""
    order = customer.take_order("delivered")
    item = customer.one_of(customer.items(order))
    product = _product(customer)
    say = (
        f"I would like to exchange the {item['name'].lower()} that I received for "
        f"something else, the {product['name'].lower()}."
    )
    options = Fact("options", "Any variant will do.")
    return _in_vain(customer, order, say, options)


def other_refund(customer: Customer) -> Wish:
    """Draw a return whose refund should go where it may not."""
    order = customer.take_order("delivered")
    item = customer.one_of(customer.items(order))
    paid = customer.paid_with(order)["id"]
    methods = [one for one in customer.methods() if one["source"] != "gift_card"]
    method = customer.one_of([one for one in methods if one["id"] != paid])
    name = customer.method_name(method)
    say = (
        f"I would like to return the {item['name'].lower()} that I received, but only if the money "
        f"goes to {name}, which I did not pay with. Otherwise I will keep it."
    )
    return _in_vain(customer, order, say, Fact("payment", f"It has to go to {name}."))


def order_of_another(customer: Customer) -> Wish:
    """Draw the cancellation of an order of another user."""
    order = customer.one_of(customer.index.pending)
    if order["user_id"] == customer.id:
        raise Unfit
    say = (
        f"My neighbor has an account of her own and asked me to cancel her order "
        f"{order['order_id']}. Could you do that?"
    )
    facts = (
        Fact("order_id", f"Her order number is {order['order_id']}."),
        Fact("reason", "She no longer needs it.", ("mistake",)),
    )
    return Wish(Goal(say, facts, kind="refusal"), (), spoken=str(order))


QUESTIONS: tuple[Callable[[Customer], Wish], ...] = (
    *(total, tracking, balance),
    *(count, cheapest, difference),
)
REFUSALS: tuple[Callable[[Customer], Wish], ...] = (
    *(cancel_processed, redirect_processed, return_processed, cancel_for_price),
    *(remove_item, other_product, other_refund, order_of_another),
)


def _product(customer: Customer) -> Record:
    """Take a product that the customer has not bought."""
    product = customer.rng.choice(customer.index.products)
    if product["name"] in customer.bought:
        raise Unfit
    customer.take(product["product_id"])
    return product


def _amount(customer: Customer, value: float) -> str:
    """Return an amount that is not part of the profile, which an assistant may recite.

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


def _in_vain(customer: Customer, order: Record, say: str, *facts: Fact) -> Wish:
    name = customer.order_name(order)
    say = say.format(name)
    facts = (*customer.order_facts(order, name), *facts)
    goal = Goal(say[0].upper() + say[1:], facts, kind="refusal")
    return Wish(goal, (look(order),), spoken=str(order))
