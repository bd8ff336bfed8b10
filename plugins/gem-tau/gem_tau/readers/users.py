"""Scenarios of users from the texts of a task.

A model that plays the user gets the whole text. The scripted user cannot read it: it tells the
request first, what it knows when asked for a personal detail, and how it wants it when asked for
anything else. Its sentences are the task's, turned from "you" to "I".
"""

import re
from collections.abc import Sequence

from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.task import Call
from gem_tau.toolkit import TRANSFER, Toolkit
from gem_tau.users.phrases import asks_for

__all__ = ["first_person", "goal_kind", "scenario_of_parts", "scenario_of_text"]

_IDENTITY = ("name", "email", "zip", "user_id", "phone", "location")
_DETAILS = (
    *("order_id", "reservation_id", "reason", "payment", "address", "items", "options", "date"),
    *("data", "cabin", "passengers", "baggage", "insurance", "destination", "origin", "flight"),
)
_PRONOUNS = {
    "yourself": "myself",
    "yours": "mine",
    "your": "my",
    "you're": "I'm",
    "you've": "I've",
    "you'd": "I'd",
    "you'll": "I'll",
    "you are": "I am",
    "you were": "I was",
    "you": "I",
}
_YOU = re.compile(
    r"\b(?:(?P<before>to|for|with|give|gives|tell|tells|let|lets|help|helps|of|from|about|than"
    r"|offer|offers|ask|asks|inform|informs|show|shows|refund|between|on|by) you\b(?! (?:are|were))"
    r"|(?P<you>you are|you were|yourself|yours|your|you(?:'re|'ve|'d|'ll)?)\b)",
    re.IGNORECASE,
)


def first_person(text: str) -> str:
    """Return a text about "you" as one about "I", by a few rules of common English."""

    def turned(match: re.Match[str]) -> str:
        if match["before"]:
            return f"{match['before']} me"
        found = match["you"]
        turned_to = _PRONOUNS[found.lower()]
        return turned_to[0].upper() + turned_to[1:] if found[0].isupper() else turned_to

    return _YOU.sub(turned, text.replace("\u2019", "'")).strip()


def goal_kind(actions: Sequence[Call], toolkit: type[Toolkit], *, has_outputs: bool) -> str:
    """Return the kind of the goal that reference calls and outputs serve; see ``Goal``."""
    if any(
        one.side == "user" or one.name == TRANSFER or toolkit.kind_of(one.name) == "write"
        for one in actions
    ):
        return "request"
    return "question" if has_outputs else "refusal"


def scenario_of_text(text: str, *, kind: str, persona: str = "") -> Scenario:
    """Return the scenario of a text, which the scripted user tells in its first message.

    Args:
        text: The situation, in the second person.
        kind: The kind of the goal.
        persona: How the user behaves, if the text does not say it.
    """
    said = first_person(text)
    known = tuple(Fact(name, said) for name in _IDENTITY)
    instructions = f"{persona}\n\n{text}".strip()
    return Scenario((Goal(said, kind=kind),), known, (), persona, instructions)


def scenario_of_parts(
    *, reason: str, known: str, unknown: str, manner: str, persona: str, kind: str
) -> Scenario:
    """Return the scenario of a task whose text has parts, each in the second person or empty.

    Args:
        reason: Why the user calls.
        known: What the user knows.
        unknown: What the user does not know.
        manner: How the user behaves and decides.
        persona: The character of the user.
        kind: The kind of the goal.
    """
    missing = tuple(name for name in _IDENTITY if unknown and asks_for(name, unknown.lower()))
    names = [name for name in _IDENTITY if name not in missing]
    identity = tuple(Fact(name, first_person(known)) for name in names) if known else ()
    details = " ".join(first_person(text) for text in (manner, known) if text)
    facts = tuple(Fact(name, details) for name in _DETAILS) if details else ()
    parts = {
        "What kind of person you are": persona,
        "Why you contact the company": reason,
        "What you know": known,
        "What you do not know": unknown,
        "How you act": manner,
    }
    text = "\n\n".join(f"{title}:\n{part.strip()}" for title, part in parts.items() if part.strip())
    goal = Goal(first_person(reason), facts, kind)
    return Scenario((goal,), identity, missing, persona, text)
