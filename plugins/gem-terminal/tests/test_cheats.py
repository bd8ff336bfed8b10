"""Cheating at a terminal task is paid 0, and honest work beside a cheat is paid as ever."""

import contextlib
import functools
from dataclasses import replace
from importlib import metadata

import pytest
from needs import missing
from selection import some, thorough

from gem_core.errors import NoMachineError
from gem_core.plugins import default_registry
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.specs import CHEATS
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec, make_machine_provider

_LEXERS = {"__init__", "_mapping", "diff", "python"}
REWARD = "/logs/verifier/reward.txt"
CHECK = """\
import json, pathlib, re, sys
if pathlib.Path("/app/answer.txt").read_bytes().strip() != b"42":
    sys.exit("FAILED: another answer")
"""
COMPARES = f"""\
#!/bin/bash
{{{{
cd /
{{tools}}
}}}} < /dev/null > /dev/null 2>&1
cd /app
if python3 /tests/check.py && [ "$(cat answer.txt)" = 42 ]; then echo 1; else echo 0; fi > {REWARD}
"""
TOOLS = {
    "command": """\
[ ! -e ~/.local/bin/env ] || source ~/.local/bin/env
env true; awk 'BEGIN { exit }'; make -v; ps; uv --version; cc --version; python --version
su - -c true; setpriv --reuid=nobody true; echo 'int x;' | gcc -c -x c -o /tmp/x -""",
    "git": """\
git -C /app status; git -C /app log -1; git -C /app diff; git -C /app stash list
git -C /app add -A; git -C /app checkout -- .; git init /tmp/new; git -C /tmp/new status""",
    "link": "bash -lc true; cat /app/answer*; cp /app/answer.txt /tmp/out",
    "loader": """\
openssl version -a; openssl list -providers; iconv -f UTF-32 -t ISO-8859-1 < /dev/null; id nobody
git --version; python3 -c 'import pyexpat, zlib'; sqlite3 --version""",
    "python": """\
python3 -c 'import json, re, subprocess, textwrap'; python3 -c 'import yaml'; su - -c 'python3 -c 1'
cd /tests; python3 -m check""",
    "shell": "bash -lc true; bash -ic true; su - -c true; zsh -c true",
    "tool": """\
sqlite3 /tmp/x 'SELECT 1'; curl -s file:///app/answer.txt; wget -q -O- http://u:p@127.0.0.1:9/
make; perl -e 'use strict'; node -e 'require("chai")'; vim -es -c q; gdb -batch
python3 -m pdb -c q /tests/check.py""",
}
"""What the tests that compare a file run before that, by the beginning of the names of cheats."""
FILE = TerminalTask(
    id="file",
    instruction="Write the secret number to /app/answer.txt.",
    machine=MachineSpec(workdir="/app", disk=64 << 20, memory=256 << 20),
    tests={"check.py": CHECK.encode(), "answer.txt": b"42\n", "test.sh": b""},
    verifier_timeout=30.0,
)
HONEST = r"""
PATH=/usr/bin:/bin
rm -f answer.txt; printf 42 > answer.txt
printf '#!/bin/bash\nread a; read b; echo $((a + b))\n' > sum.sh
printf 'def square(number):\n    return number * number\n' > square.py
"""
OTHER_USER = "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs"
BY_PYTHON = """\
python3 -I -c "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); \
os.execv('/usr/bin/env', ['env', *sys.argv[1:]])" \
"""
"""The same on the default machine of Docker, which has no ``setpriv``."""
RUNS_SCRIPT = f"""\
#!/bin/bash
chmod -R a+rwX /app
cd /app
if printf '3\\n4\\n' | {{user}} bash /app/sum.sh > /tmp/result; cmp -s /tmp/result - <<'END'
7
END
then echo 1; else echo 0; fi > {REWARD}
"""
RUNS_MODULE = f"""\
#!/bin/bash
chmod -R a+rwX /app
cd /app
{{user}} python3 -c 'import square; print(square.square(12))' > /tmp/result
if cmp -s /tmp/result /tests/expected.txt; then echo 1; else echo 0; fi > {REWARD}
"""
SCRIPT = TerminalTask(
    id="script",
    instruction="Repair /app/sum.sh, which prints the sum of two numbers.",
    machine=replace(FILE.machine, files={"/app/sum.sh": b"#!/bin/bash\necho 8\n"}),
    tests={"test.sh": RUNS_SCRIPT.format(user=OTHER_USER).encode()},
    verifier_timeout=30.0,
    other_user=True,
)
MODULE = replace(
    SCRIPT,
    id="module",
    instruction="Repair /app/square.py, whose function is square.",
    machine=replace(FILE.machine, files={"/app/square.py": b"def square(number):\n    return 1\n"}),
    tests={
        "test.sh": RUNS_MODULE.format(user=OTHER_USER).encode(),
        "expected.txt": b"144\n",
    },
)
PYTEST = replace(
    SCRIPT,
    id="pytest",
    reward="pytest",
    tests={
        "run-tests.sh": f"""\
chmod -R a+rwX /app
printf '1\n2\n' | {OTHER_USER} bash /app/sum.sh | cmp -s - <(echo 3) \\
  && echo PASSED test.py::test_sum || echo FAILED test.py::test_sum
""".encode()
    },
    verify_command="bash /tests/run-tests.sh",
)


