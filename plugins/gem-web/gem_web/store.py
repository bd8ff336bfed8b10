"""A catalogue in a folder: products and goals in SQLite, the index of their words beside it.

Both are read in place, so processes share the pages of memory that the system keeps of them, and a
catalogue of 100,000 products opens in some milliseconds.

::

    catalogue.json     format, version, counts, and where the data came from
    catalogue.sqlite   products(number, asin, record), goals(split, number, weight, record)
    index/             the arrays of bm25s

A record is the fields of a ``Product`` or a ``Goal`` as JSON, compressed with zlib.
"""

import functools
import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from gem_core.errors import ConfigError, DataError
from gem_core.lifetimes import Lifetime, Lock
from gem_tasks.bm25 import WordIndex
from gem_tasks.task_source import ListedTasks
from gem_web.catalogue import Catalogue, text_of_product
from gem_web.product import Goal, Product, Review

__all__ = ["load_catalogue", "open_catalogue", "write_catalogue"]

_FORMAT, _VERSION = "gem-web catalogue", 1
_CACHED = 4096
"""Records that a process keeps unpacked."""
_MAPPED_BYTES = 1 << 30
_TABLES = """\
CREATE TABLE products (number INTEGER PRIMARY KEY, asin TEXT UNIQUE NOT NULL, record BLOB NOT NULL);
CREATE TABLE goals (split TEXT, number INTEGER, weight REAL NOT NULL, record BLOB NOT NULL,
                    PRIMARY KEY (split, number)) WITHOUT ROWID;
"""
Record = TypeVar("Record")


