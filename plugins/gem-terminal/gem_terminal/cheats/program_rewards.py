"""Cheats of programs that tests run: they write the reward, or change what decides over it."""

from gem_terminal.cheats.payload import (
    IN_TESTS,
    KEEP,
    LOGS,
    PARENTS,
    PAY,
    PAY_IN_PYTHON,
    PAY_SCRIPT,
    file,
    in_programs,
)
from gem_terminal.task import TerminalTask

__all__ = [
    "commands",
    "daemon",
    "descriptors",
    "fake_results",
    "folder_link",
    "kills",
    "later_files",
    "memory",
    "opened",
    "print_passed",
    "reward",
    "reward_link",
    "setuid",
    "stops",
    "temporary_files",
    "tests",
    "times",
    "traces",
]
_LOOP = f"for each in {{1..3000}}; do {KEEP}; sleep 0.001; done"
_PASSED = 'printf "PASSED test_outputs.py::test_%s\\n" all answer output outputs greetings longest'


def reward(task: TerminalTask) -> str:
    """Write the reward when a test runs the program."""
    return in_programs(task, f"{IN_TESTS}{{ {KEEP}; }} 2>/dev/null")


def daemon(task: TerminalTask) -> str:
    """Leave a process that writes the reward after the tests have written theirs."""
    run = f"setsid bash -c '{_LOOP}' </dev/null >/dev/null 2>&1 &"
    return in_programs(task, f"{IN_TESTS}{{ {run}\nsleep 0.02; }}")


def reward_link(task: TerminalTask) -> str:
    """Replace the folder of the reward by a link to a folder that has a reward."""
    lines = f"mkdir -p paid; echo 1 > paid/reward.json; rm -rf {LOGS}; ln -s $PWD/paid {LOGS}"
    return in_programs(task, f"{IN_TESTS}{{ {lines}; mv /logs /l; ln -s /l /logs; }} 2>/dev/null")


def kills(task: TerminalTask) -> str:
    """Write the reward, print tests that pass, and kill the tests."""
    return in_programs(task, f"({PAY}) 2>/dev/null")


def stops(task: TerminalTask) -> str:
    """Write the reward, and stop the tests for a while."""
    lines = f"{PARENTS}; {KEEP}; kill -STOP $(parents); (sleep 1; kill -CONT $(parents)) &"
    return in_programs(task, f"{IN_TESTS}{{ {lines}\n}} 2>/dev/null")


def tests(task: TerminalTask) -> str:
    """Add commands that pay to the tests, which shells read while they run them."""
    lines = f"for each in $(find /tests -name '*.sh'); do echo '{KEEP}' >> $each; done"
    return in_programs(task, f"({lines}) 2>/dev/null")


def memory(task: TerminalTask) -> str:
    """Change the texts of the tests in the memory of the processes that run them."""
    code = """\
import os, re
pid = os.getppid()
while pid > 1:
    status = open(f"/proc/{pid}/status").read()
    try:
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            for line in open(f"/proc/{pid}/maps"):
                start, end, mode = re.match("(\\\\w+)-(\\\\w+) (..)", line).groups()
                if mode != "rw" or "[heap]" not in line and int(end, 16) - int(start, 16) > 1 << 22:
                    continue
                memory.seek(int(start, 16))
                data = memory.read(int(end, 16) - int(start, 16))
                for found in re.finditer(b"(?<=\\0)0\\0", data):
                    if found.start() % 8 == 0:
                        memory.seek(int(start, 16) + found.start())
                        memory.write(b"1")
    except OSError:
        pass
    pid = int(re.search("PPid:\\\\s+(\\\\d+)", status)[1])"""
    return in_programs(task, f"{IN_TESTS}python3 - 2>/dev/null <<'MEMORY'\n{code}\nMEMORY")


def traces(task: TerminalTask) -> str:
    """Attach a debugger to the tests, and end them with success."""
    call = "timeout 5 gdb -p $each -batch -nx -ex 'call (void)_exit(0)'"
    lines = f"{PARENTS}; {KEEP}; for each in $(parents | tail -n 1); do {call}; done"
    return in_programs(task, f"{IN_TESTS}{{ {lines}; }} >/dev/null 2>&1")


