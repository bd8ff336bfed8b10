"""Software that tests need and a machine may lack: the test is skipped, and says what is missing.

``GEM_TEST_REQUIRE`` lists software that must be there, separated by commas: a test that misses it
fails. ``all`` means every name below. CONTRIBUTING.md lists them.
"""

import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import NoReturn

import pytest

__all__ = ["ENGINES", "PACKAGES", "VARIABLE", "missing", "needs", "required"]

VARIABLE = "GEM_TEST_REQUIRE"
PACKAGES = {
    "accelerate": "pip install 'transformers[serving]'",
    "faiss": "pip install faiss-cpu",
    "fastapi": "pip install 'transformers[serving]'",
    "gguf": "pip install gguf",
    "peft": "pip install peft",
    "ray": "pip install 'ray>=2.40'",
    "torch": "pip install torch",
    "torchao": "pip install torchao",
    "trackio": "pip install trackio",
    "uvicorn": "pip install 'transformers[serving]'",
    "wandb": "pip install wandb",
}
"""Packages that ``make test`` does not install, with the command that installs each."""
ENGINES = ("bwrap", "chromium", "docker", "landlock", "namespaces", "postgres")
"""Software other than Python packages."""


def required() -> set[str]:
    """Return the names of the required software.

    Raises:
        pytest.UsageError: A name is unknown, so it would require nothing.
    """
    names = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")} - {""}
    known = {*PACKAGES, *ENGINES}
    if unknown := names - known - {"all"}:
        found, wanted = (", ".join(sorted(each)) for each in (unknown, known))
        raise pytest.UsageError(f"{VARIABLE} has unknown names: {found}. It accepts all, {wanted}.")
    return known if "all" in names else names


def missing(name: str, reason: str) -> NoReturn:
    """Skip the current test or module; fail if the missing software is required."""
    __tracebackhide__ = True
    if name in required():
        pytest.fail(f"{VARIABLE} names {name}: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def needs(*names: str) -> ModuleType:
    """Return the first of some modules; skip the test if one of them is not installed.

    A test module may import a package of ``PACKAGES`` at its top without this: the whole module is
    skipped if the package is missing.
    """
    __tracebackhide__ = True
    for name in names:
        package = name.partition(".")[0]
        if find_spec(package) is None:
            missing(package, f"{package} is not installed: {how_to_get(package)}")
    return import_module(names[0])


def how_to_get(package: str) -> str:
    """Return the command that installs a package."""
    return PACKAGES.get(package, f"pip install {package}")
