"""A catalogue: the products of a shop, the search over them, and the goals of its customers.

Catalogues are large and never change, so all environments of a process share them.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

from gem_core.errors import ConfigError, near_names
from gem_tasks.bm25 import WordIndex
from gem_tasks.task_source import ListedTasks
from gem_web.product import Goal, Product

__all__ = ["MOST_HITS", "Catalogue", "Goals", "text_of_product"]

MOST_HITS = 50
"""The number of products that a search finds at most."""
_CACHED_SEARCHES = 4096

Goals = ListedTasks[Goal]


class Catalogue:
    """The products, the search and the goals of a shop.

    Args:
        products: The products.
        index: The index of their texts, in the same order.
        numbers: The number of each product by its asin.
        goals: The goals of each split.
    """

    def __init__(
        self,
        products: Sequence[Product],
        index: WordIndex,
        numbers: Mapping[str, int] | Callable[[str], int | None],
        goals: Mapping[str, Goals],
    ) -> None:
        self.products = products
        self._index = index
        self._number_of = numbers if callable(numbers) else numbers.get
        self._goals = dict(goals)
        self.search = functools.lru_cache(_CACHED_SEARCHES)(self._search)

    @classmethod
    def of(cls, products: Sequence[Product], goals: Mapping[str, Sequence[Goal]]) -> "Catalogue":
        """Return the catalogue of products in memory.

        Args:
            products: The products, with asins that differ.
            goals: The goals of each split.
        """
        index = WordIndex.build(map(text_of_product, products), "the catalogue")
        numbers = {product.asin: number for number, product in enumerate(products)}
        return cls(products, index, numbers, {split: drawn(of) for split, of in goals.items()})

    def __reduce__(self) -> str:
        raise TypeError("A catalogue is shared by the environments of a process, not copied.")

    @property
    def splits(self) -> list[str]:
        """The names of the splits."""
        return list(self._goals)

    def goals(self, split: str) -> Goals:
        """Return the goals of a split.

        Raises:
            ConfigError: There is no such split, or it has no goals.
        """
        if split not in self._goals:
            raise ConfigError(
                f"The catalogue has no split {split!r}; it has {', '.join(self._goals)}."
                f"{near_names(split, list(self._goals))}"
            )
        return self._goals[split]

    def number_of(self, asin: str) -> int | None:
        """Return the number of a product; None if there is no such asin."""
        return self._number_of(asin)

    def product(self, asin: str) -> Product | None:
        """Return the product with an asin; None if there is none."""
        number = self.number_of(asin)
        return None if number is None else self.products[number]

    def _search(self, query: str) -> tuple[int, ...]:
        """Return the numbers of at most ``MOST_HITS`` products, best first."""
        numbers, _ = self._index.search(query, MOST_HITS)
        return tuple(numbers.tolist())


def drawn(goals: Sequence[Goal]) -> Goals:
    """Return the source of tasks that draws each goal as often as its weight says."""
    return ListedTasks(goals, weights=[goal.weight for goal in goals])


def text_of_product(product: Product) -> str:
    """Return the text by which a search finds a product."""
    options = ", and ".join(
        f"{name}: {', '.join(values)}" for name, values in product.options.items()
    )
    first = product.features[0] if product.features else ""
    return f"{product.title} {product.description} {first} {options}".lower()
