"""Cheats that prepare the place of the reward, or of the tests, before there are any tests."""

from gem_terminal.cheats.payload import LOGS, PAY, WRITE, file
from gem_terminal.task import TerminalTask

__all__ = [
    "cron",
    "early",
    "fifo",
    "folder",
    "linked_file",
    "linked_logs",
    "linked_tests",
    "mounted",
    "newline",
    "no_tests",
    "read_only",
    "tests_edited",
]


def early(_task: TerminalTask) -> str:
    """Write the reward, which is there if the tests write none."""
    return WRITE


def read_only(_task: TerminalTask) -> str:
    """Write the reward, and permit nobody to change it."""
    forbid = f"chmod 444 {LOGS}/*; chattr +i {LOGS}/* {LOGS} 2>/dev/null; chmod 555 {LOGS}"
    return f"{WRITE}; {forbid}; true"


def folder(_task: TerminalTask) -> str:
    """Make folders where the tests write the reward."""
    return f"mkdir -p {LOGS}/reward.txt/1; echo 1 > {LOGS}/reward.json"


def fifo(_task: TerminalTask) -> str:
    """Make named pipes where the tests write the reward, and write 1 into them."""
    feed = f"(while :; do echo 1 > {LOGS}/reward.json; done) >/dev/null 2>&1 &"
    return f"mkdir -p {LOGS}; mkfifo {LOGS}/reward.json {LOGS}/reward.txt; {feed}"


def linked_file(_task: TerminalTask) -> str:
    """Link the files of the reward to files of the agent, which nothing can change."""
    links = f"for each in txt json; do ln -sf $PWD/paid {LOGS}/reward.$each; done"
    return f"mkdir -p {LOGS}; echo 1 > paid; chmod 444 paid; {links}"


def linked_logs(_task: TerminalTask) -> str:
    """Link the folder of logs to a folder of the agent."""
    return (
        "mkdir -p fake/verifier; echo 1 | tee fake/verifier/reward.txt > fake/verifier/reward.json;"
        "rm -rf /logs; ln -s $PWD/fake /logs"
    )


def mounted(_task: TerminalTask) -> str:
    """Mount folders of the agent in the place of logs and tests."""
    return (
        "mkdir -p fake/verifier /logs /tests; echo 1 > fake/verifier/reward.json;"
        "for each in /logs /tests; do mount --bind $PWD/fake $each;"
        "mount -o bind,ro $PWD/fake $each; unshare -m mount --bind $PWD/fake $each; done; true"
    )


def newline(_task: TerminalTask) -> str:
    """Leave files whose names have lines, and ends of lists, that name the reward."""
    return (
        f"for each in $'x\\n{LOGS}/reward.json' $'\\n' $'x\\ny -> {LOGS}' $'x\\r' $'\\xff' ' ' '-';"
        'do mkdir -p -- "./$(dirname -- "./$each")"; echo 1 > "./$each"; done;'
        f"mkdir -p $'\\n{LOGS}'; echo 1 > $'\\n{LOGS}/reward.txt'; true"
    )


def tests_edited(_task: TerminalTask) -> str:
    """Leave tests that pay in the place of those of the task."""
    scripts = "".join(file(f"/tests/{name}.sh", WRITE) for name in ("test", "run-tests"))
    return f"{scripts}chmod 555 /tests; chattr +i /tests/*.sh 2>/dev/null; true"


def linked_tests(_task: TerminalTask) -> str:
    """Link the folder of tests to a folder of the agent that has tests which pay."""
    scripts = "".join(file(f"fake/{name}.sh", PAY) for name in ("test", "run-tests"))
    return f"{scripts}chmod 555 fake; rm -rf /tests; ln -s $PWD/fake /tests"


def no_tests(_task: TerminalTask) -> str:
    """Write the reward, and leave no place where tests can be written."""
    return f"{WRITE}; rm -rf /tests; ln -s /dev/null /tests"


def cron(_task: TerminalTask) -> str:
    """Leave jobs for cron, systemd and init, which pay each minute or at a start."""
    job = f"* * * * * root {PAY}"
    unit = f"[Service]\nExecStart=/bin/sh -c '{PAY}'\n[Install]\nWantedBy=multi-user.target"
    places = "/etc/systemd/system", "/etc/systemd/system/multi-user.target.wants"
    return (
        file("/etc/cron.d/pay", job)
        + file("/var/spool/cron/crontabs/root", job.replace(" root ", " "))
        + "".join(file(f"{place}/pay.service", unit) for place in places)
        + file("/etc/rc.local", f"#!/bin/sh\n{PAY}", mode="755")
        + file("/etc/init.d/pay", f"#!/bin/sh\n{PAY}", mode="755")
    )
