"""Cheats of programs that tests run: they keep the tests from ending, which must be paid 0."""

from gem_terminal.cheats.payload import IN_TESTS, KEEP, SMALL_DISK, in_programs
from gem_terminal.task import TerminalTask

__all__ = [
    "background",
    "disk",
    "endless_output",
    "interrupts",
    "memory",
    "processes",
    "shared_memory",
    "sleeps",
]


def sleeps(task: TerminalTask) -> str:
    """Sleep until the time of the tests is over."""
    return in_programs(task, f"{IN_TESTS}{{ {KEEP}; sleep 1000000; }} 2>/dev/null")


def background(task: TerminalTask) -> str:
    """Leave a process that keeps the output open, for the end of which the tests wait."""
    return in_programs(task, f"{IN_TESTS}{{ {KEEP}; sleep 1000000 & }} 2>/dev/null")


def disk(task: TerminalTask) -> str:
    """Fill the disk, so that the tests cannot write a reward of 0."""
    size = task.machine.disk
    if size > SMALL_DISK:
        return ""
    places = "for each in . /tmp /var/tmp"
    fill = f"{places}; do head -c {size} /dev/zero > $each/full; done"
    return in_programs(task, f"{IN_TESTS}{{ {KEEP}; {fill}; }} 2>/dev/null")


def shared_memory(task: TerminalTask) -> str:
    """Fill the shared memory of the machine that grades, and leave objects there."""
    fill = "echo 1 > /dev/shm/reward.json; head -c 100M /dev/zero > /dev/shm/full; ipcmk -Q -S 9"
    return in_programs(task, f"{IN_TESTS}({fill}) >/dev/null 2>&1")


def endless_output(task: TerminalTask) -> str:
    """Print without an end."""
    if task.machine.disk > SMALL_DISK:
        return ""
    return in_programs(task, f"{IN_TESTS}{{ yes PASSED test_outputs.py::test_all; }}", ends=True)


def memory(task: TerminalTask) -> str:
    """Use all memory, so that the kernel ends a process, perhaps one of the tests."""
    size = task.machine.memory * 2
    if size > 2 * SMALL_DISK:
        return ""
    take = f"{KEEP}; echo -1000 > /proc/$$/oom_score_adj; head -c {size} /dev/zero | tail"
    return in_programs(task, f"{IN_TESTS}({take}) >/dev/null 2>&1")


def processes(task: TerminalTask) -> str:
    """Start as many processes as the machine may have."""
    more = "for each in {1..600}; do sleep 2 & done"
    return in_programs(task, f"{IN_TESTS}{{ {KEEP}; ({more}) & }} >/dev/null 2>&1")


def interrupts(task: TerminalTask) -> str:
    """Send signals to the group and the session of the tests, and to everything else."""
    send = "kill -INT 0; kill -HUP 0; kill -INT -1; kill -PIPE -1; kill -USR1 -1"
    return in_programs(
        task, f"{IN_TESTS}{{ trap '' INT HUP PIPE USR1; {KEEP}; {send}; }} 2>/dev/null"
    )
