"""The paths of the host that programs may read: the interpreter and its libraries."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

__all__ = ["DEVICES", "VisiblePaths", "library_path", "visible_paths", "working_folder"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_DATA = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
_SHELL = "/bin/sh"


class VisiblePaths(NamedTuple):
    """Paths to mount, and symbolic links (link to target)."""

    binds: tuple[str, ...]
    links: dict[str, str]

    def folders(self) -> list[str]:
        """Return the folders that contain the paths and links, outer ones first."""
        paths = [*self.binds, *self.links]
        above = {str(folder) for path in paths for folder in Path(path).parents}
        return sorted(above - {"/"} - self.links.keys())


@cache
def visible_paths() -> VisiblePaths:
    """Return the paths that this interpreter needs."""
    links: dict[str, str] = {}
    binds = [_follow(Path(path), links) for path in _wanted()]
    kept = sorted({path for path in binds if path.exists()})
    inner = {path for path in kept if any(other in path.parents for other in kept)}
    # A link below a visible folder is visible already.
    shown = [path for path in kept if path not in inner]
    apart = {
        link: target
        for link, target in links.items()
        if not any(path in Path(link).parents for path in shown)
    }
    return VisiblePaths(tuple(str(path) for path in shown), apart)


def working_folder(view: VisiblePaths) -> str:
    """Return the working directory of programs, which contains no visible path of the host.

    It is ``/tmp``, unless the interpreter or a library is below ``/tmp``.
    """
    shown = [*view.binds, *view.links]
    folders = chain(["/tmp", "/program"], map("/program{}".format, count(1)))  # noqa: S108
    return next(each for each in folders if not any(_overlap(each, path) for path in shown))


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _wanted() -> Iterator[str]:
    yield sys.executable
    yield sys.executable + ("" if sys.prefix == sys.base_prefix else "/../../pyvenv.cfg")
    yield _own_libraries()
    yield from sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
    yield from library_path()
    yield from _system_libraries()
    yield from (*_DATA, _SHELL)


def _own_libraries() -> str:
    base = Path(sys.base_prefix)
    return str(base / "lib") if base not in {Path("/usr"), Path("/")} else sys.executable


def library_path() -> list[str]:
    """Return the entries of ``sys.path`` that hold installed packages."""
    ends = {"site-packages", "dist-packages"}
    return [entry for entry in sys.path if Path(entry).name in ends and Path(entry).is_dir()]


def _system_libraries() -> Iterator[str]:
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    places = [f"/usr/lib/{triplet}", f"/lib/{triplet}", "/lib64", "/usr/lib64"]
    if triplet and Path(places[0]).is_dir():
        yield from places
    else:
        yield from ("/usr/lib", "/lib", "/usr/lib64", "/lib64")


def _follow(path: Path, links: dict[str, str]) -> Path:
    """Resolve a path, and add the links on the way to ``links``."""
    done, rest = Path("/"), list(Path(os.path.normpath(path)).parts[1:])
    while rest:
        done = done / rest.pop(0)
        if done.is_symlink():
            target = links[str(done)] = str(done.readlink())
            whole = Path(os.path.normpath(done.parent / target))
            done, rest = Path("/"), [*whole.parts[1:], *rest]
    return done