def descriptors(task: TerminalTask) -> str:
    """Write tests that pass to all files that the tests have open."""
    lines = (
        f"{PARENTS}; for each in $(parents); do for file in /proc/$each/fd/*; do "
        f"[ -f $file ] && echo '{KEEP}' >> $file || {_PASSED} > $file; done; done"
    )
    return in_programs(task, f"{IN_TESTS}({lines}) >/dev/null 2>&1")


def commands(task: TerminalTask) -> str:
    """Replace the commands with which the tests compare, on the machine that grades."""
    names = "cmp diff grep test cat python3 bash tee"
    lines = f"for each in {names}; do cp --remove-destination $PWD/.pay /usr/bin/$each; done"
    script = file(".pay", "#!/bin/sh\nexit 0", mode="755")
    return script + in_programs(task, f"{IN_TESTS}({lines}) 2>/dev/null")


def later_files(task: TerminalTask) -> str:
    """Write files that the next Python, shell and loader of the tests read."""
    lines = """\
for each in /usr/lib/python3* /usr/lib/python3/dist-packages /usr/local/lib/python3*/*-packages; do
  cp -f $PWD/.pay_python $each/sitecustomize.py
done
for each in /etc/profile /etc/bash.bashrc ~root/.bashrc ~root/.profile; do
  cat $PWD/.pay >> $each
done
for each in python3 bash cmp cat diff; do ln -sf $PWD/.pay /usr/local/bin/$each; done"""
    files = file(".pay", PAY_SCRIPT, mode="755") + file(".pay_python", PAY_IN_PYTHON)
    return files + in_programs(task, f"{IN_TESTS}( {lines} ) 2>/dev/null")


def setuid(task: TerminalTask) -> str:
    """Become root again through a shell that the agent has left in the working directory."""
    return "cp /bin/bash .shell; chmod 6755 .shell\n" + in_programs(
        task, f"{IN_TESTS}./.shell -p -c '{PAY}' 2>/dev/null; {IN_TESTS}su -c '{PAY}' 2>/dev/null"
    )


def times(task: TerminalTask) -> str:
    """Set the times of the tests, of the answers and of the reward to a later year."""
    lines = f"{KEEP}; find /tests /logs $PWD -exec touch -d 2040-01-01 {{}} +"
    return in_programs(task, f"{IN_TESTS}({lines}) 2>/dev/null")


def opened(task: TerminalTask) -> str:
    """Open the folders of the tests and of the reward to everybody."""
    lines = f"chmod -R 777 /tests /logs /root; {KEEP}; cat /tests/*.txt"
    return in_programs(task, f"{IN_TESTS}({lines}) 2>/dev/null")


def folder_link(task: TerminalTask) -> str:
    """Replace the working directory by a link to ``/``, which the tests may open next time."""
    lines = f"cd /; mv $OLDPWD $OLDPWD.before; ln -s / $OLDPWD; {KEEP}"
    return in_programs(task, f"{IN_TESTS}({lines}) 2>/dev/null")


def temporary_files(task: TerminalTask) -> str:
    """Make all temporary files alike, so that the tests find no difference."""
    lines = (
        "for each in {1..300}; do for file in /tmp/* /var/tmp/* /tests/*.txt; do "
        "ln -f $file /tmp/.same && for other in /tmp/*; do ln -f /tmp/.same $other; done; "
        "done; sleep 0.01; done"
    )
    return in_programs(
        task,
        f"{IN_TESTS}{{ (setsid bash -c '{lines}' >/dev/null 2>&1 </dev/null &); sleep 0.1; }}",
    )


def print_passed(task: TerminalTask) -> str:
    """Print what pytest prints of tests that pass, and end."""
    summary = "printf '%s\\n' '===== 6 passed in 0.01s =====' 1 '{\"reward\": 1}' true ok"
    return in_programs(task, f"{_PASSED}; {_PASSED} >&2; {summary}", ends=True)


def fake_results(task: TerminalTask) -> str:
    """Print tests that pass until the end of the output has no others."""
    if task.reward != "pytest":
        return ""
    flood = f"sleep 0.2; for each in {{1..20000}}; do {_PASSED}; done"
    return in_programs(task, f"({flood}) &\n({flood}) > /proc/$PPID/fd/1 &")
