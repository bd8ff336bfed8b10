"""The wheel of every distribution contains its licence, its type marker and its entry points."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from zipfile import ZipFile

import pytest

import gem_core

ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT, *sorted(ROOT.glob("libs/*")), *sorted(ROOT.glob("plugins/*"))]


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def built(request, tmp_path_factory):
    """Build the wheel of a distribution; return its project table and its files by path."""
    folder, out = request.param, tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with ZipFile(wheel) as archive:
        return project, {
            name: archive.read(name).decode(errors="replace") for name in archive.namelist()
        }


def metadata(files, name):
    return next(text for path, text in files.items() if path.endswith(f".dist-info/{name}"))


def test_the_licence_is_inside(built):
    _, files = built
    assert metadata(files, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize("built", [ROOT / "plugins" / "gem-games"], indirect=True)
def test_the_notices_of_the_word_lists_and_of_wordnet_are_inside(built):
    project, files = built
    notice = metadata(files, "licenses/gem_games/data/README.md")
    assert "CC-BY-SA-4.0" in project["license"]
    assert "CC BY-SA 4.0" in notice
    assert files["gem_games/data/README.md"] == notice
    assert "LicenseRef-WordNet-3.0" in project["license"]
    assert "Princeton University" in metadata(files, "licenses/gem_games/data/LICENSE.wordnet")


def test_every_package_is_marked_as_typed(built):
    _, files = built
    packages = {path.split("/")[0] for path in files if path.endswith("/__init__.py")}
    packages.discard("hydra_plugins")  # a namespace package, shared with other distributions
    assert packages
    assert {f"{package}/py.typed" for package in packages} <= set(files)


def test_every_entry_point_leads_to_a_module_of_the_wheel(built):
    project, files = built
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    declared = [(group, *one) for group, entries in groups.items() for one in entries.items()]
    if declared:
        written = metadata(files, "entry_points.txt")
    for group, name, value in declared:
        assert f"[{group}]" in written
        assert f"{name} = {value}" in written
        path = EntryPoint(name, value, group).module.replace(".", "/")
        assert {f"{path}.py", f"{path}/__init__.py"} & set(files)


def belongs_to_a_task(path, files):
    """Whether a file is among the tests of a terminal task, by which the task is graded."""
    task, found, _ = path.partition("/tests/")
    return bool(found) and bool({f"{task}/task.toml", f"{task}/task.yaml"} & set(files))


def test_no_test_or_script_is_inside(built):
    _, files = built
    tests = [path for path in files if "/tests/" in path or Path(path).name.startswith("test_")]
    assert not [path for path in tests if not belongs_to_a_task(path, files)]
    tops = {path.split("/")[0] for path in files if ".dist-info/" not in path}
    assert not tops & {"tests", "scripts", "docs", "benchmarks"}


def test_every_distribution_has_the_same_version():
    checked = [
        sys.executable,
        ROOT / "tests" / "ci" / "version.py",
        "--check",
        gem_core.__version__,
    ]
    subprocess.run(checked, check=True)
