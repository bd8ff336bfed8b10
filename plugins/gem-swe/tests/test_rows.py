"""Rows with an image each: what they are read as, and what is done to their images."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gem_core.errors import ConfigError, DataError
from gem_swe.edits import patch_between
from gem_swe.rows import task_of_row
from gem_terminal.task import UnsupportedTaskError

BEFORE, AFTER = {"pack/a.py": b"x = 1\n"}, {"pack/a.py": b"x = 2\n"}
ROW = {
    "instance_id": "Owner__pack-1",
    "problem_statement": "x is wrong",
    "patch": patch_between(BEFORE, AFTER),
    "FAIL_TO_PASS": '["tests/test_a.py::test_x"]',
    "PASS_TO_PASS": ["tests/test_a.py::test_y[1-2]"],
    "image_name": "images/pack",
}
TESTS = patch_between({}, {"tests/test_a.py": b"def test_x():\n    assert True\n"})


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GEM_CORE_CACHE", str(tmp_path / "cache"))


def built(task, folder):
    """Carry out the Dockerfile of a task on a folder in the place of ``/testbed``."""
    context = folder.parent / "context"
    shutil.copytree(task.machine.build, context)
    dockerfile = (context / "Dockerfile").read_text().replace("\\\n", " ")
    for line in dockerfile.replace("/bug.patch", f"{context}/bug.patch").splitlines():
        if line.startswith("RUN "):
            subprocess.run(["bash", "-c", line.removeprefix("RUN ")], cwd=folder, check=True)


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("row", "content"), [(ROW, b"x = 2\n"), ({**ROW, "test_patch": TESTS}, b"x = 1\n")]
)
def test_an_image_gets_one_commit_with_the_bug(row, content, tmp_path):
    folder = tmp_path / "testbed"
    (folder / "pack" / "__pycache__").mkdir(parents=True)
    (folder / "pack" / "a.py").write_bytes(b"x = 1\n")
    (folder / "pack" / "__pycache__" / "a.pyc").touch()
    git(folder, "init", "-q")
    built(task_of_row(row), folder)
    assert (folder / "pack" / "a.py").read_bytes() == content
    assert git(folder, "rev-list", "--all", "--count") == "1\n"
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "reflog") == ""
    assert git(folder, "ls-files") == "pack/a.py\n"


def test_the_solution_leads_back(tmp_path):
    for row, wrong, right in ((ROW, AFTER, BEFORE), ({**ROW, "test_patch": TESTS}, BEFORE, AFTER)):
        (tmp_path / "pack").mkdir(exist_ok=True)
        (tmp_path / "pack" / "a.py").write_bytes(wrong["pack/a.py"])
        solution = task_of_row(row).solution
        (tmp_path / "fix.patch").write_bytes(solution["fix.patch"])
        script = solution["solve.sh"].decode().replace("/solution/", "")
        subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
        assert (tmp_path / "pack" / "a.py").read_bytes() == right["pack/a.py"]


def test_a_row_names_its_tests_and_its_image():
    task = task_of_row(ROW, image="base/{owner}_{name}:{instance_id}")
    assert task.fail_to_pass == ("tests/test_a.py::test_x",)
    assert task.pass_to_pass == ("tests/test_a.py::test_y[1-2]",)
    dockerfile = Path(task.machine.build, "Dockerfile").read_text()
    assert dockerfile.startswith("FROM base/owner_pack-1:Owner__pack-1\n")
    assert task.forgeable


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"image_name": ""}, "names the image"),
        ({"image_name": "a\nRUN b"}, "not the name of an image"),
        ({"patch": None}, "has no 'patch'"),
        ({"patch": "\ud800"}, "lone surrogates"),
        ({"repo": "ledger", "bug_patch": "x"}, "has no 'hidden'"),
        ({"FAIL_TO_PASS": ["--co.py::x"]}, "not a test of pytest"),
        ({"FAIL_TO_PASS": ["/etc/a.py::x"]}, "not a test of pytest"),
        ({"FAIL_TO_PASS": "x"}, "must be a list of tests"),
        ({"FAIL_TO_PASS": []}, "nothing in FAIL_TO_PASS"),
        ({"PASS_TO_PASS": ["test_x (tests.T)"]}, "not a test of pytest"),
    ],
)
def test_a_malformed_row_is_refused(column, message):
    with pytest.raises((DataError, UnsupportedTaskError), match=message):
        task_of_row({**ROW, **column})


@pytest.mark.parametrize("image", ["x/{foo}", "x/{"])
def test_a_pattern_of_images_that_is_malformed_is_refused(image):
    with pytest.raises(ConfigError, match="instance_id"):
        task_of_row(ROW, image=image)
