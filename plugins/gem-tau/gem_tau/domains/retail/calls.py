"""The reference calls of wishes."""

from collections.abc import Sequence
from typing import Any

from gem_tau.database import Record
from gem_tau.task import Call

__all__ = [
    "address_call",
    "cancel_call",
    "look",
    "look_at",
    "payment_call",
    "return_call",
    "swap_call",
    "user_address_call",
]


def look(order: Record) -> Call:
    """Return the call that reads an order."""
    return Call("get_order_details", {"order_id": order["order_id"]})


def look_at(item: Record) -> Call:
    """Return the call that reads the product of an item."""
    return Call("get_product_details", {"product_id": item["product_id"]})


def cancel_call(order: Record, reason: str) -> Call:
    """Return the call that cancels an order."""
    return Call("cancel_pending_order", {"order_id": order["order_id"], "reason": reason})


def payment_call(order: Record, method: Record) -> Call:
    """Return the call that pays for an order with another method."""
    arguments = {"order_id": order["order_id"], "payment_method_id": method["id"]}
    return Call("modify_pending_order_payment", arguments)


def address_call(order: Record, address: Record) -> Call:
    """Return the call that changes the address of an order."""
    return Call("modify_pending_order_address", {"order_id": order["order_id"], **address})


def user_address_call(user_id: str, address: Record) -> Call:
    """Return the call that changes the default address of a user."""
    return Call("modify_user_address", {"user_id": user_id, **address})


def return_call(order: Record, items: Sequence[Record], method: Record) -> Call:
    """Return the call that returns items."""
    return Call("return_delivered_order_items", _arguments(order, items, method))


def swap_call(
    tool: str,
    order: Record,
    items: Sequence[Record],
    targets: Sequence[Record],
    method: Record,
) -> Call:
    """Return the call of a tool that replaces items by variants."""
    new = {"new_item_ids": [one["item_id"] for one in targets]}
    return Call(tool, _arguments(order, items, method) | new)


def _arguments(order: Record, items: Sequence[Record], method: Record) -> dict[str, Any]:
    return {
        "order_id": order["order_id"],
        "item_ids": [item["item_id"] for item in items],
        "payment_method_id": method["id"],
    }
