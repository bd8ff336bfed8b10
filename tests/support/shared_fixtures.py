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
    them, so that a test chooses what is installed by listing folders in ``PYTHONPATH``.
    """
    folders: dict[str, Path] = {}

    def run(module: str, *, name: str = "", entry_points: dict[str, str] | None = None) -> Path:
        name = name or module.replace("_", "-")
        if name not in folders:
            source = tmp_path_factory.mktemp(f"{name}-source")
            folders[name] = tmp_path_factory.mktemp(name)
            _write_distribution(source, name, module, entry_points or {name: module})
            _pip_install(source, folders[name])
        return folders[name]

    return run


def _write_distribution(source: Path, name: str, module: str, entry_points: dict[str, str]) -> None:
    lines = [f'"{entry}" = "{value}"' for entry, value in entry_points.items()]
    (source / f"{module}.py").write_text((DISTRIBUTIONS / f"{module}.py").read_text())
    (source / "pyproject.toml").write_text(
        "\n".join(
            [
                "[build-system]",
                'requires = ["hatchling"]',
                'build-backend = "hatchling.build"',
                "[project]",
                f'name = "{name}"',
                'version = "1.0"',
                "[project.entry-points.gem]",
                *lines,
                "[tool.hatch.build.targets.wheel]",
                f'only-include = ["{module}.py"]',
            ]
        )
    )


def _pip_install(source: Path, folder: Path) -> None:
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(source)],
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


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
