"""Explains why a name cannot be imported: its plugin is missing, or nobody has written it yet."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gem.errors import InstallationError

__all__ = ["absent", "needs"]


@contextmanager
def needs(distribution: str) -> Iterator[None]:
    """Import what a plugin brings, with a message that says what to install if it is missing.

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


def absent(module: str, names: Sequence[str], what: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names gem-llm has and this package has not.

    Args:
        module: The module.
        names: What gem-llm has in it.
        what: What these names are about, for the message.
    """

    def getattribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise InstallationError(
            f"{module}.{name} is not in this release of gem-compat: gem-core has no {what} yet. "
            f"Scripts that need it need gem-llm."
        )

    return getattribute
