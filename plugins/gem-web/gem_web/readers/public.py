"""The files of WebShop as its authors publish them.

``items_shuffle.json`` has the products, ``items_ins_v2.json`` attributes and an instruction by
asin, and ``items_human_ins.json`` the instructions that people wrote. Prices that are a range, and
the limits of goals, are drawn; here the asin decides them, so a conversion is always the same.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem_core.errors import DataError
from gem_web.product import Goal, Product
from gem_web.readers.json_stream import items_of, read_json
from gem_web.readers.source import Source

__all__ = ["open_source", "split_goals"]

_ORIGIN = "WebShop"
_LONGEST_ASIN = 10
_NOT_NUMBER = re.compile(r"[^\d.]")
_LIMITS = [10.0 * step for step in range(1, 100)]
_NO_LIMIT = 1_000_000.0
_ORDER = 233
"""The seed of WebShop's order of goals."""
_TEST, _DEV = 500, 1500
"""The first 500 goals are for tests, those before 1,500 for development, the rest for training."""
_MOST_COMBINATIONS = 10_000


class _Option(BaseModel):
    value: str
    image: str | None = None


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")

    asin: str
    name: str
    category: str = ""
    query: str = ""
    product_category: str = ""
    full_description: str | None = None
    small_description: list[str | None] | str | None = None
    pricing: str | None = None
    images: list[str | None] = Field(default_factory=list)
    customization_options: dict[str, list[_Option] | None] | str | None = None


class _Attributes(BaseModel):
    attributes: list[str] | None = None
    instruction: str | None = None
    instruction_attributes: list[str] | None = None


class _Instruction(BaseModel):
    instruction: str
    instruction_attributes: list[str] = Field(default_factory=list)
    instruction_options: list[str] | dict[str, str] = Field(default_factory=list)


def open_source(folder: Path, synthetic: bool | None) -> Source | None:  # noqa: FBT001 - see find
    """Return the source of a folder with the files of WebShop; None if it has none."""
    items = _only(folder, "items_shuffle*.json")
    if items is None:
        return None
    reader = _Reader(folder, items, synthetic)
    return Source(reader.products, reader.goals, _ORIGIN)


def _only(folder: Path, pattern: str) -> Path | None:
    """Return the file of a pattern; the whole set, if the small one is there too."""
    found = sorted(folder.glob(pattern), key=lambda path: len(path.name))
    return found[0] if found else None


class _Reader:
    """Reads products, and then their goals."""

    def __init__(self, folder: Path, items: Path, synthetic: bool | None) -> None:  # noqa: FBT001
        self._folder = folder
        self._items = items
        self._synthetic = synthetic
        self._goals: list[Goal] = []
        self._is_synthetic = False

    def products(self) -> Iterator[Product]:
        """Yield the products; long and repeated asins are skipped."""
        attributes = self._table("items_ins_v2*.json")
        people = {} if self._synthetic else self._table("items_human_ins*.json")
        self._is_synthetic = not people if self._synthetic is None else self._synthetic
        seen: set[str] = set()
        self._goals = []
        for number, entry in enumerate(items_of(self._items)):
            item = _checked(_Item, entry, f"{self._items}, item {number}")
            asin = item.asin.upper()
            if item.asin == "nan" or len(asin) > _LONGEST_ASIN or asin in seen:
                continue
            seen.add(asin)
            where = f"{self._folder}, product {item.asin}"
            about = _checked(_Attributes, attributes.get(item.asin, {}), where)
            product = _product(item, about.attributes)
            if self._is_synthetic:
                self._goals += _made_goals(product, about)
            else:
                written = people.get(item.asin, [])
                self._goals += _written_goals(product, written, where)
            yield product

    def _table(self, pattern: str) -> dict[str, Any]:
        path = _only(self._folder, pattern)
        if path is None:
            return {}
        table = read_json(path)
        if not isinstance(table, dict):
            raise DataError(f"{path} must be an object with asins as keys.")
        return table

    def goals(self) -> Mapping[str, Sequence[Goal]]:
        """Return the goals of the products that were read, with their weights, by split."""
        return split_goals(_rare_first(self._goals) if self._is_synthetic else self._goals)


