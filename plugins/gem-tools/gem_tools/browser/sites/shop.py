"""A shop for kitchen things: a catalogue with filters, a basket and a checkout."""

import random
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from gem_tools.browser.sites.app import (
    App,
    Request,
    Response,
    button,
    choice,
    form,
    items,
    link,
    money,
    paged,
    paragraph,
    table,
    text_field,
    to,
)

__all__ = ["DELIVERY", "Shop"]

_KINDS = {
    "Kettles": ("Kettle", 2500, 9000),
    "Pans": ("Pan", 1800, 12000),
    "Knives": ("Knife", 900, 8000),
    "Lamps": ("Lamp", 1500, 9500),
}
_MAKERS = ("Aldow", "Brenna", "Corvi", "Dunmere", "Elstead", "Farrow")
_LINES = ("Classic", "Compact", "Studio")
DELIVERY = {"standard": ("Standard, 3 to 5 days", 390), "express": ("Express, next day", 790)}
"""Text and price (cents) of each kind of delivery."""
_SORTS = {"name": "Name", "price": "Price, lowest first"}


class Shop(App):
    """The shop.

    Its data has ``products`` (``id``, ``name``, ``kind``, ``price`` in cents, ``stock``, ``rating``
    in tenths, ``warranty`` in years), ``basket`` (quantities by id) and ``orders``.
    """

    title = "Hearth & Home"
    links: ClassVar[Mapping[str, str]] = {"/": "Products", "/basket": "Basket", "/orders": "Orders"}
    routes: ClassVar[Mapping[str, str]] = {
        "GET /": "catalogue",
        "GET /products/#": "product",
        "POST /products/#/add": "add",
        "GET /basket": "basket",
        "POST /basket/#/remove": "remove",
        "GET /checkout": "checkout",
        "POST /checkout": "order",
        "GET /orders": "orders",
    }

    @classmethod
    def first_data(cls, seed: int) -> dict[str, Any]:
        chance = random.Random(seed)
        products = [
            {
                "name": f"{maker} {line} {noun}",
                "kind": kind,
                "price": chance.randrange(low, high, 50),
                "stock": chance.choice([0, 1, 2, 3, 5, 8, 12, 20]),
                "rating": chance.randrange(28, 50),
                "warranty": chance.choice([1, 2, 3, 5]),
            }
            for kind, (noun, low, high) in _KINDS.items()
            for maker in _MAKERS
            for line in _LINES
        ]
        chance.shuffle(products)
        return {
            "products": [{"id": 101 + place, **one} for place, one in enumerate(products)],
            "basket": {},
            "orders": [],
        }

    def catalogue(self, request: Request) -> Response:
        query = request.query
        rows = [
            one
            for one in self.data["products"]
            if query.get("text", "").casefold() in one["name"].casefold()
            and query.get("kind", "") in {"", one["kind"]}
            and (query.get("stock") != "yes" or one["stock"])
        ]
        if query.get("sort") == "price":
            rows.sort(key=lambda one: (one["price"], one["id"]))
        elif query.get("sort") == "name":
            rows.sort(key=lambda one: str(one["name"]))
        shown, pages = paged(request, rows)
        filters = form(
            "/",
            "Search",
            text_field("Name contains", "text", query.get("text", "")),
            choice("Kind", "kind", {"": "All", **{k: k for k in _KINDS}}, query.get("kind", "")),
            choice("Stock", "stock", {"": "All", "yes": "In stock"}, query.get("stock", "")),
            choice("Sort by", "sort", {"": "Newest", **_SORTS}, query.get("sort", "")),
            method="get",
        )
        lines = [
            (link(f"/products/{one['id']}", one["name"]), one["kind"], money(one["price"]))
            for one in shown
        ]
        return self.page("Products", filters, table(["Name", "Kind", "Price"], lines), pages)

    def product(self, request: Request, number: int) -> Response:
        one = self._product(number)
        if one is None:
            return self.not_found()
        facts = [
            f"Price: {money(one['price'])}",
            f"In stock: {one['stock']}" if one["stock"] else "Sold out",
            f"Rating: {one['rating'] / 10} out of 5",
            f"Warranty: {one['warranty']} year" + "s" * (one["warranty"] > 1),
            f"Item number: {one['id']}",
        ]
        buy = form(
            f"/products/{number}/add", "Add to basket", text_field("Quantity", "quantity", "1")
        )
        return self.page(one["name"], items(facts), buy if one["stock"] else "")

    def add(self, request: Request, number: int) -> Response:
        one = self._product(number)
        if one is None:
            return self.not_found()
        basket = self.data["basket"]
        asked = request.form.get("quantity", "")
        wanted = int(asked) if re.fullmatch("[0-9]{1,3}", asked) else 0
        if wanted < 1:
            return self.problem(["The quantity must be a number from 1."], f"/products/{number}")
        wanted += basket.get(str(number), 0)
        if wanted > one["stock"]:
            return self.problem([f"Only {one['stock']} are in stock."], f"/products/{number}")
        basket[str(number)] = wanted
        return to("/basket")

    def basket(self, request: Request) -> Response:
        if not self.data["basket"]:
            return self.page("Basket", paragraph("Your basket is empty."))
        lines = [
            (
                one["name"],
                str(count),
                money(one["price"] * count),
                button(f"/basket/{one['id']}/remove", f"Remove {one['name']}"),
            )
            for one, count in self._lines()
        ]
        total = paragraph(f"Sum of the products: {money(self._sum())}")
        next_step = paragraph(link("/checkout", "Go to checkout"))
        return self.page(
            "Basket", table(["Name", "Quantity", "Price", ""], lines), total, next_step
        )

    def remove(self, request: Request, number: int) -> Response:
        self.data["basket"].pop(str(number), None)
        return to("/basket")

    def checkout(self, request: Request) -> Response:
        if not self.data["basket"]:
            return self.page("Checkout", paragraph("Your basket is empty."))
        ways = {key: f"{text} ({money(price)})" for key, (text, price) in DELIVERY.items()}
        return self.page(
            "Checkout",
            paragraph(f"Sum of the products: {money(self._sum())}"),
            form(
                "/checkout",
                "Place order",
                text_field("Full name", "name"),
                text_field("Street and number", "street"),
                text_field("Postcode (two letters and four digits, such as AB 1234)", "postcode"),
                text_field("Town", "town"),
                choice("Delivery", "delivery", ways),
                text_field("Note for the driver (optional)", "note"),
            ),
        )

    def order(self, request: Request) -> Response:
        sent = {key: value.strip() for key, value in request.form.items()}
        problems = list(_problems(sent))
        if not self.data["basket"]:
            problems.append("Your basket is empty.")
        if problems:
            return self.problem(problems, "/checkout")
        _, fee = DELIVERY[sent["delivery"]]
        self.data["orders"].append(
            {
                "id": 5001 + len(self.data["orders"]),
                "products": dict(self.data["basket"]),
                "total": self._sum() + fee,
                **{key: sent.get(key, "") for key in ("name", "street", "postcode", "town")},
                "delivery": sent["delivery"],
                "note": sent.get("note", ""),
            }
        )
        for one, count in self._lines():
            one["stock"] -= count
        self.data["basket"] = {}
        return to("/orders")

    def orders(self, request: Request) -> Response:
        if not self.data["orders"]:
            return self.page("Orders", paragraph("You have not ordered anything yet."))
        rows = [
            (str(one["id"]), one["name"], str(sum(one["products"].values())), money(one["total"]))
            for one in self.data["orders"]
        ]
        return self.page("Orders", table(["Order", "For", "Products", "Total"], rows))

    def _product(self, number: int) -> dict[str, Any] | None:
        return next((one for one in self.data["products"] if one["id"] == number), None)

    def _lines(self) -> list[tuple[dict[str, Any], int]]:
        basket = self.data["basket"]
        return [
            (one, basket[str(one["id"])])
            for one in self.data["products"]
            if str(one["id"]) in basket
        ]

    def _sum(self) -> int:
        return sum(one["price"] * count for one, count in self._lines())


def _problems(sent: Mapping[str, str]) -> list[str]:
    needed = {"name": "full name", "street": "street and number", "town": "town"}
    problems = [f"Enter the {text}." for key, text in needed.items() if not sent.get(key)]
    if not re.fullmatch("[A-Z]{2} [0-9]{4}", sent.get("postcode", "")):
        problems.append("The postcode is two capital letters, a space and four digits.")
    if sent.get("delivery") not in DELIVERY:
        problems.append("Choose a kind of delivery.")
    return problems
