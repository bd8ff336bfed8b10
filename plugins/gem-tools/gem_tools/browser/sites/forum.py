"""A forum of allotment gardeners: threads, posts of one's own, and moderation."""

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from gem_tools.browser.sites.app import (
    App,
    Markup,
    Request,
    Response,
    button,
    form,
    heading,
    items,
    join,
    link,
    paged,
    paragraph,
    table,
    text_field,
    to,
)

__all__ = ["Forum"]

_USERS = {
    "mira": {"password": "rhubarb-7", "moderator": False},
    "jonas": {"password": "trowel-21", "moderator": True},
}
"""Those who can sign in."""
_RULES = (
    "Be friendly.",
    "No advertising: posts that offer goods or services for money are hidden.",
    "Giving things away and recommending a shop that is not your own are welcome.",
    "A thread with advertising is locked after the adverts have been hidden.",
)
_THREADS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Opening hours of the tool shed",
        (
            ("pavel", "Does anybody know when the tool shed is open this month?"),
            ("mira", "The tool shed is open on Saturday from 9 to 11. Bring your key card."),
            ("ines", "Thank you! I will return the wheelbarrow then."),
        ),
    ),
    (
        "Seed swap in March",
        (
            ("ines", "The seed swap is on the second Sunday in March, in the long hut."),
            ("mira", "I can bring beans and two kinds of squash."),
            ("mira", "I can bring beans and two kinds of squash."),
            ("otto", "Great, I am looking for squash. I have plenty of kale to give away."),
        ),
    ),
    (
        "Slugs, again",
        (
            ("greta", "They have eaten all of my lettuce in one night. What helps?"),
            ("pavel", "Copper tape around the bed works for me, as long as it is clean."),
            ("sunny88", "I sell slug traps, 12 euros each, call me on 0170 555 2381."),
            ("otto", "Go out at night with a lamp and collect them. Nothing else helps."),
            ("ines", "I bought good copper tape at the hardware shop in Mill Street."),
            ("lena", "Ducks! My neighbour lends his for an afternoon, for nothing."),
            ("bestgarden", "Slug trouble? My company clears any plot for 49 euros. Ask me."),
            ("greta", "Thank you all. I will try the tape first."),
            ("pavel", "Tell us how it goes. Mine needs a new strip every year."),
            ("otto", "I have half a roll of tape left. Whoever wants it can have it."),
            ("tomtools", "New copper tape, 8 euros a roll if you take two. Message me."),
            ("lena", "Otto, I would like that half roll, please."),
            ("greta", "A week later: the tape works. What did you pay for yours, Ines?"),
            ("ines", "About 9 euros, I think. They also have the wide one."),
            ("sunny88", "Last chance, only three slug traps left, now 10 euros each!"),
            ("otto", "Lena, it is in the box beside the gate."),
        ),
    ),
)
_TALK = (
    ("Compost that smells", "Mine smells of eggs. Is it too wet?", "Mix in cardboard and turn it."),
    ("Blight on tomatoes", "Brown spots since Monday.", "Take the leaves off and keep them dry."),
    ("Water butt is leaking", "It drips at the tap.", "New thread tape fixed ours."),
    ("Who has a chipper?", "I have a heap of branches.", "The club has one, ask Otto."),
    ("First frost", "When did you bring in the dahlias?", "In the second week of October."),
    ("Bees in the long hut", "There is a swarm at the roof.", "Leave them, the keeper is coming."),
    ("Paths need gravel", "The lower path is all mud.", "There is a working day in April."),
    ("Pruning the old apple", "How much may I cut?", "Not more than a third in a year."),
    ("Rhubarb from seed", "Has anybody tried it?", "It takes three years, better divide one."),
    ("Lost: a green glove", "Left hand, near the gate.", "It hangs on the notice board."),
)


