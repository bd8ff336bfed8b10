"""Readers of catalogues that others have made.

=====================  =========================================================================
in the folder          what it is
=====================  =========================================================================
``items_shuffle.json`` the files of WebShop (https://github.com/princeton-nlp/WebShop), beside
                       ``items_ins_v2.json`` and ``items_human_ins.json``; names with ``_1000``
                       are the small set
``webshop.db``         the database that gem-llm's preprocessing writes
``products.jsonl``     anybody's shop: lines with the fields of ``Product``, and
                       ``goals_<split>.jsonl`` with those of ``Goal``
=====================  =========================================================================
"""

from pathlib import Path

from gem_core.errors import DataError
from gem_web.readers import database, lines, public
from gem_web.readers.source import Source

__all__ = ["Source", "find_source"]


def find_source(folder: Path, *, synthetic: bool | None = None) -> Source:
    """Return the source that a folder has.

    Args:
        folder: The folder.
        synthetic: Of the files of WebShop: whether goals are made from attributes and options
            instead of those that people wrote; None for people's if there are any.

    Raises:
        DataError: The folder does not exist, or has none of the files.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder.")
    source = (
        public.open_source(folder, synthetic)
        or database.open_source(folder)
        or lines.open_source(folder)
    )
    if source is not None:
        return source
    names = ", ".join(sorted(path.name for path in folder.iterdir())[:10]) or "nothing"
    raise DataError(
        f"{folder} has none of items_shuffle.json, webshop.db and products.jsonl. It contains: "
        f"{names}."
    )