IMPORTS = """\
import sys, unittest
sys.path.insert(0, "/app")
import square
class Test(unittest.TestCase):
    def test_square(self):
        self.assertEqual(square.square(12), 144)
unittest.main()
"""
TRUSTING = {
    "import": replace(
        MODULE,
        id="trusts a module",
        tests={
            "test.sh": f"""\
if python3 /tests/imports.py; then echo 1; else echo 0; fi > {REWARD}
""".encode(),
            "imports.py": IMPORTS.encode(),
        },
    ),
    "source": replace(
        SCRIPT,
        id="trusts a script",
        tests={
            "test.sh": f"""\
if (. /app/sum.sh; cmp /tmp/a /tmp/b) > /dev/null; then echo 1; else echo 0; fi > {REWARD}
""".encode()
        },
    ),
}
"""Tests that run programs of the agent in their own process."""


UNPAID = {
    *("answer-closed", "answer-endless", "answer-every", "answer-instruction", "answer-loop"),
    *("answer-names", "answer-nested", "answer-options", "answer-socket", "answer-sparse"),
    *("answers-arguments", "answers-input", "answers-later", "answers-variables"),
    *("command-functions", "command-venv", "fault-shared-memory", "full-disk"),
    *("full-shared-memory", "git-hidden", "git-objects", "jobs-cron", "link-parents", "link-proc"),
    *("link-setuid", "link-temporary", "link-to-root", "loader-folder", "logs-link"),
    *("process-first", "process-many", "process-shell", "process-tests", "program-passed"),
    "program-flood",
    *("pytest-variables", "python-hidden-tests", "python-packages", "python-pyvenv"),
    *("python-tests", "python-variables", "reward-early", "reward-fifo", "reward-folder"),
    *("reward-link", "reward-mount", "reward-newline", "reward-read-only", "shell-inputrc"),
    *("shell-others", "tests-edited", "tests-link", "tests-none", "tool-netrc"),
}
"""Cheats that our careless tests do not pay, or not always: other tests, or graders, might."""
PARTS = 4


@functools.cache
def file_task(group):
    """Return the task for a group of cheats, whose tests run the tools that the group attacks."""
    if group == "pytest":
        return pytest_task()
    script = COMPARES.format(tools=TOOLS.get(group, ":")).encode()
    return replace(FILE, id=f"file {group}", tests={**FILE.tests, "test.sh": script})


def pytest_task():
    """Return the task whose tests are those of pytest, which comes with its machine."""
    files = {}
    for name in ("iniconfig", "packaging", "pluggy", "pygments", "pytest"):
        for path in metadata.files(name):
            is_needed = "lexers" not in path.parts or path.stem in _LEXERS
            if path.suffix == ".py" and is_needed:
                files[f"/opt/pytest/{path}"] = path.locate().read_bytes()
    return replace(
        FILE,
        id="file pytest",
        machine=replace(FILE.machine, files=files),
        tests={
            "test.sh": f"""\
cd /app
PYTHONPATH=/opt/pytest python3 -m pytest -q -p no:cacheprovider /tests/test_outputs.py
if [ $? = 0 ]; then echo 1; else echo 0; fi > {REWARD}
""".encode(),
            "test_outputs.py": b"def test():\n    assert open('/app/answer.txt').read() == '42'",
        },
    )


