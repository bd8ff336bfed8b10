"""Wishes of a shop's customers that the policy forbids."""

from collections.abc import Callable

from gem_tau.database import Record
from gem_tau.domains.retail.calls import look
from gem_tau.domains.retail.customer import Customer
from gem_tau.domains.retail.words import ASKS
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Fact, Goal

__all__ = ["REFUSALS"]


def cancel_processed(customer: Customer) -> Wish:
    """Draw the cancellation of an order that is on its way."""
    order = customer.take_order("processed")
    reason = Fact("reason", "It is no longer needed.", ASKS["reason"])
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
    reason = Fact("reason", "I have found it cheaper in another shop.", ASKS["reason"])
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
    product = customer.take_product()
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
        Fact("reason", "She no longer needs it.", ASKS["reason"]),
    )
    return Wish(Goal(say, facts, kind="refusal"), (), spoken=str(order))


REFUSALS: tuple[Callable[[Customer], Wish], ...] = (
    *(cancel_processed, redirect_processed, return_processed, cancel_for_price),
    *(remove_item, other_product, other_refund, order_of_another),
)


def _in_vain(customer: Customer, order: Record, say: str, *facts: Fact) -> Wish:
    name = customer.order_name(order)
    say = say.format(name)
    facts = (*customer.order_facts(order, name), *facts)
    goal = Goal(say[0].upper() + say[1:], facts, kind="refusal")
    return Wish(goal, (look(order),), spoken=str(order))
