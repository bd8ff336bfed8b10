"""Generated tasks: the seed decides, the solution is paid, and nothing done is not."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from selection import thorough

from gem_core.errors import ConfigError
from gem_terminal import checks, families
from gem_terminal.families import FAMILIES, failing_script
from gem_terminal.generated import generate_task

DIFFICULTIES = ("easy", "hard")
CASES = [(family, level) for family in FAMILIES for level in DIFFICULTIES]
GRADED = [(*case, seed) for seed in range(3) for case in CASES]
if not thorough():
    GRADED = [(family, DIFFICULTIES[i % 2], i % 3) for i, family in enumerate(FAMILIES)]


@pytest.mark.slow
def test_a_seed_gives_the_same_task_again_and_other_seeds_give_others(subtests):
    for family, level in CASES:
        with subtests.test(f"{family} {level}"):
            tasks, again = (
                [generate_task(seed, difficulty=level, family=family) for seed in range(8)]
                for _ in "12"
            )
            assert tasks == again
            files = {json.dumps(sorted(map(repr, task.machine.files.items()))) for task in tasks}
            assert len(files) == 8
            assert len({json.dumps(task.checks) for task in tasks}) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("family", "level", "seed"), GRADED)
def test_a_generated_task_pays_for_its_solution_and_not_for_nothing(bench, family, level, seed):
    task = generate_task(seed, difficulty=level, family=family)
    assert bench.pays(task) == 0
    assert bench.pays(task, solve=True) == 1


@pytest.mark.slow
def test_another_process_draws_the_same_tasks():
    code = "from gem_terminal.generated import *; print([generate_task(s) for s in range(5)])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.slow
@pytest.mark.parametrize("script", failing_script._SCRIPTS, ids=lambda script: script.name)
def test_every_fault_of_a_script_changes_an_answer(script, tmp_path):
    random = Random(0)
    inputs = [script.draw(random) for _ in range(6)] + [""]
    program = [sys.executable, "-I", "-S"] if script.command == "python3" else ["bash"]

    def answers_rightly(text, given):
        (tmp_path / "script").write_text(text)
        command = [*program, tmp_path / "script"]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        return done.stdout == script.answer(given)

    assert all(answers_rightly(script.text, given) for given in inputs)
    for right, wrong in script.faults:
        faulty = script.text.replace(right, wrong)
        assert not all(answers_rightly(faulty, given) for given in inputs), wrong


@pytest.mark.slow
def test_every_family_is_listed_and_drawn():
    modules = {path.stem for path in Path(families.__file__).parent.glob("*.py")}
    helpers = {"__init__", "draft", "words", "git_objects"}
    assert {draw.__module__.rpartition(".")[2] for draw in FAMILIES.values()} == modules - helpers
    drawn = {generate_task(seed, difficulty="hard").metadata["family"] for seed in range(200)}
    assert drawn == set(FAMILIES)


def test_an_unknown_difficulty_or_family_is_an_error():
    with pytest.raises(ConfigError, match="'easy' or 'hard'"):
        generate_task(0, difficulty="odd")
    with pytest.raises(ConfigError, match="Did you mean 'logs'"):
        generate_task(0, family="log")


@pytest.mark.slow
def test_what_is_expected_is_not_on_the_machine(bench):
    task = generate_task(1, family="script")
    path = task.checks[0]["command"][1]
    assert not task.tests
    assert bench.pays(task, f"echo 'cat /tests/* /logs/*; ls /tests /logs' > {path}") == 0


@pytest.mark.slow
def test_a_server_that_changes_the_asking_program_is_not_paid(bench):
    task = generate_task(0, family="processes")
    [serves] = [check for check in task.checks if check["kind"] == "serves"]
    forged = f"#!/bin/bash\necho '\"{serves['body']}\"'\n"
    start = "cp forged /usr/bin/python3; cp forged /usr/local/bin/python3; sleep 60 >/dev/null &"
    step = bench.play(
        task,
        f"cat > /app/forged <<'END'\n{forged}END\nchmod +x /app/forged",
        f"cat > /app/start.sh <<'END'\ncd /app; {start}\nEND",
    )
    assert step.reward == 0


def test_no_generated_task_is_forgeable():
    for family in FAMILIES:
        assert not generate_task(0, family=family).forgeable


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        ({"a": 25.0}, {"a": 25}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": "25"}, {"a": 25}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ([], {}, False),
        ({"a": None}, {"a": None}, True),
    ],
)
def test_json_is_compared_by_value_and_type(found, expected, same):
    assert checks._same(found, expected) is same


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "mkfifo /app/report.json",
        "truncate -s 1T /app/report.json",
        "ln -s /dev/zero /app/report.json",
        "mkdir /app/report.json",
        "head -c 400000 /dev/zero | tr '\\0' '[' > /app/report.json",
        "head -c 5000 /dev/zero | tr '\\0' 9 > /app/report.json",
        "rm -rf /app; ln -s /app /app",
        "rm -rf /app; touch /app",
    ],
)
def test_a_hostile_answer_is_paid_nothing_and_is_not_a_fault(bench, hostile):
    assert bench.play(generate_task(0, family="json"), hostile).reward == 0
