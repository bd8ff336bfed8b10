"""Optional packages: an error that names the extra to install where one is missing.

A plugin declares what only some of its parts need as an extra in its ``pyproject.toml``. A part
that is about to import such a package calls ``require``; a plugin's module that imports it at the
top needs nothing: the error of the entry point names the extra. A script imports in
``needed_by_script``.
"""

import contextlib
import functools
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gem_core.errors import NotInstalledError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = ["install_command", "needed_by_script", "require"]


def require(extra: str, feature: str) -> None:
    """Check that the packages of an extra are installed.

    A distribution that was not installed, but is used from its folder, passes.

    Args:
        extra: The extra as pip takes it, such as ``gem-tools[mcp]``.
        feature: What needs it, for the message: ``The tool 'mcp'``.

    Raises:
        NotInstalledError: A package is missing, or its version does not fit.
    """
    problems = _problems(extra)
    if problems:
        raise NotInstalledError(
            f"{feature} needs {', '.join(problems)}. Run: pip install '{extra}'"
        )


@contextlib.contextmanager
def needed_by_script(command: str) -> Iterator[None]:
    """Wrap the imports of a script: if a module is missing, end the script with one line.

    Args:
        command: The command that installs what the script needs.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        sys.exit(f"This script needs the module {name!r} (not installed). Run: {command}")
    except NotInstalledError as error:
        sys.exit(str(error))


def install_command(module: str, package: str) -> str:
    """Return the command that installs a module, if an extra of a package's distribution has it.

    Of several extras, it is the smallest one that names the module's package itself.

    Args:
        module: Name of the module that cannot be imported.
        package: The package that imports it; it may be a module in it.

    Returns:
        The command, such as ``pip install 'gem-train[torch]'``; empty if no extra has the module.
    """
    from importlib import metadata  # noqa: PLC0415 - it imports much

    wanted, top = _plain(module.partition(".")[0]), package.partition(".")[0]
    for name in (top, *metadata.packages_distributions().get(top, ())):
        extras = [found for found in _extras(name) if found[0] != "dev"]
        sizes = Counter(extra for extra, _ in extras)
        own = _plain(name)  # an extra that takes another one of its own is asked last
        for extra, one in sorted(
            extras, key=lambda found: (_plain(found[1].name) == own, sizes[found[0]])
        ):
            # A part of the name will do: the module faiss is in faiss-cpu.
            if any(wanted in (part, *part.split("-")) for part in _names(one)):
                return f"pip install '{metadata.metadata(name)['Name']}[{extra}]'"
    return ""


@functools.cache
def _problems(extra: str) -> tuple[str, ...]:
    name, _, rest = extra.removesuffix("]").partition("[")
    return tuple(_misfits(name, rest))


def _misfits(name: str, wanted: str) -> Iterator[str]:
    """Yield the requirements of an extra that the installation does not meet."""
    from importlib import metadata  # noqa: PLC0415 - as above

    for extra, one in _extras(name):
        if extra != wanted:
            continue
        text = f"{one.name}{one.specifier}"
        try:
            installed = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            yield f"{text} (not installed)"
            continue
        if not one.specifier.contains(installed, prereleases=True):
            yield f"{text} ({installed} is installed)"
        for nested in one.extras:
            yield from _problems(f"{one.name}[{nested}]")


def _names(one: "Requirement") -> Iterator[str]:
    """Yield the names of what a requirement installs, those of its extras included."""
    yield _plain(one.name)
    for extra, nested in _extras(one.name) if one.extras else ():
        if extra in one.extras:
            yield from _names(nested)


def _extras(name: str) -> Iterator[tuple[str, "Requirement"]]:
    """Yield the extras of an installed distribution, each with a requirement of it."""
    from importlib import metadata  # noqa: PLC0415 - as above

    from packaging.requirements import Requirement  # noqa: PLC0415 - as above

    try:
        found = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):  # ValueError: the name is empty
        return
    extras = found.metadata.get_all("Provides-Extra") or []
    for line in found.requires or ():
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            continue
        yield from ((extra, one) for extra in extras if one.marker.evaluate({"extra": extra}))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
