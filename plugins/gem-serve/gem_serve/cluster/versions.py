"""The versions of gem-core and its plugins, which driver and workers must share."""

import platform
from collections.abc import Mapping
from importlib import metadata

from gem_core.errors import ConfigError

__all__ = ["check_versions", "installed_versions"]


def installed_versions() -> dict[str, str]:
    """Return the version of Python, and of each distribution that is or extends gem-core."""
    found = {"Python": platform.python_version(), "gem-core": metadata.version("gem-core")}
    for one in metadata.entry_points(group="gem"):
        if one.dist is not None:
            found[one.dist.name] = one.dist.version
    return found


def check_versions(here: Mapping[str, str], there: Mapping[str, str], where: str) -> None:
    """Compare the versions of the driver with those of a worker.

    A distribution that a worker lacks is not an error: an environment that needs it says so when
    it is made. The third part of Python's version does not matter.

    Args:
        here: Those of the driver, from ``installed_versions``.
        there: Those of the worker.
        where: The worker's machine, for the message.

    Raises:
        ConfigError: Versions differ; the message has both.
    """
    lines = [
        f"{name} is {here[name]} in the driver and {there[name]} on {where}."
        for name in sorted(here)
        if name in there and _relevant(name, here[name]) != _relevant(name, there[name])
    ]
    if lines:
        raise ConfigError(
            "The workers must have the driver's versions:\n  "
            + "\n  ".join(lines)
            + "\nInstall the same ones there, or give them with executor.runtime_env "
            "(pip, py_modules, working_dir or container)."
        )


def _relevant(name: str, version: str) -> str:
    return ".".join(version.split(".")[:2]) if name == "Python" else version
