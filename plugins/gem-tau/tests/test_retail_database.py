"""Generated shops are consistent, differ from each other, and are stored by their number."""

import pickle
from collections import Counter

import pytest
from selection import some, thorough

from gem_core.errors import ConfigError
from gem_tau.database import Database
from gem_tau.domains.retail.database import shop
from gem_tau.domains.retail.words import PRODUCTS

NUMBERS = pytest.mark.parametrize("number", some([0, 1, 7, 123_456]))


@NUMBERS
def test_a_shop_has_users_orders_and_products(number) -> None:
    tables = shop(number).tables
    sizes = {name: len(records) for name, records in tables.items()}
    assert sizes == {"users": 500, "orders": 1_000, "products": 50}
    for product_id, product in tables["products"].items():
        assert product["product_id"] == product_id
        assert 6 <= len(product["variants"]) <= 20
    assert len({product["name"] for product in tables["products"].values()}) == 50


@NUMBERS
def test_the_variants_of_a_product_differ_in_options_and_price(number) -> None:
    seen = Counter()
    for product in shop(number).tables["products"].values():
        variants = product["variants"].values()
        assert len({tuple(one["options"].items()) for one in variants}) == len(variants)
        assert len({one["price"] for one in variants}) == len(variants)
        assert len({tuple(one["options"]) for one in variants}) == 1
        seen.update(product["variants"].keys())
    assert max(seen.values()) == 1


@NUMBERS
def test_each_order_belongs_to_its_user(number) -> None:
    tables = shop(number).tables
    listed = Counter(order for user in tables["users"].values() for order in user["orders"])
    assert set(listed) == set(tables["orders"])
    assert max(listed.values()) == 1
    for order in tables["orders"].values():
        assert order["order_id"] in tables["users"][order["user_id"]]["orders"]


@NUMBERS
def test_each_order_is_paid_with_a_method_of_its_user(number) -> None:
    tables = shop(number).tables
    for order in tables["orders"].values():
        first, *rest = order["payment_history"]
        assert first["amount"] == round(sum(item["price"] for item in order["items"]), 2)
        methods = tables["users"][order["user_id"]]["payment_methods"]
        assert first["payment_method_id"] in methods
        if order["status"] == "cancelled":
            assert rest == [{**first, "transaction_type": "refund"}]
            assert order["cancel_reason"]
        else:
            assert not rest


@NUMBERS
def test_the_items_of_orders_are_variants_of_the_shop(number) -> None:
    tables = shop(number).tables
    for order in tables["orders"].values():
        for item in order["items"]:
            product = tables["products"][item["product_id"]]
            variant = product["variants"][item["item_id"]]
            assert item["name"] == product["name"]
            assert (item["price"], item["options"]) == (variant["price"], variant["options"])


@NUMBERS
def test_what_was_sent_has_a_tracking_id(number) -> None:
    for order in shop(number).tables["orders"].values():
        items = [item["item_id"] for item in order["items"]]
        sent = [one["item_ids"] for one in order["fulfillments"]]
        assert sent == ([items] if order["status"] in {"processed", "delivered"} else [])


@NUMBERS
def test_names_and_email_addresses_find_one_user(number) -> None:
    users = shop(number).tables["users"].values()
    assert len({tuple(user["name"].values()) for user in users}) == len(users)
    assert len({user["email"] for user in users}) == len(users)


@pytest.mark.slow
def test_shops_have_no_user_in_common() -> None:
    numbers = range(12 if thorough() else 4)
    users = [user for number in numbers for user in shop(number).tables["users"]]
    assert len(set(users)) == len(users)
    emails = {user["email"] for n in numbers for user in shop(n).tables["users"].values()}
    assert len(emails) == len(users)


@pytest.mark.slow
def test_a_number_gives_the_same_shop_again() -> None:
    again = shop.__wrapped__(3)
    assert again is not shop(3)
    assert again.digest == shop(3).digest != shop(4).digest


@pytest.mark.slow
def test_a_snapshot_has_the_number_and_not_the_tables() -> None:
    stored = pickle.dumps(Database(shop(5)))
    assert len(stored) < 500
    assert pickle.loads(stored).base is shop(5)  # noqa: S301


@pytest.mark.parametrize("number", [-1, 1.0, "1", True, None])
def test_a_number_that_is_not_a_count_is_refused(number) -> None:
    with pytest.raises(ConfigError, match="number of 0 or more"):
        shop(number)


def test_products_have_enough_options_for_their_variants() -> None:
    assert len(PRODUCTS) == 50
    for price, options in PRODUCTS.values():
        assert price > 0
        assert all(len(set(values)) == len(values) > 1 for values in options.values())
