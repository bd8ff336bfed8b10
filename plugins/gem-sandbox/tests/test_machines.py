"""Machines keep the contract, stay isolated, and leave nothing behind however they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import Command
from local_machines import has_users, write_small_root
from selection import thorough

import gem_workers
from gem_core.errors import ConfigError, GemError, MachineError, SnapshotError
from gem_sandbox.machines.output import HeadAndTail
from gem_workers.machine import MachineSnapshot, MachineSpec
from gem_workers.testing import MACHINE_CHECKS, check_machine

needs_local = pytest.mark.usefixtures("local")
quiet = pytest.mark.filterwarnings("ignore:Machines of 'process':RuntimeWarning")


@needs_local
@pytest.mark.slow
@pytest.mark.parametrize("check", MACHINE_CHECKS)
def test_local_machines_keep_the_contract(check):
    check_machine("local", checks=[check]).raise_for_findings()


@quiet
@pytest.mark.slow
def test_process_machines_keep_the_contract():
    report = check_machine("process")
    report.raise_for_findings()
    assert [line.partition(":")[0] for line in report.unchecked] == ["isolation", "limits"]


def test_process_machines_warn_that_they_do_not_isolate():
    with pytest.warns(RuntimeWarning, match="without isolation"):
        gem_workers.make_machine("process").close()


@needs_local
@pytest.mark.slow
def test_a_user_of_one_id_has_the_same_machines():
    """As any user but root, and in a container, all files belong to one user."""
    script = (
        "from gem_workers.testing import check_machine\n"
        "check_machine('local', checks=['commands', 'files', 'states', 'isolation'])"
        ".raise_for_findings()"
    )
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "unshare: " in found.stderr:
        pytest.skip(f"no user namespace: {found.stderr.strip()}")
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
@needs_local
def test_a_machine_writes_over_the_host_s_programs_and_the_host_does_not_change(machine):
    before = Path("/usr/bin/env").stat()
    found = machine.run("echo changed > /usr/bin/env && cat /usr/bin/env; rm -rf /usr/share/doc")
    if os.geteuid() != 0:
        assert not found.ok  # root of the machine is not the owner of these files
    else:
        assert found.stdout == "changed\n"
    assert Path("/usr/bin/env").stat() == before


@pytest.mark.slow
@needs_local
def test_a_machine_uses_the_host_s_devices_and_does_not_mark_them(machine, subtests):
    """They are the host's own: times or modes set here would be seen there."""
    for name in ("null", "zero", "full", "random", "urandom"):
        with subtests.test(name):
            use = f"exec 3</dev/{name} 4<>/dev/{name} && echo x >/dev/null"
            assert machine.run(use).exit_status == 0
            for mark in (
                f"touch /dev/{name}",
                f"chmod 666 /dev/{name}",
                f"touch - <>/dev/{name} >&0",
            ):
                execution = machine.run(mark)
                assert execution.exit_status != 0
                said = execution.stderr
                assert "Read-only file system" in said or "not permitted" in said


@pytest.mark.slow
@needs_local
def test_a_folder_is_an_image(provider, tmp_path):
    write_small_root(tmp_path)
    with provider.start(MachineSpec(image=str(tmp_path), workdir="/work")) as machine:
        found = machine.run("echo here > file; echo $(<file) $PWD; ls")
        assert found.stdout == "here /work\n"
        assert "ls: command not found" in found.stderr
    assert not (tmp_path / "work").exists()


@needs_local
@pytest.mark.slow
def test_a_machine_that_cannot_start_says_why(provider, subtests):
    for fields, error in (
        ({"image": "relative"}, ConfigError),
        ({"image": "/missing/image"}, ConfigError),
        ({"healthcheck": "false", "image": ""}, MachineError),
        ({"healthcheck": "sleep 60", "health_timeout": 0.2}, MachineError),
        ({"user": "nobody-known", "healthcheck": "true"}, MachineError),
    ):
        with (
            subtests.test(str(fields)),
            pytest.raises(error, match=r"image|health check|no such user"),
        ):
            provider.start(MachineSpec(**fields))


