"""The graph ``world``: invented encyclopedias, in which only reading helps.

A world is drawn from its number; an episode chooses one of several. The facts hang together (see
``world_entities``), so the summary of the target tells where it is to be found, and nothing that a
model knows of the real world, or of another world, does.
"""

import functools
import random
from typing import ClassVar

from gem_core.errors import ConfigError
from gem_games.base import check_range
from gem_games.wikigame.graph import PageGraph
from gem_games.wikigame.sources import one_of
from gem_games.wikigame.world_entities import Entity, stated
from gem_games.wikigame.world_facts import draw_facts
from gem_games.wikigame.world_names import ARTS, SPLITS

__all__ = ["Worlds", "make_world"]


class Worlds:
    """Invented encyclopedias.

    Args:
        data: Must be None.
        worlds: The number of worlds, 1 to 1,000,000. Those that were used last are kept in memory.
        pages: The number of pages of each, 60 to 20,000.
        degree: The mean number of links of the pages with links, 4 to 40.
        dead_ends: The share of pages without links, 0 to 0.5.
        split: ``train`` or ``test``: no title of one occurs in the other.
        world_seed: Another seed makes other worlds.
    """

    blocking: ClassVar[bool] = False

    def __init__(
        self,
        *,
        data: str | None = None,
        worlds: int = 16,
        pages: int = 600,
        degree: float = 12,
        dead_ends: float = 0.05,
        split: str = "train",
        world_seed: int = 0,
    ) -> None:
        if data is not None:
            raise ConfigError(f"The graph 'world' is drawn and takes no data; got data={data!r}.")
        check_range("worlds", worlds, 1, 1_000_000)
        check_range("pages", pages, 60, 20_000)
        check_range("world_seed", world_seed, 0, 2**63)
        _check_number("degree", degree, 4, 40)
        _check_number("dead_ends", dead_ends, 0, 0.5)
        one_of("split", split, SPLITS)
        self._worlds = worlds
        self._draw = functools.partial(
            _drawn, split=split, pages=pages, degree=degree, dead_ends=dead_ends, seed=world_seed
        )
        self.graph = functools.lru_cache(maxsize=max(1, 20_000 // pages))(self._draw)

    def choose(self, rng: random.Random) -> int:
        """Return the number of a random world."""
        return int(rng.random() * self._worlds)


def _check_number(name: str, value: float, low: float, high: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise ConfigError(f"{name} must be a number from {low} to {high}; got {value!r}.")


def _drawn(
    number: int, *, split: str, pages: int, degree: float, dead_ends: float, seed: int
) -> PageGraph:
    rng = random.Random(f"{split} {seed} {number}")
    return make_world(draw_facts(rng, split, pages, degree, dead_ends))


def make_world(entities: list[Entity]) -> PageGraph:
    """Return the graph of the pages of some entities; a page links to what its text mentions."""
    texts, links = [], []
    for entity in entities:
        sentences, mentioned = _page(entity)
        texts.append(" ".join(sentences))
        links.append([other.number for other in mentioned])
    titles = [entity.title for entity in entities]
    return PageGraph("the world", titles, links, texts.__getitem__)


def _page(entity: Entity) -> tuple[list[str], dict[Entity, None]]:
    """Return the sentences of a page and the entities in them, in order."""
    if entity.is_stub:
        return [_stub(entity)], {}
    sentence, others = _DEFINITIONS[entity.kind](entity)
    sentences, mentioned = [sentence], dict.fromkeys(others)
    for _, said, found in sorted(stated(entity), key=lambda one: one[0]):
        sentences.append(_filled(said, entity, found))
        mentioned.update(dict.fromkeys(found))
    mentioned.pop(entity, None)
    return sentences, mentioned


def _filled(said: str, entity: Entity, others: list[Entity]) -> str:
    verb = ARTS.get(entity.noun, ("", "wrote"))[1]
    it = entity.word if entity.kind == "person" else "it"
    return said.format(it=it, It=it.capitalize(), verb=verb, them=_listed(others))


def _listed(entities: list[Entity]) -> str:
    *most, last = [entity.name for entity in entities]
    return f"{', '.join(most)} and {last}" if most else last


def _stub(entity: Entity) -> str:
    verb = "was" if entity.kind in {"person", "event"} else "is"
    return f"{entity.subject} {verb} {_a(entity.noun)}. Little else is known about it."


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" and not noun.startswith("uni") else f"a {noun}"


_Definition = tuple[str, list[Entity]]


def _country(entity: Entity) -> _Definition:
    capital = entity.one("capital")
    text = f"{entity.title} is a country in the {entity.word} with its capital at {capital.title}."
    return text, [capital]


def _town(entity: Entity) -> _Definition:
    land = entity.one("town")
    people = f"{entity.figure:,} inhabitants"
    return f"{entity.title} is {_a(entity.noun)} in {land.title} with {people}.", [land]


def _river(entity: Entity) -> _Definition:
    land = entity.one("river")
    return f"{entity.subject} is a river of {entity.figure} kilometres in {land.title}.", [land]


def _person(entity: Entity) -> _Definition:
    town, life = entity.one("born"), f"{entity.year}-{entity.figure}"
    text = f"{entity.title} ({life}) was {_a(entity.noun)} from {_in_country(town)}."
    return text, _with_country(town)


def _work(entity: Entity) -> _Definition:
    author = entity.one("author")
    land = author.one("born").one("town")
    text = (
        f"{entity.title} is {_a(entity.noun)} by the {author.noun} {author.title} of {land.title}, "
        f"finished in {entity.year}."
    )
    return text, [author, land]


def _organisation(entity: Entity) -> _Definition:
    town, founder = entity.one("home"), entity.one("founder")
    text = (
        f"{entity.subject} is {_a(entity.noun)} in {_in_country(town)}, "
        f"founded in {entity.year} by {founder.title}."
    )
    return text, [*_with_country(town), founder]


def _event(entity: Entity) -> _Definition:
    town = entity.one("scene")
    text = f"{entity.subject} was {_a(entity.noun)} at {_in_country(town)}, in {entity.year}."
    return text, _with_country(town)


def _in_country(town: Entity) -> str:
    return ", ".join(other.title for other in _with_country(town))


def _with_country(town: Entity) -> list[Entity]:
    return [town, town.one("town")]


_DEFINITIONS = {
    "country": _country,
    "town": _town,
    "river": _river,
    "person": _person,
    "work": _work,
    "organisation": _organisation,
    "event": _event,
}
"""The first sentences of pages, with the entities that they mention."""
