"""The database that gem-llm's preprocessing of WebShop writes, ``webshop.db``."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_core.errors import DataError
from gem_web.product import Goal, Product, Review
from gem_web.readers.source import Source

__all__ = ["open_source"]

_SPLITS = ("train", "test")


def open_source(folder: Path) -> Source | None:
    """Return the source of a folder with ``webshop.db``; None if it has none."""
    path = folder.absolute() / "webshop.db"
    if not path.is_file():
        return None
    return Source(lambda: _products(path), lambda: _goals(path), "gem-llm")


def _rows(path: Path, table: str) -> Iterator[sqlite3.Row]:
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            yield from database.execute(f"SELECT * FROM {table}")  # noqa: S608 - our own names
    except (sqlite3.Error, IndexError) as error:
        raise DataError(f"{path}, table {table}: {error}.") from error


def _products(path: Path) -> Iterator[Product]:
    for row in _rows(path, "all_products"):
        price = float(row["pricing"] if row["pricing"] is not None else 100.0)
        yield Product(
            asin=row["asin"].upper(),
            title=row["title"] or row["name"],
            description=row["description"] or "",
            features=tuple(text for text in _value(row["bullet_points"], []) if text),
            price=price,
            price_tag=row["price"] or f"${price}",
            options={
                name: tuple(values) for name, values in _value(row["options"], {}).items() if values
            },
            attributes=tuple(_value(row["attributes"], [])),
            category=row["category"] or "",
            query=row["query"] or "",
            product_category=row["product_category"] or "",
            rating=str(row["rating"] or "N.A."),
            reviews=tuple(_review(review) for review in _value(row["reviews"], [])),
            image=row["main_image"] or "",
        )


def _review(fields: Mapping[str, Any]) -> Review:
    return Review(
        str(fields.get("title", "")), float(fields.get("score") or 0), str(fields.get("body", ""))
    )


def _goals(path: Path) -> Mapping[str, Sequence[Goal]]:
    return {split: [_goal(row) for row in _rows(path, f"goals_{split}")] for split in _SPLITS}


def _goal(row: sqlite3.Row) -> Goal:
    options = _value(row["goal_options"], [])
    return Goal(
        asin=row["asin"].upper(),
        instruction=row["instruction_text"],
        attributes=tuple(_value(row["attributes"], [])),
        options=tuple(options.values() if isinstance(options, dict) else options),
        price_upper=float(row["price_upper"] or 0),
        name=row["name"],
        query=row["query"] or "",
        product_category=row["product_category"] or "",
        weight=float(row["weight"] or 1),
    )


def _value(text: str | None, default: Any) -> Any:
    """Return the value of a column that holds JSON."""
    return default if text is None else json.loads(text)
