"""What the ``tools.py`` of a tool world may import from ``general_agent.tools``.

A world's tools are the methods of ``TaskTools`` that are marked with ``tool``; they work on
``self.db``, a pydantic model ``TaskDB``. These classes have the interface of the public corpus, so
that its files load unchanged.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import pydantic

from gem_tau.canonical import digest_of

__all__ = ["DB", "Tools", "tool"]

Method = TypeVar("Method", bound=Callable[..., Any])


def tool(method: Method) -> Method:
    """Mark a method as a tool; one without a docstring is described by its name."""
    method.is_tool = True  # type: ignore[attr-defined]
    if not (method.__doc__ or "").strip():
        method.__doc__ = f"{method.__name__.replace('_', ' ').capitalize()}."
    return method


class DB(pydantic.BaseModel):
    """The base class of a world's database."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the database in a JSON file."""
        return cls.model_validate(json.loads(Path(path).read_text(encoding="utf-8")))

    def get_hash(self) -> str:
        """Return a digest of the content."""
        return digest_of(self.model_dump(mode="json", warnings=False))


class Tools:
    """The base class of a world's tools.

    Args:
        db: The database.
    """

    def __init__(self, db: Any) -> None:
        self.db = db

    def call_tool(self, name: str, **arguments: Any) -> Any:
        """Call a tool by name."""
        return getattr(self, name)(**arguments)
