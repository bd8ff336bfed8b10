"""Requests of a shop's customers for the only variant of a product that fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gem_tau.database import Record
from gem_tau.domains.retail.calls import cancel_call, look, look_at, return_call, swap_call
from gem_tau.domains.retail.customer import (
    SAME_METHOD,
    Customer,
    changed,
    listed,
    options_text,
    payment_fact,
    the,
)
from gem_tau.domains.retail.words import ASKS, REASONS
from gem_tau.domains.wishes import Unfit, Wish
from gem_tau.scenario import Fact, Goal
from gem_tau.task import Call

__all__ = ["CHOICES"]


@dataclass(frozen=True)
class _Kind:
    """A way to get other variants: for delivered or for pending orders.

    Args:
        status: The status of the order.
        tool: The tool.
        says: Requests for items.
        detailed: A request for items and their variants.
        if_cheap: A request for an item and its variant, up to a limit in dollars.
        payment: The sentence about the payment in this case.
        otherwise: Returns the call above the limit, for an order, an item and a payment method.
    """

    status: str
    tool: str
    says: tuple[str, ...]
    detailed: str
    if_cheap: str
    payment: str
    otherwise: Callable[[Record, Record, Record], Call]


_EXCHANGE = _Kind(
    "delivered",
    "exchange_delivered_order_items",
    ("I would like to exchange {} that I received", "I want to exchange {}, which I have received"),
    "I have received my order and would like to exchange {}",
    "I would like to exchange {item} that I received for a version {options}. But if it costs more "
    "than ${limit} extra, I would like to return {item} instead.",
    f"Please use {SAME_METHOD} in any case.",
    lambda order, item, method: return_call(order, [item], method),
)
_MODIFY = _Kind(
    "pending",
    "modify_pending_order_items",
    (
        "I would like to change {} in my pending order",
        "I want to modify {} in an order that is pending",
    ),
    "In my pending order, I would like to swap {}",
    "I would like to change {item} in my pending order to a version {options}. But if that costs "
    "more than ${limit} extra, please cancel the whole order, because I no longer need it then.",
    f"Please use {SAME_METHOD}.",
    lambda order, _item, _method: cancel_call(order, "no longer needed"),
)
_Choice = Callable[[Customer, Record], tuple[Record, str]]
"""Returns the variant that takes the place of an item, and the words for it."""


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
    return _swap_if_cheap(customer, _EXCHANGE)


def modify_or_cancel(customer: Customer) -> Wish:
    """Draw a change of an item if it does not cost too much, and a cancellation otherwise."""
    return _swap_if_cheap(customer, _MODIFY)


CHOICES: tuple[Callable[[Customer], Wish], ...] = (
    *(exchange, exchange_for_cheapest, exchange_for_another, exchange_or_return),
    *(modify, modify_to_cheapest, modify_to_another, modify_or_cancel),
)


def _swap(customer: Customer, kind: _Kind, choose: _Choice, most: int = 2) -> Wish:
    """Draw a wish for other variants; the options are told in the request or when asked."""
    order = customer.take_order(kind.status)
    items = customer.items(order)
    items = customer.rng.sample(items, min(len(items), customer.rng.randint(1, most)))
    chosen = [choose(customer, item) for item in items]
    texts = [text for _, text in chosen]
    wanted = ", and ".join(
        f"{the([item])} for a version {text}" for item, text in zip(items, texts, strict=True)
    )
    request, detailed = customer.phrase(*kind.says), customer.rng.random() < 0.5
    say = kind.detailed.format(wanted) if detailed else request.format(the(items))
    also = (f"Please swap {wanted}.", f"I want to swap {wanted}, please.")
    fact = Fact("options", f"I would like to swap {wanted}.", _asks(items), also)
    goal = Goal(f"{say}.", (fact,))
    return _swap_wish(customer, kind, order, items, [one for one, _ in chosen], goal)


def _swap_after_all(customer: Customer, kind: _Kind) -> Wish:
    """Draw a wish for one variant, which turns into another one at the confirmation."""
    order = customer.take_order(kind.status)
    item = customer.one_of(customer.items(order))
    first, target = customer.rng.sample(_others(customer, item), 2)
    request = customer.phrase(*kind.says).format(the([item]))
    say = f"{request}. I want a version {options_text(item, first)}."
    options = [f"the {name} {value}" for name, value in target["options"].items()]
    change = f"I have changed my mind, sorry. I want the version with {listed(options)}."
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
    payment = payment_fact(customer.method_name(method))
    facts = (*customer.item_facts(order, items), *goal.facts, payment)
    calls = [look(order), *(look_at(item) for item in items)]
    calls.append(swap_call(kind.tool, order, items, targets, method))
    goal = Goal(goal.say, facts, change=goal.change)
    return Wish(goal, tuple(calls), spoken=customer.amounts(order, items, cost))


def _swap_if_cheap(customer: Customer, kind: _Kind) -> Wish:
    """Draw a wish for a variant that costs at most a limit more, with another call above it."""
    order = customer.take_order(kind.status)
    item = customer.one_of(customer.items(order))
    dearer = [one for one in _others(customer, item) if one["price"] > item["price"] + 2]
    target = customer.one_of(dearer)
    cost = target["price"] - item["price"]
    paid = customer.paid_with(order)["id"]
    method = customer.take_method([one for one in customer.methods(cost) if one["id"] == paid])
    limit, is_met = customer.limit(cost)
    customer.take(item["product_id"])
    options = options_text(item, target)
    facts = (
        *customer.item_facts(order, [item]),
        Fact("payment", kind.payment, ASKS["payment"]),
        Fact("options", f"I want a version {options}.", _asks([item])),
        Fact("reason", REASONS["no longer needed"][0]),
    )
    say = kind.if_cheap.format(item=the([item]), options=options, limit=limit)
    condition = f"it costs {'at most' if is_met else 'more than'} ${limit} extra"
    swap = swap_call(kind.tool, order, [item], [target], method)
    call = swap if is_met else kind.otherwise(order, item, method)
    goal, calls = Goal(say, facts, condition=condition), (look(order), look_at(item), call)
    return Wish(goal, calls, spoken=customer.amounts(order, [item], cost))


def _asks(items: Sequence[Record]) -> tuple[str, ...]:
    """Return words that ask for the options of items, or for one of them by its name."""
    names = dict.fromkeys(name for item in items for name in item["options"])
    patterns = ("which {}", "what {}", "preferred {}", "{} would", "{}?")
    return (*ASKS["options"], *(one.format(name) for name in names for one in patterns))


def _others(customer: Customer, item: Record) -> list[Record]:
    """Return the available variants of which one or two options differ from an item.

    Raises:
        Unfit: There are less than two.
    """
    found = [
        variant
        for variant in customer.index.available[item["product_id"]]
        if 1 <= len(changed(item, variant)) <= 2
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
