"""The files of an agent's machine that are allowed to go to the fresh machine that grades.

Carried are the working directory, folders of data, what the task declares, and paths outside the
system's folders that its instruction names. Of these, regular files, folders, and links that stay
among them are carried, but no programs that run as their owner. What a tool would take for its own
configuration or code stays behind there too, unless the instruction names its path: a grader runs
such tools.
"""

import posixpath
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from gem_workers.machine import FileChange

__all__ = ["CarriedFiles", "is_reserved"]

_DATA = (
    "/app",
    "/data",
    "/home",
    "/media",
    "/mnt",
    "/output",
    "/outputs",
    "/repo",
    "/results",
    "/root",
    "/srv",
    "/testbed",
    "/tmp",  # noqa: S108 - of machines
    "/var/log",
    "/var/tmp",  # noqa: S108
    "/var/www",
    "/work",
    "/workspace",
)
"""Folders that hold data by custom."""
_PROGRAMS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr")
"""Where an image has programs and libraries."""
_SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc"),
    *("/run", "/sbin", "/snap", "/sys", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32"),
    *("/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share", "/var/cache"),
    *("/var/lib", "/var/spool"),
)
"""A working directory in or above one of these is not carried as a whole."""
_RESERVED = ("/dev", "/logs", "/proc", "/solution", "/sys", "/tests")
"""Where a grader puts its own files, and the system."""
_SEARCHED = ("LD_LIBRARY_PATH", "NODE_PATH", "PATH", "PERL5LIB")
"""Variables with folders of programs and libraries."""
_LOADED = ("BASH_ENV", "ENV", "GIT_CONFIG_GLOBAL", "LD_PRELOAD", "OPENSSL_CONF", "PYTHONHOME")
"""Variables with the paths of files that programs read when they start."""
_BESIDE = ("bin", "include", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg", "sbin", "share")
"""What belongs to the programs in a folder ``bin``."""
_STARTUP = re.compile(r"(site|user)customize([.].*)?|__pycache__|.*[.]py[co]")
_PYTEST = re.compile(
    r"conftest([.].*)?|[.]?pytest[.](ini|toml)|tox[.]ini|setup[.]cfg|entry_points[.]txt"
)
_MODULE = (".py", ".pyc", ".so")
_OF_PYTEST = re.compile(r"_?pytest|pytest_\w+|pluggy|iniconfig|packaging|pygments")
"""Modules that tests may install first, where the image does not have them."""
_AS_ITS_OWNER = 0o6000
"""The bits by which a program runs as its owner or its group."""


@dataclass
class CarriedFiles:
    """Decides about each change of the files of an agent's machine.

    Args:
        workdir: The working directory of the machine.
        declared: Absolute paths of files and folders that the task declares. Declared paths
            themselves are always carried; what is in a declared folder is carried like the rest.
        instruction: What the agent was told to do.
        modules: Names of the top-level modules of the image's Python, besides its own library.
        env: The environment of the machine's image.
        everything: Carry all but what belongs to the image's programs or to the grader; an agent
            can then decide what its work is graded with.
        left: The paths of changes that were left behind, in order.
    """

    workdir: str
    declared: Collection[str] = ()
    instruction: str = ""
    modules: Collection[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    everything: bool = False
    left: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.declared = {posixpath.normpath(path) for path in self.declared}
        workdir = posixpath.normpath(self.workdir or "/")
        is_system = any(_is_below(workdir, (one,)) or _is_below(one, (workdir,)) for one in _SYSTEM)
        own = () if is_system else (workdir,)
        self._roots = (*_DATA, *own, *self.declared)
        self._programs = tuple(_of_programs(self.env))
        searched = self.env.get("PYTHONPATH", "").split(":")
        self._imported_from = {
            workdir,
            *self._roots,
            *map(posixpath.normpath, filter(None, searched)),
        }
        self._homes = {"/root", posixpath.normpath(self.env.get("HOME") or "/root")}

    def keeps(self, change: FileChange) -> bool:
        """Return whether a change goes to the fresh machine."""
        if is_reserved(change.path):
            return False
        kept = self._is_carried(change)
        if not kept and not (change.kind == "folder" and change.in_image):
            self.left.append(change.path)
        return kept

    def would_keep(self, path: str) -> bool:
        """Return whether a new file at a path would go to the fresh machine."""
        return not is_reserved(path) and self._is_carried(FileChange(path, "file", False))

    def _is_carried(self, change: FileChange) -> bool:
        path = change.path
        if change.kind == "other" or (change.kind == "link" and not self._stays_inside(change)):
            return False
        if path in self.declared:
            return True
        if self.everything:
            return not (change.in_image and _is_below(path, _PROGRAMS))
        if _is_below(path, self._programs):
            return False
        if self._is_named(path):
            return _is_below(path, self._roots) or not _is_below(path, _SYSTEM)
        return _is_below(path, self._roots) and not self._is_a_tools_own(change)

    def _stays_inside(self, change: FileChange) -> bool:
        """Return whether a link leads into a folder whose files are carried.

        A ``..`` after the name of a folder is refused: that folder may be a link itself.
        """
        parts = change.target.split("/")
        names = [number for number, part in enumerate(parts) if part not in {"", ".", ".."}]
        if names and ".." in parts[names[0] :]:
            return False
        target = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), change.target))
        if is_reserved(target):
            return False
        return self.everything or _is_below(target, self._roots)

    def _is_a_tools_own(self, change: FileChange) -> bool:
        pure = PurePosixPath(change.path)
        if change.mode & _AS_ITS_OWNER and change.kind == "file":
            return True
        if self._is_hidden_at_home(pure):
            return True
        if any(_STARTUP.fullmatch(part) for part in pure.parts):
            return True
        if _PYTEST.fullmatch(pure.name) or self._hides_a_module(change, pure):
            return True
        return _is_gits(change, pure)

    def _is_hidden_at_home(self, pure: PurePosixPath) -> bool:
        """Return whether a path is a home, or in a hidden file or folder of a home."""
        for above in (pure, *pure.parents):
            is_home = str(above) in self._homes or str(above.parent) == "/home"
            if is_home:
                inner = pure.relative_to(above).parts
                return not inner or inner[0].startswith(".")
        return str(pure) == "/home"

    def _hides_a_module(self, change: FileChange, pure: PurePosixPath) -> bool:
        """Return whether Python might take a new file or link for a module of its own."""
        is_package = pure.stem == "__init__"
        if change.in_image or not (pure.suffix in _MODULE or change.kind == "link"):
            return False
        place = pure.parent if is_package else pure
        name = place.name.partition(".")[0]
        is_known = name in sys.stdlib_module_names or name in self.modules
        is_known = is_known or bool(_OF_PYTEST.fullmatch(name))
        return is_known and str(place.parent) in self._imported_from

    def _is_named(self, path: str) -> bool:
        """Return whether the instruction names a path, whole or from the working directory."""
        inside = posixpath.relpath(path, self.workdir or "/")
        return any(
            re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|[.]\w)", self.instruction)
            for name in (path, inside)
        )


