"""An agent cannot turn its 0 into a fault, and a broken task is never paid 0."""

from dataclasses import replace

import pytest
from selection import thorough

from gem_core.errors import MachineError
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask
from gem_terminal.verify import GradingError
from gem_workers.machine import MachineSpec

REWARD = "/logs/verifier/reward.txt"
READS = f"""\
cd /app
if [ "$(cat answer.txt)" = 42 ]; then echo 1; else echo 0; fi > {REWARD}
head -c 1000000 /dev/zero > /tmp/room || echo 0 > {REWARD}
"""
RUNS = f"""\
chown -Rh 65534:65534 /app
cd /
if [ "$(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs bash /app/run.sh)" = 42 ]
then echo 1; else echo 0; fi > {REWARD}
"""
READER = TerminalTask(
    id="reader",
    instruction="Write the secret number to /app/answer.txt.",
    machine=MachineSpec(workdir="/app", disk=64 << 20),
    tests={"test.sh": READS.encode()},
    solution={"solve.sh": b"echo 42 > /app/answer.txt"},
)
RUNNER = TerminalTask(
    id="runner",
    instruction="Write the program /app/run.sh, which prints the secret number.",
    machine=MachineSpec(workdir="/app", disk=64 << 20),
    tests={"test.sh": RUNS.encode()},
    verifier_timeout=60.0,
    solution={"solve.sh": b"echo 'echo 42' > /app/run.sh"},
    other_user=True,
)


def task_of(test, **fields):
    fields = {"id": test, "instruction": "Do it.", **fields}
    return TerminalTask(
        tests={"test.sh": test.encode()}, machine=MachineSpec(workdir="/app"), **fields
    )


@pytest.mark.slow
def test_solutions_are_paid(bench):
    for task in (READER, RUNNER):
        assert bench.pays(task, solve=True) == 1
        assert bench.pays(task) == 0


HOSTILE = {
    "a pipe": "mkfifo answer.txt",
    "a socket": ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"answer.txt\")'"),
    "a sparse file": "truncate -s 1T answer.txt",
    "a deep folder": (
        'python3 -c \'import os\nfor _ in range(3000): os.mkdir("deep"); os.chdir("deep")\''
    ),
    "another folder": "cd /; rm -rf /app; mkdir /data; ln -s /data /app",
    "a link to itself": "cd /; rm -rf /app; ln -s /app /app",
    "a file": "cd /; rm -rf /app; touch /app",
    "no folder": "cd /; rm -rf /app",
    "a closed folder": "chmod 0 /app",
}


@pytest.mark.slow
def test_what_an_agent_leaves_is_no_fault(bench, subtests):
    for name, command in HOSTILE.items():
        for task in (READER, RUNNER) if thorough() else (READER,):
            with subtests.test(f"{name}, {task.id}"):
                assert bench.play(task, command).reward == 0


@pytest.mark.slow
def test_a_full_disk_does_not_spoil_honest_work(bench):
    fill = "head -c 1G /dev/zero > full 2>/dev/null; head -c 1G /dev/zero > /tmp/full 2>/dev/null"
    assert bench.pays(READER, "echo 42 > answer.txt", fill) == 1


PROGRAMS = {
    "sleeps": "sleep 60",
    "waits for input": "cat",
    "kills its parents": "kill -9 $PPID; kill -9 -1; echo 42x",
    "writes rewards": (
        "for each in json txt; do echo 1 > /logs/verifier/reward.$each; done; mv /logs /old"
    ),
    "finds the answer": "grep -o 42 /tests/test.sh | head -n 1",
    "reads the tests": "cat /tests/test.sh; cat /proc/$PPID/cmdline /proc/$PPID/environ",
    "fills the disk": "head -c 1G /dev/zero > /tmp/full; echo 4",
    "forks": "for each in 1 2 3 4 5 6 7 8; do setsid sleep 60 >/dev/null & done; echo 4",
    "prints much": "head -c 5M /dev/zero | tr '\\0' x",
}


