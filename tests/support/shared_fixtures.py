"""Fixtures for all test modules."""

import configparser
import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import gem_core.plugins
from gem_core import extras
from gem_core.registry import Registry

DISTRIBUTIONS = Path(__file__).parents[1] / "distributions"


@pytest.fixture
def registry() -> Registry:
    """A new registry, so that tests do not see each other's specs."""
    return Registry()


@pytest.fixture(scope="session")
def run_python() -> Callable[..., str]:
    """Run code in a fresh interpreter, and return what it prints."""

    def run(code: str, **environ: str) -> str:
        clean = {name: value for name, value in os.environ.items() if name != "GEM_PLUGINS"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**clean, **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


PROGRAMS = """
import json, os, runpy, sys
programs, folder = json.loads(sys.argv[1]), sys.argv[2]
for number, (words, environ) in enumerate(programs):
    for descriptor, name in ((1, "out"), (2, "err")):
        file = os.open(f"{folder}/{number}.{name}", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, descriptor)
        os.close(file)
    sys.argv = words
    os.environ.update(environ)
    run = runpy.run_path if words[0].endswith(".py") else runpy.run_module
    status = 0
    try:
        run(words[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    for name in environ:
        del os.environ[name]
    with open(f"{folder}/{number}.status", "w") as file:
        file.write(str(status))
"""


@pytest.fixture(scope="session")
def run_programs(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., list["subprocess.CompletedProcess[bytes]"]]:
    """Run programs one after the other in one fresh interpreter, each with streams of its own.

    A program is the words of its command line, the first of which is a file or a module, or a pair
    of such words and further environment variables.
    """

    def run(
        programs: list[Any], cwd: Path | str = ".", **environ: str
    ) -> list["subprocess.CompletedProcess[bytes]"]:
        folder = tmp_path_factory.mktemp("programs")
        pairs = [one if isinstance(one, tuple) else (one, {}) for one in programs]
        command = [sys.executable, "-c", PROGRAMS, json.dumps(pairs), str(folder)]
        subprocess.run(command, cwd=cwd, env={**os.environ, **environ}, timeout=120, check=True)

        def read(number: int, name: str) -> bytes:
            return (folder / f"{number}.{name}").read_bytes()

        return [
            subprocess.CompletedProcess(
                words, int(read(number, "status")), read(number, "out"), read(number, "err")
            )
            for number, (words, _) in enumerate(pairs)
        ]

    return run


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Install a module of ``distributions/`` as a distribution, once, and return its folder.

    The distribution is called like the module, with version 1.0, and every folder holds one of
    them, so that a test chooses what is installed by listing folders. The files are those of
    ``pip install --target``, which ``test_third_party.py`` runs.
    """
    folders: dict[str, Path] = {}

    def run(
        module: str,
        *,
        name: str = "",
        entry_points: dict[str, str] | None = None,
        namespaces: tuple[str, ...] = (),
    ) -> Path:
        name = name or module.replace("_", "-")
        key = f"{name}-{'-'.join(namespaces)}"
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp(key)
            groups = {"gem": entry_points or {name: module}}
            groups |= {"gem.namespaces": dict.fromkeys(namespaces, module)} if namespaces else {}
            write_distribution(folders[key], name, module, groups)
        return folders[key]

    return run


def write_distribution(
    folder: Path, name: str, module: str, groups: dict[str, dict[str, str]]
) -> None:
    """Write a distribution of a module of ``distributions/``, with its groups of entry points."""
    (folder / f"{module}.py").write_text((DISTRIBUTIONS / f"{module}.py").read_text())
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    config = configparser.ConfigParser()
    config.read_dict(groups)
    with (metadata / "entry_points.txt").open("w") as file:
        config.write(file)


@pytest.fixture
def plugins_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have this process load its plugins anew, with those in some folders, until the test ends."""

    def use(*folders: Path | str) -> None:
        for module in [path.stem for folder in folders for path in Path(folder).glob("*.py")]:
            monkeypatch.setitem(sys.modules, module, None)  # as it is now, when the test ends
            del sys.modules[module]
        for folder in reversed(folders):
            monkeypatch.syspath_prepend(folder)
        find = gem_core.plugins._plugins.__wrapped__
        monkeypatch.setattr(gem_core.plugins, "_plugins", functools.cache(find))

    return use


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Have the package of an extra count as missing until the test ends."""
    version = metadata.version

    def hide(name: str) -> None:
        def found(asked: str) -> str:
            if asked.lower() == name.lower():
                raise metadata.PackageNotFoundError(asked)
            return version(asked)

        monkeypatch.setattr(metadata, "version", found)
        extras._problems.cache_clear()

    yield hide
    extras._problems.cache_clear()


@pytest.fixture
def children() -> Callable[[], set[str]]:
    """Return a function that lists the child processes of this one."""

    def find() -> set[str]:
        pids: set[str] = set()
        for task in Path(f"/proc/{os.getpid()}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended
                pids.update((task / "children").read_text().split())
        return pids

    return find
