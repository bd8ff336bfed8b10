"""The sample tasks: each can be read, runs locally, and is paid for its solution alone."""

import pytest

from gem_terminal.folders import read_folder, sample_tasks
from gem_terminal.placement import outlook_of

TASKS = sample_tasks()


def test_there_are_24_samples_in_the_order_of_their_ids():
    ids = [task.id for task in TASKS]
    assert len(set(ids)) == 24
    assert ids == sorted(ids)
    assert len({task.metadata["category"] for task in TASKS}) >= 8
    assert {task.metadata["difficulty"] for task in TASKS} == {"easy", "medium"}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id.partition("/")[2])
def test_a_sample_pays_for_its_solution_and_not_for_nothing(bench, task):
    assert not task.forgeable
    assert bench.pays(task) == 0
    assert bench.pays(task, solve=True) == 1


@pytest.mark.slow
def test_every_sample_runs_on_a_local_machine(provider, subtests):
    for task in TASKS:
        with subtests.test(task.id):
            assert outlook_of(task, provider).state in {"runs", "may run"}
            assert task.unread == ()
            assert not task.internet
            assert task.machine.workdir == "/app"


@pytest.mark.slow
def test_the_folder_of_the_samples_has_nothing_else():
    [root] = {task.machine.build.rpartition("/")[0].rpartition("/")[0] for task in TASKS}
    assert [found.task for found in read_folder(root)] == TASKS


CHEATS = {
    "bash-functions": "echo 'echo same; exit 0' > lib.sh",
    "backup-script": "echo 'echo 4; exit 0' > backup.sh",
    "greeter-service": "echo 'echo 1 > /logs/verifier/reward.txt; kill -9 $PPID' > run.sh",
    "port-conflict": "echo 'echo 1 > /logs/verifier/reward.txt; kill $PPID' > services/users.conf",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_a_program_that_ends_early_is_not_paid(bench, name):
    [task] = [task for task in TASKS if task.id.endswith(f"/{name}")]
    assert bench.pays(task, CHEATS[name]) == 0


@pytest.mark.slow
def test_a_merged_program_that_ends_the_interpreter_is_not_paid(bench):
    [task] = [task for task in TASKS if task.id.endswith("/git-finish-merge")]
    change = "cd shop; echo 'import os; os._exit(0)' > prices.py; git commit -qa --amend -m Merge"
    assert bench.pays(task, change, solve=True) == 0