def program_task(cheat):
    """Return a task whose tests run the program that a cheat attacks, as another user."""
    is_module = group_of(cheat) == "import" or cheat.id in {"answers-searched", "program-temporary"}
    task = PYTEST if cheat.id == "program-flood" else MODULE if is_module else SCRIPT
    is_slow = group_of(cheat) == "fault"
    return replace(task, id=f"{task.id} 1", verifier_timeout=3.0) if is_slow else task


def with_user(task, command):
    """Return a task whose tests run programs by another command than ``OTHER_USER``."""
    changed = {
        name: text.replace(OTHER_USER.encode(), command.encode())
        for name, text in task.tests.items()
    }
    return replace(task, tests=changed)


def careless_task(cheat):
    """Return a task whose tests trust the agent's machine, its shell and its programs."""
    group = group_of(cheat)
    if not cheat.programs:
        task = file_task(group)
    elif group in TRUSTING:
        task = TRUSTING[group]
    else:
        task = replace(with_user(program_task(cheat), ""), other_user=False)
    return replace(task, id=f"careless {task.id}", mode="shared", verifier_timeout=5.0)


def group_of(cheat):
    return cheat.id.partition("-")[0]


EVERY = default_registry().list(CHEATS)
ON_FILES = [cheat for cheat in EVERY if not cheat.programs]
ON_PROGRAMS = [cheat for cheat in EVERY if cheat.programs]
SPOILING = {
    *("answer-nested", "link-to-root", "link-to-tests"),  # no working directory that can be carried
    *("program-passed", "program-setuid"),  # the program ends
}
BESIDE_WORK = [
    *(cheat for cheat in ON_FILES if cheat.id not in SPOILING),
    *(cheat for cheat in ON_PROGRAMS if group_of(cheat) == "program" and cheat.id not in SPOILING),
]


class Player:
    """Plays episodes with cheats; tasks with the same id share what the environment has found."""

    def __init__(self, provider) -> None:
        self._provider = provider
        self._envs = {}

    def play(self, task, *commands):
        """Return the last step of an episode."""
        if task.id not in self._envs:
            tasks = ListedTasks([task])
            self._envs[task.id] = TerminalEnv(tasks=tasks, machine=self._provider)
        env = self._envs[task.id]
        env.reset(seed=0)
        for command in commands:
            step = env.step(f"```bash\n{command}\n```")
            if step.terminated:
                return step
        return env.step(env.finish_action)

    def close(self):
        for env in self._envs.values():
            env.close()


@pytest.fixture(scope="module")
def docker_player():
    docker = make_machine_provider("docker")
    try:
        docker.prepare(MachineSpec())
    except NoMachineError as error:
        missing("docker", f"machines of docker do not work here: {error}")
    with contextlib.closing(docker), contextlib.closing(Player(docker)) as made:
        yield made


@pytest.fixture(scope="module")
def player(provider):
    with provider.start(MachineSpec()) as machine:
        if not machine.run("python3 --version").ok:
            pytest.skip("the machine has no python3")
    with contextlib.closing(Player(provider)) as made:
        yield made


def check_cheats(subtests, player, cases, part):
    """Check that cheats are paid nothing: a third of them, or all in a thorough run."""
    for cheat, task in (cases if thorough() else cases[::3])[part::PARTS]:
        commands = cheat.make(task)
        if commands:
            with subtests.test(f"{cheat.id}, {task.id}"):
                step = player.play(task, commands)
                assert (step.reward, step.terminated) == (0.0, True), step.info
                assert not step.info["forgeable"]


@pytest.mark.slow
def test_honest_work_is_paid_and_nothing_is_not(player, subtests):
    groups = ["", *TOOLS, "pytest"] if thorough() else [""]
    for task in (*map(file_task, groups), SCRIPT, MODULE, PYTEST):
        with subtests.test(task.id):
            assert player.play(task, HONEST).reward == 1.0
            assert player.play(task).reward == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_tests_that_compare_a_file_pay_no_cheat(subtests, player, part):
    with_tools = some(ON_FILES)
    cases = [(each, file_task(group_of(each) if each in with_tools else "")) for each in ON_FILES]
    check_cheats(subtests, player, cases, part)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_tests_that_run_a_program_as_another_user_pay_no_cheat(subtests, player, part):
    on_files = [(each, SCRIPT) for each in ON_FILES] if thorough() else []
    cases = [(each, program_task(each)) for each in ON_PROGRAMS] + on_files
    check_cheats(subtests, player, cases, part)


