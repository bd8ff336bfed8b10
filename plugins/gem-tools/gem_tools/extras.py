"""Optional dependencies: a clear error where a tool needs an extra that is not installed."""

import functools
from collections.abc import Iterator
from importlib import metadata

from gem_core.errors import GemError

__all__ = ["MissingExtraError", "require"]

_DISTRIBUTION = "gem-tools"


class MissingExtraError(GemError, ImportError):
    """A package of an extra is missing, or installed in a version that does not fit."""


def require(extra: str, feature: str) -> None:
    """Check that the packages of an extra are installed.

    Args:
        extra: The extra, as ``pyproject.toml`` names it.
        feature: The tool, backend or command that needs it, for the message.

    Raises:
        MissingExtraError: A package is missing, or its version does not fit.
    """
    problems = _problems(extra)
    if problems:
        raise MissingExtraError(
            f"{feature} needs {', '.join(problems)}. Run: pip install '{_DISTRIBUTION}[{extra}]'"
        )


@functools.cache
def _problems(extra: str) -> tuple[str, ...]:
    try:
        return tuple(_misfits(extra))
    except metadata.PackageNotFoundError:  # used from a folder, without having been installed
        return ()


def _misfits(extra: str) -> Iterator[str]:
    """Yield the requirements of an extra that the installation does not meet."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - only where an extra is used

    for line in metadata.requires(_DISTRIBUTION) or ():
        requirement = Requirement(line)
        if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
            continue
        wanted = f"{requirement.name}{requirement.specifier}"
        try:
            installed = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield f"{wanted} (not installed)"
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            yield f"{wanted} ({installed} is installed)"
