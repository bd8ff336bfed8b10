"""The file that says which root file systems stand for images.

``~/.config/gem-core/images.yaml``, or the file that ``$GEM_CORE_IMAGES`` names, is a mapping from a
name in ``FROM``, which may have wildcards, to the name of a root or the absolute path of a folder.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from gem_core.errors import ConfigError

__all__ = ["images_file", "read_images", "write_images"]


_TEXT = "tag:yaml.org,2002:str"
_MUST = "must map names of images to roots, such as 'python:3.13': debian."


def images_file() -> Path:
    """Return the path of the file; it may be missing."""
    if own := os.environ.get("GEM_CORE_IMAGES"):
        return Path(own).expanduser()
    base = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return base / "gem-core" / "images.yaml"


def read_images() -> dict[str, str]:
    """Return the mapping; empty without the file.

    Raises:
        ConfigError: It cannot be read, or is not such a mapping.
    """
    file = images_file()
    try:
        text = file.read_text("utf-8")
        tree = yaml.compose(text, yaml.SafeLoader)
        found = yaml.safe_load(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{file}{line} is no YAML; names with '*' need quotes.") from error
    if found is None:
        return {}
    if not isinstance(tree, yaml.MappingNode):
        raise ConfigError(f"{file} {_MUST}")
    for key, value in tree.value:
        if {key.tag, value.tag} != {_TEXT}:
            raise ConfigError(f"{file}:{key.start_mark.line + 1} {_MUST}")
    return dict(found)


def write_images(images: Mapping[str, str]) -> None:
    """Write the mapping, as a whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    file = images_file().resolve()  # a link to it stays
    if file.exists() and not file.is_file():
        raise ConfigError(f"{file} cannot be written: it is no file.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".") as folder:
            made = Path(folder) / file.name
            made.write_text(yaml.safe_dump(dict(images), sort_keys=True), "utf-8")
            made.replace(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error}.") from error