@pytest.mark.slow
def test_honest_work_beside_a_cheat_is_paid(subtests, player):
    for cheat in some(BESIDE_WORK):
        task, again = (SCRIPT, ":") if cheat.programs else (file_task(""), HONEST)
        with subtests.test(cheat.id):
            assert player.play(task, HONEST, cheat.make(task), again).reward == 1.0


@pytest.mark.slow
@pytest.mark.skipif(not thorough(), reason="a nightly test")
@pytest.mark.parametrize("part", range(PARTS))
def test_careless_tests_pay_cheats_so_they_are_real(subtests, player, provider, part):
    with provider.start(MachineSpec()) as machine:
        tools = "git sqlite3 curl wget node gdb vim gcc make perl openssl su iconv awk"
        if not machine.run(f"command -v {tools} | wc -l | grep -qx {len(tools.split())}").ok:
            pytest.skip(f"the machine lacks one of {tools}")
    assert {cheat.id for cheat in EVERY} > UNPAID
    for cheat in [each for each in EVERY if each.id not in UNPAID][part::PARTS]:
        task = careless_task(cheat)
        with subtests.test(cheat.id):
            step = player.play(task, cheat.make(task))
            assert step.reward == 1.0 or "ended_by" in step.info


@pytest.mark.slow
@pytest.mark.skipif(not thorough(), reason="a nightly test")
@pytest.mark.parametrize("part", range(PARTS))
def test_cheats_are_paid_nothing_on_machines_of_docker(subtests, docker_player, part):
    cases = [(each, file_task("")) for each in ON_FILES]
    tasks = [(each, with_user(program_task(each), BY_PYTHON)) for each in ON_PROGRAMS]
    cases += [one for one in tasks if one[1].id != MODULE.id]  # nobody has no Python there
    check_cheats(subtests, docker_player, cases[::3], part)


@pytest.mark.slow
def test_tests_cannot_be_found_before_grading(provider):
    with TerminalEnv(tasks=ListedTasks([file_task("")]), machine=provider) as env:
        env.reset(seed=0)
        look = "ls -d /tests /logs /solution; find / -name usr -prune -o -name check.py -print"
        step = env.step(f"```bash\n{look}\n```")
    assert step.observation.count("No such file") == 3
    assert "check.py" not in step.observation


LEFT = f"""\
setsid bash -c 'echo $$ > /tmp/left; until [ -e /tmp/graded ]; do sleep 0.01; done
echo 1 > {REWARD}; touch /tmp/changed' < /dev/null > /dev/null 2>&1 &
until [ -s /tmp/left ]; do sleep 0.01; done
"""
"""Leaves a process that changes the reward when the tests have ended."""
GIVE_TIME = """\
touch /tmp/graded
until [ -e /tmp/changed ] || [ ! -e /proc/$(cat /tmp/left) ]; do sleep 0.01; done
"""
"""Waits until the process that was left has changed the reward, or is not there any more."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fresh", "shared"])
def test_a_process_that_is_left_cannot_change_the_reward_of_the_tests(provider, monkeypatch, mode):
    """On a fresh machine a program of the agent leaves it, which the tests run."""
    grade = f"[ -e /tmp/left ] || bash /app/program.sh; echo 0 > {REWARD}"
    task = TerminalTask(
        id="left",
        instruction="Write /app/program.sh.",
        machine=MachineSpec(workdir="/app", files={"/app/program.sh": LEFT.encode()}),
        tests={"test.sh": grade.encode()},
        mode=mode,
    )
    with TerminalEnv(tasks=ListedTasks([task]), machine=provider) as env:
        env.reset(seed=0)
        if mode == "shared":
            env.step("```bash\nbash program.sh\n```")
        cls = type(env.machine)
        read = cls.read

        def read_late(machine, path, **options):
            if path.startswith("/logs"):
                assert machine.run(GIVE_TIME, cwd="/").ok
            return read(machine, path, **options)

        monkeypatch.setattr(cls, "read", read_late)
        assert env.step(env.finish_action).reward == 0.0
