"""``gem-core new``: the files of a plugin with an environment, its oracle and its tests."""

import keyword
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

import click

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.plugins import load_plugins

__all__ = ["command"]

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_TEMPLATE_NAME = "acme-gym"


@click.command(epilog="\b\nExamples:\n  gem-core new acme-gym")
@click.argument("name", metavar="NAME")
def command(name: str) -> None:
    """Write a plugin to begin with, in a new folder NAME.

    NAME is that of the distribution and of the namespace of its ids; NAME:Echo-v0 is a small
    environment to replace.
    """
    _check(name)
    folder, files = Path(name), dict(_files(resources.files("gem_core") / "template"))
    try:
        folder.mkdir()
    except FileExistsError:
        raise ConfigError(f"{name!r} is there already. Choose another name.") from None
    for path, text in files.items():
        place = folder / _named(path, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_named(text, name), "utf-8")
    package = _package(name)
    console = Terminal(soft_wrap=True)
    console.print(f"Wrote {len(files)} files to {name}/. The environment is {package}/echo.py.")
    console.print("Next:")
    for line in (
        f"cd {name}",
        "pip install --editable '.[dev]'",
        f"gem-core play {name}:Echo-v0",
        f"gem-core check {name}",
        "pytest",
    ):
        console.print(f"  {line}", markup=False)


def _check(name: str) -> None:
    """Raise ``ConfigError`` unless a distribution, a package and a namespace can have the name."""
    package = _package(name)
    if _NAME.fullmatch(name) is None or keyword.iskeyword(package):
        raise ConfigError(
            f"{name!r} cannot be the name of a plugin: write small letters, digits and '-', "
            f"beginning with a letter, such as {_TEMPLATE_NAME}."
        )
    if find_spec(package) is not None:
        raise ConfigError(f"There is a module {package!r} already. Choose another name.")
    if name in load_plugins().registry.namespaces():
        raise ConfigError(f"There are environments {name}:... already. Choose another name.")


def _package(name: str) -> str:
    return name.replace("-", "_")


def _named(text: str, name: str) -> str:
    """Return a text of the template, or a path, with the plugin's own name."""
    return text.replace(_TEMPLATE_NAME, name).replace(_package(_TEMPLATE_NAME), _package(name))


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of the template."""
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_file():
            yield f"{prefix}{one.name}", one.read_text("utf-8")
        elif one.name != "__pycache__":
            yield from _files(one, f"{prefix}{one.name}/")