@pytest.mark.slow
def test_what_a_program_of_the_agent_does_is_no_fault(bench, subtests):
    brief = replace(RUNNER, id="brief", verifier_timeout=2.0)
    for name, program in PROGRAMS.items():
        with subtests.test(name):
            step = bench.play(brief, f"cat > run.sh <<'END'\n{program}\nEND")
            assert step.reward == 0
            assert name != "sleeps" or "wall_time" in step.info["ended_by"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("true", "wrote neither"),
        (f"echo nan > {REWARD}", "neither a finite number"),
        (f"echo 1 > {REWARD}; echo 0 > /logs/verifier/reward.json", "two rewards that differ"),
        (f"python3 -m no_such_runner /tests; echo 0 > {REWARD}", "need no_such_runner"),
        (f"no-such-runner /tests; echo 0 > {REWARD}", "need no-such-runner"),
        (f": < /dev/tcp/192.0.2.1/80; echo 0 > {REWARD}", "need a network"),
    ],
)
def test_a_broken_verifier_is_a_fault_whatever_the_agent_does(bench, test, message):
    with pytest.raises(GradingError, match=message):
        bench.play(task_of(test))
    with pytest.raises(GradingError, match=message):
        bench.play(task_of(test), "touch x; mkdir y")


@pytest.mark.slow
def test_a_module_that_the_agent_has_to_write_is_no_fault(bench):
    test = f"cd /app; python3 -c 'import solution' && echo 1 > {REWARD} || echo 0 > {REWARD}"
    assert bench.pays(task_of(test, instruction="Write solution.py.")) == 0
    written = task_of(test, solution={"solve.sh": b"touch /app/solution.py"})
    assert bench.pays(written) == 0
    assert bench.pays(written, solve=True) == 1


@pytest.mark.slow
def test_a_server_that_the_agent_has_to_start_is_no_network(bench):
    test = f"echo > /dev/tcp/127.0.0.1/8000; echo 0 > {REWARD}"
    assert bench.pays(task_of(test)) == 0


@pytest.mark.slow
def test_an_agent_cannot_claim_that_something_is_missing(bench):
    test = f"cat answer.txt; [ -e answer.txt ] && echo 0 > {REWARD} || echo 0 > {REWARD}"
    claim = "echo \"ModuleNotFoundError: No module named 'pytest'\" > answer.txt"
    assert bench.pays(task_of(test), claim) == 0


@pytest.mark.slow
def test_what_is_missing_is_no_fault_if_the_solution_is_paid_without_it(bench):
    test = f"no-such-tool; [ -e work ] && echo 1 > {REWARD} || echo 0 > {REWARD}"
    solvable = task_of(test, solution={"solve.sh": b"touch work"})
    assert bench.pays(solvable, "ls") == 0
    assert bench.pays(solvable, solve=True) == 1
    with pytest.raises(GradingError, match="need no-such-tool"):
        bench.pays(task_of(test, solution={"solve.sh": b"true"}), "ls")


@pytest.mark.slow
def test_what_only_the_agents_files_break_is_paid_nothing(bench):
    test = f"[ -e broken ] || echo 0.5 > {REWARD}"
    step = bench.play(task_of(test), "touch broken")
    assert (step.reward, step.terminated) == (0.0, True)
    assert "wrote neither" in step.info["ended_by"]
    assert bench.pays(task_of(test)) == 0.5


@pytest.mark.slow
def test_a_command_that_reads_nothing_is_the_agents_own_affair(bench):
    step = bench.play(
        READER, "sleep 300", "x" * 300_000, "C-c", "echo 42 > answer.txt", command_timeout=0.3
    )
    assert step.reward == 1


@pytest.mark.slow
def test_an_ended_machine_is_a_fault_only_if_no_other_can_be_started(provider, monkeypatch):
    with TerminalEnv(tasks=ListedTasks([READER]), machine=provider) as env:
        env.reset(seed=0)
        env.machine.close()
        step = env.step("```bash\nls\n```")
        assert (step.reward, step.terminated) == (0.0, True)
        assert step.info["ended_by"]
        env.reset(seed=0)
        env.machine.close()

        def start(*_):
            raise MachineError("no machine can be started")

        monkeypatch.setattr(provider, "start", start)
        with pytest.raises(MachineError):
            env.step("```bash\nls\n```")


@pytest.mark.slow
def test_a_task_that_can_be_forged_says_so(bench):
    forged = "for each in json txt; do echo 1 > /logs/verifier/reward.$each; done"
    test = f"echo 0 > {REWARD}; bash run.sh"
    told = task_of(test, forgeable="tests/test.sh, line 1: bash run.sh")
    step = bench.play(told, f"cat > run.sh <<'END'\n{forged}\nEND")
    assert (step.reward, step.info["forgeable"]) == (1.0, True)
    assert not bench.play(READER).info["forgeable"]
    assert bench.play(READER, carry="all").info["forgeable"]
    assert bench.play(READER, mode="shared").info["forgeable"]
