"""What the steps of Dockerfiles have changed: a layer each, as a folder that machines share.

A layer lies under its key in ``~/.cache/gem-core/machines/layers``: ``files`` holds a folder for
each mount point of a machine, as the upper folder of an overlay is written, with owners, deleted
names and opaque folders; ``layer.json`` says what it is and which layers are below it. It is made
under another name first, so it is there as a whole or not at all. Where the cache cannot hold
layers, they are in a temporary folder of the process that made them.
"""

import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from gem_core.caches import cache_folder
from gem_core.errors import ConfigError, MachineError
from gem_core.lifetimes import Lifetime
from gem_core.records import json_value
from gem_sandbox.machines.archive import OPAQUE
from gem_sandbox.machines.trees import remove_folder
from gem_sandbox.machines.unpacking import unpack_layers

__all__ = ["FILES", "Layer", "Layers", "has_path", "layers", "layers_folder", "remove_layers"]

FILES = "files"
_ABOUT = "layer.json"
_UNFINISHED = "."
"""How the names begin of what is being made or removed."""
_ABANDONED = 24 * 3600.0


class Layer(NamedTuple):
    """A layer in the cache.

    Args:
        key: The hash of all that it depends on.
        step: The line of the Dockerfile that made it.
        size: Bytes of its files.
        used: When it was last used, in seconds since 1970.
        made: What tells it from others of the same key.
        below: The keys of the layers below it, lowest first, and which of each it was made over.
    """

    key: str
    step: str
    size: int
    used: float
    made: str
    below: tuple[tuple[str, str], ...]


def layers_folder() -> Path:
    """Return the folder of the cache that holds the layers; it may be missing."""
    return cache_folder("machines") / "layers"


def layers() -> list[Layer]:
    """Return the layers in the cache, the one last used first."""
    found = (_read(place) for place in _places(layers_folder()))
    return sorted((one for one in found if one is not None), key=lambda one: -one.used)


def remove_layers(keys: Sequence[str]) -> None:
    """Remove layers from the cache; what needs them is built again.

    A machine that is running needs the layers of its image.

    Raises:
        ConfigError: One is not there, or cannot be removed.
    """
    folder = layers_folder()
    for key in keys:
        try:
            if key.startswith(_UNFINISHED) or "/" in key:
                raise FileNotFoundError
            hidden = folder / f"{_UNFINISHED}removed-{key}-{os.getpid()}"
            (folder / key).rename(hidden)
            remove_folder(str(hidden))
        except OSError as error:
            raise ConfigError(f"The layer {key!r} cannot be removed: {error}.") from error


def has_path(layer: Path, inside: str) -> bool | None:
    """Return whether a layer has a path or deletes it; None if it says nothing of it.

    Args:
        layer: The folder of the layer.
        inside: The number of the mount point, and the path below it.
    """
    place = layer / FILES
    is_opaque = False
    parts = Path(inside).parts
    for number, part in enumerate(parts, 1):
        place = place / part
        try:
            status = place.lstat()
        except OSError:  # nothing is there
            return False if is_opaque else None
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            return False
        if not stat.S_ISDIR(status.st_mode):
            return number == len(parts)  # a file or a link hides what is below its name
        with contextlib.suppress(OSError):
            is_opaque |= os.getxattr(place, OPAQUE) == b"y"
    return True


class Layers:
    """The layers that a provider finds and makes."""

    def __init__(self) -> None:
        self._temporary: Path | None = None

    def chain(self, key: str) -> tuple[Path, ...] | None:
        """Return a layer and those below it, lowest first; None if one is missing or damaged."""
        top = self._find(key)
        if top is None:
            return None
        places = []
        for name, made in (*top[1].below, (key, top[1].made)):
            found = self._find(name)
            if found is None or found[1].made != made:
                return None
            places.append(found[0])
        with contextlib.suppress(OSError):
            os.utime(top[0] / _ABOUT)
        return tuple(places)

    def _find(self, key: str) -> tuple[Path, Layer] | None:
        roots = [layers_folder(), *([self._temporary] if self._temporary else [])]
        for place in (root / key for root in roots):
            if (about := _read(place)) is not None:
                return place, about
        return None

    def add(
        self, key: str, below: Sequence[Path], archive: IO[bytes], *, step: str
    ) -> tuple[Path, ...]:
        """Make a layer from an archive of what a step has changed; return it and those below it.

        Args:
            key: The hash of all that it depends on.
            below: The layers below it, lowest first.
            archive: The archive, as ``archive.pack_all`` writes it.
            step: The line of the Dockerfile.

        Raises:
            MachineError: Nowhere is a folder that can hold it.
        """
        under = [found for one in below if (found := _read(one)) is not None]
        if len(under) < len(below):
            raise MachineError(f"A layer below that of {step!r} was removed meanwhile.")
        about = {"step": step, "below": [[one.key, one.made] for one in under]}
        problems = []
        for root in self._roots():
            try:
                archive.seek(0)
                return (*below, _make(root, key, archive, about))
            except OSError as error:
                problems.append(f"{root}: {error}")
        raise MachineError(f"What {step!r} has made cannot be kept: {'; '.join(problems)}.")

    def _roots(self) -> Iterator[Path]:
        yield layers_folder()
        if self._temporary is None:
            made = tempfile.mkdtemp(prefix="gem-layers-")
            Lifetime(self, remove_folder, made, what="folder of layers", error=MachineError)
            self._temporary = Path(made)
        yield self._temporary


def _make(root: Path, key: str, archive: IO[bytes], about: Mapping[str, Any]) -> Path:
    """Make a layer in a folder, unless another process is faster; return where it is."""
    root.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(root)
    place, made = root / key, Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
    try:
        made.chmod(0o755)
        files = made / FILES
        files.mkdir()
        unpack_layers(archive, str(files))
        files.chmod(0o755)
        values = {**about, "made": made.name, "size": archive.tell()}
        (made / _ABOUT).write_text(json.dumps(values))
        there = _read(place)
        if place.exists() and (there is None or [*map(list, there.below)] != about["below"]):
            old = made.with_name(f"{made.name}-old")
            place.rename(old)
            remove_folder(str(old))
        with contextlib.suppress(OSError):
            made.rename(place)
        if not (place / _ABOUT).is_file():
            raise OSError(f"{place} cannot be made")
    finally:
        if made.exists():
            remove_folder(str(made))
    return place


def _remove_unfinished(root: Path) -> None:
    """Remove what processes that were killed have left, once no other can be making it."""
    for place in root.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if place.stat().st_ctime < time.time() - _ABANDONED:
                remove_folder(str(place))


def _places(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (one for one in folder.iterdir() if not one.name.startswith(_UNFINISHED))


def _read(place: Path) -> Layer | None:
    """Return what a layer says of itself; None if it is damaged."""
    try:
        about = json_value((place / _ABOUT).read_text())
        if not (place / FILES).is_dir():
            return None
        used = (place / _ABOUT).stat().st_mtime
        below = tuple((str(key), str(made)) for key, made in about["below"])
        step, size, made = str(about["step"]), int(about["size"]), str(about["made"])
        return Layer(place.name, step, size, used, made, below)
    except (OSError, ValueError, KeyError, TypeError):
        return None
