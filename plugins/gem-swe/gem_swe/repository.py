"""Repositories that are shipped, and what is known of one when its tests have run."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gem_core.errors import ConfigError
from gem_swe.hidden import without_tests
from gem_swe.observations import Failure, Observed, texts_in
from gem_swe.probes import Probed, probed_tests
from gem_swe.trial import try_tests
from gem_swe.unknowable import unknowable_texts

__all__ = ["REPOSITORIES", "Repository", "read_repository", "shipped", "unknowable_in"]

_HERE = Path(__file__).parent / "repositories"
REPOSITORIES = ("inkwell", "ledger", "rota", "routes", "tabler")
"""The names of the repositories that are shipped."""
_LEFT_OUT = {"__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache"}


@dataclass(frozen=True)
class Repository:
    """The files of a repository as they should be.

    Args:
        name: Its name, which is that of its package.
        files: Content by path.
        source: The paths of the files of its package.
        tests: The paths of its test files.
        test_command: How its tests are run.
    """

    name: str
    files: Mapping[str, bytes]
    source: tuple[str, ...]
    tests: tuple[str, ...]
    test_command: str

    @functools.cached_property
    def probed(self) -> Probed:
        """Its tests as probes."""
        return probed_tests({path: self.files[path] for path in self.tests})

    @functools.cached_property
    def expected(self) -> Observed:
        """What is observed of it as it should be."""
        return try_tests(self.files, self.probed)

    @functools.cached_property
    def lines(self) -> int:
        """The number of lines of its source."""
        return sum(self.files[path].count(b"\n") for path in self.source)


def unknowable_in(
    repository: Repository,
    files: Mapping[str, bytes],
    found: Sequence[Failure],
    *,
    hidden: Sequence[str],
    shown: Sequence[Failure] = (),
) -> list[str]:
    """Return texts that tests expect and that an agent can know from nothing.

    Args:
        repository: The repository as it should be.
        files: Its files with what is to be mended, and with all tests.
        found: What fails.
        hidden: The ids of the tests that the agent does not see.
        shown: The failures in the statement.
    """
    given = repository.probed.sources.values()  # the inputs of tests are not secret
    return unknowable_texts(
        {path: repository.files[path] for path in repository.source},
        {path: without_tests(path, content, hidden) for path, content in files.items()},
        expected=(
            text for one in found for text in texts_in(repository.expected[one.test][one.number][1])
        ),
        shown=[*given, *(one.expected for one in shown)],
    )


def read_repository(folder: Path) -> Repository:
    """Return the repository in a folder.

    Raises:
        ConfigError: It has no package or no tests where they are expected: ``NAME/``, ``tests/``.
    """
    name = folder.name
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _LEFT_OUT & set(path.relative_to(folder).parts)
    }
    source = _python(files, f"{name}/")
    tests = tuple(path for path in _python(files, "tests/") if Path(path).name.startswith("test_"))
    if not source or not tests:
        raise ConfigError(f"{folder} has no package {name}/, or no tests/test_*.py.")
    command = "python3 run_tests.py" if "run_tests.py" in files else "python3 -m unittest"
    return Repository(name, files, source, tests, command)


def _python(files: Sequence[str] | Mapping[str, bytes], start: str) -> tuple[str, ...]:
    return tuple(path for path in files if path.startswith(start) and path.endswith(".py"))


@functools.cache
def shipped(name: str) -> Repository:
    """Return a repository that is shipped.

    Raises:
        ConfigError: There is none of this name.
    """
    if name not in REPOSITORIES:
        raise ConfigError(f"There is no repository {name!r}; there are {', '.join(REPOSITORIES)}.")
    return read_repository(_HERE / name)
