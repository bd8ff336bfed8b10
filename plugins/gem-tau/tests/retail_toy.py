"""A shop with two users, for tests: small enough to compute by hand."""

import copy

from gem_tau.database import Base, Database

ADDRESS = {
    "address1": "1 Elm Street",
    "address2": "",
    "city": "Irongate",
    "state": "PA",
    "country": "USA",
    "zip": "16801",
}
OTHER = {**ADDRESS, "address1": "2 Oak Street", "address2": "Unit 3"}


def variant(item_id, price, *, available=True, **options):
    return {"item_id": item_id, "options": options, "available": available, "price": price}


PRODUCTS = {
    "10": {
        "name": "Mug",
        "product_id": "10",
        "variants": {
            "11": variant("11", 10.1, color="red"),
            "12": variant("12", 12.3, color="blue"),
            "13": variant("13", 7.7, color="green"),
            "14": variant("14", 9.9, available=False, color="white"),
        },
    },
    "20": {
        "name": "Rug",
        "product_id": "20",
        "variants": {
            "21": variant("21", 80.2, size="small"),
            "22": variant("22", 99.9, size="large"),
        },
    },
}


def item(item_id):
    product = PRODUCTS[f"{item_id[0]}0"]
    found = product["variants"][item_id]
    names = {"name": product["name"], "product_id": product["product_id"]}
    return {**names, "item_id": item_id, "price": found["price"], "options": found["options"]}


def order(number, status, items, paid_with, user="ida_holm_1"):
    amount = round(sum(PRODUCTS[f"{one[0]}0"]["variants"][one]["price"] for one in items), 2)
    payment = {"transaction_type": "payment", "amount": amount, "payment_method_id": paid_with}
    return {
        "order_id": f"#W{number}",
        "user_id": user,
        "address": ADDRESS,
        "items": [item(one) for one in items],
        "fulfillments": [],
        "status": status,
        "payment_history": [payment],
    }


def user(first, last, email, methods, orders):
    return {
        "user_id": f"{first}_{last}_1".lower(),
        "name": {"first_name": first, "last_name": last},
        "address": ADDRESS,
        "email": email,
        "payment_methods": methods,
        "orders": orders,
    }


CARD = {"source": "credit_card", "id": "credit_card_1", "brand": "Visa", "last_four": "1234"}
GIFT = {"source": "gift_card", "id": "gift_card_1", "balance": 20.05}
PAYPAL = {"source": "paypal", "id": "paypal_1"}
ORDERS = {
    "#W1": order(1, "pending", ["11", "21"], "credit_card_1"),
    "#W2": order(2, "pending", ["11"], "gift_card_1"),
    "#W3": order(3, "processed", ["11"], "paypal_1"),
    "#W4": order(4, "delivered", ["11", "11", "21"], "credit_card_1"),
    "#W5": order(5, "pending", ["22"], "paypal_9", user="bo_lind_1"),
}
USERS = {
    "ida_holm_1": user(
        *("Ida", "Holm", "Ida@example.com"),
        {one["id"]: one for one in (CARD, GIFT, PAYPAL)},
        ["#W1", "#W2", "#W3", "#W4"],
    ),
    "bo_lind_1": user("Bo", "Lind", "bo@example.com", {"paypal_9": PAYPAL}, ["#W5"]),
}
TABLES = {"users": USERS, "orders": ORDERS, "products": PRODUCTS}


def fresh() -> Database:
    """Return a database that shares nothing with other tests."""
    return Database(Base(copy.deepcopy(TABLES)))
