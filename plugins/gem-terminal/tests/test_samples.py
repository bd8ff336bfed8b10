"""The sample tasks: each can be read, runs locally, and is paid for its solution alone."""

import pytest

from gem_terminal.folders import read_folder, sample_tasks
from gem_terminal.placement import machine_for

TASKS = sample_tasks()


def test_there_are_24_of_them_in_the_order_of_their_ids():
    ids = [task.id for task in TASKS]
    assert len(set(ids)) == 24
    assert ids == sorted(ids)
    assert len({task.metadata["category"] for task in TASKS}) >= 8
    assert {task.metadata["difficulty"] for task in TASKS} == {"easy", "medium"}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id.partition("/")[2])
class TestEachSample:
    def test_it_runs_on_a_local_machine(self, task):
        assert machine_for(task) == ("local", "")
        assert task.unread == ()
        assert not task.internet
        assert task.machine.workdir == "/app"

    def test_the_solution_has_the_reward_1(self, bench, task):
        machine = bench.start(task)
        try:
            bench.solve(machine, task)
            assert bench.grade(machine, task) == 1
        finally:
            machine.close()

    def test_nothing_done_has_the_reward_0(self, bench, task):
        machine = bench.start(task)
        try:
            assert bench.grade(machine, task) == 0
        finally:
            machine.close()


def test_the_folder_of_the_samples_has_nothing_else():
    [root] = {task.machine.build.rpartition("/")[0].rpartition("/")[0] for task in TASKS}
    assert [found.task for found in read_folder(root)] == TASKS


CHEATS = {
    "bash-functions": {"/app/lib.sh": "echo same; exit 0"},
    "backup-script": {"/app/backup.sh": "echo 4; exit 0"},
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_program_that_ends_early_is_not_paid(bench, name):
    [task] = [task for task in TASKS if task.id.endswith(f"/{name}")]
    machine = bench.start(task)
    try:
        for path, content in CHEATS[name].items():
            machine.write(path, content)
        assert bench.grade(machine, task) == 0
    finally:
        machine.close()


def test_a_merged_program_that_ends_the_interpreter_is_not_paid(bench):
    [task] = [task for task in TASKS if task.id.endswith("/git-finish-merge")]
    machine = bench.start(task)
    try:
        bench.solve(machine, task)
        change = "echo 'import os; os._exit(0)' > prices.py; git commit -qa --amend -m Merge"
        assert machine.run(change, cwd="/app/shop").ok
        assert bench.grade(machine, task) == 0
    finally:
        machine.close()
