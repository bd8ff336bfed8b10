"""The subjects of pages in invented encyclopedias, and the sentences that state their facts.

A fact joins two entities, and both pages state it: if a painter was born in a town, her page names
the town, and the town's page lists her. ``RELATIONS`` has the sentences for both pages. A mention
joins two entities on one page only, such as the country of a painter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["RELATIONS", "Entity", "Relation", "stated"]


class Relation(NamedTuple):
    """The sentences of a fact on both pages, and their places in the texts.

    In a sentence, ``{it}``, ``{It}`` and ``{Its}`` stand for the subject of the page, and
    ``{them}`` for one or several entities. A relation without a sentence is in the definition.
    """

    rank: int
    said: str
    back_rank: int
    said_back: str


RELATIONS = {
    "capital": Relation(0, "", 1, "It is the capital of {them}."),
    "town": Relation(0, "", 20, "Its towns include {them}."),
    "river": Relation(0, "", 12, "It is crossed by {them}."),
    "border": Relation(10, "It borders on {them}.", 10, "It borders on {them}."),
    "flows": Relation(10, "It flows through {them}.", 10, "It lies on {them}."),
    "born": Relation(0, "", 30, "It is the birthplace of {them}."),
    "author": Relation(0, "", 10, "{It} {verb} {them}."),
    "home": Relation(0, "", 20, "It is the seat of {them}."),
    "founder": Relation(0, "", 15, "{It} founded {them}."),
    "scene": Relation(0, "", 25, "It was the scene of {them}."),
    "road": Relation(40, "Roads lead to {them}.", 40, "Roads lead to {them}."),
    "studied": Relation(20, "{It} studied at {them}.", 35, "Its students included {them}."),
    "member": Relation(25, "{It} was a member of {them}.", 36, "Its members included {them}."),
    "taught": Relation(21, "{It} was taught by {them}.", 22, "{It} taught {them}."),
    "friend": Relation(30, "{It} was a friend of {them}.", 30, "{It} was a friend of {them}."),
    "married": Relation(12, "{It} married {them}.", 12, "{It} married {them}."),
    "died": Relation(40, "{It} died in {them}.", 45, "It is where {them} died."),
    "part": Relation(30, "People in it included {them}.", 26, "{It} took part in {them}."),
    "subject": Relation(5, "It is about {them}.", 50, "{It} is the subject of {them}."),
    "kept": Relation(8, "It belongs to {them}.", 24, "It owns {them}."),
    "inspired": Relation(12, "It was inspired by {them}.", 14, "It inspired {them}."),
    "followed": Relation(10, "It was followed by {them}.", 11, "It followed {them}."),
    "partner": Relation(40, "It works with {them}.", 40, "It works with {them}."),
}
"""The relations by name; the subject is the first entity of a fact."""


@dataclass(eq=False)
class Entity:
    """The subject of a page.

    Args:
        number: Its position among the pages.
        kind: ``country``, ``town``, ``river``, ``person``, ``work``, ``organisation``, ``event``.
        title: The title of its page.
        noun: What it is, such as ``painter``.
        year: The year of its birth, its making or its happening; 0 for places.
        country: The country that it belongs to; itself for a country.
        figure: Inhabitants of a town, kilometres of a river, the last year of a person's life.
        word: The pronoun of a person; the region of a country.
        is_stub: Whether its page has a definition only, without links.
    """

    number: int
    kind: str
    title: str
    noun: str
    year: int = 0
    country: "Entity | None" = None
    figure: int = 0
    word: str = "it"
    is_stub: bool = False
    facts: list[tuple[str, bool, "Entity"]] = field(default_factory=list)
    """Relation, whether this is its subject, and the other entity; in order."""

    @property
    def name(self) -> str:
        """The title in a sentence, with an article if it needs one."""
        return f"the {self.title}" if self.kind in _WITH_ARTICLE else self.title

    @property
    def subject(self) -> str:
        """The title at the beginning of a sentence."""
        return f"The {self.title}" if self.kind in _WITH_ARTICLE else self.title

    def of(self, relation: str, *, is_subject: bool = True) -> "list[Entity]":
        """Return the other entities of a relation."""
        return [other for name, mine, other in self.facts if (name, mine) == (relation, is_subject)]

    def one(self, relation: str) -> "Entity":
        """Return the object of a relation that it surely has."""
        return self.of(relation)[0]


_WITH_ARTICLE = {"river", "event", "organisation"}


def stated(entity: Entity) -> Iterator[tuple[int, str, list[Entity]]]:
    """Yield rank, sentence and entities of the facts on a page, beyond its definition."""
    groups: dict[tuple[int, str], list[Entity]] = {}
    for name, is_subject, other in entity.facts:
        relation = RELATIONS[name]
        rank, said = relation[:2] if is_subject else relation[2:]
        if said:
            groups.setdefault((rank, said), []).append(other)
    for (rank, said), others in groups.items():
        yield rank, said, others
