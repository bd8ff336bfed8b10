"""An online shop: the tools of its assistant, over users, orders and products.

Names, parameters and effects are those of the retail domain of tau2 (``RetailTools``) and of
tau-bench (``RetailToolsV1``), both MIT. Amounts are in US dollars.
"""

from collections.abc import Sequence
from pathlib import Path

from gem_tau.database import Record
from gem_tau.domains.retail.records import ShopRecords, address_record, first_item, payment_record
from gem_tau.task import Domain
from gem_tau.toolkit import ToolFailure, read, write

__all__ = ["RETAIL", "RetailTools", "RetailToolsV1", "ShopTools"]


class RetailTools(ShopRecords):
    """The tools of a shop, with the effects that they have in tau2.

    The tables are ``users``, ``orders`` and ``products``; see ``gem_tau.domains.retail.database``.
    """

    @read
    def find_user_id_by_email(self, email: str) -> str:
        """Find the id of a user by the email address.

        Args:
            email: The email address; case is ignored.
        """
        for user_id, user in self.db.records("users"):
            if user["email"].lower() == email.lower():
                return user_id
        raise ToolFailure(f"No user has the email address {email!r}")

    @read
    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str:  # noqa: A002 - the name is an interface
        """Find the id of a user by name and zip code, for users who do not know their email.

        Args:
            first_name: The first name; case is ignored.
            last_name: The last name; case is ignored.
            zip: The zip code of the default address, such as 04321.
        """
        wanted = (first_name.lower(), last_name.lower(), zip)
        for user_id, user in self.db.records("users"):
            name = user["name"]
            found = (name["first_name"].lower(), name["last_name"].lower(), user["address"]["zip"])
            if found == wanted:
                return user_id
        raise ToolFailure(f"No user is named {first_name} {last_name} with the zip code {zip}")

    @read
    def get_user_details(self, user_id: str) -> Record:
        """Get the profile of a user: name, address, email, payment methods and order ids.

        Args:
            user_id: The id of the user, as found by email or by name and zip code.
        """
        return self._user(user_id)

    @read
    def get_order_details(self, order_id: str) -> Record:
        """Get an order: its items, status, address, shipments and payments.

        Args:
            order_id: The id of the order, which begins with #, such as #W1234567.
        """
        return self._order(order_id)

    @read
    def get_product_details(self, product_id: str) -> Record:
        """Get a type of product: its variants with options, availability and price.

        Args:
            product_id: The id of the product, which differs from the ids of its items.
        """
        return self._product(product_id)

    @read
    def get_item_details(self, item_id: str) -> Record:
        """Get one variant of a product: its options, availability and price.

        Args:
            item_id: The id of the item, which differs from the id of its product.
        """
        for _, product in self.db.records("products"):
            if item_id in product["variants"]:
                return product["variants"][item_id]
        raise ToolFailure(f"There is no item {item_id!r}")

    @read
    def list_all_product_types(self) -> dict[str, str]:
        """List the ids of all types of products by their names."""
        names = {one["name"]: one["product_id"] for _, one in self.db.records("products")}
        return dict(sorted(names.items()))

    @write
    def cancel_pending_order(self, order_id: str, reason: str) -> Record:
        """Cancel a pending order and refund it to the payment methods that paid for it.

        Ask the user to confirm the order and the reason first. A gift card is refunded immediately,
        another payment method in 5 to 7 business days.

        Args:
            order_id: The id of the order, which begins with #.
            reason: Either "no longer needed" or "ordered by mistake".
        """
        self._check_status(self._order(order_id), "pending", "cancelled")
        if reason not in {"no longer needed", "ordered by mistake"}:
            raise ToolFailure(
                f"The reason must be 'no longer needed' or 'ordered by mistake'; got {reason!r}"
            )
        order = self.db.edit("orders", order_id)
        refunds = []
        for payment in order["payment_history"]:
            refunds.append(
                payment_record("refund", payment["amount"], payment["payment_method_id"])
            )
            self._add_to_gift_card(order, payment["payment_method_id"], payment["amount"])
        order["status"] = "cancelled"
        order["cancel_reason"] = reason
        order["payment_history"].extend(refunds)
        return order

    @write
    def exchange_delivered_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Record:
        """Exchange items of a delivered order for other variants of the same products.

        It can be done once for an order, so collect all items first. Ask the user to confirm the
        items and the payment method.

        Args:
            order_id: The id of the order, which begins with #.
            item_ids: The ids of the items to give back; an id may occur as often as in the order.
            new_item_ids: The ids of the items to get, in the same order.
            payment_method_id: The payment method that pays or receives the difference in price.
        """
        order = self._order(order_id)
        self._check_status(order, "delivered", "exchanged")
        variants = self._new_variants(order, item_ids, new_item_ids)
        difference = round(self._difference(order, item_ids, variants), 2)
        self._check_balance(order, payment_method_id, difference)
        order = self.db.edit("orders", order_id)
        order["status"] = "exchange requested"
        order["exchange_items"] = sorted(item_ids)
        order["exchange_new_items"] = sorted(new_item_ids)
        order["exchange_payment_method_id"] = payment_method_id
        order["exchange_price_difference"] = difference
        return order

    @write
    def modify_pending_order_address(
        self,
        order_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,  # noqa: A002 - the name is an interface
    ) -> Record:
        """Change the shipping address of a pending order, after the user has confirmed it.

        Args:
            order_id: The id of the order, which begins with #.
            address1: The street and number.
            address2: The apartment or suite; empty for none.
            city: The city.
            state: The state, as two letters.
            country: The country, such as USA.
            zip: The zip code.
        """
        self._check_pending(self._order(order_id))
        order = self.db.edit("orders", order_id)
        order["address"] = address_record(address1, address2, city, state, country, zip)
        return order

    @write
    def modify_pending_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Record:
        """Change items of a pending order to other variants of the same products.

        It can be done once for an order, which can be neither modified nor cancelled afterwards, so
        collect all items first. Ask the user to confirm the items and the payment method.

        Args:
            order_id: The id of the order, which begins with #.
            item_ids: The ids of the items to change; an id may occur as often as in the order.
            new_item_ids: The ids of the items to get, in the same order.
            payment_method_id: The payment method that pays or receives the difference in price.
        """
        order = self._order(order_id)
        self._check_status(order, "pending", "modified")
        self._check_changed(item_ids, new_item_ids)
        variants = self._new_variants(order, item_ids, new_item_ids)
        difference = self._difference(order, item_ids, variants)
        self._check_balance(order, payment_method_id, difference)
        order = self.db.edit("orders", order_id)
        kind = "payment" if difference > 0 else "refund"
        order["payment_history"].append(payment_record(kind, abs(difference), payment_method_id))
        self._add_to_gift_card(order, payment_method_id, -difference)
        shown = self._shown_variants(variants)
        for old, new, variant in zip(item_ids, new_item_ids, shown, strict=True):
            item = first_item(order, old)
            item["item_id"] = new
            item["price"] = variant["price"]
            item["options"] = dict(variant["options"])
        order["status"] = "pending (item modified)"
        return order

    @write
    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Record:
        """Pay for a pending order with another payment method, and refund the first one.

        Ask the user to confirm it first. A gift card must cover the whole amount.

        Args:
            order_id: The id of the order, which begins with #.
            payment_method_id: The new payment method, one of the user's.
        """
        order = self._order(order_id)
        self._check_pending(order)
        self._method(order, payment_method_id)
        history = order["payment_history"]
        if len(history) != 1 or history[0]["transaction_type"] != "payment":
            raise ToolFailure(f"The payment of order {order_id} was changed before")
        old, amount = history[0]["payment_method_id"], history[0]["amount"]
        if old == payment_method_id:
            raise ToolFailure(f"Order {order_id} is paid with {payment_method_id} already")
        self._check_balance(order, payment_method_id, amount)
        order = self.db.edit("orders", order_id)
        order["payment_history"] += [
            payment_record("payment", amount, payment_method_id),
            payment_record("refund", amount, old),
        ]
        self._add_to_gift_card(order, payment_method_id, -amount)
        self._add_to_gift_card(order, old, amount)
        return order

    @write
    def modify_user_address(
        self,
        user_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,  # noqa: A002 - the name is an interface
    ) -> Record:
        """Change the default address of a user, after the user has confirmed it.

        Args:
            user_id: The id of the user.
            address1: The street and number.
            address2: The apartment or suite; empty for none.
            city: The city.
            state: The state, as two letters.
            country: The country, such as USA.
            zip: The zip code.
        """
        self._user(user_id)
        user = self.db.edit("users", user_id)
        user["address"] = address_record(address1, address2, city, state, country, zip)
        return user

    @write
    def return_delivered_order_items(
        self, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> Record:
        """Return items of a delivered order.

        Ask the user to confirm the items and where the refund goes. The user gets an email that
        says how to send the items back.

        Args:
            order_id: The id of the order, which begins with #.
            item_ids: The ids of the items; an id may occur as often as in the order.
            payment_method_id: The payment method that gets the refund: the one that paid for the
                order, or a gift card of the user.
        """
        order = self._order(order_id)
        self._check_status(order, "delivered", "returned")
        method = self._method(order, payment_method_id)
        original = order["payment_history"][0]["payment_method_id"]
        if method["source"] != "gift_card" and payment_method_id != original:
            raise ToolFailure(f"A refund goes to {original}, which paid, or to a gift card")
        self._check_owned(order, item_ids)
        order = self.db.edit("orders", order_id)
        order["status"] = "return requested"
        order["return_items"] = sorted(item_ids)
        order["return_payment_method_id"] = payment_method_id
        return order

    def _check_pending(self, order: Record) -> None:
        """Refuse orders whose address and payment are fixed; modified items do not matter."""
        if "pending" not in order["status"]:
            self._check_status(order, "pending", "modified")

    def _check_changed(self, item_ids: Sequence[str], new_item_ids: Sequence[str]) -> None:
        same = [old for old, new in zip(item_ids, new_item_ids, strict=False) if old == new]
        if same:
            raise ToolFailure(f"The new item must be another one than {same[0]}")

    def _shown_variants(self, variants: Sequence[Record]) -> Sequence[Record]:
        """Return the variants whose price and options the items of a modified order show.

        tau2 shows those of the last one for every item.
        """
        return [variants[-1]] * len(variants) if variants else []


class ShopTools(RetailTools):
    """The tools of the generated shops: each item of a modified order shows its own variant."""

    def _shown_variants(self, variants: Sequence[Record]) -> Sequence[Record]:
        return variants


class RetailToolsV1(ShopTools):
    """The tools of a shop, with the effects that they have in tau-bench.

    An order with modified items is not pending any more, and an item may be changed to itself.
    """

    def _check_pending(self, order: Record) -> None:
        self._check_status(order, "pending", "modified")

    def _check_changed(self, item_ids: Sequence[str], new_item_ids: Sequence[str]) -> None:
        pass


RETAIL = Domain(
    "retail",
    ShopTools,
    Path(__file__).with_name("policy.md").read_text(encoding="utf-8"),
    origin="gem_tau.domains.retail.tools:RETAIL",
)
"""A generated shop; see ``gem_tau.domains.retail.database``."""
