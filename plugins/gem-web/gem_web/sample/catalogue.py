"""The catalogue of an invented shop, with goals for its products."""

from collections.abc import Iterator

from gem_core.errors import ConfigError
from gem_web.product import Goal, Product, Review
from gem_web.sample.draw import BRANDS, MOST_NAMES, Draw, asin_of, brand_of, model_of
from gem_web.sample.families import MOST_OFFERS, Family, Offer, draw_family
from gem_web.sample.kinds import Choice, Facet, Kind, Quality
from gem_web.sample.vocabulary import kinds, phrases
from gem_web.sample.wishes import instruction

__all__ = ["sample_catalogue", "sample_families"]

_FEWEST = 5 * MOST_OFFERS
_TEST_EVERY = 5
_STEP = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


def sample_catalogue(
    *, products: int = 1000, seed: int = 0
) -> tuple[list[Product], dict[str, list[Goal]]]:
    """Return the products of an invented shop and the goals of its customers.

    The same arguments give the same catalogue on every machine, and a larger catalogue begins
    with the products of a smaller one. About a fifth of the goals are in the split ``test``; no
    product has a goal in both splits.

    Args:
        products: How many products, 25 to 1,071,875.
        seed: Which shop.

    Returns:
        The products, and the goals by split: ``train`` and ``test``.

    Raises:
        ConfigError: The number of products is out of range.
    """
    if not _FEWEST <= products <= MOST_NAMES:
        raise ConfigError(
            f"A sample catalogue has {_FEWEST:,} to {MOST_NAMES:,} products; got {products:,}."
        )
    shown: list[Product] = []
    goals: dict[str, list[Goal]] = {"train": [], "test": []}
    for split, family in sample_families(seed=seed):
        room = products - len(shown)
        shown += [product for product, _ in family[:room]]
        if len(family) <= room:  # a goal needs its whole family for distractors
            goals[split] += [goal for _, goal in family if goal]
        if len(family) >= room:
            break
    return shown, goals


def sample_families(*, seed: int = 0) -> Iterator[tuple[str, list[tuple[Product, Goal | None]]]]:
    """Yield families of products without end.

    A family is four or five products of a kind that differ in one thing each.

    Args:
        seed: Which shop.

    Yields:
        The split of the family's goals, and its products, each with its goal if it has one.
    """
    start = Draw(seed, "shop")
    offsets = start.below(MOST_NAMES), start.below(36**9)
    number = 0
    for index, kind in enumerate(_numbers_of_kinds(seed)):
        draw = Draw(seed, "family", index)
        family = draw_family(draw, kinds()[kind])
        members: list[tuple[Product, Goal | None]] = []
        for offer in family.offers:
            product = _product(draw, kind, offer, family, number + len(members), offsets)
            goal = _goal(draw, family, offer, product) if offer.is_wanted else None
            members.append((product, goal))
        number += len(members)
        yield "test" if index % _TEST_EVERY == _TEST_EVERY - 1 else "train", members


def _numbers_of_kinds(seed: int) -> Iterator[int]:
    """Yield numbers of kinds without end; each kind is as frequent as the others."""
    numbers = range(len(kinds()))
    round_ = 0
    while True:
        yield from Draw(seed, "kinds", round_).shuffled(numbers)
        round_ += 1


def _product(
    draw: Draw, kind: int, offer: Offer, family: Family, number: int, offsets: tuple[int, int]
) -> Product:
    what = kinds()[kind]
    asin = asin_of(number, offsets[1])
    tag = draw.pick(what.tags)
    brand, model = brand_of(kind, draw.below(BRANDS)), model_of(number, offsets[0])
    name = f"{brand} {model} {what.nouns[0].title()}"
    features, description = _texts(draw, what, offer)
    reviews = tuple(draw.pick(phrases().reviews) for _ in range(draw.below(4)))
    return Product(
        asin=asin,
        title=f"{name}, {tag}" if tag else name,
        description=description,
        features=features,
        price=offer.cents / 100,
        price_tag=_price_tag(draw, offer, family.limit),
        options={
            choice.name: values for choice, values in zip(what.choices, offer.options, strict=True)
        },
        attributes=tuple(quality.name for quality in offer.qualities if quality),
        category=what.path[0].lower(),
        query=what.nouns[0],
        product_category=_STEP.join(what.path),
        rating=_rating(reviews),
        reviews=reviews,
        image=f"https://images.example/{asin}.jpg",
    )


def _texts(draw: Draw, kind: Kind, offer: Offer) -> tuple[tuple[str, ...], str]:
    """Return the features and the description; each quality is said in one of them."""
    bullets: list[str] = []
    sentences = draw.some(kind.about, 1 + draw.below(len(kind.about)))
    for quality in filter(None, offer.qualities):
        said = draw.pick(quality.sentences)
        if len(bullets) < 5 and draw.chance(0.75):
            bullets.append(said)
        else:
            sentences.append(said)
    extras = max(3 - len(bullets), min(draw.below(3), 6 - len(bullets)))
    bullets += draw.some(kind.extras, extras)
    return tuple(draw.shuffled(bullets)), f"{'. '.join(draw.shuffled(sentences))}."


def _price_tag(draw: Draw, offer: Offer, limit: int) -> str:
    """Return the price, or sometimes a range that ends with it, on one side of the limit."""
    price = offer.cents / 100
    if not draw.chance(0.1):
        return f"${price}"
    low = offer.cents * 4 // 5
    if offer.is_dear:
        low = max(low, 100 * limit + 50)
    return f"${low / 100} to ${price}"


def _rating(reviews: tuple[Review, ...]) -> str:
    if not reviews:
        return "N.A."
    return f"{sum(review.score for review in reviews) / len(reviews):.1f}"


def _goal(draw: Draw, family: Family, offer: Offer, product: Product) -> Goal:
    kind = family.kind
    qualities = _asked_qualities(draw, kind, offer)
    options = _asked_options(draw, kind, family, offer)
    limit = family.limit
    if offer.is_dear:
        limit = (offer.cents // 500 + 1 + draw.below(2)) * 5
    return Goal(
        asin=product.asin,
        instruction=instruction(draw, kind, qualities, options, limit),
        attributes=tuple(quality.name for _, quality in qualities),
        options=tuple(value for _, value in options),
        price_upper=float(limit),
        name=product.title,
        query=product.query,
        product_category=product.product_category,
    )


def _asked_qualities(draw: Draw, kind: Kind, offer: Offer) -> list[tuple[Facet, Quality]]:
    """Return one to three qualities, among them the one in which the family differs."""
    own = [
        (number, kind.facets[number], quality)
        for number, quality in enumerate(offer.qualities)
        if quality
    ]
    deciding = [one for one in own if one[0] == offer.facet]
    rest = [one for one in own if one[0] != offer.facet]
    count = draw.pick((1, 1, 2, 2, 2, 3, 3))
    asked = deciding + draw.shuffled(rest)[: count - len(deciding)]
    return [(facet, quality) for _, facet, quality in asked]


def _asked_options(
    draw: Draw, kind: Kind, family: Family, offer: Offer
) -> list[tuple[Choice, str]]:
    """Return no, one or two options, among them the one in which the family differs."""
    count = draw.pick((0, 1, 1, 2, 2))
    if not count:
        return []
    asked = [(kind.choices[family.choice], offer.option)]
    for number, choice in enumerate(kind.choices):
        if number != family.choice and len(asked) < count:
            asked.append((choice, draw.pick(offer.options[number])))
    return draw.shuffled(asked)
