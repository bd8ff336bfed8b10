"""What customers of a generated shop want to have changed. Each function draws one wish."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gem_tau.database import Record
from gem_tau.domains.retail_customers import Customer, Unfit, Wish, address_text, listed
from gem_tau.domains.shop import new_address
from gem_tau.scenario import Fact, Goal
from gem_tau.task import Call

__all__ = ["WISHES", "look", "look_at", "options_text"]

_ASK_PAYMENT = ("paypal", "credit card", "gift card", "original payment", "refund", "difference")
_ASK_OPTIONS = (
    *("option", "variant", "version", "exchange it for", "change it to", "modify it to"),
    *("replace", "instead", "would you like to receive", "new item", "looking for", "in mind"),
    *("exchange them for", "change them to", "what changes", "what would you like to change"),
)
_ASK_ADDRESS = ("where should", "where would you like", "ship it to", "deliver it to", "new one")
_ASK_ITEMS = ("which item", "what item", "which of", "items would you", "return everything")
_REASONS = {
    "no longer needed": "It is no longer needed.",
    "ordered by mistake": "It was ordered by mistake.",
}
_SAME = "the payment method that I paid with"


def cancel(customer: Customer) -> Wish:
    """Draw the cancellation of an order."""
    order = _pending(customer)
    name = customer.order_name(order)
    say = customer.rng.choice(("I would like to cancel {}.", "Please cancel {} for me."))
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
        "Wait, I have changed my mind: please do not cancel it. Instead, please send it to "
        f"{address_text(address)}."
    )
    facts = (*customer.order_facts(order, name), reason)
    goal = Goal(f"I would like to cancel {name}.", facts, change=change)
    return Wish(goal, (look(order), _address_call(order, address)), spoken=str(order))


def new_payment(customer: Customer) -> Wish:
    """Draw another payment method for an order."""
    order, new = _order_to_pay(customer)
    name = customer.order_name(order)
    fact = Fact("payment", f"Please use {customer.method_name(new)} for it.", _ASK_PAYMENT)
    facts = (*customer.order_facts(order, name), fact)
    goal = Goal(f"I would like to pay for {name} in a different way.", facts)
    return Wish(goal, (look(order), _payment_call(order, new)), spoken=_money(customer, order))


def new_payment_after_all(customer: Customer) -> Wish:
    """Draw another payment method, which is replaced by a third one at the confirmation."""
    order, new = _order_to_pay(customer)
    others = (customer.paid_with(order)["id"], new["id"])
    methods = customer.methods(order["payment_history"][0]["amount"])
    first = customer.one_of([one for one in methods if one["id"] not in others])
    name = customer.order_name(order)
    say = f"I would like to pay for {name} with {customer.method_name(first)} instead."
    change = f"Sorry, I have changed my mind: please use {customer.method_name(new)} for it."
    goal = Goal(say, customer.order_facts(order, name), change=change)
    return Wish(goal, (look(order), _payment_call(order, new)), spoken=_money(customer, order))


def new_order_address(customer: Customer) -> Wish:
    """Draw another address for an order."""
    order = customer.take_order("pending")
    name = customer.order_name(order)
    address = new_address(customer.rng)
    fact = Fact("address", f"The new address is {address_text(address)}.", _ASK_ADDRESS)
    say = customer.rng.choice(
        (
            "I would like to have {} sent to another address.",
            "The shipping address of {} is wrong. I would like to change it.",
        )
    )
    goal = Goal(say.format(name), (*customer.order_facts(order, name), fact))
    return Wish(goal, (look(order), _address_call(order, address)), spoken=str(order))


def default_address_for_order(customer: Customer) -> Wish:
    """Draw an order that goes to the default address."""
    order = customer.take_order("pending")
    customer.take("default address")
    address = customer.user["address"]
    if address == order["address"]:
        raise Unfit
    name = customer.order_name(order)
    fact = Fact("address", "Please use the default address of my profile.", _ASK_ADDRESS)
    goal = Goal(
        f"Please send {name} to my default address, which is in my profile.",
        (*customer.order_facts(order, name), fact),
    )
    return Wish(goal, (look(order), _address_call(order, address)), spoken=str(order))


def new_default_address(customer: Customer) -> Wish:
    """Draw another default address."""
    customer.take("default address")
    address = new_address(customer.rng)
    fact = Fact("address", f"The new address is {address_text(address)}.", _ASK_ADDRESS)
    goal = Goal("I have moved. Please change the default address of my profile.", (fact,))
    return Wish(goal, (_user_address_call(customer, address),))


def default_address_from_order(customer: Customer) -> Wish:
    """Draw a default address that is the one of an order."""
    customer.take("default address")
    order = customer.take_order("pending", "processed", "delivered")
    if order["address"] == customer.user["address"]:
        raise Unfit
    name = customer.order_name(order)
    say = f"Please make the address of {name} the default address of my profile."
    fact = Fact("address", f"It is the address of {name}.", _ASK_ADDRESS)
    goal = Goal(say, (*customer.order_facts(order, name), fact))
    calls = (look(order), _user_address_call(customer, order["address"]))
    return Wish(goal, calls, spoken=str(order))


def give_back(customer: Customer) -> Wish:
    """Draw the return of some items."""
    order = customer.take_order("delivered")
    items = customer.items(order)
    items = customer.rng.sample(items, customer.rng.randint(1, len(items)))
    goal = Goal(f"I would like to return {_the(items)} that I received.")
    return _return(customer, order, items, goal)


def give_less_back(customer: Customer) -> Wish:
    """Draw the return of two items, one of which is kept after all."""
    order = customer.take_order("delivered", items=2)
    kept, *items = customer.rng.sample(customer.items(order), 2)
    say = f"I would like to return {_the([kept, *items])} that I received."
    change = f"Wait, I will keep {_the([kept])}. Please return {_the(items)} only."
    return _return(customer, order, items, Goal(say, change=change))


def exchange(customer: Customer) -> Wish:
    """Draw the exchange of one or two items for others, described by their options."""
    return _swap(customer, _EXCHANGE, _other)


def exchange_for_cheapest(customer: Customer) -> Wish:
    """Draw an exchange for the cheapest variant with an option."""
    return _swap(customer, _EXCHANGE, _cheapest, most=1)


def exchange_for_another(customer: Customer) -> Wish:
    """Draw an exchange in which another variant is wanted at the confirmation."""
    return _swap_after_all(customer, _EXCHANGE)


def modify(customer: Customer) -> Wish:
    """Draw other options for one or two items of an order."""
    return _swap(customer, _MODIFY, _other)


def modify_to_cheapest(customer: Customer) -> Wish:
    """Draw a change of an item to the cheapest variant with an option."""
    return _swap(customer, _MODIFY, _cheapest, most=1)


def modify_to_another(customer: Customer) -> Wish:
    """Draw a change of an item in which another variant is wanted at the confirmation."""
    return _swap_after_all(customer, _MODIFY)


def exchange_or_return(customer: Customer) -> Wish:
    """Draw an exchange if it does not cost too much, and a return otherwise."""
    order = customer.take_order("delivered")
    item, target = _one_swap(customer, order)
    cost = target["price"] - item["price"]
    paid = customer.paid_with(order)["id"]
    method = customer.take_method([one for one in customer.methods(cost) if one["id"] == paid])
    limit, is_met = _limit(customer, cost)
    if is_met:
        call = _swap_call(_EXCHANGE, order, [item], [target], method)
    else:
        call = _return_call(order, [item], method)
    the = _the([item])
    say = (
        f"I would like to exchange {the} that I received for one {options_text(item, target)}. "
        f"But if it costs more than ${limit} extra, I would like to return {the} instead."
    )
    payment = Fact("payment", f"Please use {_SAME} in any case.", _ASK_PAYMENT)
    return _conditional(customer, order, item, target, say, payment, call, is_met, limit)


def modify_or_cancel(customer: Customer) -> Wish:
    """Draw a change of an item if it does not cost too much, and a cancellation otherwise."""
    order = customer.take_order("pending")
    item, target = _one_swap(customer, order)
    cost = target["price"] - item["price"]
    paid = customer.paid_with(order)["id"]
    method = customer.take_method([one for one in customer.methods(cost) if one["id"] == paid])
    limit, is_met = _limit(customer, cost)
    if is_met:
        call = _swap_call(_MODIFY, order, [item], [target], method)
    else:
        call = _cancel_call(order, "no longer needed")
    say = (
        f"I would like to change {_the([item])} in my pending order to one "
        f"{options_text(item, target)}. But if that costs more than ${limit} extra, please cancel "
        f"the whole order, because I no longer need it then."
    )
    payment = Fact("payment", f"Please use {_SAME}.", _ASK_PAYMENT)
    return _conditional(customer, order, item, target, say, payment, call, is_met, limit)


def cancel_if_expensive(customer: Customer) -> Wish:
    """Draw a cancellation if an order cost more than an amount, and another address otherwise."""
    order = _pending(customer)
    name = customer.order_name(order)
    limit, is_cheap = _limit(customer, order["payment_history"][0]["amount"])
    address = new_address(customer.rng)
    if is_cheap:
        call, condition = _address_call(order, address), f"it costs at most ${limit}"
    else:
        call = _cancel_call(order, "ordered by mistake")
        condition = f"it costs more than ${limit}"
    say = (
        f"Please check {name}. If it costs more than ${limit} in total, I ordered it by mistake "
        f"and would like to cancel it. Otherwise I would like to have it sent to another address."
    )
    facts = (
        *customer.order_facts(order, name),
        Fact("reason", _REASONS["ordered by mistake"], ("mistake",)),
        Fact("address", f"The other address is {address_text(address)}.", _ASK_ADDRESS),
    )
    goal = Goal(say, facts, condition=condition)
    return Wish(goal, (look(order), call), spoken=str(order))


WISHES: tuple[Callable[[Customer], Wish], ...] = (
    *(cancel, cancel_after_all, cancel_if_expensive),
    *(new_payment, new_payment_after_all),
    *(new_order_address, default_address_for_order),
    *(new_default_address, default_address_from_order),
    *(give_back, give_less_back, exchange_or_return),
    *(exchange, exchange_for_cheapest, exchange_for_another),
    *(modify, modify_to_cheapest, modify_to_another, modify_or_cancel),
)


@dataclass(frozen=True)
class _Kind:
    """A way to get other variants: for delivered or for pending orders."""

    status: str
    tool: str
    say: str


_EXCHANGE = _Kind(
    "delivered", "exchange_delivered_order_items", "I would like to exchange {} that I received"
)
_MODIFY = _Kind(
    "pending", "modify_pending_order_items", "I would like to change {} in my pending order"
)
_Choice = Callable[[Customer, Record], tuple[Record, str]]


def _swap(customer: Customer, kind: _Kind, choose: _Choice, most: int = 2) -> Wish:
    """Draw a wish for other variants; the options are told in the request or when asked."""
    order = customer.take_order(kind.status)
    items = customer.items(order)
    items = customer.rng.sample(items, min(len(items), customer.rng.randint(1, most)))
    chosen = [choose(customer, item) for item in items]
    wanted = listed(
        [f"{_the([item])} for one {text}" for item, (_, text) in zip(items, chosen, strict=True)]
    )
    request = kind.say.format(_the(items))
    fact = Fact("options", f"I would like to swap {wanted}.", _asks(items))
    if customer.rng.random() < 0.5:
        request += f". In detail: {wanted}"
    goal = Goal(f"{request}.", (fact,))
    return _swap_wish(customer, kind, order, items, [one for one, _ in chosen], goal)


def _swap_after_all(customer: Customer, kind: _Kind) -> Wish:
    """Draw a wish for one variant, which turns into another one at the confirmation."""
    order = customer.take_order(kind.status)
    item = customer.one_of(customer.items(order))
    first, target = customer.rng.sample(_others(customer, item), 2)
    say = f"{kind.say.format(_the([item]))}. I want one {options_text(item, first)}."
    change = f"I have changed my mind, sorry: I want one {options_text(item, target)}."
    goal = Goal(say, change=change)
    return _swap_wish(customer, kind, order, [item], [target], goal)


def _swap_wish(
    customer: Customer,
    kind: _Kind,
    order: Record,
    items: Sequence[Record],
    targets: Sequence[Record],
    goal: Goal,
) -> Wish:
    for item in items:
        customer.take(item["product_id"])
    cost = sum(new["price"] - old["price"] for old, new in zip(items, targets, strict=True))
    method = customer.take_method(customer.methods(cost))
    payment = Fact("payment", f"Please use {customer.method_name(method)}.", _ASK_PAYMENT)
    facts = (*_item_facts(customer, order, items), *goal.facts, payment)
    calls = [look(order), *(look_at(item) for item in items)]
    calls.append(_swap_call(kind, order, items, targets, method))
    goal = Goal(goal.say, facts, change=goal.change)
    return Wish(goal, tuple(calls), spoken=_money(customer, order, items, cost))


def _conditional(
    customer: Customer,
    order: Record,
    item: Record,
    target: Record,
    say: str,
    payment: Fact,
    call: Call,
    is_met: bool,  # noqa: FBT001
    limit: int,
) -> Wish:
    customer.take(item["product_id"])
    relation = "at most" if is_met else "more than"
    facts = [*_item_facts(customer, order, [item]), payment]
    facts.append(Fact("options", f"I want one {options_text(item, target)}.", _asks([item])))
    facts.append(Fact("reason", _REASONS["no longer needed"]))
    goal = Goal(say, tuple(facts), condition=f"it costs {relation} ${limit} extra")
    cost = target["price"] - item["price"]
    calls = (look(order), look_at(item), call)
    return Wish(goal, calls, spoken=_money(customer, order, [item], cost))


def _return(customer: Customer, order: Record, items: Sequence[Record], goal: Goal) -> Wish:
    paid = customer.paid_with(order)
    gift_cards = [one for one in customer.methods() if one["source"] == "gift_card"]
    method = customer.take_method([paid, *gift_cards])
    is_same = method is paid and customer.rng.random() < 0.5
    where = _SAME if is_same else customer.method_name(method)
    payment = Fact("payment", f"Please refund it to {where}.", _ASK_PAYMENT)
    facts = (*_item_facts(customer, order, items), payment)
    goal = Goal(goal.say, facts, change=goal.change)
    spoken = _money(customer, order, items)
    return Wish(goal, (look(order), _return_call(order, items, method)), spoken=spoken)


def _item_facts(customer: Customer, order: Record, items: Sequence[Record]) -> tuple[Fact, ...]:
    order_facts = customer.order_facts(order, f"the order with {_the(items)}")
    if order_facts[0].name == "items":
        return order_facts
    return (*order_facts, Fact("items", f"It is about {_the(items)}.", _ASK_ITEMS))


def _asks(items: Sequence[Record]) -> tuple[str, ...]:
    """Return words that ask for the options of items, or for one of them by its name."""
    names = dict.fromkeys(name for item in items for name in item["options"])
    patterns = ("which {}", "what {}", "preferred {}", "{} would", "{}?")
    return (*_ASK_OPTIONS, *(one.format(name) for name in names for one in patterns))


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


def _others(customer: Customer, item: Record) -> list[Record]:
    """Return the available variants of which one or two options differ from an item.

    Raises:
        Unfit: There are less than two.
    """
    found = [
        variant
        for variant in customer.index.available[item["product_id"]]
        if 1 <= len(_changed(item, variant)) <= 2
    ]
    if len(found) < 2:
        raise Unfit
    return found


def _other(customer: Customer, item: Record) -> tuple[Record, str]:
    target = customer.rng.choice(_others(customer, item))
    return target, options_text(item, target)


def _cheapest(customer: Customer, item: Record) -> tuple[Record, str]:
    """Draw an option that an item does not have, and return the cheapest variant with it."""
    name, value = customer.rng.choice(list(_other(customer, item)[0]["options"].items()))
    found = [
        one for one in customer.index.available[item["product_id"]] if one["options"][name] == value
    ]
    found.sort(key=lambda one: one["price"])
    if item["options"][name] == value or len(found) < 2 or found[0]["price"] == found[1]["price"]:
        raise Unfit
    return found[0], f"with the {name} {value}, and of those the cheapest that you have in stock"


def _one_swap(customer: Customer, order: Record) -> tuple[Record, Record]:
    item = customer.one_of(customer.items(order))
    return item, customer.one_of(
        [one for one in _others(customer, item) if one["price"] > item["price"] + 2]
    )


def _limit(customer: Customer, value: float) -> tuple[int, bool]:
    """Draw a round limit that a value clearly keeps, or clearly exceeds."""
    is_met = value < 3 or customer.rng.random() < 0.5
    if is_met:
        return math.ceil(value) + customer.rng.randint(1, 15), True
    return max(1, math.floor(value) - customer.rng.randint(1, 15)), False


def _changed(item: Record, variant: Record) -> dict[str, str]:
    old = item["options"]
    return {name: value for name, value in variant["options"].items() if old[name] != value}


def options_text(item: Record, variant: Record) -> str:
    """Return how a variant differs from an item, such that only this variant fits."""
    changed = [f"the {name} {value}" for name, value in _changed(item, variant).items()]
    rest = ", and everything else as it is" if len(changed) < len(item["options"]) else ""
    return f"with {listed(changed)}{rest}"


def _the(items: Sequence[Record]) -> str:
    return listed([f"the {item['name'].lower()}" for item in items])


def _money(customer: Customer, order: Record, items: Sequence[Record] = (), cost: float = 0) -> str:
    """Return the amounts that an assistant may say about an order and some of its items."""
    paid = order["payment_history"][0]["amount"]
    balances = [
        one["balance"] for one in customer.user["payment_methods"].values() if "balance" in one
    ]
    refund = sum(item["price"] for item in items)
    values = [cost, -cost, refund, paid + cost]
    values += [
        each + change for each in balances for change in (0, paid, -paid, cost, -cost, refund)
    ]
    prices = [customer.index.prices[item["product_id"]] for item in items]
    return " ".join([str(order), *prices, *(f"{abs(value):.2f}" for value in values)])


def look(order: Record) -> Call:
    """Return the call that reads an order."""
    return Call("get_order_details", {"order_id": order["order_id"]})


def look_at(item: Record) -> Call:
    """Return the call that reads the product of an item."""
    return Call("get_product_details", {"product_id": item["product_id"]})


def _cancel_call(order: Record, reason: str) -> Call:
    return Call("cancel_pending_order", {"order_id": order["order_id"], "reason": reason})


def _cancellation(customer: Customer, order: Record) -> tuple[Fact, Call]:
    reason = customer.rng.choice(list(_REASONS))
    return Fact("reason", _REASONS[reason], ("mistake",)), _cancel_call(order, reason)


def _payment_call(order: Record, method: Record) -> Call:
    arguments = {"order_id": order["order_id"], "payment_method_id": method["id"]}
    return Call("modify_pending_order_payment", arguments)


def _address_call(order: Record, address: Record) -> Call:
    return Call("modify_pending_order_address", {"order_id": order["order_id"], **address})


def _user_address_call(customer: Customer, address: Record) -> Call:
    return Call("modify_user_address", {"user_id": customer.id, **address})


def _return_call(order: Record, items: Sequence[Record], method: Record) -> Call:
    return Call("return_delivered_order_items", _swap_arguments(order, items, method))


def _swap_call(
    kind: _Kind,
    order: Record,
    items: Sequence[Record],
    targets: Sequence[Record],
    method: Record,
) -> Call:
    new = {"new_item_ids": [one["item_id"] for one in targets]}
    return Call(kind.tool, _swap_arguments(order, items, method) | new)


def _swap_arguments(order: Record, items: Sequence[Record], method: Record) -> dict[str, Any]:
    return {
        "order_id": order["order_id"],
        "item_ids": [item["item_id"] for item in items],
        "payment_method_id": method["id"],
    }
