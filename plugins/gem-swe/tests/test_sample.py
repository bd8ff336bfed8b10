"""The tasks that are shipped and those that are drawn: what their statements claim is so."""

import ast
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from selection import some, thorough

from gem_swe.generated import LEVELS, generate_task
from gem_swe.make_sample import sample_rows
from gem_swe.observations import failures
from gem_swe.repository import REPOSITORIES, shipped
from gem_swe.sample import SAMPLE, sample_tasks
from gem_swe.trial import try_tests

TASKS = sample_tasks()
ROWS = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
EXAMPLE = re.compile(
    r"```python\n(?P<code>.*?)\n```\n\nThe last line (?P<came>.*?)\. It should (?P<should>.*?)\.\n",
    re.DOTALL,
)
CHANGED = re.compile(r"^[-+](?![-+]).*", re.MULTILINE)


def evaluated(files, code, folder):
    """Return what the last line of some code gives: its value as Python writes it, or an error."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    *before, last = ast.parse(code).body
    program = (
        f"{ast.unparse(ast.Module(before, []))}\ntry:\n    print(repr({ast.unparse(last)}))\n"
        "except Exception as error:\n    print('raises', type(error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("number", some(range(len(TASKS))))
def test_what_a_statement_shows_comes_and_what_it_asks_for_is_right(number, tmp_path):
    task = TASKS[number]
    examples = list(EXAMPLE.finditer(task.instruction))
    assert len(examples) == (0 if "not implemented" in task.instruction else task.metadata["bugs"])
    right = shipped(task.metadata["repository"]).files
    for at, example in enumerate(examples):
        values = [
            evaluated(files, example["code"], tmp_path / f"{at}-{name}")
            for name, files in (("wrong", task.files), ("right", right))
        ]
        for value, claim in zip(values, (example["came"], example["should"]), strict=True):
            if claim.startswith("raise"):
                wanted = re.search(r"`(\w+)", claim)
                assert value.startswith("raises" if wanted else ""), (value, claim)
                assert wanted is None or wanted[1] in value
            elif "`" in claim and not claim.endswith("...`"):
                shown = re.search(r"`(.*)`", claim, re.DOTALL)[1]
                assert value == shown or "datetime" in value or "<" in shown, (value, claim)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["instance_id"])
def test_no_statement_names_what_was_changed(row):
    """Outside of the code that shows the symptom, a changed function or line is not mentioned."""
    if row["metadata"]["operators"] == ["missing function"]:
        return
    text = re.sub(r"```.*?```", "", row["problem_statement"], flags=re.DOTALL)
    text = re.sub(r"The last line .*? It should .*?\.\n", "", text, flags=re.DOTALL)
    changed = [line[1:].strip() for line in CHANGED.findall(row["bug_patch"])]
    assert not [line for line in changed if len(line) > 3 and line in text]
    paths = re.findall(r"^\+\+\+ b/(.*)", row["bug_patch"], re.MULTILINE)
    assert not [path for path in paths if path in text or Path(path).name in text]
    assert set(re.findall(r"`([^`]*)`", text)) <= {
        row["repo"], f"{row['repo']}/", ".py", "tests/", shipped(row["repo"]).test_command,
    }  # fmt: skip


def test_the_sample_has_a_hundred_different_tasks():
    assert len({task.id for task in TASKS}) == len({row["bug_patch"] for row in ROWS}) == 100
    assert {task.metadata["repository"] for task in TASKS} == set(REPOSITORIES)
    kinds = {kind for task in TASKS for kind in task.metadata["operators"]}
    assert len(kinds) == 11


@pytest.mark.parametrize("number", some(range(len(TASKS))))
def test_the_tests_that_are_named_fail_and_the_others_pass(number):
    task = TASKS[number]
    probed, expected = task.suite.probed, task.suite.expected
    found = failures(probed, expected, try_tests(task.files, probed))
    assert {one.test for one in found} == set(task.fail_to_pass)
    assert [one.got for one in task.failures] == [one.got for one in found[: len(task.failures)]]
    assert task.pass_to_pass
    observed = try_tests({**task.files, **_mended(task)}, task.suite.probed, hash_seed=7)
    assert observed == task.suite.expected


def _mended(task):
    solution = {path: content for path, content in task.solution.items() if path != "solve.sh"}
    return {path.removeprefix("files/"): content for path, content in solution.items()}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_shipped_repository_passes_its_own_tests_as_its_readme_says(name, tmp_path):
    repository = shipped(name)
    for path, content in repository.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-B", *repository.test_command.split()[1:]],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert repository.test_command in repository.files["README.md"].decode()
    assert 300 <= repository.lines <= 800
    assert len(repository.probed.probes) >= 40


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_decides_how_many_bugs_there_are_and_how_far(level):
    bugs, distances = LEVELS[level]
    task = generate_task(1, level=level)
    assert task.metadata["bugs"] == bugs
    assert task.metadata["distance"] in distances


def test_a_seed_decides_the_task():
    first = generate_task(1)
    generate_task.cache_clear()
    assert generate_task(1) == first
    assert generate_task(2).files != first.files


@pytest.mark.skipif(not thorough(), reason="it takes minutes, and is done in the nightly run")
@pytest.mark.timeout(1800)
def test_the_sample_is_what_its_program_draws():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for row in sample_rows():
            print(json.dumps(row))
    assert text.getvalue() == SAMPLE.read_text("utf-8")
