"""Checks that the package ``gem`` is that of gem-compat; a plugin, so that gem-core runs it.

gem-llm has a package of the same name. Installing it after gem-compat overwrites files, and
removing it deletes them. This module has another name, so it stays.
"""

from importlib import metadata
from pathlib import Path

from gem_core import hookimpl
from gem_core.errors import PluginError
from gem_core.registry import Registry

__all__ = ["InstallationError", "check", "gem_register"]

_FILES = ("__init__.py", "core.py", "modules.py", "envs/registration.py")
"""Files of the package, with and without counterparts in gem-llm."""


class InstallationError(PluginError, ImportError):
    """gem-llm has overwritten or deleted files of gem-compat."""


def check() -> None:
    """Raise InstallationError if gem-llm is installed too, or files are missing."""
    folder = Path(__file__).parent / "gem"
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if _has_gem_llm():
        raise InstallationError(
            "gem-compat and gem-llm are both installed, and both are the package 'gem': their "
            "files overwrite each other. Keep one of them: run 'pip uninstall gem-llm gem-compat', "
            "then 'pip install gem-compat', or 'pip install gem-llm'."
        )
    if missing:
        raise InstallationError(
            f"The package 'gem' in {folder} is incomplete: {', '.join(missing)} are missing. "
            f"Removing gem-llm deletes them, because it has files of the same names. "
            f"Run 'pip install --force-reinstall --no-deps gem-compat'."
        )


def _has_gem_llm() -> bool:
    try:
        metadata.distribution("gem-llm")
    except metadata.PackageNotFoundError:
        return False
    return True


@hookimpl
def gem_register(registry: Registry) -> None:  # noqa: ARG001 - a hook's
    """Register nothing; report a damaged installation as a broken plugin."""
    check()
