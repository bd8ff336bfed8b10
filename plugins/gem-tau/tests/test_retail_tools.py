"""The tools of a shop: what they find, what they change, and what they refuse."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retail_toy import ADDRESS, OTHER, PRODUCTS, TABLES, fresh
from selection import thorough

from gem_tau.canonical import same
from gem_tau.domains.retail.tools import RETAIL, RetailTools, RetailToolsV1, ShopTools

CLASSES = pytest.mark.parametrize("cls", [RetailTools, RetailToolsV1, ShopTools])


class Shop:
    """A toolkit over a fresh database; calls of it must succeed."""

    def __init__(self, cls=ShopTools):
        self.db = fresh()
        self.tools = cls(self.db)

    def __call__(self, name, **arguments):
        result = self.tools.call(name, arguments)
        assert result.ok, result.output
        return json.loads(result.output) if result.output[:1] in "{[" else result.output

    def order(self, order_id):
        return self.db.get("orders", order_id)

    @property
    def balance(self):
        return self.db.get("users", "ida_holm_1")["payment_methods"]["gift_card_1"]["balance"]


def changed(shop):
    return {table: sorted(records) for table, records in shop.db.changed().items()}


def payments(order):
    return [tuple(one.values()) for one in order["payment_history"]]


def test_there_are_the_sixteen_tools_of_the_original_and_one_of_its_successor() -> None:
    names = {function.name for function in RETAIL.toolkit.functions()}
    assert len(names) == 17
    assert {"get_item_details", "calculate", "think", "transfer_to_human_agents"} <= names


def test_users_are_found_in_any_case() -> None:
    shop = Shop()
    assert shop("find_user_id_by_email", email="IDA@example.com") == "ida_holm_1"
    found = shop("find_user_id_by_name_zip", first_name="ida", last_name="HOLM", zip="16801")
    assert found == "ida_holm_1"


def test_records_are_read() -> None:
    shop = Shop()
    assert shop("get_user_details", user_id="bo_lind_1") == TABLES["users"]["bo_lind_1"]
    assert shop("get_order_details", order_id="#W1") == TABLES["orders"]["#W1"]
    assert shop("get_product_details", product_id="10") == PRODUCTS["10"]
    assert shop("get_item_details", item_id="22") == PRODUCTS["20"]["variants"]["22"]
    assert shop("list_all_product_types") == {"Mug": "10", "Rug": "20"}
    assert not changed(shop)


@CLASSES
def test_a_cancelled_order_is_refunded_and_a_gift_card_gets_its_money_back(cls) -> None:
    shop = Shop(cls)
    shop("cancel_pending_order", order_id="#W2", reason="no longer needed")
    order = shop.order("#W2")
    assert (order["status"], order["cancel_reason"]) == ("cancelled", "no longer needed")
    assert payments(order)[1:] == [("refund", 10.1, "gift_card_1")]
    assert shop.balance == 30.15


@CLASSES
def test_an_exchange_is_requested_with_its_difference_in_price(cls) -> None:
    shop = Shop(cls)
    shop(
        "exchange_delivered_order_items",
        order_id="#W4",
        item_ids=["21", "11"],
        new_item_ids=["22", "13"],
        payment_method_id="gift_card_1",
    )
    order = shop.order("#W4")
    assert order["status"] == "exchange requested"
    assert order["exchange_items"] == ["11", "21"]
    assert order["exchange_new_items"] == ["13", "22"]
    assert order["exchange_payment_method_id"] == "gift_card_1"
    assert order["exchange_price_difference"] == 17.3
    assert changed(shop) == {"orders": ["#W4"]}


@CLASSES
def test_a_modified_item_is_paid_for(cls) -> None:
    shop = Shop(cls)
    shop(
        "modify_pending_order_items",
        order_id="#W1",
        item_ids=["21"],
        new_item_ids=["22"],
        payment_method_id="gift_card_1",
    )
    order = shop.order("#W1")
    assert order["status"] == "pending (item modified)"
    assert order["items"][1]["item_id"] == "22"
    assert (order["items"][1]["price"], order["items"][1]["options"]) == (99.9, {"size": "large"})
    assert payments(order)[1] == ("payment", pytest.approx(19.7), "gift_card_1")
    assert shop.balance == 0.35


def modify_two(cls):
    shop = Shop(cls)
    shop(
        "modify_pending_order_items",
        order_id="#W1",
        item_ids=["11", "21"],
        new_item_ids=["13", "22"],
        payment_method_id="credit_card_1",
    )
    return [(one["item_id"], one["price"]) for one in shop.order("#W1")["items"]]


def test_several_modified_items_show_their_own_prices_except_in_tau2() -> None:
    assert modify_two(ShopTools) == modify_two(RetailToolsV1) == [("13", 7.7), ("22", 99.9)]
    assert modify_two(RetailTools) == [("13", 99.9), ("22", 99.9)]


@CLASSES
def test_a_lower_price_is_refunded(cls) -> None:
    shop = Shop(cls)
    shop(
        "modify_pending_order_items",
        order_id="#W2",
        item_ids=["11"],
        new_item_ids=["13"],
        payment_method_id="gift_card_1",
    )
    assert payments(shop.order("#W2"))[1] == ("refund", pytest.approx(2.4), "gift_card_1")
    assert shop.balance == 22.45


@CLASSES
def test_another_payment_method_pays_and_the_old_one_is_refunded(cls) -> None:
    shop = Shop(cls)
    shop("modify_pending_order_payment", order_id="#W2", payment_method_id="paypal_1")
    assert payments(shop.order("#W2"))[1:] == [
        ("payment", 10.1, "paypal_1"),
        ("refund", 10.1, "gift_card_1"),
    ]
    assert shop.order("#W2")["status"] == "pending"
    assert shop.balance == 30.15


@CLASSES
def test_addresses_are_replaced(cls) -> None:
    shop = Shop(cls)
    shop("modify_pending_order_address", order_id="#W1", **OTHER)
    shop("modify_user_address", user_id="ida_holm_1", **OTHER)
    assert shop.order("#W1")["address"] == OTHER
    assert shop.db.get("users", "ida_holm_1")["address"] == OTHER
    assert shop.order("#W2")["address"] == ADDRESS


@CLASSES
def test_a_return_is_requested_for_as_many_items_as_the_order_has(cls) -> None:
    shop = Shop(cls)
    shop(
        "return_delivered_order_items",
        order_id="#W4",
        item_ids=["21", "11", "11"],
        payment_method_id="gift_card_1",
    )
    order = shop.order("#W4")
    assert (order["status"], order["return_items"]) == ("return requested", ["11", "11", "21"])
    assert order["return_payment_method_id"] == "gift_card_1"
    assert shop.balance == 20.05


def swap(order_id="#W4", items=("11",), new=("12",), method="credit_card_1"):
    return {
        "order_id": order_id,
        "item_ids": list(items),
        "new_item_ids": list(new),
        "payment_method_id": method,
    }


def give_back(order_id="#W4", items=("11",), method="credit_card_1"):
    return {"order_id": order_id, "item_ids": list(items), "payment_method_id": method}


EXCHANGE, MODIFY = "exchange_delivered_order_items", "modify_pending_order_items"
RETURN, PAY = "return_delivered_order_items", "modify_pending_order_payment"
CANCEL, MOVE = "cancel_pending_order", "modify_pending_order_address"
REFUSED = [
    ("find_user_id_by_email", {"email": "no@example.com"}, "No user has the email"),
    (
        "find_user_id_by_name_zip",
        {"first_name": "Ida", "last_name": "Holm", "zip": "1"},
        "zip code 1",
    ),
    ("get_user_details", {"user_id": "ida"}, "no user 'ida'"),
    ("get_order_details", {"order_id": "W1"}, "an order id begins with #"),
    ("get_product_details", {"product_id": "11"}, "no product '11'"),
    ("get_item_details", {"item_id": "10"}, "no item '10'"),
    (CANCEL, {"order_id": "#W9", "reason": "no longer needed"}, "no order '#W9'"),
    (CANCEL, {"order_id": "#W3", "reason": "no longer needed"}, "#W3 is processed"),
    (CANCEL, {"order_id": "#W1", "reason": "too dear"}, "ordered by mistake"),
    (EXCHANGE, swap("#W1"), "Only a delivered order can be exchanged"),
    (EXCHANGE, swap(items=("12",)), "does not have the items: 12"),
    (EXCHANGE, swap(items=("21", "21"), new=("22", "22")), "does not have the items: 21"),
    (EXCHANGE, swap(new=()), "Each item needs one new item"),
    (EXCHANGE, swap(new=("22",)), "is not an item of the product 'Mug'"),
    (EXCHANGE, swap(new=("14",)), "not available"),
    (EXCHANGE, swap(method="paypal_9"), "no payment method 'paypal_9'"),
    (EXCHANGE, swap(items=("21", "11"), new=("22", "12"), method="gift_card_1"), "too little"),
    (MODIFY, swap("#W4"), "Only a pending order can be modified"),
    (MODIFY, swap("#W1", items=("13",)), "does not have the items: 13"),
    (MODIFY, swap("#W1", new=("12", "22")), "Each item needs one new item"),
    (MODIFY, swap("#W1", new=("14",)), "not available"),
    (MODIFY, swap("#W1", method="gift_card_2"), "no payment method"),
    (
        MODIFY,
        swap("#W1", items=("21", "11"), new=("22", "12"), method="gift_card_1"),
        "too little",
    ),
    (PAY, {"order_id": "#W4", "payment_method_id": "paypal_1"}, "#W4 is delivered"),
    (PAY, {"order_id": "#W1", "payment_method_id": "credit_card_1"}, "already"),
    (PAY, {"order_id": "#W1", "payment_method_id": "gift_card_1"}, "too little"),
    (PAY, {"order_id": "#W1", "payment_method_id": "paypal_9"}, "no payment method"),
    (MOVE, {"order_id": "#W3", **OTHER}, "Only a pending order"),
    ("modify_user_address", {"user_id": "ida", **OTHER}, "no user 'ida'"),
    (RETURN, give_back("#W1"), "Only a delivered order can be returned"),
    (RETURN, give_back(method="paypal_1"), "A refund goes to credit_card_1"),
    (RETURN, give_back(method="gift_card_2"), "no payment method"),
    (RETURN, give_back(items=("11", "11", "11")), "does not have the items: 11"),
]


@CLASSES
def test_a_tool_refuses_what_is_not_possible_and_changes_nothing(cls, subtests) -> None:
    for name, arguments, message in REFUSED:
        with subtests.test(f"{name}: {message} ({arguments})"):
            shop = Shop(cls)
            result = shop.tools.call(name, arguments)
            assert not result.ok
            assert message in result.output
            assert not shop.db.writes


@CLASSES
def test_a_payment_is_changed_once(cls) -> None:
    shop = Shop(cls)
    shop(PAY, order_id="#W1", payment_method_id="paypal_1")
    again = shop.tools.call(PAY, {"order_id": "#W1", "payment_method_id": "credit_card_1"})
    assert "changed before" in again.output


@CLASSES
def test_a_modified_order_is_neither_modified_nor_cancelled_again(cls) -> None:
    shop = Shop(cls)
    shop(MODIFY, **swap("#W1"))
    again = shop.tools.call(MODIFY, swap("#W1", items=("21",), new=("22",)))
    cancelled = shop.tools.call(CANCEL, {"order_id": "#W1", "reason": "no longer needed"})
    assert not again.ok
    assert not cancelled.ok


@pytest.mark.parametrize(("cls", "may"), [(RetailTools, True), (RetailToolsV1, False)])
def test_the_address_of_a_modified_order_can_be_changed_in_tau2_only(cls, may) -> None:
    shop = Shop(cls)
    shop(MODIFY, **swap("#W1"))
    assert shop.tools.call(MOVE, {"order_id": "#W1", **OTHER}).ok is may


@pytest.mark.parametrize(("cls", "may"), [(RetailTools, False), (RetailToolsV1, True)])
def test_an_item_can_be_modified_to_itself_in_tau_bench_only(cls, may) -> None:
    assert Shop(cls).tools.call(MODIFY, swap("#W1", new=("11",))).ok is may


IDS = st.sampled_from(["#W1", "#W2", "#W3", "#W4", "#W5", "W1"])
ITEMS = st.lists(st.sampled_from(["11", "12", "13", "14", "21", "22"]), max_size=3)
METHODS = st.sampled_from(["credit_card_1", "gift_card_1", "paypal_1", "paypal_9"])
CALLS = st.one_of(
    st.tuples(st.sampled_from([EXCHANGE, MODIFY]), st.builds(swap, IDS, ITEMS, ITEMS, METHODS)),
    st.tuples(st.just(RETURN), st.builds(give_back, IDS, ITEMS, METHODS)),
    st.tuples(st.just(PAY), st.fixed_dictionaries({"order_id": IDS, "payment_method_id": METHODS})),
    st.tuples(
        st.just(CANCEL),
        st.fixed_dictionaries({"order_id": IDS, "reason": st.just("ordered by mistake")}),
    ),
)


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(st.lists(CALLS, max_size=6), st.sampled_from([RetailTools, RetailToolsV1, ShopTools]))
def test_whatever_is_called_no_balance_gets_negative_and_failed_calls_change_nothing(
    calls, cls
) -> None:
    shop = Shop(cls)
    for name, arguments in calls:
        before, count = shop.db.digest, len(shop.db.writes)
        result = shop.tools.call(name, arguments)
        if not result.ok:
            assert (shop.db.digest, len(shop.db.writes)) == (before, count)
        assert shop.balance >= 0
    assert same(shop.db.base.tables, TABLES)
