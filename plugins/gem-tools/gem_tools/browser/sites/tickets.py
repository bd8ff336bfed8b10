"""A ticket tracker: a list with filters, and tickets that others block."""

import itertools
import random
from collections.abc import Mapping
from typing import Any, ClassVar

from gem_tools.browser.sites.app import (
    App,
    Request,
    Response,
    choice,
    form,
    heading,
    items,
    link,
    paged,
    paragraph,
    table,
    text_field,
    to,
)

__all__ = ["PEOPLE", "Tickets"]

PEOPLE = ("Ana Keller", "Dana Whitlock", "Ravi Menon", "Tom Sander")
_PARTS = ("Import", "Export", "Search", "Billing", "Accounts")
_PRIORITIES = ("low", "normal", "high")
_STATES = ("open", "closed")
_TROUBLES = (
    "{} fails on files over 2 GB",
    "{} stops after a change of the time zone",
    "{} shows an empty page to new users",
    "{} repeats the last entry",
    "{} is slow on Mondays",
    "{} ignores the language of the account",
    "{} loses accents in names",
    "{} asks for the password twice",
)


class Tickets(App):
    """The tracker.

    Its data has ``tickets``, each with ``id``, ``title``, ``part``, ``state``, ``priority``,
    ``assignee``, ``blocked_by`` (an id or None) and ``comments``.
    """

    title = "Ticket Tracker"
    links: ClassVar[Mapping[str, str]] = {"/": "Tickets"}
    routes: ClassVar[Mapping[str, str]] = {
        "GET /": "overview",
        "GET /tickets/#": "ticket",
        "POST /tickets/#/change": "change",
        "POST /tickets/#/comment": "comment",
    }

    @classmethod
    def first_data(cls, seed: int) -> dict[str, Any]:
        chance = random.Random(seed)
        titles = [(part, text.format(part)) for part in _PARTS for text in _TROUBLES]
        chance.shuffle(titles)
        tickets: list[dict[str, Any]] = [
            {
                "id": 401 + place,
                "title": title,
                "part": part,
                "state": "closed" if chance.random() < 0.3 else "open",
                "priority": chance.choice(_PRIORITIES),
                "assignee": chance.choice(PEOPLE),
                "blocked_by": None,
                "comments": [],
            }
            for place, (part, title) in enumerate(titles)
        ]
        for _ in range(3):
            chain = chance.sample([one for one in tickets if one["blocked_by"] is None], 5)
            for one, other in itertools.pairwise(chain):
                one["blocked_by"], one["state"] = other["id"], "open"
            chain[-1]["state"] = "open"
        return {"tickets": tickets}

    def overview(self, request: Request) -> Response:
        query = request.query
        filters: dict[str, tuple[str, ...]] = {
            "part": _PARTS,
            "state": _STATES,
            "assignee": PEOPLE,
        }
        rows = [
            one
            for one in self.data["tickets"]
            if all(query.get(key, "") in {"", one[key]} for key in filters)
        ]
        fields = [
            choice(key.title(), key, {"": "All", **{v: v for v in values}}, query.get(key, ""))
            for key, values in filters.items()
        ]
        shown, pages = paged(request, rows)
        lines = [
            (
                str(one["id"]),
                link(f"/tickets/{one['id']}", one["title"]),
                one["state"],
                one["priority"],
            )
            for one in shown
        ]
        head = ["Number", "Title", "State", "Priority"]
        return self.page(
            "Tickets", form("/", "Filter", *fields, method="get"), table(head, lines), pages
        )

    def ticket(self, request: Request, number: int) -> Response:
        one = self._ticket(number)
        if one is None:
            return self.not_found()
        blocker = one["blocked_by"]
        facts = [f"{key.title()}: {one[key]}" for key in ("part", "state", "priority", "assignee")]
        blocked = (
            paragraph("Blocked by ", link(f"/tickets/{blocker}", f"ticket {blocker}"))
            if blocker
            else paragraph("Not blocked")
        )
        change = form(
            f"/tickets/{number}/change",
            "Save changes",
            choice("State", "state", {v: v for v in _STATES}, one["state"]),
            choice("Priority", "priority", {v: v for v in _PRIORITIES}, one["priority"]),
            choice("Assignee", "assignee", {v: v for v in PEOPLE}, one["assignee"]),
        )
        comments = items(one["comments"]) if one["comments"] else paragraph("No comments.")
        new = form(
            f"/tickets/{number}/comment",
            "Add comment",
            text_field("New comment", "text", kind="area"),
        )
        return self.page(
            f"Ticket {number}: {one['title']}",
            items(facts),
            blocked,
            heading("Change"),
            change,
            heading("Comments"),
            comments,
            new,
        )

    def change(self, request: Request, number: int) -> Response:
        one = self._ticket(number)
        if one is None:
            return self.not_found()
        allowed = {"state": _STATES, "priority": _PRIORITIES, "assignee": PEOPLE}
        for key, values in allowed.items():
            if request.form.get(key) in values:
                one[key] = request.form[key]
        return to(f"/tickets/{number}")

    def comment(self, request: Request, number: int) -> Response:
        one = self._ticket(number)
        if one is None:
            return self.not_found()
        text = request.form.get("text", "").strip()
        if not text:
            return self.problem(["A comment needs a text."], f"/tickets/{number}")
        one["comments"].append(text)
        return to(f"/tickets/{number}")

    def _ticket(self, number: int) -> dict[str, Any] | None:
        return next((one for one in self.data["tickets"] if one["id"] == number), None)
