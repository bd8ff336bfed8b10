"""Explains why a name cannot be imported: its plugin is missing, or gem-core does not have it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gem.errors import InstallationError

__all__ = ["absent", "needs"]


@contextmanager
def needs(distribution: str) -> Iterator[None]:
    """Import from a plugin, with an error that names it if it is missing.

    Args:
        distribution: Name of the plugin, such as ``gem-math``.

    Raises:
        InstallationError: The plugin is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != distribution.replace("-", "_"):
            raise
        raise InstallationError(
            f"This name needs the plugin {distribution}, which is not installed. "
            f"Install it with: pip install {distribution}"
        ) from error


def absent(
    module: str,
    names: Sequence[str],
    what: str,
    instead: str = "Scripts that need it require gem-llm.",
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with names that only gem-llm has.

    Args:
        module: The module.
        names: The names of gem-llm's module.
        what: Subject of these names, for the message.
        instead: A sentence about what to do.
    """

    def getattribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise InstallationError(
            f"{module}.{name} is not in this release of gem-compat: gem-core has no {what}. "
            f"{instead}"
        )

    return getattribute
