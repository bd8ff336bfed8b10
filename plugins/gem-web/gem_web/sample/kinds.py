"""The vocabulary of the invented shop: kinds of products, and phrases of customers."""

from dataclasses import dataclass

from gem_web.product import Review

__all__ = ["Choice", "Facet", "Kind", "Phrases", "Quality"]


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
        tags: Ends of titles; the empty one is the last. No two kinds share a word of their titles.
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


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of customers.

    Args:
        frames: Wishes with the places ``{thing}`` and ``{options}``, and ``{under}`` or
            ``{amount}`` for the limit.
        under: How a limit is said, with a place for the amount.
        amounts: How an amount is written, with a place for the dollars.
        reviews: Reviews that suit any product.
    """

    frames: tuple[str, ...]
    under: tuple[str, ...]
    amounts: tuple[str, ...]
    reviews: tuple[Review, ...]