def _checked(model: type[Any], value: Any, where: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{where}: {path}: {first['msg']}.") from error


def _product(item: _Item, attributes: Sequence[str] | None) -> Product:
    prices = _prices(item.pricing)
    low_high = prices[:2]
    asin = item.asin
    price = Random(f"price {asin}").uniform(*low_high) if len(prices) > 1 else prices[0]
    small = item.small_description
    features = small if isinstance(small, list) else [small]
    return Product(
        asin=asin.upper(),
        title=item.name,
        description=item.full_description or "",
        features=tuple(feature for feature in features if feature),
        price=price,
        price_tag=" to ".join(f"${one}" for one in low_high),
        options=_options(item.customization_options),
        attributes=tuple(attributes or ()),
        category=item.category,
        query=item.query.lower().strip(),
        product_category=item.product_category,
        image=next((image for image in item.images if image), ""),
    )


def _prices(text: str | None) -> list[float]:
    """Return the prices of a text such as ``$10.99$12.50``; 100 dollars if there is none."""
    digits = (_NOT_NUMBER.sub("", part) for part in (text or "").split("$")[1:])
    numbers = []
    for part in digits:
        try:
            numbers.append(float(part))
        except ValueError:
            continue
    return numbers or [100.0]


def _options(given: dict[str, list[_Option] | None] | str | None) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, dict):
        return {}
    return {
        name.lower(): tuple(one.value.strip().replace("/", " | ").lower() for one in values)
        for name, values in given.items()
        if values is not None
    }


def _limit(price: float, key: str) -> tuple[float, str]:
    """Return a limit above a price, and how an instruction says it."""
    above = [limit for limit in _LIMITS if limit > price][:4]
    if len(above) < 2:
        return _NO_LIMIT, ""
    limit = max(Random(f"limit {key}").sample(above, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def _goal(
    product: Product,
    instruction: str,
    attributes: Sequence[str],
    options: Sequence[str],
    limit: float,
) -> Goal:
    return Goal(
        asin=product.asin,
        instruction=instruction,
        attributes=tuple(attributes),
        options=tuple(options),
        price_upper=limit,
        name=product.title,
        query=product.query,
        product_category=product.product_category,
    )


def _written_goals(product: Product, entries: Any, where: str) -> Iterator[Goal]:
    """Yield the goals that people wrote; those without attributes are skipped."""
    for number, entry in enumerate(entries):
        one = _checked(_Instruction, entry, f"{where}, instruction {number}")
        if one.instruction_attributes:
            given = one.instruction_options
            options = list(given.values()) if isinstance(given, dict) else given
            limit, limit_text = _limit(product.price, f"{product.asin} {number}")
            text = one.instruction.strip(".") + limit_text
            yield _goal(product, text, one.instruction_attributes, options, limit)


def _made_goals(product: Product, about: _Attributes) -> Iterator[Goal]:
    """Yield a goal for each combination of options of a product that has an instruction."""
    if about.instruction is None or not about.instruction_attributes:
        return
    names = sorted(product.options)
    combinations = itertools.product(*(product.options[name] for name in names))
    limit, limit_text = _limit(product.price, product.asin)
    for values in itertools.islice(combinations, _MOST_COMBINATIONS):
        chosen = ", and ".join(
            f"{name}: {value}" for name, value in zip(names, values, strict=True)
        )
        text = about.instruction + (f" with {chosen}" if chosen else "") + limit_text
        yield _goal(product, text, about.instruction_attributes, values, limit)


def _rare_first(goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals with weights: the mean of 1 / count of their attributes."""
    counts = Counter(attribute for goal in goals for attribute in goal.attributes)
    return [
        replace(goal, weight=sum(1 / counts[one] for one in goal.attributes) / len(goal.attributes))
        for goal in goals
    ]


def split_goals(goals: Sequence[Goal]) -> dict[str, list[Goal]]:
    """Return the goals by split, in WebShop's order.

    The first 500 are ``test``, those up to 1,500 ``dev``, the rest ``train``. A small set, below
    3,000 goals, has a quarter for ``test`` and no ``dev``.
    """
    ordered = list(goals)
    Random(_ORDER).shuffle(ordered)
    if len(ordered) < 2 * _DEV:
        quarter = len(ordered) // 4
        return {"test": ordered[:quarter], "train": ordered[quarter:]}
    return {"test": ordered[:_TEST], "dev": ordered[_TEST:_DEV], "train": ordered[_DEV:]}
