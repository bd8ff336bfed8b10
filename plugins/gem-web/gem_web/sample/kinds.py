"""The vocabulary of the invented shop: kinds of products, their qualities and their options."""

from dataclasses import dataclass

__all__ = ["Choice", "Facet", "Kind", "Quality", "choice", "facet", "kind"]


@dataclass(frozen=True, slots=True)
class Quality:
    """A value of a facet, which is an attribute of products.

    Args:
        name: The attribute, such as ``machine washable``; it can stand before a noun.
        sentences: What a page says of a product that has it, each without a full stop.
    """

    name: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facet:
    """Qualities of which a product has at most one.

    Args:
        after: How a customer asks for one behind the noun, such as ``made of {}``; ``""`` if
            the quality only stands before the noun.
        qualities: The qualities.
    """

    after: str
    qualities: tuple[Quality, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that a customer chooses.

    Args:
        name: Its name on the page.
        asks: How a customer asks for a value behind the noun.
        values: What is offered; of each inner tuple a product has at most one, because the
            grader takes them for the same value.
    """

    name: str
    asks: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of product.

    Args:
        nouns: What it is called; the first noun is in every title, and what customers type.
        one: What a customer says before the noun: ``a``, ``some`` or ``a pair of``.
        path: The path in the tree of categories; the first step is the department.
        tags: Ends of titles. No two kinds share a word of their titles.
        prices: The lowest and the highest price of the kind in dollars.
        facets: What a product has qualities of.
        choices: The options of every product.
        about: Sentences for descriptions, true of every product of the kind.
        extras: Bullet points, true of every product of the kind.
    """

    nouns: tuple[str, ...]
    one: str
    path: tuple[str, ...]
    tags: tuple[str, ...]
    prices: tuple[int, int]
    facets: tuple[Facet, ...]
    choices: tuple[Choice, ...]
    about: tuple[str, ...]
    extras: tuple[str, ...]

    def takes_are(self, noun: str) -> bool:
        """Return whether one of the nouns takes *are* instead of *is*."""
        return self.one != "a" and noun.endswith("s")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


def facet(after: str, *lines: str) -> Facet:
    """Return a facet from lines ``name: sentence | sentence``."""
    pairs = (line.split(":", 1) for line in lines)
    return Facet(after, tuple(Quality(name, _split(rest)) for name, rest in pairs))


def choice(name: str, asks: str, values: str) -> Choice:
    """Return an option from asks ``in {} | color {}`` and values ``navy | sky blue/blue``."""
    return Choice(name, _split(asks), tuple(tuple(one.split("/")) for one in _split(values)))


def kind(
    nouns: str,
    *,
    one: str = "a",
    path: str,
    tags: str,
    prices: tuple[int, int],
    facets: tuple[Facet, ...],
    choices: tuple[Choice, ...],
    about: tuple[str, ...],
    extras: tuple[str, ...],
) -> Kind:
    """Return a kind from texts whose parts are separated by ``|``, and by ``>`` in the path."""
    return Kind(
        nouns=_split(nouns),
        one=one,
        path=tuple(path.split(" > ")),
        tags=_split(tags),
        prices=prices,
        facets=facets,
        choices=choices,
        about=about,
        extras=extras,
    )
