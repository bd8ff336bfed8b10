"""The distributions declare what they import."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECTS = {
    folder: tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for folder in (ROOT, *sorted(ROOT.glob("libs/*")), *sorted(ROOT.glob("plugins/*")))
    if (folder / "pyproject.toml").is_file()
}
OURS = {"gem": "gem-compat"} | {
    one["name"].replace("-", "_"): one["name"] for one in PROJECTS.values()
}
BROUGHT_ALONG = re.compile(
    r"harness/programs/|repositories/|world_samples/|testing/|pytest_plugin|/template/"
)
"""Modules that only run where what they import is: in an agent program, in tests."""


def names(requirements):
    return {re.split(r"[\[<>=!~ ;]", line)[0].lower() for line in requirements}


def plain(name):
    return name.lower().replace("_", "-")


def imported(tree):
    """Yield the packages that a module imports when it is imported itself."""
    for node in tree:
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from imported(node.body + node.orelse)


def declared(folder, *, with_extras=True):
    """Return what a distribution declares, and what those of ours that it needs declare."""
    project = PROJECTS[folder]
    extras = project.get("optional-dependencies", {}) if with_extras else {}
    found = names(project["dependencies"])
    found |= names(line for extra, each in extras.items() if extra != "dev" for line in each)
    ours = [other for other, one in PROJECTS.items() if one["name"] in found and other != folder]
    return found.union(*(declared(other, with_extras=False) for other in ours))


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    [one for one in PROJECTS if one.name != "gem-adapters"],  # its modules run in trainers
    ids=lambda folder: PROJECTS[folder]["name"],
)
def test_what_a_distribution_imports_is_declared(folder):
    known, checked = declared(folder), 0
    brought = metadata.packages_distributions()
    package = next(one for one, name in OURS.items() if name == PROJECTS[folder]["name"])
    for path in (folder / package).rglob("*.py"):
        if BROUGHT_ALONG.search(path.as_posix()):
            continue
        for name in set(imported(ast.parse(path.read_text()).body)) - {package}:
            sources = {plain(name), OURS.get(name, ""), *map(plain, brought.get(name, ()))}
            fits = (plain(one) in sources or plain(name) in one.split("-") for one in known)
            assert name in sys.stdlib_module_names or any(fits), (path, name)
            checked += 1
    assert checked


def test_the_core_has_few_dependencies():
    allowed = {"pluggy", "pydantic", "hydra-core", "click", "rich", "packaging", "omegaconf"}
    assert names(PROJECTS[ROOT]["dependencies"]) <= allowed
