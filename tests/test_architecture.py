"""The distributions declare what they import."""

import re
import tomllib
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
IMPORT = re.compile(r"^\s*(?:from|import) (gem\w*)", re.MULTILINE)


def names(requirements):
    return {re.split(r"[\[<>=!~ ;]", line)[0].lower() for line in requirements}


@pytest.mark.slow
def test_every_distribution_of_ours_that_is_imported_is_a_declared_dependency(subtests):
    for folder, project in PROJECTS.items():
        with subtests.test(distribution=project["name"]):
            package = next(one for one, name in OURS.items() if name == project["name"])
            texts = [path.read_text() for path in (folder / package).rglob("*.py")]
            imported = {OURS[one] for text in texts for one in IMPORT.findall(text) if one in OURS}
            extras = project.get("optional-dependencies", {}).values()
            declared = names(
                [*project["dependencies"], *(line for each in extras for line in each)]
            )
            assert texts
            assert imported - {project["name"]} <= declared


def test_the_core_has_few_dependencies():
    allowed = {"pluggy", "pydantic", "hydra-core", "click", "rich"}
    assert names(PROJECTS[ROOT]["dependencies"]) <= allowed


def test_the_extra_all_has_every_plugin_but_the_one_that_replaces_gem_llm():
    plugins = {one["name"] for folder, one in PROJECTS.items() if folder.parent.name == "plugins"}
    everything = PROJECTS[ROOT]["optional-dependencies"]["all"]
    assert names(everything) == plugins - {"gem-compat"}
