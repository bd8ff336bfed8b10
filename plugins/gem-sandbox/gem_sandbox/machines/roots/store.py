"""The root file systems in the cache.

Each is a folder under its name in ``~/.cache/gem-core/roots``: ``root`` holds the files, and
``root.json`` says where they came from. It is made under another name first, so it is there as a
whole or not at all.
"""

import contextlib
import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gem_core.caches import cache_folder
from gem_core.errors import ConfigError, near_names
from gem_core.records import json_value
from gem_sandbox.machines.roots.unpack_image import resolved
from gem_sandbox.machines.trees import remove_folder, walk

__all__ = ["Root", "add_root", "find_root", "has_root", "new_folder", "remove_root", "roots"]

_FILES, _ABOUT = "root", "root.json"
_UNFINISHED = "."
"""How the names begin of what is being made or removed; who makes it holds a lock on it."""
_ABANDONED = 60.0
"""Seconds after which what nobody holds a lock on is removed."""
_LARGEST = 1 << 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Root:
    """A root file system.

    Args:
        name: Its name.
        source: Where its files came from, such as ``debian:bookworm``.
        made_by: The program that made it, with its version.
        made_at: When, as ISO 8601 has it.
        size: Bytes of its files.
        system: The name of its distribution; empty if it does not say.
        env: Variables of the image that it was made from.
        workdir: The directory of that image.
        user: The user of that image.
    """

    name: str
    source: str
    made_by: str
    made_at: str
    size: int = 0
    system: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "root"

    @property
    def folder(self) -> Path:
        """The folder with its files."""
        return _place(self.name) / _FILES


def _place(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"A root file system has a name of letters, digits, '.', '_' and '-'; got {name!r}."
        )
    return cache_folder("roots") / name


def roots() -> list[Root]:
    """Return the root file systems in the cache, in the order of their names."""
    found = []
    with contextlib.suppress(OSError):
        names = sorted(one.name for one in cache_folder("roots").iterdir())
        found = [root for name in names if _NAME.fullmatch(name) and (root := _read(name))]
    return found


def find_root(name: str) -> Root:
    """Return a root file system.

    Raises:
        ConfigError: There is none of this name, or it cannot be a name.
    """
    found = _read(name)
    if found is None:
        names = [one.name for one in roots()]
        raise ConfigError(
            f"There is no root file system {name!r}.{near_names(name, names)} Make it: "
            f"gem-core machine root {name} --from debian:bookworm"
        )
    return found


def _read(name: str) -> Root | None:
    """Return what a root says of itself; None if it is missing or damaged."""
    place = _place(name)
    try:
        about = json_value((place / _ABOUT).read_text("utf-8"))
        found = Root(**{**about, "name": name})
    except (OSError, ValueError, TypeError):
        return None
    return found if found.folder.is_dir() else None


def has_root(name: str) -> bool:
    """Return whether there is a root file system of this name.

    Raises:
        ConfigError: It cannot be a name.
    """
    return _read(name) is not None


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """Return a folder in which a root is made; what is left of it is removed.

    Raises:
        OSError: It cannot be made.
    """
    above = cache_folder("roots")
    above.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(above)
    made = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=above))
    try:
        with _locked(made):
            (made / _FILES).mkdir(0o755)
            yield made / _FILES
    finally:
        remove_folder(str(made))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder; raise OSError if another process has locked it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def hold_root(name: str) -> int:
    """Keep a root from being removed until the descriptor that is returned is closed.

    Raises:
        ConfigError: There is none of this name, or it is being removed.
    """
    place = find_root(name).folder.parent
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise ConfigError(f"The root {name!r} is being removed.") from error
    return descriptor


@contextlib.contextmanager
def _unused(name: str) -> Iterator[None]:
    """Lock a root that is to go.

    Raises:
        ConfigError: Machines have it.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_locked(_place(name)))
        except OSError as error:
            raise ConfigError(
                f"The root {name!r} cannot be removed or made again while machines use it."
            ) from error
        yield


def _remove_abandoned(above: Path) -> None:
    """Remove what processes that were killed have left."""
    for place in above.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if place.stat().st_ctime < time.time() - _ABANDONED:
                with _locked(place):
                    remove_folder(str(place))


def add_root(root: Root, files: Path, *, force: bool) -> Root:
    """Put a root that was made into the cache, in the place of the one that has its name.

    Args:
        root: What is known of it; its size and system are found here.
        files: The folder of its files, from ``new_folder``.
        force: Whether it may take the place of another one.

    Raises:
        ConfigError: It cannot be used, as it has no bash; its name was taken meanwhile; or machines
            use the one that has its name.
        OSError: It cannot be written.
    """
    if not _has_program(files, "bash"):
        raise ConfigError(
            f"{root.source} has no bash in /bin or /usr/bin, which machines need: choose another "
            f"source, or one with bash installed."
        )
    made = files.parent
    files.chmod(0o755)
    root = Root(**{**asdict(root), "size": _size(files), "system": _system(files)})
    (made / _ABOUT).write_text(json.dumps(asdict(root), indent=1), "utf-8")
    place = _place(root.name)
    old = made.with_name(f"{made.name}-old")
    if place.exists() and (force or not has_root(root.name)):
        with _unused(root.name):
            place.rename(old)
    try:
        made.rename(place)
    except OSError as error:
        if not place.exists():
            raise
        raise ConfigError(
            f"A root {root.name!r} was made meanwhile: take another name, or --force."
        ) from error
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        remove_folder(str(old))
    return root


def remove_root(name: str) -> None:
    """Remove a root file system.

    Raises:
        ConfigError: There is none of this name, machines use it, or it cannot be removed.
    """
    place = find_root(name).folder.parent
    hidden = place.with_name(f"{_UNFINISHED}{name}-{os.getpid()}")
    try:
        with _unused(name):
            place.rename(hidden)
        remove_folder(str(hidden))
    except OSError as error:
        raise ConfigError(f"The root {name!r} cannot be removed: {error}.") from error


def _has_program(files: Path, name: str) -> bool:
    """Return whether a root itself has a program, wherever links inside of it lead."""
    places = (f"{folder}/{name}" for folder in ("usr/bin", "bin"))
    return any(_inside(files, place).is_file() for place in places)


def _inside(files: Path, path: str) -> Path:
    """Return a place in a root, with links followed as its own programs would."""
    try:
        return files / resolved(files, path)
    except OSError:  # links that lead to one another
        return files


def _size(files: Path) -> int:
    top = os.open(files, os.O_RDONLY | os.O_DIRECTORY)
    total = 0
    try:
        with contextlib.suppress(PermissionError):  # a folder that only its owner may read
            for entry in walk(top):
                total += entry.status.st_blocks << 9
    finally:
        os.close(top)
    return total


def _system(files: Path) -> str:
    """Return the name of the distribution, of ``os-release``."""
    for name in ("usr/lib/os-release", "etc/os-release"):
        with contextlib.suppress(OSError, ValueError):
            place = _inside(files, name)
            if place.is_file():
                with place.open(encoding="utf-8") as file:
                    text = file.read(_LARGEST)
                for line in text.splitlines():
                    if line.startswith("PRETTY_NAME="):
                        return line.partition("=")[2].strip("\"'")
    return ""
