"""The pages of a shop, and the three ways to write one: ``text``, ``text_rich`` and ``html``.

A page is a list of pieces of text, each with its kind. Everything else follows from it: the actions
that the page offers, and its text in each mode. Labels and order are those of WebShop's pages.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from html import escape
from typing import NamedTuple

from gem_web.product import Product

__all__ = [
    "BACK_TO_SEARCH",
    "BUY_NOW",
    "NEXT",
    "PREV",
    "RENDERERS",
    "SUB_PAGES",
    "Kind",
    "Page",
    "Piece",
    "done_page",
    "item_page",
    "results_page",
    "search_page",
    "sub_page",
]

BACK_TO_SEARCH, BUY_NOW, NEXT, PREV, SEARCH = (
    "Back to Search",
    "Buy Now",
    "Next >",
    "< Prev",
    "Search",
)
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
PER_PAGE = 10
"""The number of products on a page of results."""


class Kind(IntEnum):
    """The kind of a piece of a page; a browser shows each in its own way."""

    TEXT = 0
    INSTRUCTION = 1
    """What the customer wants."""
    BUTTON = 2
    LINK = 3
    """A link to a product."""
    VISITED = 4
    """A link to a product that was opened before."""
    OPTION = 5
    """A value of the option that the last piece of kind ``OPTION_NAME`` names."""
    CHOSEN = 6
    """A value that is chosen."""
    OPTION_NAME = 7
    TITLE = 8
    BOX = 9
    """The box for a search; it has no text."""


class Piece(NamedTuple):
    """A piece of a page.

    Args:
        kind: What it is.
        text: Its text.
    """

    kind: Kind
    text: str


Page = Sequence[Piece]

_CLICKABLE = (Kind.BUTTON, Kind.LINK, Kind.VISITED, Kind.OPTION, Kind.CHOSEN)
_BACK = Piece(Kind.BUTTON, BACK_TO_SEARCH)
_PREV = Piece(Kind.BUTTON, PREV)
_NEXT = Piece(Kind.BUTTON, NEXT)
_BUY = Piece(Kind.BUTTON, BUY_NOW)
_LABEL = Piece(Kind.TEXT, "Instruction:")


def search_page(instruction: str) -> Page:
    """Return the page with the box for a search."""
    return (
        Piece(Kind.TITLE, "WebShop"),
        Piece(Kind.TEXT, "Instruction: "),
        Piece(Kind.INSTRUCTION, instruction),
        Piece(Kind.BOX, ""),
        Piece(Kind.BUTTON, SEARCH),
    )


def results_page(
    instruction: str,
    products: Iterable[Product],
    page: int,
    total: int,
    visited: frozenset[str] | set[str],
) -> Page:
    """Return a page of results.

    Args:
        instruction: What the customer wants.
        products: The products on this page.
        page: Its number, from 1.
        total: The number of products that were found.
        visited: The asins of products that were opened in the episode.
    """
    pieces = [
        *_head(instruction),
        Piece(Kind.TEXT, f"Page {page} (Total results: {total})"),
        *((_PREV, _NEXT) if page > 1 else (_NEXT,)),
    ]
    for product in products:
        pieces += _card(product, product.asin in visited)
    return pieces


@functools.lru_cache(maxsize=16_384)
def _card(product: Product, is_visited: bool) -> tuple[Piece, ...]:  # noqa: FBT001 - a cache key
    return (
        Piece(Kind.VISITED if is_visited else Kind.LINK, product.asin),
        *_shown(Kind.TITLE, product.title),
        *_shown(Kind.TEXT, product.price_tag),
    )


def item_page(
    instruction: str, product: Product, chosen: Mapping[str, str], *, show_attributes: bool
) -> Page:
    """Return the page of a product.

    Args:
        instruction: What the customer wants.
        product: The product.
        chosen: The chosen value of each option by its name.
        show_attributes: Whether there is a button for the attributes.
    """
    pieces = [*_head(instruction), _PREV]
    for name, values in product.options.items():
        pieces += _shown(Kind.OPTION_NAME, name)
        for value in values:
            kind = Kind.CHOSEN if chosen.get(name) == value else Kind.OPTION
            pieces += _shown(kind, value)
    pieces += _shown(Kind.TITLE, product.title)
    pieces.append(Piece(Kind.TEXT, f"Price: {product.price_tag}"))
    pieces.append(Piece(Kind.TEXT, f"Rating: {product.rating}"))
    buttons = SUB_PAGES if show_attributes else SUB_PAGES[:-1]
    pieces += [Piece(Kind.BUTTON, name) for name in buttons]
    pieces.append(_BUY)
    return pieces


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """Return the page of a product that the button ``name`` of ``SUB_PAGES`` opens."""
    pieces = [*_head(instruction), _PREV]
    for text in _SUB_TEXTS[name](product):
        pieces += _shown(Kind.TEXT, text)
    return pieces


def _review_texts(product: Product) -> list[str]:
    texts: list[str] = []
    for review in product.reviews:
        texts += [f'"{review.title}"', f"{review.score:g}", review.body]
    return texts


_SUB_TEXTS: dict[str, Callable[[Product], Sequence[str]]] = {
    "Description": lambda product: [product.description],
    "Features": lambda product: [f" {feature}" for feature in product.features],
    "Reviews": _review_texts,
    "Attributes": lambda product: [
        *(f" {attribute}" for attribute in product.attributes),
        product.category,
        product.query,
        product.product_category,
    ],
}


def done_page(reward: float) -> Page:
    """Return the page after a purchase."""
    return (
        Piece(Kind.TITLE, "Thank you for shopping with us!"),
        Piece(Kind.TEXT, "Your score (min 0.0, max 1.0)"),
        Piece(Kind.TEXT, str(reward)),
    )


def _head(instruction: str) -> tuple[Piece, ...]:
    return _LABEL, Piece(Kind.INSTRUCTION, instruction), _BACK


def _shown(kind: Kind, text: str) -> tuple[Piece, ...]:
    """Return the piece of a text; none if a browser would show nothing."""
    return (Piece(kind, text),) if text and not text.isspace() else ()


def clickables(page: Page) -> dict[str, Kind]:
    """Return the clickable texts, in lower case, in the order of the suffix: buttons first."""
    found: dict[str, Kind] = {}
    for kinds in (_CLICKABLE[:1], _CLICKABLE[1:3], _CLICKABLE[3:]):
        for kind, text in page:
            if kind in kinds:
                found.setdefault(text.lower(), kind)
    return found


def _text(page: Page) -> str:
    """Return the texts after the instruction, with `` [SEP] `` between them."""
    kinds = [kind for kind, _ in page]
    start = kinds.index(Kind.INSTRUCTION) + 1 if Kind.INSTRUCTION in kinds else 0
    return " [SEP] ".join([text.strip() for kind, text in page[start:] if kind is not Kind.BOX])


_RICH: dict[Kind, str] = {
    Kind.BUTTON: "[button] {} [button_]",
    Kind.LINK: "\n[button] {} [button_]",
    Kind.VISITED: "\n[clicked button] {} [clicked button_]",
    Kind.OPTION: "  [button] {} [button_]",
    Kind.CHOSEN: "  [clicked button] {} [clicked button_]",
}


def _text_rich(page: Page) -> str:
    """Return one text on each line, with marks around what can be clicked."""
    lines = [
        _RICH[kind].format(text) if kind in _RICH else text
        for kind, text in page
        if kind is not Kind.BOX
    ]
    notes = [f"You have clicked {text}." for kind, text in page if kind is Kind.CHOSEN]
    return "\n".join([*reversed(notes), *lines, ""])


_HTML: dict[Kind, str] = {
    Kind.TEXT: "<p>{}</p>",
    Kind.INSTRUCTION: "<p>{}</p>",
    Kind.BUTTON: '<button class="btn" type="submit">{}</button>',
    Kind.LINK: '<a class="product-link" href="{0}">{0}</a>',
    Kind.VISITED: '<a class="product-link" href="{0}">{0}</a>',
    Kind.TITLE: "<h2>{}</h2>",
    Kind.OPTION_NAME: "<h4>{}</h4>",
    Kind.BOX: '<input id="search_input" type="text" name="search_query">',
}
_RADIO = '<label><input type="radio" name="{0}" value="{1}"{2}>{1}</label>'
_DOCUMENT = "<!DOCTYPE html>\n<html><head><title>WebShop</title></head><body>{}</body></html>"


def _html(page: Page) -> str:
    """Return the source of the page."""
    parts: list[str] = []
    option = ""
    for kind, text in page:
        shown = escape(text)
        if kind is Kind.OPTION_NAME:
            option = shown
        if kind in _HTML:
            parts.append(_HTML[kind].format(shown))
        else:
            mark = " checked" if kind is Kind.CHOSEN else ""
            parts.append(_RADIO.format(option, shown, mark))
    return _DOCUMENT.format("".join(parts))


RENDERERS: dict[str, Callable[[Page], str]] = {
    "text": _text,
    "text_rich": _text_rich,
    "html": _html,
}
"""The functions that write a page, by mode of observation."""
