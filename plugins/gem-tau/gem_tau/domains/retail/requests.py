"""Requests of a shop's customers: cancellations, payments, addresses and returns."""

from collections.abc import Callable, Sequence

from gem_tau.database import Record
from gem_tau.domains.retail.calls import (
    address_call,
    cancel_call,
    look,
    payment_call,
    return_call,
    user_address_call,
)
from gem_tau.domains.retail.customer import (
    SAME_METHOD,
    Customer,
    address_text,
    payment_fact,
    reason_fact,
    the,
)
from gem_tau.domains.retail.database import new_address
from gem_tau.domains.retail.words import ASKS, REASONS
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Fact, Goal
from gem_tau.task import Call

__all__ = ["REQUESTS"]


def cancel(customer: Customer) -> Wish:
    """Draw the cancellation of an order."""
    order = _pending(customer)
    name = customer.order_name(order)
    say = customer.phrase(
        "I would like to cancel {}.",
        "Please cancel {} for me.",
        "I do not want {} any more. Can you cancel it?",
    )
    facts, call = _cancellation(customer, order)
    goal = Goal(say.format(name), (*customer.order_facts(order, name), facts))
    return Wish(goal, (look(order), call), spoken=str(order))


def cancel_after_all(customer: Customer) -> Wish:
    """Draw a cancellation that turns into another address at the confirmation."""
    order = _pending(customer)
    name = customer.order_name(order)
    address = new_address(customer.rng)
    reason, _ = _cancellation(customer, order)
    change = (
        "Wait, I have changed my mind. Please do not cancel it, but send it to "
        f"{address_text(address)}."
    )
    facts = (*customer.order_facts(order, name), reason)
    goal = Goal(f"I would like to cancel {name}.", facts, change=change)
    return Wish(goal, (look(order), address_call(order, address)), spoken=str(order))


def cancel_if_expensive(customer: Customer) -> Wish:
    """Draw a cancellation if an order cost more than an amount, and another address otherwise."""
    order = _pending(customer)
    name = customer.order_name(order)
    limit, is_cheap = customer.limit(order["payment_history"][0]["amount"])
    address = new_address(customer.rng)
    if is_cheap:
        call, condition = address_call(order, address), f"it costs at most ${limit}"
    else:
        call = cancel_call(order, "ordered by mistake")
        condition = f"it costs more than ${limit}"
    say = (
        f"Please check {name}. If it costs more than ${limit} in total, I ordered it by mistake "
        f"and would like to cancel it. Otherwise I would like to have it sent to another address."
    )
    facts = (
        *customer.order_facts(order, name),
        reason_fact("ordered by mistake"),
        Fact("address", f"The other address is {address_text(address)}.", ASKS["address"]),
    )
    goal = Goal(say, facts, condition=condition)
    return Wish(goal, (look(order), call), spoken=str(order))


def new_payment(customer: Customer) -> Wish:
    """Draw another payment method for an order."""
    order, new = _order_to_pay(customer)
    name = customer.order_name(order)
    fact = payment_fact(customer.method_name(new), " for it")
    facts = (*customer.order_facts(order, name), fact)
    say = customer.phrase(
        "I would like to pay for {} in a different way.",
        "Can I change the payment method of {}?",
    )
    goal = Goal(say.format(name), facts)
    return Wish(goal, (look(order), payment_call(order, new)), spoken=customer.amounts(order))


def new_payment_after_all(customer: Customer) -> Wish:
    """Draw another payment method, which is replaced by a third one at the confirmation."""
    order, new = _order_to_pay(customer)
    others = (customer.paid_with(order)["id"], new["id"])
    methods = customer.methods(order["payment_history"][0]["amount"])
    first = customer.one_of([one for one in methods if one["id"] not in others])
    name = customer.order_name(order)
    say = f"I would like to pay for {name} with {customer.method_name(first)} instead."
    change = f"Sorry, I have changed my mind. Please use {customer.method_name(new)} for it."
    goal = Goal(say, customer.order_facts(order, name), change=change)
    return Wish(goal, (look(order), payment_call(order, new)), spoken=customer.amounts(order))


def new_order_address(customer: Customer) -> Wish:
    """Draw another address for an order."""
    order = customer.take_order("pending")
    name = customer.order_name(order)
    address = new_address(customer.rng)
    fact = _new_address_fact(address)
    say = customer.phrase(
        "I would like to have {} sent to another address.",
        "The shipping address of {} is wrong. I would like to change it.",
        "Can {} still go to a different address?",
    )
    goal = Goal(say.format(name), (*customer.order_facts(order, name), fact))
    return Wish(goal, (look(order), address_call(order, address)), spoken=str(order))


