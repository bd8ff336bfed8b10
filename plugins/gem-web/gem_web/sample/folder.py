"""A catalogue as a folder in the file format of the published WebShop.

The files have the published names and keys, and some oddities of real ones, so that a reader of
the format can be tested and measured on them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_web.product import Goal, Product

__all__ = ["write_folder"]

_TWICE = 97
_ODD = 13


def write_folder(
    path: str | Path, products: Iterable[Product], goals: Mapping[str, Sequence[Goal]]
) -> None:
    """Write a catalogue in the file format of the published WebShop.

    ``items_shuffle.json`` lists the products, ``items_ins_v2.json`` has the attributes by asin,
    and ``items_human_ins.json`` the wishes of customers by asin. The format has no place for
    reviews, ratings, splits and price limits: they are not written, and a wish is said without
    its limit.

    As in real files, every 97th product is listed a second time with another name, one asin is
    ``nan`` and one is too long, some products have an option without values, some an option with
    values beyond ASCII, and a product that nobody wants may have no price (readers take 100
    dollars).

    Args:
        path: The folder, which is made if it does not exist.
        products: The products; they are written one by one.
        goals: The goals by split.

    Raises:
        OSError: A file cannot be written.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    wishes: dict[str, list[Goal]] = {}
    for goal in (goal for split in goals.values() for goal in split):
        wishes.setdefault(goal.asin, []).append(goal)
    with (
        (folder / "items_shuffle.json").open("w", encoding="utf-8") as items,
        (folder / "items_ins_v2.json").open("w", encoding="utf-8") as attributes,
    ):
        items.write("[")
        attributes.write("{")
        for number, product in enumerate(products):
            comma = ",\n" if number else "\n"
            wanted = wishes.get(product.asin, [])
            rows = map(_json, _items(number, product, is_wanted=bool(wanted)))
            items.write(comma + ",\n".join(rows))
            attributes.write(f"{comma}{_json(product.asin)}: {_json(_about(product, wanted))}")
        items.write("\n]\n")
        attributes.write("\n}\n")
    human = {asin: [_human(goal) for goal in own] for asin, own in wishes.items()}
    (folder / "items_human_ins.json").write_text(_json(human), encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _items(number: int, product: Product, *, is_wanted: bool) -> Iterator[dict[str, Any]]:
    """Yield the entry of a product, and sometimes one after it that a reader leaves out."""
    item = _item(product)
    options = item["customization_options"]
    if number % _ODD == 1:
        options["Gift Wrap"] = None
    if number % _ODD == 2:
        options["Edition"] = [_option("Émile"), _option("Größe 1/2")]
    if number % _ODD == 3 and not is_wanted:
        item["pricing"] = None if number % 2 else ""
    yield item
    if number % _TWICE == 0:
        yield {**item, "name": f"{product.title} (renewed)", "pricing": "$1.00"}
    if number == 5:
        yield {**item, "asin": "nan"}
        yield {**item, "asin": f"{product.asin}-OLD"}


def _item(product: Product) -> dict[str, Any]:
    return {
        "asin": product.asin,
        "name": product.title,
        "full_description": product.description,
        "small_description": list(product.features),
        "pricing": "".join(
            f"${float(price):,.2f}" for price in product.price_tag.replace("$", "").split(" to ")
        ),
        "list_price": "",
        "brand": f"Visit the {product.title.split()[0]} Store",
        "availability_status": "In Stock",
        "images": [product.image],
        "category": product.category,
        "query": product.query,
        "product_category": product.product_category,
        "average_rating": product.rating,
        "total_reviews": len(product.reviews),
        "customization_options": {
            name.title(): [_option(value.title()) for value in values]
            for name, values in product.options.items()
        },
    }


def _option(value: str) -> dict[str, Any]:
    return {"is_selected": False, "value": value, "price_string": "", "image": None}


def _about(product: Product, wanted: Sequence[Goal]) -> dict[str, Any]:
    """Return the attributes of a product, and a wish for it if a goal has it in mind."""
    about: dict[str, Any] = {"attributes": list(product.attributes)}
    first = next(iter(wanted), None)
    asked = list(first.attributes) if first else []
    said = _said(product.query, asked) if first else None
    return about | {"instruction": said, "instruction_attributes": asked}


def _human(goal: Goal) -> dict[str, Any]:
    return {
        "asin": goal.asin,
        "instruction": f"{_said(goal.query, [*goal.attributes, *goal.options])}.",
        "instruction_attributes": list(goal.attributes),
        "instruction_options": list(goal.options),
        "worker_id": f"W{len(goal.instruction) % 17}",
    }


def _said(query: str, wanted: Sequence[str]) -> str:
    return f"i want to buy this: {query}, {', '.join(wanted)}"
