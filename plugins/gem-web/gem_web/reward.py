"""The reward of a purchase, for the kind of product, the attributes, options and price.

With ``a`` wanted attributes and ``o`` wanted options (Yao et al. 2022, "WebShop: Towards Scalable
Real-World Web Interaction with Grounded Language Agents"):

    reward = type · (attribute hits + option hits + [price ≤ limit]) / (a + o + 1)

The type is 1 for the kind of product that is wanted, and 0.5, 0.1 or 0 for others.
"""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from importlib.resources import files

from gem_web.product import Goal, Product
from gem_web.similarity import are_similar

__all__ = ["COLOURS", "Purchase", "colour_of", "grade", "option_hits"]

COLOURS = (files("gem_web") / "data" / "colours.txt").read_text("utf-8").split()
"""The colours that stand for an option that contains them; the first of this order counts."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase with its reward, and the parts of the reward.

    Args:
        reward: 0 to 1.
        type: 1, 0.5, 0.1 or 0.
        attributes: Hits of the wanted attributes.
        options: Hits of the wanted options.
        price: Whether the price is within the limit.
        title_score: Share of the nouns of the wanted title that the bought one has.
        query_match: Whether both products have the same query.
        category_match: Whether they share at least two categories.
    """

    reward: float
    type: float
    attributes: int
    options: int
    price: bool
    title_score: float
    query_match: bool
    category_match: bool

    def to_dict(self) -> dict[str, float | bool]:
        """Return the fields as a mapping for ``info``."""
        return asdict(self)


def grade(
    product: Product,
    chosen: Collection[str],
    goal: Goal,
    nouns: Callable[[str], frozenset[str]],
) -> Purchase:
    """Return the purchase of a product with its reward.

    Args:
        product: The product that was bought.
        chosen: The values of its options that were chosen.
        goal: What was wanted.
        nouns: Returns the nouns of a title.
    """
    title_score = _title_score(nouns(product.title), nouns(goal.name))
    query_match = product.query == goal.query
    category_match = len(_steps(product.product_category) & _steps(goal.product_category)) >= 2
    type_ = _type(title_score, is_same=query_match or category_match)
    attributes = sum(_has(product, attribute) for attribute in goal.attributes)
    options = option_hits(chosen, goal.options)
    price = goal.price_upper <= 0 or product.price <= goal.price_upper
    parts = len(goal.attributes) + len(goal.options) + 1
    reward = type_ * (attributes + options + price) / parts
    return Purchase(
        reward, type_, attributes, options, price, title_score, query_match, category_match
    )


def _title_score(bought: frozenset[str], wanted: frozenset[str]) -> float:
    return len(bought & wanted) / len(wanted) if wanted else 0.2


def _steps(path: str) -> set[str]:
    return {step.strip() for step in path.split("›")}


def _type(title_score: float, *, is_same: bool) -> float:
    if title_score == 0:
        return 0.0
    if title_score < 0.1:
        return 0.1
    return 1.0 if is_same or title_score > 0.2 else 0.5


def _has(product: Product, attribute: str) -> bool:
    if any(are_similar(own, attribute) for own in product.attributes):
        return True
    texts = (product.title, " ".join(product.features), product.description)
    return any(attribute in text.lower() for text in texts)


def option_hits(chosen: Collection[str], wanted: Collection[str]) -> int:
    """Return how many of the wanted values were chosen; colours count by their first colour."""
    own = [colour_of(value) for value in chosen]
    return sum(any(are_similar(one, colour_of(value)) for one in own) for value in wanted)


def colour_of(value: str) -> str:
    """Return the first of ``COLOURS`` that a value contains; the value itself if there is none."""
    return next((colour for colour in COLOURS if colour in value), value)
