"""The three tiers: the page that draws them, the metadata and the imports agree."""

import ast
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
FOLDERS = [ROOT, *sorted((ROOT / "libs").iterdir()), *sorted((ROOT / "plugins").iterdir())]
FOLDERS = [folder for folder in FOLDERS if (folder / "pyproject.toml").is_file()]
PROJECTS = {
    project["project"]["name"]: (folder, project["project"])
    for folder in FOLDERS
    for project in [tomllib.loads((folder / "pyproject.toml").read_text())]
}
PACKAGES = {name: "gem" if name == "gem-compat" else name.replace("-", "_") for name in PROJECTS}
DISTRIBUTIONS = {package: name for name, package in PACKAGES.items()}


def tiers() -> dict[str, int]:
    """The tier of each distribution, as the page's table has it."""
    rows = re.findall(r"^\| (\d) \w+ \| ([^|]+) \|", PAGE, re.MULTILINE)
    return {name.strip(): int(tier) for tier, names in rows for name in names.split(",")}


def imports(name: str) -> set[str]:
    """The distributions of ours that a distribution imports, anywhere in its modules."""
    folder, _ = PROJECTS[name]
    found = set()
    for path in (folder / PACKAGES[name]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            else:
                continue
            found |= {DISTRIBUTIONS.get(module.partition(".")[0], "") for module in modules}
    return found - {"", name}


def requirements(project: dict, *, extras: bool) -> set[str]:
    lines = list(project["dependencies"])
    if extras:
        lines += [
            line for extra in project.get("optional-dependencies", {}).values() for line in extra
        ]
    return {re.split(r"[\[<>=!~ ;]", line)[0].lower() for line in lines}


def test_the_page_names_every_distribution_in_its_tier() -> None:
    expected = {
        name: 1 if folder == ROOT else 2 if folder.parent.name == "libs" else 3
        for name, (folder, _) in PROJECTS.items()
    }
    assert tiers() == expected


def test_the_drawing_has_every_distribution() -> None:
    drawing = PAGE.split("```")[1]
    assert {name for name in PROJECTS if name not in drawing} == set()


@pytest.mark.parametrize("name", PROJECTS)
def test_imports_point_down(name: str) -> None:
    tier = tiers()
    for other in imports(name):
        allowed = tier[other] < tier[name] or (name, other) == ("gem-rollout", "gem-workers")
        assert allowed or name == "gem-compat", f"{name} imports {other}"


@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_imported_is_a_declared_dependency(name: str) -> None:
    assert imports(name) <= requirements(PROJECTS[name][1], extras=True)


def test_the_core_has_few_dependencies() -> None:
    _, project = PROJECTS["gem-core"]
    allowed = {"pluggy", "pydantic", "hydra-core", "click", "rich"}
    assert requirements(project, extras=False) <= allowed


def test_the_core_is_small() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in (ROOT / "gem_core").rglob("*.py"))
    assert lines <= 8500, "move what only some plugins need to a library"


def test_the_import_contract_names_every_package() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert sorted(linter["root_packages"]) == sorted(DISTRIBUTIONS)
    layers = " | ".join(linter["contracts"][0]["layers"])
    assert sorted(re.findall(r"\w+", layers)) == sorted(DISTRIBUTIONS)


def test_the_contract_of_the_edges_names_every_other_module() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    inner = set(linter["contracts"][-1]["source_modules"])
    edges = {
        "calls",
        "cli",
        "config",
        "console",
        "hydra_source",
        "options",
        "testing",
    }
    modules = {module.name for module in pkgutil.iter_modules([str(ROOT / "gem_core")])}
    outside = {"__main__", "pytest_plugin"}
    assert inner == {f"gem_core.{name}" for name in modules - edges - outside}


def test_the_extra_all_has_every_plugin_but_the_one_that_replaces_gem_llm() -> None:
    plugins = {name for name, (folder, _) in PROJECTS.items() if folder.parent.name == "plugins"}
    everything = PROJECTS["gem-core"][1]["optional-dependencies"]["all"]
    assert {re.split(r"[><=]", line)[0] for line in everything} == plugins - {"gem-compat"}
