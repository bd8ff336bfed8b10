"""Fixtures for all test modules."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Install a module of ``distributions/`` as a distribution, once, and return its folder.

    The distribution is called like the module, with version 1.0, and every folder holds one of
    them, so that a test chooses what is installed by listing folders in ``PYTHONPATH``. The files
    are those of ``pip install --target``, which ``test_third_party.py`` runs.
    """
    folders: dict[str, Path] = {}

    def run(module: str, *, name: str = "", entry_points: dict[str, str] | None = None) -> Path:
        name = name or module.replace("_", "-")
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            _write_distribution(folders[name], name, module, entry_points or {name: module})
        return folders[name]

    return run


def _write_distribution(folder: Path, name: str, module: str, entry_points: dict[str, str]) -> None:
    (folder / f"{module}.py").write_text((DISTRIBUTIONS / f"{module}.py").read_text())
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    lines = [f"{entry} = {value}\n" for entry, value in entry_points.items()]
    (metadata / "entry_points.txt").write_text("".join(["[gem]\n", *lines]))


@pytest.fixture
def children() -> Callable[[], set[str]]:
    """Return a function that lists the child processes of this one."""

    def find() -> set[str]:
        pids: set[str] = set()
        for task in Path(f"/proc/{os.getpid()}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):  # a thread that ended meanwhile
                pids.update((task / "children").read_text().split())
        return pids

    return find
