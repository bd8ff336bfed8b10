"""The wishes of customers: a wish in plain English with all that a goal asks for."""

import re
from collections.abc import Sequence

from gem_web.sample.draw import Draw
from gem_web.sample.kinds import Choice, Facet, Kind, Quality
from gem_web.sample.vocabulary import phrases

__all__ = ["instruction"]

_AN = re.compile(r"\ba (?=[aeio]|u(?!sb|v )|fm |led )")


def instruction(
    draw: Draw,
    kind: Kind,
    qualities: Sequence[tuple[Facet, Quality]],
    options: Sequence[tuple[Choice, str]],
    limit: int,
) -> str:
    """Return the wish of a customer who wants a product.

    Args:
        draw: Chooses the words.
        kind: What it is.
        qualities: What it must be, with their facets.
        options: The values to choose, with their options.
        limit: The highest price in dollars.
    """
    amount = draw.pick(phrases().amounts).format(limit)
    inline, sentence = _options(draw, options)
    text = draw.pick(phrases().frames).format(
        thing=_thing(draw, kind, qualities),
        options=inline,
        amount=amount,
        under=draw.pick(phrases().under).format(amount),
    )
    text = _AN.sub("an ", text + sentence)
    return text.lower() if draw.chance(0.4) else text


def _thing(draw: Draw, kind: Kind, qualities: Sequence[tuple[Facet, Quality]]) -> str:
    """Return the noun with its qualities, some before and some behind it."""
    before: list[str] = []
    made: list[str] = []
    being: list[str] = []
    for facet, quality in draw.shuffled(qualities):
        is_free = facet.after != "with {}" and len(before) < 2
        if not facet.after or (is_free and draw.chance(0.5)):
            before.append(quality.name)
        elif facet.after.startswith("that"):
            being.append(quality.name)
        else:
            made.append(facet.after.format(quality.name))
    noun = draw.pick(kind.nouns)
    words = [kind.one, *before, noun, " and ".join(made)]
    if being:
        words.append(f"that {'are' if kind.takes_are(noun) else 'is'} {' and '.join(being)}")
    return " ".join(filter(None, words))


def _options(draw: Draw, options: Sequence[tuple[Choice, str]]) -> tuple[str, str]:
    """Return how the options are said behind the noun, and in a sentence of their own."""
    style = draw.below(4) if options else 0
    if style == 3:
        wanted = " and ".join(f"the {option.name} {value}" for option, value in options)
        return "", f" Please choose {wanted}."
    said = ""
    for option, value in options:
        ask = draw.pick(option.asks) if style < 2 else f"{option.name} {{}}"
        needs_comma = said or ask.startswith(("{", option.name))
        said += f"{',' if needs_comma else ''} {ask.format(value)}"
    return said, ""
