"""Tasks of a user's repository: found, made, resumed, played, and kept from being read ahead."""

import ast
import dataclasses
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_core.errors import ConfigError
from gem_swe.command import command
from gem_swe.env import SweEnv
from gem_swe.hidden import find_tests, without_tests
from gem_swe.made_folder import COMMAND, MadeFolder
from gem_swe.pytest_results import MARK
from gem_swe.python_environment import find_python
from gem_swe.suites import PytestSuite, _read
from gem_swe.user_repository import read_user_repository
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.harbor import read_harbor
from gem_workers.machine import MachineSpec

SLUGS = Path(__file__).parent / "repositories" / "slugs"
OTHER = "slugs_of_another.cpython-311.pyc"
NEEDED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python with pytest, and with the package that it is to test."""
    folder = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (library,) = folder.glob("lib/python*/site-packages")
    for name in NEEDED:
        for file in importlib.metadata.files(name):
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (library / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), library / file)
    shutil.copytree(SLUGS / "slugs", library / "slugs")
    (library / "slugs-1.dist-info").mkdir()
    (library / "slugs-1.dist-info" / "METADATA").write_text("Name: slugs\nVersion: 1\n")
    (library / "slugs-1.dist-info" / "RECORD").write_text("slugs/__init__.py,,\n")
    (library / "__pycache__").mkdir()
    for name in (OTHER, "slugs.cpython-311.pyc"):
        (library / "__pycache__" / name).touch()
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def made(provider, python, tmp_path_factory):
    """A folder with two tasks, and what the command printed."""
    folder = tmp_path_factory.mktemp("made") / "tasks"
    return folder, run("make", SLUGS, "-o", folder, "--tasks", 2, "--python", python)


def run(*words):
    result = CliRunner().invoke(command, [*map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_tasks_are_made_and_the_share_is_told(made):
    folder, result = made
    assert result.exit_code == 0
    assert "7 tests pass" in result.stderr
    assert re.search(r"2 tasks in .*tasks\.\n2 of \d+ bugs are usable", result.stdout)
    rows = MadeFolder.read(folder).rows()
    assert len({row["bug_patch"] for row in rows}) == 2
    for row in rows:
        assert row["FAIL_TO_PASS"]
        assert row["PASS_TO_PASS"]
        assert "slugs/text.py" not in row["problem_statement"]


def test_the_same_command_goes_on(made, python, tmp_path):
    folder = tmp_path / "tasks"
    shutil.copytree(made[0], folder)
    lines = (folder / "tasks.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "tasks.jsonl").write_bytes(lines[0] + lines[1][:20])
    about = (folder / "repository.json").read_text()
    (folder / "repository.json").write_text(about.replace(str(python), "/none/python"))
    run("make", SLUGS, "-o", folder, "--tasks", 2, "--python", python)
    assert (folder / "tasks.jsonl").read_bytes() == b"".join(lines)
    assert (folder / "repository.json").read_text() == about
    with pytest.raises(ConfigError, match="other options"):
        run("make", SLUGS, "-o", folder, "--tasks", 2, "--python", python, "--seed", 1)


@pytest.mark.parametrize("number", range(2))
def test_the_oracle_is_paid_and_others_are_not(made, number):
    with SweEnv(tasks="rows", data=made[0], call_format=None) as env:
        _, info = env.reset(idx=number)
        assert info["forgeable"] is True
        hidden = env.task.fail_to_pass[0].rpartition("::")[2]
        assert env.machine.run(f"grep -rn 'def {hidden}' .").stdout == ""
        assert env.machine.run("python -m pytest -q").ok  # the tests that are left pass
        assert env.step(env.finish_action).reward == 0.0
        env.reset(idx=number)
        env.step(env.solution())
        assert env.step(env.finish_action).reward == 1.0


def test_tests_are_found_and_all_run_whatever_their_configuration_says(made):
    tests = b"def check_a():\n    assert False\n\ndef check_b():\n    assert True\n"
    options = b"[pytest]\naddopts = -x\npython_functions = check_*\n"
    with SweEnv(tasks="rows", data=made[0], call_format=None) as env:
        env.reset(idx=0)
        env.machine.write("/testbed/tests/pytest.ini", options)
        env.machine.write("/testbed/tests/test_odd.py", tests)
        suite = PytestSuite(tests=("tests/test_odd.py",), command=COMMAND)
        results = suite.run(env.machine, timeout=60)
    assert results.passed == {
        "tests/test_odd.py::check_a": False,
        "tests/test_odd.py::check_b": True,
    }


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "import builtins; builtins.AssertionError = KeyboardInterrupt",
        "import _pytest.runner as r; r.pytest_runtest_call = lambda item: None",
        "import pytest; pytest.Function.runtest = lambda self: None",
        'print(\'@gem-swe@ ["tests/test_text.py::test_slug", "passed", ""]\')',
        "import _pytest.python as p; p.Function.setup = lambda self: pytest.skip('x')",
    ],
)
def test_code_that_lets_every_test_pass_is_paid_nothing(made, code):
    with SweEnv(tasks="rows", data=made[0], call_format=None) as env:
        env.reset(idx=0)
        env.step(env.bash(f"sed -i '2i {code.replace(chr(39), chr(34))}' slugs/__init__.py"))
        assert env.step(env.finish_action).reward == 0.0


def test_tasks_are_task_folders_of_harbor_too(made, python, provider, tmp_path):
    folder = tmp_path / "tasks"
    shutil.copytree(made[0], folder)
    result = run("make", SLUGS, "-o", folder, "--tasks", 2, "--python", python, "--harbor")
    assert "2 task folders in" in result.stdout
    for number, place in enumerate(sorted((folder / "harbor").iterdir())):
        task = read_harbor(place)
        dockerfile = (place / "environment" / "Dockerfile").read_text()
        assert "'pytest==" in dockerfile
        assert "slugs==" not in dockerfile
        if number:
            continue
        # The machine has the host's Python, with the packages that the image would have.
        files = {
            f"/testbed/{one.relative_to(place / 'environment' / 'repository')}": one.read_bytes()
            for one in (place / "environment" / "repository").rglob("*")
            if one.is_file()
        }
        env = {"PATH": f"{python.parent}:/usr/bin:/bin", "PYTHONPATH": "/testbed"}
        spec = MachineSpec(files=files, workdir="/testbed", env=env)
        environment = find_python(SLUGS, str(python))
        machine = {"id": "local", "folders": {one: one for one in environment.folders}}
        played = dataclasses.replace(task, machine=spec)
        with TerminalEnv(tasks=ListedTasks([played]), machine=machine) as env:
            for commands, reward in ((task.solution_script, 1.0), ("true", 0.0)):
                env.reset(seed=0)
                env.step(env.bash(commands))
                assert env.step(env.finish_action).reward == reward


def test_a_copy_that_is_installed_is_nowhere(made, python):
    (library,) = python.parent.parent.glob("lib/python*/site-packages")
    with SweEnv(tasks="rows", data=made[0], call_format=None) as env:
        env.reset(idx=0)
        assert not env.machine.run(f"ls {library / 'slugs'}").ok
        assert env.machine.run(f"ls {library / '__pycache__'}").stdout == f"{OTHER}\n"
        env.step(env.bash("rm -r slugs"))  # for the installed copy to be imported
        assert env.step(env.finish_action).reward == 0.0
    assert (library / "slugs" / "text.py").is_file()


def test_what_is_installed_of_the_repository_is_no_requirement(python):
    assert "slugs==1" in find_python(SLUGS, str(python)).requirements
    assert "slugs==1" not in find_python(SLUGS, str(python), modules=["slugs"]).requirements


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"README.md": ""}, "no package"),
        ({"pack/__init__.py": ""}, "no tests"),
        ({"tests/test_a.py": ""}, "no package"),
    ],
)
def test_a_repository_without_source_or_tests_is_refused(files, message, tmp_path):
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_user_repository(tmp_path)


@pytest.mark.parametrize(
    ("paths", "folders"),
    [
        (["src/pack/__init__.py", "src/pack/a.py", "docs/__init__.py"], ("src/pack/",)),
        (["one/__init__.py", "two/__init__.py", "tests/__init__.py"], ("one/", "two/")),
        (["single.py", "setup.py", "conftest.py"], ("single.py",)),
    ],
)
def test_source_is_found(paths, folders, tmp_path):
    for path in [*paths, "tests/test_a.py"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    found = read_user_repository(tmp_path)
    assert found.folders == folders
    assert found.tests == ("tests/test_a.py",)


@pytest.mark.parametrize("has_git", [True, False])
def test_what_was_built_of_the_source_is_left_out(has_git, tmp_path):
    source = "def f():\n    return 1\n" * 20
    kept = {"pack/__init__.py": "", "pack/a.py": source, "tests/test_a.py": "", "data.txt": "x"}
    built = {
        "build/lib/pack/a.py": f"{source}#",
        "dist/a.tar.gz": "",
        "pack.egg-info/x": "",
        "pack/__pycache__/a.pyc": "",
        "old/copy.py": source,
        "pack/a.py.orig": "",
        "pack/a.pyc": "",
        ".venv/pack/a.py": "",
    }
    for path, text in {**kept, **built}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    known = [*kept]
    if has_git:
        for name, kind in (("old.tar.gz", "gztar"), ("old.zip", "zip")):
            shutil.make_archive(tmp_path / "old", kind, tmp_path, "pack")
            known.append(name)
        shutil.make_archive(tmp_path / "data", "zip", tmp_path, "tests")
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        subprocess.run(["git", "-C", tmp_path, "add", *known, "data.zip"], check=True)
        kept["data.zip"] = ""
    assert set(read_user_repository(tmp_path).files) == set(kept)


def test_copies_are_found_under_any_name(python):
    environment = find_python(SLUGS, str(python))
    (library,) = python.parent.parent.glob("lib/python*/site-packages")
    egg = library / "other-1.0-py3.egg" / "slugs"
    shutil.copytree(SLUGS / "slugs", egg)
    try:
        found = environment.copies_of([], [(SLUGS / "slugs" / "text.py").read_bytes()])
    finally:
        shutil.rmtree(egg.parent)
    assert set(found) >= {f"{egg}/text.py", f"{egg}/__pycache__/text.*.pyc"}
    assert f"{egg}/counter.py" not in found


TESTS = """
class Base:
    kind = 1

    def test_a(self):
        assert self.kind == 1


