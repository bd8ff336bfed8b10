"""The facts of an invented encyclopedia, drawn so that they do not contradict each other.

The definition of an entity has the facts that it must have, such as a person's birthplace; further
ones are added until the pages have as many links as asked for, where dates and kinds allow it.
"""

import random
from collections.abc import Callable, Mapping, Sequence

from gem_games.wikigame.world_entities import Entity
from gem_games.wikigame.world_names import (
    ARTS,
    EVENTS,
    KEEPERS,
    ORGANISATIONS,
    OTHERS,
    SCHOOLS,
    TOWNS,
    WORDS,
    half,
)

__all__ = ["Facts", "draw_facts"]

SHARES = {"town": 0.19, "river": 0.04, "person": 0.33, "work": 0.22, "organisation": 0.1}
"""The shares of the kinds; one page in 60 is a country, and the rest are events."""


class Facts:
    """The entities of a world, and the facts among them.

    Args:
        rng: Draws them.
        split: ``train`` or ``test``.
    """

    def __init__(self, rng: random.Random, split: str) -> None:
        self.rng = rng
        self.all: list[Entity] = []
        self.by_kind: dict[str, list[Entity]] = {kind: [] for kind in (*SHARES, "country", "event")}
        self.by_country: dict[tuple[str, Entity | None], list[Entity]] = {}
        self.links = 0
        self._places = half("place", split)
        self._families = half("family", split)
        self._qualities = half("quality", split)
        self._titles: set[str] = set()

    def add(self, kind: str, title: str, noun: str, **fields: object) -> Entity:
        """Add an entity without facts."""
        entity = Entity(len(self.all), kind, title, noun, **fields)  # type: ignore[arg-type]
        self.all.append(entity)
        self.by_kind[kind].append(entity)
        self.by_country.setdefault((kind, entity.country), []).append(entity)
        return entity

    def join(self, relation: str, subject: Entity, other: Entity) -> None:
        """Add a fact."""
        subject.facts.append((relation, True, other))
        other.facts.append((relation, False, subject))
        self.links += 2

    def any_of(self, kind: str, near: Entity | None = None) -> Entity:
        """Return a random entity; two times of three from the country of ``near``, if it can."""
        found = self.by_kind[kind]
        if near is not None and self.rng.random() < 2 / 3:
            found = self.by_country.get((kind, near.country), found)
        return found[int(self.rng.random() * len(found))]

    def choice(self, items: Sequence[str]) -> str:
        """Return a random item."""
        return items[int(self.rng.random() * len(items))]

    def title(self, make: Callable[[], str]) -> str:
        """Return a title that is new; after some tries, with a number."""
        for attempt in range(60):
            title = make() if attempt < 50 else f"{make()} {attempt - 48}"
            if title not in self._titles:
                break
        while title in self._titles:
            title = f"{make()} {len(self._titles)}"
        self._titles.add(title)
        return title

    def place(self) -> str:
        """Return a name for a town or a river."""
        name = self.choice(self._places) + self.choice(WORDS["place"])
        return f"{self.choice(WORDS['side'])} {name}" if self.rng.random() < 0.08 else name

    def land(self) -> str:
        """Return a name for a country."""
        return self.choice(self._places) + self.choice(WORDS["country"])

    def family(self) -> str:
        """Return a family name."""
        return self.choice(self._families) + self.choice(WORDS["family"])

    def work(self, place: str) -> str:
        """Return a name for a work."""
        thing = self.choice(WORDS["thing"])
        if self.rng.random() < 0.35:
            return f"The {thing} of {place}"
        return f"The {self.choice(self._qualities)} {thing}"


