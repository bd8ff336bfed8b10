"""The harnesses of the adapters: modules of ``gem_adapters.checks``, stubs, and those of others."""

import importlib
import pkgutil
from importlib import metadata

from gem_adapters import checks
from gem_adapters.specs import ADAPTERS
from gem_adapters.testing.adapters import Harness
from gem_adapters.testing.stub_adapters import STUBS
from gem_core.errors import ConfigError, near_names
from gem_core.plugins import default_registry

__all__ = ["MissingFrameworkError", "harness_names", "load_harness", "version_of"]

_SOURCES = {
    "rl2": " git+https://github.com/ChenmienTan/RL2",
    "slime": " git+https://github.com/THUDM/slime",
}
"""Frameworks that no package index has."""


class MissingFrameworkError(ConfigError):
    """The framework of an adapter is not installed."""


def harness_names() -> list[str]:
    """Return the names of the adapters that have a harness, installed frameworks or not.

    They are the modules of ``gem_adapters.checks`` whose names do not begin with an underscore,
    and what plugins register as ``ADAPTERS``.
    """
    return sorted(_entry_points())


def _entry_points() -> dict[str, str]:
    names = [module.name for module in pkgutil.iter_modules(checks.__path__)]
    own = {name: f"{checks.__name__}.{name}:HARNESS" for name in names if name[0] != "_"}
    return {one.id: str(one.entry_point) for one in default_registry().list(ADAPTERS)} | own


def load_harness(name: str) -> Harness:
    """Return the harness of an adapter.

    Args:
        name: A name from ``harness_names``, ``stub.pull``, ``stub.push``, or ``module:attribute``.

    Raises:
        ConfigError: There is no such adapter, or it is not a harness.
        MissingFrameworkError: Its framework is not installed.
    """
    stubs = {stub.name: stub for stub in STUBS}
    if name in stubs:
        return stubs[name]
    entry_points = _entry_points()
    known = [*sorted(entry_points), *stubs]
    if ":" not in name and name not in known:
        raise ConfigError(
            f"{name!r} is not an adapter.{near_names(name, known)} There are: "
            f"{', '.join(known)}. The harness of another package is named module:attribute."
        )
    module, _, attribute = entry_points.get(name, name).partition(":")
    found = getattr(_imported(module, name), attribute, None)
    if not isinstance(found, Harness):
        raise ConfigError(f"{module}:{attribute} must be a Harness; got {found!r}.")
    return found


def _imported(module: str, name: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if f"{module}.".startswith(f"{missing}."):
            raise ConfigError(f"There is no module {missing!r}, which {name!r} names.") from error
        command = f"pip install 'gem-adapters[{name}]'{_SOURCES.get(name, '')}"
        extra = "" if ":" in name else f": {command}"
        raise MissingFrameworkError(f"{missing} is not installed{extra}") from error
    except ImportError as error:
        raise MissingFrameworkError(f"the framework cannot be imported: {error}") from error


def version_of(harness: Harness) -> str:
    """Return the installed version of a harness's framework; empty without one."""
    if not harness.distribution:
        return ""
    try:
        return metadata.version(harness.distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
