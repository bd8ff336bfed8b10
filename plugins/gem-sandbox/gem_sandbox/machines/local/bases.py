"""Which root file system an image that is named starts from."""

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gem_core.errors import ConfigError
from gem_sandbox.machines.roots.images_file import images_file, read_images
from gem_sandbox.machines.roots.store import find_root

__all__ = ["Base", "Bases"]

_WILDCARD = re.compile(r"[*?[]")
_HUBS = ("docker.io/library/", "index.docker.io/library/", "docker.io/", "library/")


@dataclass(frozen=True)
class Base:
    """What a machine starts from.

    Args:
        asked: The name of the image that was asked for; empty for a machine without one.
        folder: The folder with the root file system; empty for the programs of this host.
        root: The name of the root in the cache; empty for others.
        pattern: The pattern by which it was found; empty if none was.
        is_exact: Whether it is what was asked for, as far as anybody has said so.
        env: Variables of the image that the root was made from.
        workdir: The directory of that image.
        user: The user of that image.
    """

    asked: str = ""
    folder: str = ""
    root: str = ""
    pattern: str = ""
    is_exact: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    user: str = "root"

    @property
    def description(self) -> str:
        """What stands for the image, in one line; empty if it is the image itself."""
        if self.is_exact:
            return ""
        place = f"the root {self.root!r}" if self.root else self.folder or "this host's programs"
        by = f", by {self.pattern!r}" if self.pattern else ""
        return f"{place} for {self.asked}{by}"


class Bases:
    """Finds the root file systems of images.

    Args:
        images: The name of a root, or the absolute path of a folder, for the names of images, which
            may have wildcards; None for those of the file of images.

    Raises:
        ConfigError: The file of images cannot be read.
    """

    def __init__(self, images: Mapping[str, str] | None = None) -> None:
        self._where = "images" if images is not None else str(images_file())
        found = read_images() if images is None else images
        # The most specific pattern first: one without wildcards, then the longest.
        self._images = dict(
            sorted(found.items(), key=lambda one: (bool(_WILDCARD.search(one[0])), -len(one[0])))
        )

    def find(self, name: str) -> Base | None:
        """Return what stands for an image; None if nothing does.

        Raises:
            ConfigError: A root or folder that stands for it is missing.
        """
        names = {name, _short(name), _tagged(name)}
        for pattern, target in self._images.items():
            if any(fnmatch.fnmatchcase(one, _short(pattern)) for one in names):
                return self._base(name, pattern, target)
        return None

    def _base(self, name: str, pattern: str, target: str) -> Base:
        is_exact = not _WILDCARD.search(pattern)
        place = Path(target).expanduser()
        if place.is_absolute():
            if not place.is_dir():
                raise ConfigError(
                    f"{self._where}: {pattern!r} stands for {target!r}, which is not a folder "
                    f"with a root file system."
                )
            return Base(name, str(place), "", pattern, is_exact)
        try:
            root = find_root(target)
        except ConfigError as error:
            raise ConfigError(f"{self._where}: {pattern!r}: {error}") from error
        is_exact |= _tagged(root.source.removeprefix("docker:")) == _tagged(name)
        return Base(
            name,
            str(root.folder),
            root.name,
            pattern,
            is_exact,
            root.env,
            root.workdir,
            root.user,
        )


def _short(name: str) -> str:
    """Return the name of an image without what Docker adds: its hub, and ``latest``."""
    for hub in _HUBS:
        name = name.removeprefix(hub)
    return name.partition("@")[0].removesuffix(":latest")


def _tagged(name: str) -> str:
    """Return the short name of an image with its tag, ``latest`` if it names none."""
    short = _short(name)
    return short if ":" in short.rpartition("/")[2] else f"{short}:latest"