class Forum(App):
    """The forum.

    Its data has ``threads`` (``id``, ``title``, ``locked``, and ``posts`` with ``id``, ``author``,
    ``text`` and ``hidden``), and ``sessions``, the names of those who are signed in.
    """

    title = "Allotment Forum"
    links: ClassVar[Mapping[str, str]] = {"/": "Threads", "/rules": "Rules"}
    routes: ClassVar[Mapping[str, str]] = {
        "GET /": "threads",
        "GET /rules": "rules",
        "GET /sign-in": "sign_in_form",
        "POST /sign-in": "sign_in",
        "POST /sign-out": "sign_out",
        "GET /threads/#": "thread",
        "POST /threads/#/reply": "reply",
        "POST /threads/#/lock": "lock",
        "GET /posts/#/edit": "edit_form",
        "POST /posts/#/edit": "edit",
        "POST /posts/#/delete": "delete",
        "POST /posts/#/hide": "hide",
    }

    @classmethod
    def first_data(cls, seed: int) -> dict[str, Any]:
        talk = [(title, (("lena", ask), ("otto", reply))) for title, ask, reply in _TALK]
        threads = [*_THREADS, *talk]
        random.Random(seed).shuffle(threads)
        number = 200
        made = []
        for place, (title, posts) in enumerate(threads):
            lines = []
            for author, text in posts:
                number += 1
                lines.append({"id": number, "author": author, "text": text, "hidden": False})
            made.append({"id": 11 + place, "title": title, "locked": False, "posts": lines})
        return {"threads": made, "sessions": []}

    def greeting(self, request: Request | None) -> Markup:
        user = self._user(request)
        if not user:
            return paragraph(link("/sign-in", "Sign in"))
        return join(paragraph(f"Signed in as {user}."), button("/sign-out", "Sign out"))

    def threads(self, request: Request) -> Response:
        shown, pages = paged(request, self.data["threads"])
        rows = [
            (
                link(f"/threads/{one['id']}", one["title"]),
                str(len(one["posts"])),
                "locked" if one["locked"] else "open",
            )
            for one in shown
        ]
        head = ["Thread", "Posts", "State"]
        return self.page("Threads", table(head, rows), pages, request=request)

    def rules(self, request: Request) -> Response:
        return self.page("Rules", items(_RULES), request=request)

    def sign_in_form(self, request: Request) -> Response:
        fields = text_field("Name", "name"), text_field("Password", "password", kind="password")
        return self.page("Sign in", form("/sign-in", "Sign in", *fields), request=request)

    def sign_in(self, request: Request) -> Response:
        name = request.form.get("name", "")
        known = _USERS.get(name)
        if known is None or known["password"] != request.form.get("password"):
            return self.problem(["The name or the password is wrong."], "/sign-in")
        self.data["sessions"].append(name)
        return to("/", session=f"s{len(self.data['sessions'])}")

    def sign_out(self, request: Request) -> Response:
        return to("/", session="")

    def thread(self, request: Request, number: int) -> Response:
        one = self._thread(number)
        if one is None:
            return self.not_found()
        shown, pages = paged(request, one["posts"])
        parts: list[str] = [self._post(post, request) for post in shown]
        parts.append(pages)
        if one["locked"]:
            parts.append(paragraph("This thread is locked."))
        elif self._user(request):
            text = text_field("Your reply", "text", kind="area")
            parts.append(form(f"/threads/{number}/reply", "Send reply", text))
        if self._is_moderator(request) and not one["locked"]:
            parts.append(button(f"/threads/{number}/lock", "Lock this thread"))
        return self.page(one["title"], *parts, request=request)

    def reply(self, request: Request, number: int) -> Response:
        one, user = self._thread(number), self._user(request)
        text = request.form.get("text", "").strip()
        if one is None:
            return self.not_found()
        if not user or one["locked"] or not text:
            return self.problem(["A reply needs a text, and a thread that is open."], "/")
        last = max(post["id"] for each in self.data["threads"] for post in each["posts"])
        one["posts"].append({"id": last + 1, "author": user, "text": text, "hidden": False})
        return to(f"/threads/{number}?page={-(-len(one['posts']) // 10)}")

    def lock(self, request: Request, number: int) -> Response:
        one = self._thread(number)
        if one is None or not self._is_moderator(request):
            return self.not_found()
        one["locked"] = True
        return to(f"/threads/{number}")

    def edit_form(self, request: Request, number: int) -> Response:
        found = self._own(request, number)
        if found is None:
            return self.not_found()
        _, post = found
        text = text_field("Text", "text", post["text"], kind="area")
        return self.page("Edit post", form(f"/posts/{number}/edit", "Save", text), request=request)

    def edit(self, request: Request, number: int) -> Response:
        found = self._own(request, number)
        if found is None:
            return self.not_found()
        thread, post = found
        text = request.form.get("text", "").strip()
        if not text:
            return self.problem(["A post needs a text."], f"/posts/{number}/edit")
        post["text"] = text
        return to(f"/threads/{thread['id']}")

    def delete(self, request: Request, number: int) -> Response:
        found = self._own(request, number)
        if found is None:
            return self.not_found()
        thread, post = found
        thread["posts"].remove(post)
        return to(f"/threads/{thread['id']}")

    def hide(self, request: Request, number: int) -> Response:
        found = self._find(number)
        if found is None or not self._is_moderator(request):
            return self.not_found()
        thread, post = found
        post["hidden"] = True
        page = thread["posts"].index(post) // 10 + 1
        return to(f"/threads/{thread['id']}?page={page}")

    def _post(self, post: dict[str, Any], request: Request) -> Markup:
        title = heading(f"Post {post['id']} by {post['author']}")
        if post["hidden"]:
            return join(title, paragraph("This post was hidden by a moderator."))
        parts = [title, paragraph(post["text"])]
        if self._user(request) == post["author"]:
            parts.append(paragraph(link(f"/posts/{post['id']}/edit", f"Edit post {post['id']}")))
            parts.append(button(f"/posts/{post['id']}/delete", f"Delete post {post['id']}"))
        if self._is_moderator(request):
            parts.append(button(f"/posts/{post['id']}/hide", f"Hide post {post['id']}"))
        return join(*parts)

    def _user(self, request: Request | None) -> str:
        """Return the name of the user who is signed in; empty without one."""
        session = request.cookies.get("session", "") if request else ""
        names = {f"s{place}": name for place, name in enumerate(self.data["sessions"], 1)}
        return str(names.get(session, ""))

    def _is_moderator(self, request: Request) -> bool:
        return bool(_USERS.get(self._user(request), {}).get("moderator"))

    def _thread(self, number: int) -> dict[str, Any] | None:
        return next((one for one in self.data["threads"] if one["id"] == number), None)

    def _find(self, number: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
        for thread in self.data["threads"]:
            for post in thread["posts"]:
                if post["id"] == number:
                    return thread, post
        return None

    def _own(self, request: Request, number: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return a post of the user who is signed in, and its thread."""
        found = self._find(number)
        if found is None or not self._user(request) or found[1]["author"] != self._user(request):
            return None
        return found
