"""Machines where overlayfs cannot be mounted: programs are read-only, the rest is a copy."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from local_machines import write_small_root
from selection import thorough

from gem_core.errors import ConfigError, MachineError
from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import MachineSpec
from gem_workers.testing import MACHINE_CHECKS, check_machine

pytestmark = pytest.mark.usefixtures("local")
ABOUT_FILES = ("files", "states", "isolation", "limits")
"""The checks that depend on how the file system is made."""


@pytest.fixture(scope="module")
def provider(provider):
    with LocalProvider(overlay=False) as made:
        yield made


@pytest.fixture
def machine(provider):
    with provider.start(MachineSpec(workdir="/app")) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("check", MACHINE_CHECKS if thorough() else ABOUT_FILES)
def test_machines_without_overlayfs_keep_the_contract(check):
    check_machine(lambda: LocalProvider(overlay=False), checks=[check]).raise_for_findings()


@pytest.mark.slow
def test_programs_are_there_and_cannot_be_changed(machine):
    found = machine.run("ls /usr/bin/env; touch /usr/new; rm /usr/bin/env")
    assert found.stdout == "/usr/bin/env\n"
    assert found.stderr.count("Read-only file system") == 2
    assert Path("/usr/bin/env").exists()


CHANGE = """
echo 1 > new; mkdir -p tree/in; echo 2 > tree/in/f; ln -s new link; ln new hard; mkfifo pipe
rm /etc/profile; echo changed >> /etc/bash.bashrc; rm -rf /etc/skel; mkdir /etc/skel
echo 3 > /etc/skel/own; chmod 700 tree; chmod 600 /etc/issue
echo 0 > /etc/hostname; touch -d @1 /etc/hostname
"""
SHOW = """
find /app /etc/skel /etc/issue /etc/hostname -printf '%p %y %m %l %TY%Tm%Td%TH%TM\\n' | sort
cat new hard tree/in/f /etc/skel/own /etc/hostname; tail -n 1 /etc/bash.bashrc
test -e /etc/profile || echo deleted; [ new -ef hard ] && echo one file
"""


@pytest.mark.slow
@pytest.mark.parametrize("overlay", [False, True])
def test_a_snapshot_holds_what_has_changed_with_overlayfs_or_without(provider, machine, overlay):
    assert machine.run(CHANGE).ok
    expected = machine.run(SHOW).stdout
    assert expected.endswith("changed\ndeleted\none file\n")
    with (
        LocalProvider(overlay=overlay) as other,
        other.start(machine.spec, machine.snapshot()) as copy,
        provider.start(machine.spec, copy.snapshot()) as back,
    ):
        assert copy.run(SHOW).stdout == expected
        assert back.run(SHOW).stdout == expected


@pytest.mark.slow
def test_a_fork_has_the_files_and_the_shell(machine):
    machine.shell().send(f"{CHANGE}\nx=5; cd tree")
    with machine.fork() as copy:
        assert copy.shell().send("echo $x $PWD; cat in/f").text == "5 /app/tree\n2\n"
        assert copy.run(SHOW).stdout == machine.run(SHOW).stdout


@pytest.mark.slow
def test_changes_are_those_that_overlayfs_has(machine):
    def changes(of):
        found = []
        of.snapshot(keep=lambda one: found.append(one) or True)
        return {(one.path, one.kind, one.in_image) for one in found}

    machine.run(CHANGE)
    with LocalProvider() as other, other.start(machine.spec) as with_overlay:
        with_overlay.run(CHANGE)
        assert changes(machine) == changes(with_overlay)


@pytest.mark.slow
def test_what_is_not_kept_is_as_in_the_image(provider, machine):
    machine.run(CHANGE)
    kept = machine.snapshot(keep=lambda one: one.path.startswith("/app"))
    with provider.start(machine.spec, kept) as fresh:
        found = fresh.run("cat new; ls /etc/profile; cat /etc/hostname; ls -A /etc/skel")
    assert found.stdout.startswith("1\n/etc/profile\nmachine\n.bash")


@pytest.mark.slow
def test_a_dockerfile_is_built(provider, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = "FROM a\nCOPY f /srv/f\nRUN rm /etc/issue && mkdir /app && echo 2 > /app/g\n"
    (tmp_path / "f").write_text("1\n")
    (tmp_path / "Dockerfile").write_text(lines)
    spec = MachineSpec(build=str(tmp_path), workdir="/app")
    provider.prepare(spec)
    with provider.start(spec) as machine, machine.fork() as copy:
        found = copy.run("cat /srv/f g; test -e /etc/issue || echo deleted")
        assert found.stdout == "1\n2\ndeleted\n"
    (tmp_path / "Dockerfile").write_text("FROM a\nRUN touch /usr/new\n")
    with pytest.raises(ConfigError, match=r"line 2: RUN ended.*Read-only file system"):
        provider.prepare(spec)


@pytest.mark.slow
def test_a_snapshot_with_changed_programs_is_refused(provider):
    with LocalProvider() as other, other.start(MachineSpec()) as machine:
        if not machine.run("echo 1 > /usr/local/new").ok:
            pytest.skip("all files of a machine belong to one user here")
        snapshot = machine.snapshot()
    with pytest.raises(MachineError, match="programs cannot be changed without overlayfs"):
        provider.start(MachineSpec(), snapshot)


TOO_DEEP = """
set -e
mount -t tmpfs none {0}/over
cd {0}/over; mkdir one two u1 w1 u2 w2
mount -t overlay none -o userxattr,lowerdir={0}/root,upperdir=$PWD/u1,workdir=$PWD/w1 one
mount -t overlay none -o userxattr,lowerdir=one,upperdir=$PWD/u2,workdir=$PWD/w2 two
exec {1} -c '
from gem_workers.machine import MachineSpec, make_machine
with make_machine("local", MachineSpec(image="{0}/over/two", workdir="/app")) as machine:
    print(machine.run("echo 1 > f; echo $(<f); echo 2 > /usr/new"))
'
"""


@pytest.mark.slow
def test_an_image_that_overlayfs_cannot_have_is_used_without_it(tmp_path):
    """Overlayfs is at most two levels deep."""
    (tmp_path / "over").mkdir()
    (tmp_path / "root").mkdir()
    write_small_root(tmp_path / "root")
    script = TOO_DEEP.format(tmp_path, sys.executable)
    command = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "mount: " in found.stderr or "unshare: " in found.stderr:
        pytest.skip(f"no overlayfs here: {found.stderr}")
    assert "stdout='1\\n'" in found.stdout, found.stderr
    assert "Read-only file system" in found.stdout


def test_a_root_may_hold_devices(provider, tmp_path):
    write_small_root(tmp_path)
    (tmp_path / "dev").mkdir()
    try:
        os.mknod(tmp_path / "dev" / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    with provider.start(MachineSpec(image=str(tmp_path))) as machine:
        assert machine.run("echo 1 > /dev/null").ok
