"""A reader of the files ``words.yaml``: names, products, and the words that ask for a fact."""

from pathlib import Path
from typing import Any

import yaml

__all__ = ["parts", "read_words"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_words(package_file: str) -> dict[str, Any]:
    """Return the content of the ``words.yaml`` beside a module.

    Args:
        package_file: The ``__file__`` of the module.
    """
    text = Path(package_file).with_name("words.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    return words


def parts(text: str) -> tuple[str, ...]:
    """Return the parts of a text that ``|`` separates."""
    return tuple(part.strip() for part in text.split("|"))
