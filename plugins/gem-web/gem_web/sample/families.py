"""Families of offers: a product, and others of its kind that differ from it in one thing.

A customer who wants the first offer is disappointed by each of the others: one lacks a quality,
one lacks the color or the size, one costs too much. So a purchase is only paid in full after
reading the pages.
"""

from dataclasses import dataclass, replace

from gem_web.sample.draw import Draw
from gem_web.sample.kinds import Choice, Facet, Kind, Quality

__all__ = ["MOST_OFFERS", "Family", "Offer", "draw_family"]

MOST_OFFERS = 5
"""The number of offers that a family has at most."""
_BELOW = (0, 1, 5, 51)


@dataclass(frozen=True, slots=True)
class Offer:
    """A product as a customer judges it.

    Args:
        qualities: Its quality in each facet of its kind; None if it has none there.
        options: The values of each option, in the order of the kind's choices.
        cents: The price.
        facet: The facet that a goal for this product asks for, if the product has it.
        option: The value of the family's option that a goal for this product asks for.
        is_wanted: Whether there is a goal for this product.
        is_dear: Whether the price is above the limit of the family.
    """

    qualities: tuple[Quality | None, ...]
    options: tuple[tuple[str, ...], ...]
    cents: int
    facet: int
    option: str
    is_wanted: bool = True
    is_dear: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Offers of one kind.

    Args:
        kind: The kind.
        offers: Four or five offers in any order.
        choice: The number of the option in which they differ.
        limit: The price limit in dollars: all offers but the dear one are below it.
    """

    kind: Kind
    offers: list[Offer]
    choice: int
    limit: int


def draw_family(draw: Draw, kind: Kind) -> Family:
    """Return a drawn family of a kind."""
    first, choice = _first(draw, kind)
    limit = _limit(draw, first.cents)
    offers = [first, *_others(draw, kind, first, choice, limit)]
    return Family(kind, draw.shuffled(offers), choice, limit)


def _first(draw: Draw, kind: Kind) -> tuple[Offer, int]:
    qualities = _qualities(draw, kind.facets)
    options = tuple(_values(draw, choice) for choice in kind.choices)
    choice = draw.below(len(options))
    low, high = kind.prices
    cents = _rounded(draw, 100 * draw.between(low, draw.between(low, high)))
    facet = _present(draw, qualities)
    return Offer(qualities, options, cents, facet, draw.pick(options[choice])), choice


def _others(draw: Draw, kind: Kind, first: Offer, choice: int, limit: int) -> list[Offer]:
    """Return the offers that differ from the first in one thing each."""
    cents = [_rounded(draw, first.cents * draw.between(0.8, 1)) for _ in range(3)]
    dear = _rounded(draw, 200 + 100 * limit * draw.between(1.1, 1.6))
    others = [
        _with_other_quality(draw, kind, replace(first, cents=cents[0])),
        _with_other_value(draw, kind.choices[choice], replace(first, cents=cents[1]), choice),
        replace(first, cents=dear, is_dear=True, is_wanted=draw.chance(0.25)),
    ]
    if draw.chance(0.5):
        again = replace(first, cents=cents[2], facet=_present(draw, first.qualities))
        others.append(_with_other_quality(draw, kind, again))
    return others


def _qualities(draw: Draw, facets: tuple[Facet, ...]) -> tuple[Quality | None, ...]:
    """Return a quality for at least three facets."""
    left_out = draw.below(len(facets) - 2) if draw.chance(0.6) else 0
    without = set(draw.some(range(len(facets)), left_out))
    return tuple(
        None if number in without else draw.pick(facet.qualities)
        for number, facet in enumerate(facets)
    )


def _present(draw: Draw, qualities: tuple[Quality | None, ...]) -> int:
    return draw.pick([number for number, quality in enumerate(qualities) if quality])


def _values(draw: Draw, choice: Choice) -> tuple[str, ...]:
    """Return two to five values of an option; at least one is left out."""
    most = min(5, len(choice.values) - 1)
    groups = draw.some(choice.values, 2 + draw.below(most - 1))
    return tuple(draw.pick(group) for group in groups)


def _with_other_quality(draw: Draw, kind: Kind, offer: Offer) -> Offer:
    own = offer.qualities[offer.facet]
    rivals = [one for one in kind.facets[offer.facet].qualities if one is not own]
    other = draw.pick(rivals) if rivals and draw.chance(0.75) else None
    qualities = tuple(
        other if number == offer.facet else quality
        for number, quality in enumerate(offer.qualities)
    )
    return replace(offer, qualities=qualities, is_wanted=draw.chance(0.75))


def _with_other_value(draw: Draw, choice: Choice, offer: Offer, number: int) -> Offer:
    """Return the offer with another value in place of the one that is asked for."""
    values = offer.options[number]
    unused = [group for group in choice.values if not any(value in group for value in values)]
    value = draw.pick(draw.pick(unused))
    swapped = [value if one == offer.option else one for one in values]
    order = [one for group in choice.values for one in group]
    options = list(offer.options)
    options[number] = tuple(sorted(swapped, key=order.index))
    return replace(offer, options=tuple(options), option=value, is_wanted=draw.chance(0.8))


def _rounded(draw: Draw, cents: float) -> int:
    """Return a price that ends like prices in shops, less than two dollars below."""
    return max(200, int(cents) // 100 * 100) - draw.pick(_BELOW)


def _limit(draw: Draw, cents: int) -> int:
    """Return a round number of dollars above a price."""
    dollars = cents // 100
    step = 1 if dollars < 15 else 5 if dollars < 60 else 10
    return (dollars // step + 1 + draw.below(2)) * step
