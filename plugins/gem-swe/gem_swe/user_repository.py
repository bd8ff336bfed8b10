"""A repository of a user: its files, its source and its tests."""

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gem_core.errors import ConfigError
from gem_swe.source_files import is_source

__all__ = ["UserRepository", "read_user_repository"]

_LARGEST = 1 << 20
_MOST = 64 << 20
_COPIED = 200
"""The least size of a source file whose copies are left out: an agent would compare them."""
_LEFT_OUT = {
    *("__pycache__", "_build", "build", "dist", "htmlcov", "node_modules", "site", "site-packages"),
    "venv",
}
_ARCHIVES = {".7z", ".bz2", ".egg", ".gz", ".rar", ".tar", ".tgz", ".whl", ".xz", ".zip"}
_PRODUCTS = {".bak", ".orig", ".pyc", ".pyo", ".rej"}
_NOT_MUTATED = {
    "docs",
    "doc",
    "examples",
    "example",
    "benchmarks",
    "scripts",
    "tools",
    "vendor",
    "_vendor",
}


@dataclass(frozen=True)
class UserRepository:
    """A repository as it should be.

    Args:
        name: Its name.
        files: Content by path.
        source: The paths of the source files in which bugs are made.
        folders: The folders in which an agent may change source, each with a slash at the end.
        tests: The paths of the test files.
    """

    name: str
    files: Mapping[str, bytes]
    source: tuple[str, ...]
    folders: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def lines(self) -> int:
        """The number of lines of its source."""
        return sum(self.files[path].count(b"\n") for path in self.source)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of its top-level modules, and of the folders with them."""
        return tuple(dict.fromkeys([*_tops(self.source), *map(self._package, self.source)]))

    def _package(self, path: str) -> str:
        """Return the name of the outermost package that a source file is in."""
        top = PurePosixPath(path).with_suffix("")
        while str(top.parent / "__init__.py") in self.files:
            top = top.parent
        return top.name

    @property
    def test_modules(self) -> tuple[str, ...]:
        """The names of the top-level modules of its tests, which are installed by mistake."""
        return _tops(self.tests)


def read_user_repository(
    folder: Path, *, source: tuple[str, ...] = (), without: Path | None = None
) -> UserRepository:
    """Return the repository in a folder, as git lists its files if it can.

    Args:
        folder: The folder.
        source: The folders of its source, from the repository; empty to find them.
        without: A folder whose files are not of the repository.

    Raises:
        ConfigError: It has no source or no tests, or is too large.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder with a repository.")
    files: dict[str, bytes] = {}
    for path in sorted(_listed(folder)):
        place = folder / path
        if without is not None and place.resolve().is_relative_to(without.resolve()):
            continue
        if place.is_file() and not place.is_symlink() and place.stat().st_size <= _LARGEST:
            files[path] = place.read_bytes()
    if sum(map(len, files.values())) > _MOST:
        raise ConfigError(f"{folder} has more than {_MOST >> 20} MiB of files.")
    folders = tuple(f"{one.strip('/')}/" for one in source) or _source_folders(files)
    sources = tuple(path for path in files if is_source(path, folders=folders))
    sources = tuple(one for one in sources if not _NOT_MUTATED & set(PurePosixPath(one).parts[:-1]))
    tests = tuple(path for path in files if _is_test(path))
    if not sources:
        raise ConfigError(f"{folder} has no package with source; name its folder with --source.")
    if not tests:
        raise ConfigError(f"{folder} has no tests (test_*.py or *_test.py).")
    sourced = {files[one] for one in sources if len(files[one]) >= _COPIED}
    files = {
        path: content
        for path, content in files.items()
        if path in sources or not (content in sourced or _holds(path, content, sources))
    }
    return UserRepository(folder.resolve().name, files, sources, folders, tests)


def _holds(path: str, content: bytes, sources: Sequence[str]) -> bool:
    """Return whether a file is an archive with source files."""
    if PurePosixPath(path).suffix not in _ARCHIVES:
        return False
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            names = tar.getnames()
    except (tarfile.TarError, OSError, EOFError):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, EOFError):
            return False
    return any(f"/{name}".endswith(f"/{one}") for name in names for one in sources)


def _tops(paths: Iterable[str]) -> tuple[str, ...]:
    tops = (PurePosixPath(path.removeprefix("src/")).parts[0] for path in paths)
    return tuple(dict.fromkeys(one.removesuffix(".py") for one in tops))


def _listed(folder: Path) -> set[str]:
    """Return the files that git knows, and others that were not made of them."""
    known = _git_files(folder, "--cached")
    others = _git_files(folder, "--others", "--exclude-standard")
    if not known:
        others = {str(one.relative_to(folder)) for one in folder.rglob("*")}
    return {one for one in known if PurePosixPath(one).suffix not in _PRODUCTS} | {
        one for one in others if not _is_made(PurePosixPath(one))
    }


def _git_files(folder: Path, *options: str) -> set[str]:
    command = ["git", "-C", str(folder), "ls-files", "-z", *options]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return set()
    return set(filter(None, done.stdout.decode("utf-8", "surrogateescape").split("\0")))


def _is_made(path: PurePosixPath) -> bool:
    """Return whether a file is a product: of a build, an installation or a cache."""
    return path.suffix in _PRODUCTS | _ARCHIVES or any(
        part in _LEFT_OUT or part.startswith(".") or part.endswith(".egg-info")
        for part in path.parts[:-1]
    )


def _source_folders(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the packages at the top or in ``src``; all of ``src`` if there are no packages."""
    found = set()
    for path in files:
        parts = PurePosixPath(path).parts
        start = 1 if parts[0] == "src" else 0
        if len(parts) == start + 2 and parts[-1] == "__init__.py":
            found.add("/".join(parts[:-1]) + "/")
    kept = sorted(
        one for one in found if is_source(f"{one}x.py") and not _NOT_MUTATED & set(one.split("/"))
    )
    if kept:
        return tuple(kept)
    singles = [one for one in files if "/" not in one.removeprefix("src/") and is_source(one)]
    return tuple(sorted(singles))


def _is_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
