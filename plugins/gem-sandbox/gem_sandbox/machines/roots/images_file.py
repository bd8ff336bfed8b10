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
        found = yaml.safe_load(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{file} cannot be read: {reason[:300]}") from error
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(
        isinstance(key, str) and isinstance(value, str) for key, value in found.items()
    ):
        raise ConfigError(
            f"{file} must map names of images to roots, such as 'python:3.13': debian."
        )
    return dict(found)


def write_images(images: Mapping[str, str]) -> None:
    """Write the mapping, as a whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    file = images_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as made:
            yaml.safe_dump(dict(images), made, sort_keys=True)
        Path(made.name).chmod(0o644)
        Path(made.name).replace(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error}.") from error