class TestOne(Base):
    @staticmethod
    def test_b():
        assert True

    class TestInner:
        async def test_c(self):
            assert True


class TestTwo(Base):
    kind = 2


def test_d():
    assert True
"""


@pytest.mark.parametrize(
    ("names", "gone", "left"),
    [
        ("TestOne::test_a", "def test_a", "    kind = 1\n\n\nclass TestOne(Base):\n"),
        ("TestOne::test_b", "def test_b", "class TestOne(Base):\n\n    class TestInner:\n"),
        ("TestOne::TestInner::test_c", "test_c", "    class TestInner:\n        pass\n"),
        ("test_d", "test_d", "    kind = 2\n"),
        ("TestTwo::test_none", "test_none", TESTS),
    ],
)
def test_a_test_is_hidden_wherever_it_is_defined(names, gone, left):
    text = without_tests("t.py", TESTS.encode(), [f"t.py::{names}", "u.py::test_d"]).decode()
    ast.parse(text)
    assert gone not in text
    assert left in text
    assert len(text.splitlines()) >= len(TESTS.splitlines()) - 5


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            b"def test_a(): pass\n\x0c\x0c\nX = '\x0c \xe2\x80\xa8'\ndef test_b():\n    pass\n",
            1,
        ),
        (b"# coding: latin-1\nX = '\xe9'\ndef test_b():\n    pass\ndef test_a(): pass\n", 1),
        (b"def test_a(): pass\ndef test_b(): pass\ndef test_b(): return 1\n", 2),
        (b"def test_b(): pass\ntest_a = test_b\n", 0),
    ],
)
def test_lines_are_those_that_python_counts(content, found):
    assert len(find_tests(ast.parse(content), ["test_b"])) == found
    left = ast.parse(without_tests("t.py", content, ["t.py::test_b"]))
    names = {one.name for one in left.body if isinstance(one, ast.FunctionDef)}
    assert names == ({"test_a"} if found else {"test_b"})


@pytest.mark.parametrize(
    "line",
    ["x", '["a"', f'["a", "failed", "a\n{"where " * 20}"]', '["\\ud800", "failed", "\\ud800"]'],
)
def test_results_of_an_agent_are_read_as_data_however_many_there_are(line):
    passed, found = _read(f"{MARK}{line}\n" * 200_000)
    json.dumps([passed, [one.message for one in found]], ensure_ascii=False).encode()


def test_a_folder_that_machines_see_is_refused(tmp_path, python):
    environment = find_python(SLUGS, str(python))
    environment.check_unseen(tmp_path / "tasks")
    for folder in (python.parent / "tasks", Path("/usr/src")):
        with pytest.raises(ConfigError, match="which machines see"):
            environment.check_unseen(folder)


def test_modules_are_found_in_any_folder(tmp_path):
    for path in ("lib/pack/__init__.py", "lib/pack/inner/__init__.py", "lib/pack/inner/a.py",
                 "lib/pack/test_a.py", "out/tasks/x.py"):  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    found = read_user_repository(tmp_path, source=("lib/pack",), without=tmp_path / "out")
    assert set(found.modules) == {"lib", "pack"}
    assert "out/tasks/x.py" not in found.files


def test_a_python_without_pytest_is_refused(tmp_path, python):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    with pytest.raises(ConfigError, match="has no pytest"):
        find_python(tmp_path)
    for given in ("/none/python", "/bin/false"):
        with pytest.raises(
            ConfigError, match=f"{given} is not a Python that can be run: .{{,100}}$"
        ):
            find_python(tmp_path, given)
    named = f"{python.parent}/../bin/python"
    assert find_python(tmp_path, named).python == str(python)


def test_a_folder_that_is_none_is_refused(tmp_path):
    (tmp_path / "repository.json").write_text(json.dumps({"environment": {}}))
    with pytest.raises(ConfigError, match="gem-core swe make"):
        MadeFolder.read(tmp_path)


def test_results_need_pytest(env):
    suite = PytestSuite(tests=("tests/test_text.py",), command="python3 -S -m pytest")
    with pytest.raises(Exception, match="no results"):
        suite.run(env.machine, timeout=20)
