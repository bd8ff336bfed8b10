"""The products of a shop, and the goals of its customers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Goal", "Product", "Review"]


@dataclass(frozen=True, slots=True)
class Review:
    """A review of a product.

    Args:
        title: Its title.
        score: Stars, 0 to 5.
        body: Its text.
    """

    title: str
    score: float
    body: str


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A product as a shop shows it.

    Args:
        asin: The id of the product, in upper case.
        title: Its name.
        description: A text of any length.
        features: Short texts, the bullet points.
        price: The price in dollars, which decides whether a goal's limit is kept.
        price_tag: The price as it is shown, such as ``$9.5`` or ``$9.5 to $12.0``.
        options: The values of each option by its name, all in lower case.
        attributes: What the product is, in a few words each, such as ``machine washable``. They
            are hidden unless the environment shows them, and decide a part of the reward.
        category: The department of the shop.
        query: What a customer would type to find products like it.
        product_category: The path in the tree of categories, with ``›`` between the steps.
        rating: The average rating as it is shown.
        reviews: The reviews.
        image: The address of a picture.
    """

    asin: str
    title: str
    description: str = ""
    features: tuple[str, ...] = ()
    price: float = 100.0
    price_tag: str = "$100.0"
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    category: str = ""
    query: str = ""
    product_category: str = ""
    rating: str = "N.A."
    reviews: tuple[Review, ...] = ()
    image: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """The goal of a customer: a product with some attributes and options, below a price.

    Args:
        asin: The product that was in mind; others may do as well.
        instruction: The wish as a customer says it.
        attributes: What the product must be; at least one.
        options: Values of options to choose.
        price_upper: The highest price in dollars; 0 or less for no limit.
        name: The title of the product in mind.
        query: Its ``query``.
        product_category: Its ``product_category``.
        weight: How often the goal is drawn, relative to the others; above 0.
    """

    asin: str
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...] = ()
    price_upper: float = 0.0
    name: str = ""
    query: str = ""
    product_category: str = ""
    weight: float = 1.0
