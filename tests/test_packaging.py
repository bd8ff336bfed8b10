"""The wheel of every distribution contains its licence, its type marker and its entry points."""

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

import gem_core

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ci"))
import distributions  # noqa: E402

FOLDERS = [ROOT, *sorted(ROOT.glob("libs/*")), *sorted(ROOT.glob("plugins/*"))]


@dataclass
class Wheel:
    """A wheel, and the table of its project."""

    project: dict[str, Any]
    archive: ZipFile
    files: list[str]

    def text(self, file):
        return self.archive.read(file).decode()

    def metadata(self, name):
        return self.text(next(file for file in self.files if file.endswith(f".dist-info/{name}")))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Build the wheel of every distribution; return them by the names of their folders."""
    out, built = tmp_path_factory.mktemp("wheels"), {}
    for folder in FOLDERS:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        (wheel,) = WheelBuilder(str(folder)).build(directory=str(out), versions=["standard"])
        archive = ZipFile(wheel)
        built[folder.name] = Wheel(project, archive, archive.namelist())
    yield built
    for wheel in built.values():
        wheel.archive.close()


def test_the_licence_is_in_every_wheel(wheels, subtests):
    for name, wheel in wheels.items():
        with subtests.test(distribution=name):
            assert wheel.metadata("licenses/LICENSE") == (ROOT / "LICENSE").read_text("utf-8")


def test_the_notices_of_the_word_lists_and_of_wordnet_are_in_the_wheel_of_the_games(wheels):
    games = wheels["gem-games"]
    notice = games.metadata("licenses/gem_games/data/README.md")
    assert "CC-BY-SA-4.0" in games.project["license"]
    assert "CC BY-SA 4.0" in notice
    assert games.text("gem_games/data/README.md") == notice
    assert "LicenseRef-WordNet-3.0" in games.project["license"]
    assert "Princeton University" in games.metadata("licenses/gem_games/data/LICENSE.wordnet")


def test_every_package_is_marked_as_typed(wheels, subtests):
    for name, wheel in wheels.items():
        with subtests.test(distribution=name):
            packages = {file.split("/")[0] for file in wheel.files if file.endswith("/__init__.py")}
            packages.discard("hydra_plugins")  # a namespace package, shared with others
            assert packages
            assert {f"{package}/py.typed" for package in packages} <= set(wheel.files)


def test_every_entry_point_leads_to_a_module_of_the_wheel(wheels, subtests):
    for name, wheel in wheels.items():
        project = wheel.project
        groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
        declared = [(group, *one) for group, entries in groups.items() for one in entries.items()]
        written = wheel.metadata("entry_points.txt") if declared else ""
        for group, entry, value in declared:
            with subtests.test(distribution=name, entry_point=value):
                assert f"[{group}]" in written
                assert f"{entry} = {value}" in written
                path = EntryPoint(entry, value, group).module.replace(".", "/")
                assert {f"{path}.py", f"{path}/__init__.py"} & set(wheel.files)


def belongs_to_a_task(path, files):
    """Whether a file is among the tests of a terminal task, by which the task is graded."""
    task, found, _ = path.partition("/tests/")
    return bool(found) and bool({f"{task}/task.toml", f"{task}/task.yaml"} & set(files))


def test_no_test_or_script_is_in_a_wheel(wheels, subtests):
    for name, wheel in wheels.items():
        with subtests.test(distribution=name):
            files = wheel.files
            tests = [
                file for file in files if "/tests/" in file or Path(file).name.startswith("test_")
            ]
            # What `gem-core new` writes, and repositories that agents get with their tests.
            brought = ("gem_core/template/", "gem_swe/repositories/")
            tests = [file for file in tests if not file.startswith(brought)]
            assert not [file for file in tests if not belongs_to_a_task(file, files)]
            tops = {file.split("/")[0] for file in files if ".dist-info/" not in file}
            assert not tops & {"tests", "scripts", "docs", "benchmarks"}


def test_every_distribution_has_the_same_version():
    checked = [
        sys.executable,
        ROOT / "tests" / "ci" / "version.py",
        "--check",
        gem_core.__version__,
    ]
    subprocess.run(checked, check=True)


def test_every_distribution_is_in_the_lists_of_the_project():
    text = distributions.FILE.read_text(encoding="utf-8")
    assert distributions.listed(text) == text, "run `python tests/ci/distributions.py --write`"
