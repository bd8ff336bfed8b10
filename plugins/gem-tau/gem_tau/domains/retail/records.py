"""The records of a shop: how its tools look them up, check and write them."""

from collections import Counter
from collections.abc import Sequence

from gem_tau.database import Record
from gem_tau.toolkit import ToolFailure, Toolkit

__all__ = ["ShopRecords", "address_record", "first_item", "payment_record"]


class ShopRecords(Toolkit):
    """A toolkit without tools of its own, over the tables ``users``, ``orders``, ``products``.

    Its methods raise ``ToolFailure`` if a record is missing or a rule is broken.
    """

    def _user(self, user_id: str) -> Record:
        if (user := self.db.get("users", user_id)) is None:
            raise ToolFailure(f"There is no user {user_id!r}")
        return user

    def _order(self, order_id: str) -> Record:
        if (order := self.db.get("orders", order_id)) is None:
            hint = "" if order_id.startswith("#") else "; an order id begins with #"
            raise ToolFailure(f"There is no order {order_id!r}{hint}")
        return order

    def _product(self, product_id: str) -> Record:
        if (product := self.db.get("products", product_id)) is None:
            raise ToolFailure(f"There is no product {product_id!r}")
        return product

    def _method(self, order: Record, payment_method_id: str) -> Record:
        methods = self._user(order["user_id"])["payment_methods"]
        if payment_method_id not in methods:
            raise ToolFailure(
                f"User {order['user_id']} has no payment method {payment_method_id!r}; "
                f"there are: {', '.join(methods)}"
            )
        return methods[payment_method_id]

    def _check_status(self, order: Record, status: str, action: str) -> None:
        if order["status"] != status:
            raise ToolFailure(
                f"Only a {status} order can be {action}; {order['order_id']} is {order['status']}"
            )

    def _check_owned(self, order: Record, item_ids: Sequence[str]) -> None:
        missing = Counter(item_ids) - Counter(item["item_id"] for item in order["items"])
        if missing:
            listed = ", ".join(sorted(missing))
            raise ToolFailure(f"Order {order['order_id']} does not have the items: {listed}")

    def _new_variants(
        self, order: Record, item_ids: Sequence[str], new_item_ids: Sequence[str]
    ) -> list[Record]:
        """Return the variants that take the place of items."""
        self._check_owned(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise ToolFailure(
                f"Each item needs one new item; got {len(item_ids)} items and "
                f"{len(new_item_ids)} new ones"
            )
        variants = []
        for old, new in zip(item_ids, new_item_ids, strict=True):
            product = self._product(first_item(order, old)["product_id"])
            variant = product["variants"].get(new)
            if variant is None:
                raise ToolFailure(f"{new!r} is not an item of the product {product['name']!r}")
            if not variant["available"]:
                raise ToolFailure(f"Item {new} is not available")
            variants.append(variant)
        return variants

    def _difference(
        self, order: Record, item_ids: Sequence[str], variants: Sequence[Record]
    ) -> float:
        """Return the difference in price of the new variants to the old items, not rounded."""
        total: float = 0
        for old, variant in zip(item_ids, variants, strict=True):
            total += variant["price"] - first_item(order, old)["price"]
        return total

    def _check_balance(self, order: Record, payment_method_id: str, amount: float) -> None:
        method = self._method(order, payment_method_id)
        if method["source"] == "gift_card" and method["balance"] < amount:
            raise ToolFailure(
                f"{payment_method_id} has {method['balance']:.2f}, too little for {amount:.2f}"
            )

    def _add_to_gift_card(self, order: Record, payment_method_id: str, amount: float) -> None:
        """Change the balance of a gift card; other payment methods have none."""
        if self._method(order, payment_method_id)["source"] == "gift_card":
            user = self.db.edit("users", order["user_id"])
            method = user["payment_methods"][payment_method_id]
            method["balance"] = round(method["balance"] + amount, 2)


def payment_record(kind: str, amount: float, payment_method_id: str) -> Record:
    """Return an entry of the payments of an order."""
    return {
        "transaction_type": kind,
        "amount": amount,
        "payment_method_id": payment_method_id,
    }


def address_record(
    address1: str, address2: str, city: str, state: str, country: str, zip_code: str
) -> Record:
    """Return an address."""
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "state": state,
        "country": country,
        "zip": zip_code,
    }


def first_item(order: Record, item_id: str) -> Record:
    """Return the first item of an order that has an id; there must be one."""
    return next(item for item in order["items"] if item["item_id"] == item_id)
