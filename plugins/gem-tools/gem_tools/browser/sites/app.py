"""The base of the sites: requests, answers, and the pieces of a page.

A site has no clock and no chance: its pages follow from its data, which is JSON-able and is all the
state it has. Every form that changes something answers with a redirect, so that a page can be
loaded again. All text is escaped.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, ClassVar
from urllib.parse import urlencode

__all__ = [
    "App",
    "Markup",
    "Request",
    "Response",
    "button",
    "choice",
    "form",
    "heading",
    "items",
    "join",
    "link",
    "money",
    "paged",
    "paragraph",
    "table",
    "text_field",
    "tick",
    "to",
]

PAGE_SIZE = 10
"""Number of rows on a page of a list."""
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:1em auto;padding:0 1em}"
    "nav a{margin-right:1em}table{border-collapse:collapse}td,th{padding:.2em .6em;"
    "border:1px solid #999;text-align:left}form{margin:.5em 0}.error{color:#a00000}"
)


class Markup(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


@dataclass(frozen=True)
class Request:
    """A request of the browser.

    Args:
        method: ``GET`` or ``POST``.
        path: The path, decoded.
        query: The last value of each parameter of the address.
        form: The last value of each field of a form that was sent.
        cookies: The cookies.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """An answer: a page, or a redirect.

    Args:
        body: The page.
        status: Status of HTTP.
        location: Where a redirect leads.
        cookies: Cookies to set; an empty value deletes one.
    """

    body: str = ""
    status: int = 200
    location: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)


class App:
    """A site.

    Subclasses set the class attributes and have a method for each route. It takes the request and
    the numbers of the path, and returns a ``Response``.

    Args:
        data: All data of the site; requests change it.
    """

    title: ClassVar[str]
    links: ClassVar[Mapping[str, str]]
    """Path and text of the links at the top of each page."""
    routes: ClassVar[Mapping[str, str]]
    """The method for each ``GET /path`` or ``POST /path``, where ``#`` is a number."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @classmethod
    def first_data(cls, seed: int) -> dict[str, Any]:
        """Return the data of a new site."""
        raise NotImplementedError

    def respond(self, request: Request) -> Response:
        """Answer a request."""
        asked = f"{request.method} {request.path}"
        for route, name in self.routes.items():
            found = re.fullmatch(route.replace("#", r"([0-9]{1,6})"), asked)
            if found:
                handle: Callable[..., Response] = getattr(self, name)
                return handle(request, *map(int, found.groups()))
        return self.not_found()

    def page(self, title: str, *parts: str, request: Request | None = None) -> Response:
        """Return a page."""
        nav = join(*(link(path, text) for path, text in self.links.items()))
        heading = _element("h1", title)
        body = f"<header><nav>{nav}</nav>{self.greeting(request)}</header><main>{heading}"
        return Response(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(title)} - {escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body>{body}{join(*parts)}</main></body></html>"
        )

    def greeting(self, request: Request | None) -> Markup:
        """Return what stands at the top of each page beside the links."""
        return Markup("")

    def not_found(self) -> Response:
        """Return the page for an address that does not exist."""
        page = self.page("Page not found", paragraph("There is nothing at this address."))
        return Response(page.body, 404)

    def problem(self, said: Sequence[str], back: str) -> Response:
        """Return the page for a form that cannot be accepted."""
        why = Markup(f'<div role="alert" class="error">{items(said)}</div>')
        page = self.page("This was not accepted", why, paragraph(link(back, "Back to the form")))
        return Response(page.body, 422)


def to(path: str, **cookies: str) -> Response:
    """Return a redirect."""
    return Response(status=303, location=path, cookies=cookies)


def paged(request: Request, rows: Sequence[Any]) -> tuple[Sequence[Any], Markup]:
    """Return the rows of the page that is asked for, and links to the pages beside it."""
    last = max(1, -(-len(rows) // PAGE_SIZE))
    asked = request.query.get("page", "1")
    number = min(max(int(asked), 1), last) if re.fullmatch("[0-9]{1,6}", asked) else 1
    links = []
    for text, other in (("Previous page", number - 1), ("Next page", number + 1)):
        if 1 <= other <= last:
            query = urlencode({**request.query, "page": other})
            links.append(link(f"{request.path}?{query}", text))
    note = paragraph(f"Page {number} of {last}, {len(rows)} in all. ", *links)
    return rows[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], note


def join(*parts: str) -> Markup:
    """Return parts as one; text is escaped."""
    return Markup(" ".join(one if isinstance(one, Markup) else escape(one) for one in parts))


def _element(name: str, *parts: str) -> Markup:
    return Markup(f"<{name}>{join(*parts)}</{name}>")


def paragraph(*parts: str) -> Markup:
    """Return a paragraph."""
    return _element("p", *parts)


def heading(text: str) -> Markup:
    """Return a heading inside a page."""
    return _element("h2", text)


def items(parts: Sequence[str]) -> Markup:
    """Return a list."""
    return _element("ul", *(_element("li", one) for one in parts))


def link(path: str, text: str) -> Markup:
    """Return a link."""
    return Markup(f'<a href="{escape(path)}">{escape(text)}</a>')


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """Return a table."""
    top = _element("tr", *(_element("th", one) for one in head))
    lines = (_element("tr", *(_element("td", one) for one in row)) for row in rows)
    return _element("table", _element("thead", top), _element("tbody", *lines))


def text_field(label: str, name: str, value: str = "", kind: str = "text") -> Markup:
    """Return a field with its label."""
    if kind == "area":
        inner = f'<textarea name="{name}" rows="3" cols="60">\n{escape(value)}</textarea>'
    else:
        inner = f'<input type="{kind}" name="{name}" value="{escape(value)}">'
    return Markup(f"<p><label>{escape(label)} {inner}</label></p>")


def choice(label: str, name: str, options: Mapping[str, str], value: str = "") -> Markup:
    """Return a list to choose from: values and what they are called."""
    lines = (
        f'<option value="{escape(key)}"{" selected" * (key == value)}>{escape(text)}</option>'
        for key, text in options.items()
    )
    inner = "".join(lines)
    return Markup(f'<p><label>{escape(label)} <select name="{name}">{inner}</select></label></p>')


def tick(label: str, name: str) -> Markup:
    """Return a box to tick, of which the value is ``yes``."""
    return Markup(
        f'<p><label><input type="checkbox" name="{name}" value="yes"> {escape(label)}</label></p>'
    )


def form(path: str, text: str, *fields: str, method: str = "post") -> Markup:
    """Return a form with a button that sends it."""
    send = Markup(f'<button type="submit">{escape(text)}</button>')
    return Markup(f'<form method="{method}" action="{escape(path)}">{join(*fields, send)}</form>')


def button(path: str, text: str) -> Markup:
    """Return a button that changes something."""
    return form(path, text)


def money(cents: int) -> str:
    """Return an amount as text."""
    return f"€{cents // 100}.{cents % 100:02}"