def test_a_spec_of_nonsense_is_refused(subtests):
    for fields in (
        {"memory": 0},
        {"health_timeout": 0},
        {"cpus": -1},
        {"processes": 0},
        {"workdir": "relative"},
        {"files": {"../etc/passwd": b""}},
        {"files": {"/a/../b": b""}},
        {"network": "bridge"},
        {"image": "/a", "build": "/b"},
    ):
        with subtests.test(str(fields)), pytest.raises(ConfigError):
            MachineSpec(**fields)


def test_ids_of_providers_are_checked():
    with pytest.raises(GemError, match=r"local"):
        gem_workers.make_machine("locl")
    with pytest.raises(GemError, match="takes no argument"):
        gem_workers.make_machine("local", speed=3)


@pytest.mark.slow
@needs_local
def test_a_broken_snapshot_is_refused_and_changes_nothing(machine, subtests):
    machine.shell().send("x=1; touch file")
    for data in (b"", b"\xff" * 9, b"\0" * 8 + b"not an archive" * 99):
        with subtests.test(repr(data[:9])):
            with pytest.raises(SnapshotError):
                machine.restore(MachineSnapshot("local", data))
            assert machine.shell().send("echo $x; ls").text == "1\nfile\n"


@pytest.mark.slow
@needs_local
def test_what_a_machine_deleted_stays_deleted_in_a_fork(machine):
    """Deleted and replaced folders of the lower layer are marks in the upper one."""
    if os.geteuid() != 0:
        pytest.skip("only root's machines can delete files of the host's /usr")
    machine.run("rm /usr/bin/env; rm -rf /usr/share/doc /etc/alternatives; mkdir /etc/alternatives")
    with machine.fork() as copy:
        found = copy.run("ls /usr/bin/env /usr/share/doc; ls -A /etc/alternatives")
        assert found.stdout == ""
        assert found.stderr.count("No such file") == 2


@needs_local
@pytest.mark.slow
def test_nothing_is_left_of_a_machine_whose_owner_ends(subtests):
    endings = {
        "kill": "os.kill(os.getpid(), 9)",
        "exit": "os._exit(0)",
        "drop": "del machine; gc.collect()",
    }
    owners = {}
    for how, ending in endings.items():
        mark = f"sleep 9{os.getpid()}{len(owners)}"
        script = (
            "import gc, os, gem_workers\n"
            "machine = gem_workers.make_machine('local')\n"
            f"machine.shell().send('setsid {mark} & (setsid {mark} &)')\n"
            f"{ending}\n"
        )
        owners[how] = mark, Command([sys.executable, "-c", script])
    for how, (mark, owner) in owners.items():
        with subtests.test(how):
            owner.wait(60)
            deadline = time.monotonic() + 60
            while subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout:
                assert time.monotonic() < deadline, f"processes are left of {mark}"
                time.sleep(0.02)


@pytest.mark.slow
@needs_local
def test_a_dead_server_is_replaced_and_its_machines_say_so(provider):
    machine = provider.start(MachineSpec())
    process = provider._server._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(MachineError, match=r"ended|answer"):
        machine.run("true")
    with provider.start(MachineSpec()) as other:
        assert other.run("echo well").stdout == "well\n"
    machine.close()


USE = """
import gc, os
from gem_core.errors import MachineError
from gem_workers.machine import MachineSpec
from gem_sandbox.machines.local.provider import LocalProvider

def count():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))

with LocalProvider() as provider:
    provider.start(MachineSpec()).close()
    before = count()
    for _ in range(2):
        with provider.start(MachineSpec()) as machine:
            machine.run("true")
            machine.shell().send("echo 1; exit")
            machine.shell().send("sleep 9", timeout=0.01)
            machine.fork().close()
            machine.restore(machine.snapshot())
            try:
                machine.read("/missing")
            except MachineError:
                print("refused")
    print(count() - before)
"""


@needs_local
@pytest.mark.slow
def test_no_descriptor_is_left_open(run_python):
    assert run_python(USE) == "refused\nrefused\n0\n"


@needs_local
def test_a_directory_that_the_user_may_not_enter_is_named(machine):
    if not has_users(machine):
        pytest.skip("a machine has one user here")
    assert machine.run("true", user="65534").stderr == "/root: Permission denied\n"