def is_reserved(path: str) -> bool:
    """Return whether a path is where a grader, or the system, puts its own files."""
    return _is_below(path, _RESERVED)


def _of_programs(env: Mapping[str, str]) -> Iterator[str]:
    """Return the paths that the environment of an image names for programs and what they load."""
    for name in _SEARCHED:
        for path in filter(None, env.get(name, "").split(":")):
            folder = posixpath.normpath(path)
            yield folder
            if name == "PATH" and folder.endswith(("/bin", "/sbin")):
                yield from (posixpath.join(posixpath.dirname(folder), one) for one in _BESIDE)
    yield from (posixpath.normpath(env[name]) for name in _LOADED if env.get(name))


def _is_gits(change: FileChange, pure: PurePosixPath) -> bool:
    """Return whether git might take a path for its configuration, a hook, or another repository.

    Git takes a folder that is not called ``.git`` for a repository only if it has a file ``HEAD``.
    """
    if pure.name == ".git":
        return change.kind not in {"folder", "replaced", "deleted"}
    inside = any(part.endswith(".git") for part in pure.parts[:-1])
    if pure.name in {"config", "config.worktree"}:
        return inside or change.in_image
    if pure.name == "HEAD":
        return not (inside or change.in_image)
    return inside and (pure.name == "commondir" or "hooks" in pure.parts)


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