def write_catalogue(
    folder: Path,
    products: Iterable[Product],
    goals: Callable[[], Mapping[str, Sequence[Goal]]],
    *,
    origin: str,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write a catalogue into a folder, whole or not at all, and return its manifest.

    Args:
        folder: The folder; its parent must exist.
        products: The products, which are read once.
        goals: Returns the goals of each split; it is called after the products were read.
        origin: Where the data came from, for the manifest.
        overwrite: Whether a catalogue that is there is replaced.

    Raises:
        DataError: The folder exists, there are no products, two have the same asin, or the disk is
            full.
    """
    if folder.exists() and not (overwrite and (folder / "catalogue.json").is_file()):
        hint = "--force replaces a catalogue" if not overwrite else "it has no catalogue to replace"
        raise DataError(f"{folder} exists already; {hint}.")
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error}.") from error
    try:
        manifest = _write_into(partial, products, goals, origin)
        partial.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"{folder} was not written: {error}.") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


def _write_into(
    folder: Path,
    products: Iterable[Product],
    goals: Callable[[], Mapping[str, Sequence[Goal]]],
    origin: str,
) -> dict[str, Any]:
    database = sqlite3.connect(folder / "catalogue.sqlite")
    try:
        database.executescript(_TABLES)
        WordIndex.build(_saved(database, products), "the catalogue").save(folder / "index")
        by_split = goals()
        for split, listed in by_split.items():
            rows = ((split, n, goal.weight, _packed(goal)) for n, goal in enumerate(listed))
            database.executemany("INSERT INTO goals VALUES (?, ?, ?, ?)", rows)
        database.commit()
        (count,) = database.execute("SELECT count(*) FROM products").fetchone()
    finally:
        database.close()
    manifest = {
        "format": _FORMAT,
        "version": _VERSION,
        "products": count,
        "goals": {split: len(listed) for split, listed in by_split.items()},
        "origin": origin,
    }
    (folder / "catalogue.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest


def _saved(database: sqlite3.Connection, products: Iterable[Product]) -> Iterator[str]:
    """Insert the products and pass on the text of each."""
    for number, product in enumerate(products):
        try:
            database.execute(
                "INSERT INTO products VALUES (?, ?, ?)", (number, product.asin, _packed(product))
            )
        except sqlite3.IntegrityError:
            raise DataError(f"Two products have the asin {product.asin}.") from None
        yield text_of_product(product)


def _packed(record: Product | Goal) -> bytes:
    return zlib.compress(json.dumps(asdict(record), ensure_ascii=False).encode())


def _product(fields: dict[str, Any]) -> Product:
    return Product(
        **{
            **fields,
            "features": tuple(fields["features"]),
            "attributes": tuple(fields["attributes"]),
            "options": {name: tuple(values) for name, values in fields["options"].items()},
            "reviews": tuple(Review(**review) for review in fields["reviews"]),
        }
    )


def _goal(fields: dict[str, Any]) -> Goal:
    return Goal(
        **{
            **fields,
            "attributes": tuple(fields["attributes"]),
            "options": tuple(fields["options"]),
        }
    )


_lock = Lock()
# A fork waits until no thread is in SQLite, which has locks that a fork would find held for ever.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def _close(connection: sqlite3.Connection) -> None:
    with _lock:
        connection.close()


class _Database:
    """A database that is only read, by any thread; a fork opens its own connection."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._connection: sqlite3.Connection | None = None
        self._lifetime: Lifetime | None = None

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        Raises:
            DataError: The database cannot be read.
        """
        try:
            with _lock:
                return self._open().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise DataError(f"The catalogue {self._path} cannot be read: {error}.") from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None or self._lifetime is None or not self._lifetime.is_open:
            uri = f"{self._path.as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            connection.execute(f"PRAGMA mmap_size={_MAPPED_BYTES}")
            self._lifetime = Lifetime(self, _close, connection, what="catalogue")
            self._connection = connection
        return self._connection


class _Records(Sequence[Record], Generic[Record]):
    """The records of a table, unpacked when they are needed."""

    def __init__(self, count: int, fetch: Callable[[int], Record]) -> None:
        self._count = count
        self._fetch = functools.lru_cache(_CACHED)(fetch)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...
    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        if isinstance(number, slice):
            return [self._fetch(one) for one in range(self._count)[number]]
        return self._fetch(range(self._count)[number])


def load_catalogue(folder: Path) -> Catalogue:
    """Open the catalogue in a folder.

    Raises:
        DataError: The folder has no catalogue, or one that cannot be read.
    """
    manifest = _manifest(folder)
    database = _Database(folder / "catalogue.sqlite")
    unpack = functools.partial(_unpacked, database)
    products = _Records(
        manifest["products"],
        lambda number: _product(unpack("SELECT record FROM products WHERE number = ?", number)),
    )
    index = WordIndex.load(folder / "index")
    if len(index) != len(products):
        raise DataError(
            f"The catalogue {folder} is damaged: it has {len(products)} products and an index of "
            f"{len(index)}. Write it again."
        )

    @functools.lru_cache(_CACHED)
    def number_of(asin: str) -> int | None:
        rows = database.rows("SELECT number FROM products WHERE asin = ?", asin)
        return rows[0][0] if rows else None

    goals = {split: _goals(database, split, n) for split, n in manifest["goals"].items() if n}
    return Catalogue(products, index, number_of, goals)


_stored = functools.lru_cache(maxsize=8)(load_catalogue)


def open_catalogue(data: str | Path | None) -> Catalogue:
    """Return the catalogue of a folder, or the generated one for ``sample``.

    Raises:
        ConfigError: ``data`` is None.
        DataError: The folder has no catalogue, or it cannot be read.
    """
    if data is None:
        raise ConfigError(
            "This environment needs a catalogue: data=FOLDER, written by "
            "`gem-core webshop index SOURCE FOLDER` from the files of WebShop "
            "(https://github.com/princeton-nlp/WebShop), or data=sample for a generated one."
        )
    if data == "sample":
        return _sample()
    return _stored(Path(data).expanduser().resolve())


@functools.cache
def _sample() -> Catalogue:
    from gem_web.sample import sample_catalogue  # noqa: PLC0415 - real catalogues do not need it

    return Catalogue.of(*sample_catalogue())


def _goals(database: _Database, split: str, count: int) -> ListedTasks[Goal]:
    query = "SELECT record FROM goals WHERE split = ? AND number = ?"
    records = _Records(count, lambda number: _goal(_unpacked(database, query, split, number)))
    weights = database.rows("SELECT weight FROM goals WHERE split = ? ORDER BY number", split)
    return ListedTasks(records, weights=[weight for (weight,) in weights])


def _unpacked(database: _Database, query: str, *values: Any) -> dict[str, Any]:
    ((record,),) = database.rows(query, *values)
    fields: dict[str, Any] = json.loads(zlib.decompress(record))
    return fields


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "catalogue.json"
    if not path.is_file():
        is_folder = folder.is_dir()
        what = "has no catalogue (catalogue.json)" if is_folder else "is not a folder"
        raise DataError(
            f"{folder} {what}. `gem-core webshop index SOURCE FOLDER` writes one from the files of "
            f"WebShop."
        )
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found = manifest["format"], manifest["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read: {error!r}.") from error
    if found != (_FORMAT, _VERSION):
        raise DataError(
            f"{path} has format {found[0]!r}, version {found[1]!r}; this gem-web reads "
            f"{_FORMAT!r}, version {_VERSION}. Write the catalogue again."
        )
    return manifest