@needs_local
def test_root_and_nobody_are_users_of_every_machine(machine):
    names = machine.run("cut -d: -f1 /etc/passwd").stdout.split()
    assert {"root", "nobody"} <= set(names)


@needs_local
def test_the_memory_of_the_first_process_cannot_be_reached(machine):
    found = machine.run("cat /proc/1/maps /proc/1/environ; ls /proc/1/fd; head -c1 /proc/1/mem")
    assert found.stdout == ""
    assert found.stderr.count("Permission denied") == 4


@needs_local
@pytest.mark.slow
def test_hostile_folders_do_not_stop_a_snapshot_or_a_close(machine):
    machine.run(
        "deep=$(printf 'd/%.0s' $(seq 400)); mkdir -p $deep; cd $deep;"
        "touch $'new\\nline' $'\\377';"
        "ln -s loop loop; ln -s /etc/passwd ../out; mkfifo pipe; chmod 0 .."
    )
    with machine.fork() as copy:
        assert copy.run("find /root -name pipe 2>/dev/null | wc -l").stdout == "1\n"


LISTING = r"""
cd /; places="app srv usr/share/doc usr/lib/os-release"
find $places -printf '%p %y %#m %U %G %n %s %l\n' | sort
find $places ! -type l -printf '%p %t\n' | sort
find $places -type f -size -9k -exec md5sum {} + | sort
"""


@needs_local
@pytest.mark.slow
def test_a_fork_has_the_files_that_a_snapshot_has(provider, machine):
    """Links, holes, modes, owners, times, pipes, deep folders and what hides the image."""
    machine.run(
        "mkdir -p /app/a/b && cd /app && echo 1 > one && ln one two && ln one a/b/three;"
        "ln -s one link && ln -s /nowhere a/gone && mkfifo a/pipe && chmod 4711 two;"
        "chown 7:8 a/b; chmod 1777 a;"
        f"truncate -s {300 if thorough() else 30}M holes && echo end >> holes;"
        "echo \xe9 > $'new\nline \377';"
        "cd /usr/share; rm -rf doc; mkdir doc; echo new > doc/x;"
        "rm /usr/lib/os-release; mkdir /usr/lib/os-release;"
        "cd /srv; deep=$(printf 'd/%.0s' $(seq 600)); mkdir -p $deep; echo 1 > $deep/f;"
        "cd /; find app srv usr/share/doc usr/lib/os-release -exec touch -hd 2001-02-03 {} +"
    )
    expected = machine.run(LISTING).stdout
    assert "app/a/b/three f 04711 " in expected
    assert "d/d/d/f f " in expected
    assert machine.run("du -k /app/holes").stdout.startswith("4\t")
    with machine.fork() as fork, provider.start(MachineSpec(), machine.snapshot()) as other:
        assert fork.run(LISTING).stdout == expected
        assert other.run(LISTING).stdout == expected
        assert fork.run("du -k /app/holes").stdout.startswith("4\t")
        fork.write("/app/one", "changed")
        assert fork.read("/app/a/b/three") == b"changed"
    assert machine.read("/app/one") == b"1\n"


@pytest.mark.slow
@needs_local
def test_a_fork_is_made_while_processes_write(machine):
    """They are stopped meanwhile, and go on."""
    machine.write("/app/kept", "0")
    machine.run("cd /app; (while :; do echo $((i++)) > now; mv now kept; done) &")
    for _ in range(5):
        with machine.fork() as fork:
            assert fork.read("/app/kept").strip().isdigit()
            assert not fork.processes()
    before = machine.read("/app/kept")
    assert machine.run(f"until [ $(cat /app/kept) -gt {int(before)} ]; do sleep .01; done").ok


def test_the_beginning_and_the_end_of_an_output_are_kept(subtests):
    for limit, text, left in ((6, "abcdef", 0), (4, "ab", 2), (2, "a", 4)):
        for size in (6, 3, 1):
            with subtests.test(f"{limit} bytes of pieces of {size}"):
                output = HeadAndTail(limit)
                for at in range(0, 6, size):
                    output.add(b"abcdef"[at : at + size])
                found = output.text()
                assert found.startswith(text)
                assert output.left_out == left
                assert (f"[{left} bytes left out]" in found) == bool(left)
                assert found.endswith("f")
