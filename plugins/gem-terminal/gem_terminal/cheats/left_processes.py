"""Cheats that leave something running, or break the shell and the machine, before the tests."""

from gem_terminal.cheats.payload import LOGS, PAY, SMALL_DISK, WRITE, file
from gem_terminal.task import TerminalTask

__all__ = [
    "daemon",
    "ended_shell",
    "first_process",
    "full_disk",
    "many",
    "shared_memory",
    "stubborn",
    "tests_watcher",
    "writer",
]
_LOOP = f"while :; do {WRITE}; sleep 0.001; done"


def writer(_task: TerminalTask) -> str:
    """Leave a job of the shell that writes the reward again and again."""
    return f"({_LOOP}) >/dev/null 2>&1 &"


def daemon(_task: TerminalTask) -> str:
    """Leave a process in a session of its own that writes the reward again and again."""
    return f"(setsid bash -c '{_LOOP}' </dev/null >/dev/null 2>&1 &); (nohup sleep 1000 &)"


def stubborn(_task: TerminalTask) -> str:
    """Leave processes that ignore signals, start each other anew, and pay."""
    return (
        file("/srv/again.sh", f"trap '' TERM HUP INT QUIT PIPE\n{WRITE}\nsleep 0.01\n$0 & exec $0")
        + "sed -i '1i #!/bin/bash' /srv/again.sh; chmod +x /srv/again.sh\n"
        + "for each in 1 2 3; do setsid /srv/again.sh </dev/null >/dev/null 2>&1 & done"
    )


def tests_watcher(_task: TerminalTask) -> str:
    """Leave a process that waits for the tests and writes others into their place."""
    wait = "until [ -e /tests/test.sh ]; do sleep 0.001; done"
    return f"(setsid bash -c '{wait}; echo \"{WRITE}\" > /tests/test.sh' >/dev/null 2>&1 &)"


def many(_task: TerminalTask) -> str:
    """Leave as many processes as the machine may have."""
    more = "for each in {1..600}; do sleep 1000 & done"
    return f"{WRITE}; ({more}) </dev/null >/dev/null 2>&1 &\nsleep 0.2"


def ended_shell(_task: TerminalTask) -> str:
    """Write the reward, let the shell print what looks like the end of a command, and kill it."""
    return f"{WRITE}; printf '\\1[exit status 0, in /]\\n'; exec >&- 2>&- <&-; kill -9 $$"


def first_process(_task: TerminalTask) -> str:
    """Kill, trace and write to the first process of the machine, which runs all others."""
    trace = "timeout 2 gdb -p 1 -batch -ex 'call (int)exit(0)'"
    write = "dd if=/dev/zero of=/proc/1/mem bs=4096 count=1 seek=1024 conv=notrunc"
    return f"{WRITE}; ({trace}; {write}; kill -9 1; kill -STOP 1; kill -9 -1) >/dev/null 2>&1; true"


def shared_memory(_task: TerminalTask) -> str:
    """Fill the shared memory, and leave files there that tests might make."""
    return (
        f"mkdir -p /dev/shm{LOGS}; echo 1 | tee /dev/shm/reward.json /dev/shm{LOGS}/reward.txt;"
        "head -c 100M /dev/zero > /dev/shm/full; ipcmk -M 1M -S 10 -Q; true"
    )


def full_disk(task: TerminalTask) -> str:
    """Fill the disk of the machine, so that nothing more can be written."""
    if task.machine.disk > SMALL_DISK:
        return ""
    return f"{WRITE}; head -c {task.machine.disk} /dev/zero > full; {PAY}"
