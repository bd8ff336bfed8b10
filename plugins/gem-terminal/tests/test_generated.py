"""Generated tasks: the seed decides, the solution is paid, and nothing done is not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from gem_core.errors import ConfigError
from gem_terminal import checker, families
from gem_terminal.families import FAMILIES, failing_script
from gem_terminal.generated import generate_task

SEEDS = range(3)
CASES = [(family, difficulty) for family in FAMILIES for difficulty in ("easy", "hard")]


@pytest.mark.parametrize(("family", "difficulty"), CASES)
class TestEveryFamily:
    def test_a_seed_gives_the_same_task_again_and_another_one_another(self, family, difficulty):
        def task(seed):
            return generate_task(seed, difficulty=difficulty, family=family)

        assert [task(seed) for seed in range(5)] == [task(seed) for seed in range(5)]
        assert (
            len({json.dumps(sorted(map(repr, task(s).machine.files.items()))) for s in range(20)})
            == 20
        )
        assert len({task(seed).tests["checks.json"] for seed in range(20)}) == 20

    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_solution_has_the_reward_1(self, bench, family, difficulty, seed):
        task = generate_task(seed, difficulty=difficulty, family=family)
        machine = bench.start(task)
        try:
            bench.solve(machine, task)
            assert bench.grade(machine, task) == 1
        finally:
            machine.close()

    @pytest.mark.parametrize("seed", SEEDS)
    def test_nothing_done_has_the_reward_0(self, bench, family, difficulty, seed):
        task = generate_task(seed, difficulty=difficulty, family=family)
        machine = bench.start(task)
        try:
            assert bench.grade(machine, task) == 0
        finally:
            machine.close()


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


@pytest.mark.parametrize("script", failing_script._SCRIPTS, ids=lambda script: script.name)
def test_every_fault_of_a_script_changes_an_answer(script, tmp_path):
    random = Random(0)
    inputs = [script.draw(random) for _ in range(6)] + [""]

    def answers(text):
        (tmp_path / "script").write_text(text)
        program = [sys.executable, "-I", "-S"] if script.command == "python3" else ["bash"]
        return [
            subprocess.run(
                [*program, tmp_path / "script"],
                input=each,
                capture_output=True,
                text=True,
                check=False,
            ).stdout
            for each in inputs
        ]

    expected = [script.answer(each) for each in inputs]
    assert answers(script.text) == expected
    for right, wrong in script.faults:
        assert answers(script.text.replace(right, wrong)) != expected, wrong


def test_every_family_is_listed_and_drawn():
    modules = {path.stem for path in Path(families.__file__).parent.glob("*.py")}
    helpers = {"__init__", "draft", "words", "git_objects"}
    assert {draw.__module__.rpartition(".")[2] for draw in FAMILIES.values()} == modules - helpers
    drawn = {generate_task(seed, difficulty="hard").metadata["family"] for seed in range(200)}
    assert drawn == set(FAMILIES)


def test_what_is_not_known_is_an_error():
    with pytest.raises(ConfigError, match="'easy' or 'hard'"):
        generate_task(0, difficulty="odd")
    with pytest.raises(ConfigError, match="Did you mean 'logs'"):
        generate_task(0, family="log")


def test_a_program_of_the_agent_does_not_find_the_answers(bench):
    task = next(
        task
        for task in (generate_task(seed, family="script") for seed in range(20))
        if "/app/totals.py" in task.machine.files
    )
    cheat = (
        "import json, sys\n"
        "text = sys.stdin.read()\n"
        "for check in json.load(open('/tests/checks.json')):\n"
        "    if check.get('stdin') == text: print(check['stdout'])\n"
    )
    machine = bench.start(task)
    try:
        machine.write("/app/totals.py", cheat)
        assert bench.grade(machine, task) == 0
    finally:
        machine.close()


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
def test_json_is_compared_by_value_and_type(tmp_path, found, expected, same):
    file = tmp_path / "found.json"
    file.write_text(json.dumps(found))
    assert checker._json(str(file), expected) is same


def test_a_pipe_in_the_place_of_a_file_does_not_block_the_checks(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not checker._passes({"kind": "text", "path": str(tmp_path / "pipe"), "text": ""})