def default_address_for_order(customer: Customer) -> Wish:
    """Draw an order that goes to the default address."""
    order = customer.take_order("pending")
    customer.take("default address")
    address = customer.user["address"]
    if address == order["address"]:
        raise Unfit
    name = customer.order_name(order)
    fact = Fact("address", "Please use the default address of my profile.", ASKS["address"])
    goal = Goal(
        f"Please send {name} to my default address, which is in my profile.",
        (*customer.order_facts(order, name), fact),
    )
    return Wish(goal, (look(order), address_call(order, address)), spoken=str(order))


def new_default_address(customer: Customer) -> Wish:
    """Draw another default address."""
    customer.take("default address")
    address = new_address(customer.rng)
    fact = _new_address_fact(address)
    say = customer.phrase(
        "I have moved. Please change the default address of my profile.",
        "Please update my default address.",
        "The default address in my profile is out of date. Can you change it?",
    )
    goal = Goal(say, (fact,))
    return Wish(goal, (user_address_call(customer.id, address),), spoken=str(customer.user))


def default_address_from_order(customer: Customer) -> Wish:
    """Draw a default address that is the one of an order."""
    customer.take("default address")
    order = customer.take_order("pending", "processed", "delivered")
    if order["address"] == customer.user["address"]:
        raise Unfit
    name = customer.order_name(order)
    say = f"Please make the address of {name} the default address of my profile."
    fact = Fact("address", f"It is the address of {name}.", ASKS["address"])
    goal = Goal(say, (*customer.order_facts(order, name), fact))
    calls = (look(order), user_address_call(customer.id, order["address"]))
    return Wish(goal, calls, spoken=f"{order} {customer.user}")


def give_back(customer: Customer) -> Wish:
    """Draw the return of some items."""
    order = customer.take_order("delivered")
    items = customer.items(order)
    items = customer.rng.sample(items, customer.rng.randint(1, len(items)))
    say = customer.phrase(
        "I would like to return {} that I received.", "I want to send back {} that I received."
    )
    goal = Goal(say.format(the(items)))
    return _return(customer, order, items, goal)


def give_less_back(customer: Customer) -> Wish:
    """Draw the return of two items, one of which is kept after all."""
    order = customer.take_order("delivered", items=2)
    kept, *items = customer.rng.sample(customer.items(order), 2)
    say = f"I would like to return {the([kept, *items])} that I received."
    change = f"Wait, I will keep {the([kept])}. Please return {the(items)} only."
    return _return(customer, order, items, Goal(say, change=change))


REQUESTS: tuple[Callable[[Customer], Wish], ...] = (
    *(cancel, cancel_after_all, cancel_if_expensive),
    *(new_payment, new_payment_after_all),
    *(new_order_address, default_address_for_order),
    *(new_default_address, default_address_from_order),
    *(give_back, give_less_back),
)


def _return(customer: Customer, order: Record, items: Sequence[Record], goal: Goal) -> Wish:
    paid = customer.paid_with(order)
    gift_cards = [one for one in customer.methods() if one["source"] == "gift_card"]
    method = customer.take_method([paid, *gift_cards])
    is_same = method is paid and customer.rng.random() < 0.5
    where = SAME_METHOD if is_same else customer.method_name(method)
    also = (f"The money can go to {where}.", f"To {where}, please.")
    payment = Fact("payment", f"Please refund it to {where}.", ASKS["payment"], also)
    facts = (*customer.item_facts(order, items), payment)
    goal = Goal(goal.say, facts, change=goal.change)
    spoken = customer.amounts(order, items)
    return Wish(goal, (look(order), return_call(order, items, method)), spoken=spoken)


def _pending(customer: Customer) -> Record:
    """Take a pending order, with the gift card that paid for it."""
    order = customer.take_order("pending")
    customer.take_method([customer.paid_with(order)])
    return order


def _order_to_pay(customer: Customer) -> tuple[Record, Record]:
    """Take a pending order and another payment method that can pay for it."""
    order = _pending(customer)
    methods = customer.methods(order["payment_history"][0]["amount"])
    old = customer.paid_with(order)["id"]
    return order, customer.take_method([one for one in methods if one["id"] != old])


def _new_address_fact(address: Record) -> Fact:
    text = address_text(address)
    also = (f"It is {text}.", f"Please use {text}.")
    return Fact("address", f"The new address is {text}.", ASKS["address"], also)


def _cancellation(customer: Customer, order: Record) -> tuple[Fact, Call]:
    reason = customer.rng.choice(list(REASONS))
    return reason_fact(reason), cancel_call(order, reason)
