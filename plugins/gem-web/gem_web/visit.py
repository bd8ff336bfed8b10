"""The page of a customer in the shop, and the page to which a search or a click leads."""

import json
from dataclasses import dataclass, field
from typing import Literal

from gem_web.catalogue import Catalogue
from gem_web.pages import (
    BACK_TO_SEARCH,
    BUY_NOW,
    NEXT,
    PER_PAGE,
    PREV,
    SUB_PAGES,
    Kind,
    Page,
    clickables,
    done_page,
    item_page,
    results_page,
    search_page,
    sub_page,
)
from gem_web.product import Product

__all__ = ["Shop", "Visit"]

_HOST = "http://webshop.test"
_SUB_PAGES = {name.lower(): name for name in SUB_PAGES}


@dataclass(slots=True)
class Visit:
    """The state of a customer's visit.

    Args:
        place: The kind of page.
        query: The words of the last search.
        number: The number of the page of results, from 1.
        asin: The product on the page; empty if there is none.
        sub: The name of the sub page.
        options: The chosen value of each option by its name.
        visited: The asins of the products that were opened since the last visit to the search page.
        reward: What the purchase was paid; None before it.
    """

    place: Literal["search", "results", "item", "sub", "done"] = "search"
    query: str = ""
    number: int = 1
    asin: str = ""
    sub: str = ""
    options: dict[str, str] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)
    reward: float | None = None

    def show_results(self, query: str, number: int) -> None:
        """Open a page of results; the product and its options are forgotten."""
        self.place, self.query, self.number = "results", query, number
        self.asin, self.options = "", {}

    def show_item(self, asin: str) -> None:
        """Open the page of a product."""
        self.place, self.asin = "item", asin
        self.visited.add(asin)

    def url(self) -> str:
        """Return the address of the page."""
        words = self.query.replace(" ", "+")
        options = json.dumps(self.options)
        path = {
            "search": "/",
            "results": f"/search_results/{words}/{self.number}",
            "item": f"/item_page/{self.asin}/{words}/{self.number}/{options}",
            "sub": f"/item_sub_page/{self.asin}/{words}/{self.number}/{self.sub}/{options}",
            "done": f"/done/{self.asin}/{options}",
        }
        return _HOST + path[self.place]


class Shop:
    """The rules of a shop: its pages, and where clicks lead.

    Args:
        catalogue: What it sells.
        show_attributes: Whether a product's page has a button for its attributes.
    """

    def __init__(self, catalogue: Catalogue, *, show_attributes: bool = False) -> None:
        self.catalogue = catalogue
        self.show_attributes = show_attributes

    def product(self, visit: Visit) -> Product:
        """Return the product on the page."""
        product = self.catalogue.product(visit.asin)
        if product is None:  # a visit comes from this shop, so its products exist
            raise LookupError(visit.asin)
        return product

    def page(self, visit: Visit, instruction: str) -> Page:
        """Return the page that a visit is at."""
        if visit.place == "search":
            return search_page(instruction)
        if visit.place == "results":
            return self._results(visit, instruction)
        if visit.place == "item":
            return item_page(
                instruction,
                self.product(visit),
                visit.options,
                show_attributes=self.show_attributes,
            )
        if visit.place == "sub":
            return sub_page(instruction, self.product(visit), visit.sub)
        return done_page(visit.reward or 0.0)

    def _results(self, visit: Visit, instruction: str) -> Page:
        hits = self.catalogue.search(visit.query)
        shown = hits[(visit.number - 1) * PER_PAGE : visit.number * PER_PAGE]
        products = [self.catalogue.products[number] for number in shown]
        return results_page(instruction, products, visit.number, len(hits), visit.visited)

    def click(self, visit: Visit, page: Page, text: str) -> bool:
        """Follow a click; return whether the page has something with this text to click.

        Args:
            visit: The visit, which is changed.
            page: The page that it is at.
            text: The text of a button, a link or an option, in lower case.
        """
        kind = clickables(page).get(text)
        if kind is None or (visit.place == "search"):  # the button of the box is for people
            return False
        if kind is Kind.BUTTON:
            self._press(visit, text)
        elif kind in (Kind.LINK, Kind.VISITED):
            visit.show_item(text.upper())
        else:
            self._choose(visit, text)
        return True

    def _press(self, visit: Visit, text: str) -> None:
        if text == BACK_TO_SEARCH.lower():
            visit.place, visit.query, visit.asin = "search", "", ""
            visit.options, visit.visited = {}, set()
        elif text == BUY_NOW.lower():
            visit.place = "done"
        elif text in _SUB_PAGES:
            visit.place, visit.sub = "sub", _SUB_PAGES[text]
        elif text == NEXT.lower():
            visit.show_results(visit.query, visit.number + 1)
        elif text == PREV.lower():
            self._go_back(visit)

    @staticmethod
    def _go_back(visit: Visit) -> None:
        if visit.place == "sub":
            visit.place = "item"
        else:
            visit.show_results(visit.query, visit.number - (visit.place == "results"))

    def _choose(self, visit: Visit, value: str) -> None:
        """Choose the value of an option; the last one, if several options have it."""
        for name, values in self.product(visit).options.items():
            if value in values:
                chosen = name
        visit.options = {**visit.options, chosen: value}
