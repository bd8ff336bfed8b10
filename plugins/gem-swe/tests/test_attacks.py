"""An agent that wants more than it earned, and one that looks for the solution."""

import subprocess

import pytest
from swe_attacks import ATTACKS

from gem_swe.concealed import _OURS
from gem_swe.env import SweEnv
from gem_swe.task import WORKDIR
from gem_tasks.task_source import ListedTasks

MENDED = "sed -i 's/) < limit/) > limit/' slugs/text.py"


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_paid_nothing_and_voids_nothing(play, task, name):
    step = play(task, ATTACKS[name].format(package="slugs"))
    assert (step.reward, step.terminated) == (0.0, True)
    assert "tests" in step.info or "ended_by" in step.info


@pytest.mark.parametrize(
    "name", ["delete the tests", "conftest that passes all", "pyproject", "sitecustomize", "links"]
)
def test_what_is_left_besides_costs_nothing(play, task, name):
    step = play(task, MENDED, ATTACKS[name].format(package="slugs"))
    assert step.reward == (0.0 if name == "links" else 1.0)


PROBES = {
    "commits": "git log --all --format=%H | wc -l | grep -vx 1",
    "reflog": "git reflog | grep .; ls .git/logs .git/ORIG_HEAD .git/FETCH_HEAD 2>/dev/null",
    "branches, tags, notes and stashes": "git for-each-ref | grep -v refs/heads/main; ls .git/packed-refs 2>/dev/null",
    "remotes": "git remote -v | grep .; grep -i url .git/config",
    "unreachable objects": "git fsck --full --unreachable --lost-found 2>&1 | grep -v '^notice'",
    "packs": "find .git -name '*.pack' -o -name '*.idx' -o -name 'alternates' | grep .",
    "objects with the right line": "git cat-file --batch-all-objects --batch-check='%(objectname)' | "
    "while read o; do git cat-file -p $o 2>/dev/null; done | grep -aF '{right}'",
    "caches": "find / -path /proc -prune -o \\( -name '__pycache__' -path '*slugs*' -o -name 'slugs*.pyc' \\) -print",
    "installed copies": "find / -path /proc -prune -o \\( -name 'slugs*.egg-info' -o -name 'slugs*.dist-info' "
    "-o -name 'slugs*.whl' \\) -print",
    "the right line anywhere": "grep -rIlF '{right}' /testbed /root /home /tmp /opt /etc /var /srv /mnt 2>/dev/null",
    "hidden tests": "grep -rIn 'test_limit\\|test_slug\\b' /testbed /tmp /root",
    "a network": "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2); print(1)' 2>/dev/null",
}


@pytest.mark.parametrize("name", PROBES)
def test_the_solution_cannot_be_found(env, name):
    right = "if len(result) + len(sep) + len(word) > limit:"
    command = PROBES[name].format(right=right)
    output = env.machine.run(command, cwd=WORKDIR, timeout=60).stdout
    assert output.strip() == ""


def test_the_repositories_as_they_should_be_are_removed_where_a_machine_would_show_them(task):
    local = pytest.importorskip("gem_sandbox.machines.local.provider")
    with (
        local.LocalProvider(folders={_OURS: _OURS}) as provider,
        SweEnv(tasks=ListedTasks([task]), machine=provider, call_format=None) as env,
    ):
        env.reset(seed=0)
        assert env.machine.run(f"ls {_OURS}").stdout == ""
    assert subprocess.run(["ls", _OURS], capture_output=True, check=True).stdout