def draw_facts(
    rng: random.Random, split: str, pages: int, degree: float, dead_ends: float
) -> list[Entity]:
    """Draw the entities of a world.

    Args:
        rng: Draws them.
        split: ``train`` or ``test``; their titles differ.
        pages: The number of entities.
        degree: The mean number of links of pages with links; it may be exceeded.
        dead_ends: The share of pages without links.
    """
    facts = Facts(rng, split)
    countries = max(2, pages // 60)
    counts = {kind: max(2, round(share * pages)) for kind, share in SHARES.items()}
    counts["event"] = pages - countries - sum(counts.values())
    _countries(facts, countries, counts["town"])
    for kind in ("river", "person", "organisation", "work", "event"):
        for _ in range(counts[kind]):
            _MAKERS[kind](facts)
    _mark_stubs(facts, round(dead_ends * pages))
    wanted = degree * (pages - round(dead_ends * pages))
    for _ in range(8 * round(wanted)):
        # What only one page mentions, mostly the country, is about one link a page.
        if facts.links + pages >= wanted:
            break
        _add_extra(facts)
    return facts.all


def _countries(facts: Facts, countries: int, towns: int) -> None:
    rng = facts.rng
    for _ in range(countries):
        land = facts.add("country", facts.title(facts.land), "country", word=_region(facts))
        land.country = land
    for number in range(towns):
        land = facts.by_kind["country"][number % countries]
        town = facts.add("town", facts.title(facts.place), facts.choice(TOWNS), country=land)
        town.figure = 100 * rng.randint(4, 900)
        facts.join("town", town, land)
        if number < countries:
            facts.join("capital", land, town)
    for one, other in zip(facts.by_kind["country"], facts.by_kind["country"][1:], strict=False):
        facts.join("border", one, other)


def _region(facts: Facts) -> str:
    return facts.choice(WORDS["region"])


def _river(facts: Facts) -> None:
    land = facts.any_of("country")
    title = facts.title(lambda: f"River {facts.place()}")
    river = facts.add("river", title, "river", country=land, figure=facts.rng.randint(30, 900))
    facts.join("river", river, land)
    for town in {facts.any_of("town", river): None for _ in range(3)}:
        if not town.of("flows", is_subject=False):
            facts.join("flows", river, town)


def _person(facts: Facts) -> None:
    rng, town = facts.rng, facts.any_of("town")
    pronoun = "she" if rng.random() < 0.5 else "he"
    title = facts.title(lambda: f"{facts.choice(WORDS[pronoun])} {facts.family()}")
    noun = facts.choice([*ARTS, *OTHERS])
    born = rng.randint(1500, 1870)
    person = facts.add("person", title, noun, year=born, country=town.country, word=pronoun)
    person.figure = born + rng.randint(35, 88)
    facts.join("born", person, town)


def _organisation(facts: Facts) -> None:
    founder = facts.any_of("person")
    noun, town, title = _named_after(facts, ORGANISATIONS, founder)
    year = facts.rng.randint(founder.year + 22, founder.figure)
    organisation = facts.add("organisation", title, noun, year=year, country=town.country)
    facts.join("home", organisation, town)
    facts.join("founder", organisation, founder)


def _named_after(
    facts: Facts, names: Mapping[str, str], person: Entity, year: str = ""
) -> tuple[str, Entity, str]:
    """Return a kind, a town and a new title made of the town's or a person's name."""
    drawn: list[tuple[str, Entity]] = []

    def make() -> str:
        noun, town = facts.choice(list(names)), facts.any_of("town", person)
        drawn.append((noun, town))
        title = names[noun].format(town=town.title, family=person.title.split()[-1])
        return f"{title}{year}" if facts.rng.random() < 0.5 else title

    title = facts.title(make)
    return *drawn[-1], title


def _work(facts: Facts) -> None:
    rng = facts.rng
    for _ in range(200):
        author = facts.any_of("person")
        if author.noun in ARTS:
            break
    noun = ARTS.get(author.noun, ("memoir", ""))[0]
    place = facts.any_of("town", author)
    title = facts.title(lambda: facts.work(place.title))
    year = rng.randint(author.year + 20, author.figure)
    work = facts.add("work", title, noun, year=year, country=author.country)
    facts.join("author", work, author)
    if place.title in title:
        facts.join("subject", work, place)


def _event(facts: Facts) -> None:
    leader = facts.any_of("person")
    year = facts.rng.randint(leader.year + 20, leader.figure)
    noun, town, title = _named_after(facts, EVENTS, leader, f" of {year}")
    event = facts.add("event", title, noun, year=year, country=town.country)
    facts.join("scene", event, town)
    facts.join("part", event, leader)


_MAKERS: dict[str, Callable[[Facts], None]] = {
    "river": _river,
    "person": _person,
    "organisation": _organisation,
    "work": _work,
    "event": _event,
}


def _mark_stubs(facts: Facts, count: int) -> None:
    """Choose the pages without links, among all but countries and their capitals."""
    places = facts.by_kind["country"] + [land.one("capital") for land in facts.by_kind["country"]]
    can = [entity for entity in facts.all if entity not in places]
    for entity in facts.rng.sample(can, min(count, len(can))):
        entity.is_stub = True
        facts.links -= len(entity.facts)


def _lived(person: Entity, year: int) -> bool:
    return person.year + 18 <= year <= person.figure


def _were_adults_together(one: Entity, other: Entity) -> bool:
    return _lived(one, max(one.year, other.year) + 18) and _lived(
        other, max(one.year, other.year) + 18
    )


def _can_teach(pupil: Entity, teacher: Entity) -> bool:
    return 15 <= pupil.year - teacher.year <= 50 and teacher.figure >= pupil.year + 16


def _can_marry(one: Entity, other: Entity) -> bool:
    wed = one.of("married") + one.of("married", is_subject=False)
    wed += other.of("married") + other.of("married", is_subject=False)
    return not wed and one.word != other.word and abs(one.year - other.year) < 20


def _existed(person: Entity, organisation: Entity) -> bool:
    return organisation.year <= person.year + 18 if person.year else True


def _is_school(person: Entity, organisation: Entity) -> bool:
    return organisation.noun in SCHOOLS and _existed(person, organisation)


def _could_join(person: Entity, organisation: Entity) -> bool:
    return organisation.noun not in SCHOOLS and organisation.year <= person.figure


def _comes_later(later: Entity, earlier: Entity) -> bool:
    return later.year > earlier.year


def _is_next(earlier: Entity, later: Entity) -> bool:
    return 0 < later.year - earlier.year <= 12


def _is_keeper(work: Entity, organisation: Entity) -> bool:
    return organisation.noun in KEEPERS and not work.of("kept") and work.noun != "building"


def _has_room(*countries: Entity) -> bool:
    return all(
        len(land.of("border") + land.of("border", is_subject=False)) < 4 for land in countries
    )


def _always(*_: Entity) -> bool:
    return True


_EXTRAS: Sequence[tuple[str, str, str, Callable[[Entity, Entity], bool]]] = (
    ("road", "town", "town", _always),
    ("border", "country", "country", _has_room),
    ("studied", "person", "organisation", _is_school),
    ("member", "person", "organisation", _could_join),
    ("taught", "person", "person", _can_teach),
    ("friend", "person", "person", _were_adults_together),
    ("married", "person", "person", _can_marry),
    ("died", "person", "town", lambda person, _: not person.of("died")),
    ("part", "event", "person", lambda event, person: _lived(person, event.year)),
    ("subject", "work", "town", _always),
    ("subject", "work", "event", _comes_later),
    ("subject", "work", "person", _comes_later),
    ("kept", "work", "organisation", _is_keeper),
    ("inspired", "work", "work", _comes_later),
    ("followed", "event", "event", _is_next),
    ("partner", "organisation", "organisation", _always),
)
"""Facts beyond the definitions: relation, kinds, and whether two entities may be joined."""


def _add_extra(facts: Facts) -> None:
    """Try to add one more fact between two entities that no fact joins yet."""
    relation, kind, other_kind, fits = _EXTRAS[int(facts.rng.random() * len(_EXTRAS))]
    subject = facts.any_of(kind)
    other = facts.any_of(other_kind, subject)
    if subject is other or not fits(subject, other):
        return
    if any(joined is other for _, _, joined in subject.facts):
        return
    facts.join(relation, subject, other)
    facts.links -= subject.is_stub + other.is_stub
