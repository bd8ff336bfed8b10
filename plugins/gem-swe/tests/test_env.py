"""Episodes: what an agent sees and does, what it is paid, and what is said of it."""

import dataclasses
import json
import subprocess

import pytest

from gem_swe.env import SweEnv
from gem_swe.one_commit import one_commit
from gem_swe.task import WORKDIR
from gem_tasks.task_source import ListedTasks
from gem_terminal.verify import GradingError


def call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.fixture
def calls(provider, task):
    with SweEnv(tasks=ListedTasks([task]), machine=provider) as made:
        made.reset(seed=0)
        yield lambda *asked, **arguments: made.step(call(*asked, **arguments))


def test_the_statement_shows_what_is_wrong_and_not_where(task):
    assert "slug('A  B')" in task.instruction or 'slug("A  B")' in task.instruction
    assert "It should give `'a-b'`" in task.instruction
    assert "text.py" not in task.instruction


def test_the_oracle_is_paid_and_nothing_is_not(task, play):
    assert play(task, solve=True).reward == 1.0
    step = play(task)
    assert step.reward == 0.0
    assert step.info["tests"] == {"FAIL_TO_PASS": "0 of 2", "PASS_TO_PASS": "5 of 5"}
    assert step.info["results"][0] == {
        "test": "tests/test_text.py::test_slug",
        "expression": 'slug("A  B")',
        "expected": "'a-b'",
        "before": "'a'",
        "after": "'a'",
    }
    (*_, last) = play(task, solve=True).info["results"]
    assert (last["before"], last["after"]) == ("'abc-def-ghi'", "'abc'")
    assert "FAIL_TO_PASS" not in step.info["grading"]["reason"]
    assert step.info["patch"] == ""


def test_a_part_is_paid_if_asked_and_if_nothing_else_breaks(task, play):
    part = "sed -i 's/) < limit/) > limit + 1/' slugs/text.py"
    assert play(task, part).reward == 0.0
    step = play(task, part, partial=True)
    assert step.reward == 0.5
    assert step.info["tests"] == {"FAIL_TO_PASS": "1 of 2", "PASS_TO_PASS": "5 of 5"}
    broken = f"{part}; sed -i 's/ + 1$/ + 2/' slugs/counter.py"
    assert play(task, broken, partial=True).reward == 0.0


def test_the_patch_is_of_the_source_alone(task, play):
    step = play(
        task, "echo '# x' >>slugs/text.py; echo '# y' >>tests/test_text.py; touch slugs/a.py"
    )
    assert [line for line in step.info["patch"].splitlines() if line.startswith("diff")] == [
        "diff --git a/slugs/a.py b/slugs/a.py",
        "diff --git a/slugs/text.py b/slugs/text.py",
    ]


def test_tests_that_grade_are_not_in_the_repository(task):
    visible = task.files["tests/test_text.py"].decode()
    for name in task.fail_to_pass:
        assert name.rpartition("::")[2] not in visible
    for name in task.pass_to_pass:
        assert name.rpartition("::")[2] in visible


class TestActions:
    def test_files_are_viewed_and_edited(self, calls):
        assert "slugs/" in calls("view", path=".").observation
        shown = calls("view", path="slugs/text.py", lines="29-30").observation
        assert "    29\t        if len(result)" in shown
        assert "    31\t" not in shown
        step = calls("edit", path="slugs/text.py", old="word) < limit", new="word) > limit")
        assert "29\t        if len(result) + len(sep) + len(word) > limit:" in step.observation
        assert calls("submit").reward == 1.0

    def test_a_file_is_created(self, calls):
        assert "Written" in calls("edit", path="slugs/new.py", old="", new="x = 1\n").observation
        assert "1\tx = 1" in calls("view", path=f"{WORKDIR}/slugs/new.py").observation

    @pytest.mark.parametrize(
        ("function", "arguments", "problem"),
        [
            ("edit", {"path": "slugs/text.py", "old": "nowhere", "new": ""}, "does not occur"),
            ("edit", {"path": "slugs/text.py", "old": "word", "new": ""}, "times"),
            ("edit", {"path": "slugs/text.py", "old": "", "new": "x"}, "exists already"),
            ("edit", {"path": "none.py", "old": "a", "new": "b"}, "none.py"),
            ("view", {"path": "none.py"}, "none.py"),
            ("view", {"path": "slugs/text.py", "lines": "x"}, "10-40"),
            ("view", {"path": "slugs/text.py", "lines": "9000"}, "lines]"),
            ("view", {"path": "slugs/text.py", "lines": "9" * 5000}, "10-40"),
            ("view", {"path": "a\0b"}, "not a valid path"),
            ("view", {"path": "x" * 100_000}, "not a valid path"),
            ("edit", {"path": "\ud800", "old": "", "new": ""}, "not a valid path"),
            ("view", {}, "path"),
            ("submit", {"answer": "done"}, "do not fit"),
            ("write_file", {"path": "/x", "content": ""}, "write_file"),
        ],
    )
    def test_what_cannot_be_done_is_said(self, calls, function, arguments, problem):
        step = calls(function, **arguments)
        assert problem in step.observation
        assert not step.terminated

    def test_an_episode_goes_on_in_a_copy(self, provider, task):
        with SweEnv(tasks=ListedTasks([task]), machine=provider) as env:
            env.reset(seed=0)
            edit = call("edit", path="slugs/text.py", old="word) < limit", new="word) > limit")
            env.step(edit)
            with env.spawn() as other:
                other.set_state(env.get_state())
                assert other.step(call("submit")).reward == 1.0
            env.step(call("edit", path="slugs/text.py", old="word) > limit", new="word) < limit"))
            assert env.step(call("submit")).reward == 0.0


class TestRepository:
    @pytest.fixture
    def clone(self, tmp_path):
        def write(files):
            for path, content in {**files, **one_commit(files)}.items():
                place = tmp_path / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)

            def git(*words):
                return subprocess.run(
                    ["git", "-c", "safe.directory=*", *words],
                    cwd=tmp_path, capture_output=True, text=True, check=True,
                ).stdout  # fmt: skip

            return git

        return write

    def test_git_finds_one_commit_and_nothing_else(self, clone):
        git = clone({"a.py": b"x = 1\n", "b/c/d.txt": b"", "b/e": b"\xff", "run.sh": b"ls\n"})
        assert git("fsck", "--full") == ""
        assert git("status", "--porcelain") == ""
        assert git("rev-list", "--all", "--count") == "1\n"
        assert git("fsck", "--full", "--unreachable", "--lost-found") == ""
        assert git("ls-files").split() == ["a.py", "b/c/d.txt", "b/e", "run.sh"]
        assert "main" in git("branch")

    def test_equal_files_have_equal_commits(self):
        assert one_commit({"a": b"1", "b": b"2"}) == one_commit({"b": b"2", "a": b"1"})
        assert one_commit({"a": b"1"}) != one_commit({"a": b"2"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": "medium"}, "sample, rows, easy, hard"),
        ({"data": "x.jsonl"}, "swe:Custom"),
        ({"tasks": "rows"}, "No rows were given"),
    ],
)
def test_what_is_not_known_is_refused(options, message):
    with pytest.raises(Exception, match=message):
        SweEnv(**options)


def test_a_machine_without_python_is_a_fault(provider, task, play):
    machine = dataclasses.replace(task.machine, env={"PATH": "/none"})
    with pytest.raises(GradingError, match=r"Python 3\.11"):
        play(dataclasses.replace(task, machine=machine))
