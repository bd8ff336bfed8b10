"""A command cannot break the machine, nor the commands after it, through the shell that runs it."""

import re
import time

import pytest
from hostile_shells import HARMLESS, STUCK, check_shell_goes_on

from gem_sandbox.machines.reports import Reports
from gem_workers.machine import MachineSpec

needs_local = pytest.mark.usefixtures("local")
slow = pytest.mark.slow
FORGE = r"""
read -r -u 255 empty; read -r -u 255 line; line=${line#*\\001}; mark=${line%%%*}
printf '\001%s%s\0%s\0' "$mark" STATUS DIRECTORY
"""
"""Reads its own script, and reports in its place."""


@pytest.fixture
def machine(provider):
    with provider.start(MachineSpec(workdir="/app")) as made:
        yield made


@needs_local
@slow
def test_a_command_that_breaks_its_shell_does_no_harm_to_the_next(provider, subtests):
    for command in (*HARMLESS, *STUCK):
        with subtests.test(command), provider.start(MachineSpec(workdir="/app")) as machine:
            check_shell_goes_on(machine, command, is_stuck=command in STUCK, patience=0.1)


@needs_local
@slow
def test_a_forged_report_is_a_wrong_status_of_its_own_command(machine):
    shell = machine.shell()
    forged = FORGE.replace("STATUS", "77").replace("DIRECTORY", "/usr")
    found = shell.send(f"{forged} echo after", timeout=60.0)
    assert (found.exit_status, found.directory) == (77, "/usr")
    found = shell.send("pwd; false")
    assert found.text.endswith("/app\n")
    assert (found.exit_status, found.directory) == (1, "/app")
    found = shell.send("printf '\\001%s77\\0/usr\\0' \"$mark\"; echo own; false")
    assert (found.text, found.exit_status, found.directory) == ("own\n", 1, "/app")
    for status, directory in ((256, "/"), ("x", "/"), ("", "/"), (-1, "/"), ("9" * 5000, "/")):
        forged = FORGE.replace("STATUS", f"'{status}'").replace("DIRECTORY", directory)
        assert shell.send(forged, timeout=0.1).running
        assert not shell.interrupt(timeout=0.1).running
    assert shell.send("echo well").text == "well\n"


@needs_local
@slow
def test_a_report_with_a_directory_that_cannot_be_one_leaves_the_directory(machine):
    shell = machine.shell()
    for directory in ("relative", "", "/$(head -c 9000 /dev/zero | tr '\\0' x)"):
        found = shell.send(FORGE.replace("STATUS", "3").replace("DIRECTORY", f'"{directory}"'))
        assert (found.exit_status, found.directory) == (3, "/app")


@needs_local
@slow
def test_input_that_a_command_does_not_read_is_dropped_and_told(machine):
    shell = machine.shell()
    assert shell.send("sleep 1000", timeout=0.05).running
    for _ in range(3):
        found = shell.send("x" * 200_000, timeout=0.05)
        assert found.running
    assert "200000 bytes of the input were not read" in found.text
    assert shell.interrupt().exit_status == 130
    assert shell.send("echo well").text == "well\n"


@needs_local
@slow
def test_a_job_that_writes_on_and_on_does_not_keep_a_command_from_ending(machine):
    found = machine.run("yes & sleep 0.1; exit 3", timeout=60.0)
    assert (found.exit_status, found.limit) == (3, None)
    shell = machine.shell()
    assert shell.send("yes & sleep 0.1; (exit 3)", timeout=60.0).exit_status == 3
    machine.run("sleep 0.1")
    assert shell.send("", output_limit=100).left_out > 0


@needs_local
@slow
def test_command_lines_of_any_number_and_length_are_listed(machine):
    """They were more than a message holds, and the machine ended."""
    long = "$(head -c 4000 /dev/zero | tr '\\0' '\\377')"
    machine.run(f"a={long}; for i in {{1..200}}; do (exec -a $a sleep 1000) >/dev/null 2>&1 & done")
    deadline = time.monotonic() + 60
    while sum(line.startswith("\ufffd") for line in machine.processes()) < 200:
        assert time.monotonic() < deadline
    assert len(machine.snapshot().lost) == 200
    assert machine.run("echo well").stdout == "well\n"


@needs_local
@slow
def test_text_without_an_encoding_is_no_error(machine):
    """Half of a surrogate pair, as a model writes it in JSON."""
    assert machine.shell().send("echo '\ud83d'").text == "?\n"
    assert machine.run("cat; echo '\ud83d'", stdin="\ud83d\n").stdout == "?\n?\n"
    machine.write("/app/file", "\ud83d")
    assert machine.read("/app/file") == b"?"


@needs_local
@slow
def test_a_user_s_names_and_groups_may_be_nonsense(machine):
    machine.run("echo 'odd:x:abc:def:::' > /etc/passwd; echo 'odd:x:\377:nobody' > /etc/group")
    with pytest.raises(Exception, match="no such user: 'odd'"):
        machine.run("true", user="odd")
    machine.run("rm /etc/passwd; mkfifo /etc/passwd")
    with pytest.raises(Exception, match="no such user: 'odd'"):
        machine.run("true", user="odd")
    assert machine.read("/etc/hostname") == b"machine\n"


MARK, REPORT = b"\x01mark", re.compile(rb"(\d+) ([^\0]*)\0")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_reports_are_found_however_a_stream_is_cut(size):
    stream = b"text" + MARK + b"12 ab\0more\x01mar" + MARK + b"no report" + MARK + b"0 \0end\x01m"
    reports, text, found = Reports(MARK, REPORT, 50), b"", []
    for at in range(0, len(stream), size):
        for part in reports.take(stream[at : at + size]):
            if isinstance(part, bytes):
                text += part
            else:
                found.append(part[0])
    assert text == b"textmore\x01mar" + MARK + b"no reportend"
    assert found == [b"12 ab\0", b"0 \0"]


def test_a_report_that_never_ends_is_text_and_takes_no_memory():
    reports = Reports(MARK, REPORT, 50)
    parts = [part for _ in range(1000) for part in reports.take(MARK + b"1 " + b"x" * 100)]
    assert b"".join(parts).startswith(MARK + b"1 xxx")
    assert sum(map(len, parts)) > 1000 * 100
