"""Whatever files a command makes, a machine copies them rightly or says why it cannot."""

import os
import tempfile
from pathlib import Path

import pytest

from gem_core.errors import ConfigError, MachineError
from gem_sandbox.machines.local.provider import LocalProvider
from gem_sandbox.machines.process import ProcessProvider
from gem_workers.machine import MachineSpec

pytestmark = [pytest.mark.usefixtures("local"), pytest.mark.slow]
SPEC = MachineSpec(workdir="/app", disk=50 << 20)
DEEP = """
cd {}; mkdir top; echo bottom > top/file
for i in {{1..10}}; do
  mkdir -p new/$(printf 'deep/%.0s' {{1..120}}); mv top new/$(printf 'deep/%.0s' {{1..121}})
  mv new/deep top; rmdir new
done; mv top deep
"""
"""Makes 1,201 folders inside one another: more than calls of Python, and a path of 6,005 bytes."""


@pytest.fixture(scope="module")
def plain(local):
    with LocalProvider(overlay=False) as made:
        yield made


@pytest.fixture
def machine(provider):
    with provider.start(SPEC) as made:
        yield made


def in_app(change):
    return change.path.startswith("/app")


def changes(machine):
    found = {}
    machine.snapshot(keep=lambda change: found.update({change.path: change}) is not None)
    return found


@pytest.mark.parametrize("has_overlay", [True, False])
def test_folders_of_any_depth_are_copied(provider, plain, has_overlay):
    used = provider if has_overlay else plain
    look = "find /tmp -name file -execdir cat {} +; find /tmp -name deep | wc -l; cat kept; ls /tmp"
    with used.start(SPEC) as machine:
        machine.write("/app/kept", "1\n")
        assert machine.run(DEEP.format("/tmp")).ok
        expected = "bottom\n1201\n1\ndeep\n"
        assert machine.run(look).stdout == expected
        with machine.fork() as fork, used.start(SPEC, machine.snapshot()) as other:
            assert fork.run(look).stdout == other.run(look).stdout == expected
        with used.start(SPEC, machine.snapshot(keep=in_app)) as other:
            assert other.run(look).stdout == "0\n1\n"
        assert 700 < len([path for path in changes(machine) if path.endswith("deep")]) < 900


def test_folders_that_are_too_deep_for_the_host_are_not_pulled(machine, tmp_path):
    machine.run(f"mkdir -p {'e/' * 200}")
    machine.pull("/app", tmp_path)
    assert (tmp_path / "app" / ("e/" * 200)).is_dir()
    machine.run(DEEP.format("/tmp"))
    with pytest.raises(MachineError, match="more than 256 folders inside one another"):
        machine.pull("/tmp", tmp_path)


@pytest.mark.parametrize("has_overlay", [True, False])
def test_a_file_that_is_not_kept_is_not_read(provider, plain, tmp_path, has_overlay):
    used = provider if has_overlay else plain
    with used.start(SPEC) as machine:
        machine.write("/app/kept", "1\n")
        machine.run("truncate -s 1T /tmp/huge; ln -s huge /tmp/link; rm /etc/issue")
        found = changes(machine)
        assert (found["/tmp/huge"].kind, found["/tmp/huge"].size) == ("file", 1 << 40)
        assert (found["/tmp/link"].kind, found["/tmp/link"].target) == ("link", "huge")
        assert (found["/app/kept"].target, found["/app/kept"].size) == ("", 2)
        assert found["/etc/issue"].kind == "deleted"
        with used.start(SPEC, machine.snapshot(keep=in_app)) as other:
            assert other.run("cat kept; ls /tmp").stdout == "1\n"
        for refused in (
            machine.snapshot,
            lambda: machine.snapshot(keep=lambda _: True),
            lambda: machine.pull("/tmp", tmp_path),
            lambda: machine.read("/tmp/huge"),
        ):
            with pytest.raises(MachineError, match="more than"):
                refused()
        assert machine.run("cat kept").stdout == "1\n"


def test_a_further_name_of_a_file_is_kept_without_the_first(provider, machine):
    machine.run("mkdir /aaa; echo 1 > /aaa/first; ln /aaa/first zzz")
    assert changes(machine)["/app/zzz"].size == 2
    with provider.start(SPEC, machine.snapshot(keep=in_app)) as other:
        assert other.run("cat zzz; ls /aaa").stdout == "1\n"


def test_holes_stay_holes(provider, machine):
    machine.run("truncate -s 60M holes; echo end >> holes")
    with machine.fork() as fork, provider.start(SPEC, machine.snapshot()) as other:
        for one in (fork, other):
            size, end = one.run("du -k holes; tail -c 4 holes").stdout.splitlines()
            assert (int(size.split()[0]) < 200, end) == (True, "end")


def test_a_full_disk_is_copied(provider, machine):
    machine.write("/app/kept", "1\n")
    assert not machine.run("head -c 300M /dev/zero > /tmp/big").ok
    with pytest.raises(MachineError, match="No space left"):
        machine.write("/app/more", "x" * 100_000)
    look = "cat kept; stat -c %s /tmp/big"
    with machine.fork() as fork, provider.start(SPEC, machine.snapshot(keep=in_app)) as other:
        assert fork.run(look).stdout == machine.run(look).stdout
        assert other.run("cat kept; ls /tmp").stdout == "1\n"


def test_names_take_room_as_well(provider, machine):
    found = machine.run("mkdir /tmp/many; cd /tmp/many; seq 40000 | xargs touch")
    assert "No space left" in found.stderr
    assert 30_000 < len(changes(machine)) < 35_000
    with provider.start(SPEC, machine.snapshot(keep=in_app)) as other:
        assert other.run("ls /tmp; pwd").stdout == "/app\n"
    assert machine.run("rm -r /tmp/many; echo well").stdout == "well\n"


def test_names_may_be_any_bytes(provider, machine, tmp_path):
    machine.run(r"touch $'new\nline' $'\377\376' -- -n ' '; mkdir $'\377\n'; ln -s $'\n\377' link")
    listing = "ls -A | od -c; readlink link | od -c"
    expected = machine.run(listing).stdout
    assert changes(machine)["/app/link"].target == "\n\udcff"
    kept = provider.start(SPEC, machine.snapshot(keep=in_app))
    with machine.fork() as fork, kept as other:
        assert fork.run(listing).stdout == other.run(listing).stdout == expected
    machine.pull("/app", tmp_path)
    assert b"\xff\xfe" in {os.fsencode(path.name) for path in (tmp_path / "app").iterdir()}


@pytest.mark.parametrize("replacement", ["echo >", "ln -s app", "ln -s /proc", "mkfifo", "true"])
def test_the_working_directory_may_be_anything(provider, machine, replacement):
    shell = machine.shell()
    shell.send(f"cd /; rm -rf /app; {replacement} /app")
    with machine.fork() as fork, provider.start(SPEC, machine.snapshot(keep=in_app)) as other:
        for one in (fork, other, machine):
            assert one.run("echo well", cwd="/").stdout == "well\n"
        for one in (fork, machine):
            assert one.shell().send("cd /; echo well").text == "well\n"
    for end in (lambda: shell.send("exit"), machine.kill_all):
        end()
        assert shell.send("echo well").text == "well\n"


def test_what_is_no_file_is_refused_and_nothing_waits(machine):
    machine.run("mkfifo pipe; mkdir folder; ln -s loop loop; ln -s /proc/1/mem memory")
    for name in ("pipe", "folder", "loop", "memory", "missing/x"):
        with pytest.raises(MachineError, match=f"/app/{name}"):
            machine.read(f"/app/{name}")
    for name in ("pipe", "folder", "loop", "memory", "loop/x", "pipe/x"):
        with pytest.raises(MachineError, match=f"/app/{name}"):
            machine.write(f"/app/{name}", "x")
    with pytest.raises(ConfigError, match="path of a machine"):
        machine.write("/app/\ud800", "x")
    machine.write("/app/" + "d/" * 1200 + "file", "x")
    with pytest.raises(MachineError, match="too long"):
        machine.write("/app/" + "d/" * 3000 + "file", "x")
    with pytest.raises(MachineError, match="bytes"):
        machine.run("true", cwd="/" + "d" * 200_000)
    assert machine.run("echo well").stdout == "well\n"


def test_links_that_lead_out_in_several_steps_are_not_pulled(machine, tmp_path):
    machine.run(
        "mkdir -p a/b; ln -s x/.. a/w; ln -s .. a/x; ln -s ../a/b a/in; ln -s ../../.. a/b/out;"
        "ln -s a/b/../b up; ln -s / root; ln -s ../other beside; ln a/in beside2"
    )
    machine.pull("/app", tmp_path)
    copied = {
        os.path.relpath(Path(folder, name), tmp_path)
        for folder, folders, files in os.walk(tmp_path)
        for name in (*folders, *files)
    }
    assert copied == {"app", "app/a", "app/a/b", "app/a/x", "app/a/in"}


def test_a_link_in_the_place_of_a_folder_makes_nothing_on_the_host(provider):
    spec = MachineSpec(workdir="/app/work")
    with tempfile.TemporaryDirectory() as folder, provider.start(spec) as machine:
        Path(folder).chmod(0o777)
        machine.run(f"cd /; rm -rf /app; ln -s {folder} /app")
        with machine.fork(), provider.start(spec, machine.snapshot()):
            assert not list(Path(folder).iterdir())


def test_files_that_change_while_they_are_copied_are_no_error(machine, tmp_path):
    machine.run(
        "(while :; do mkdir -p a/b; mv a x; mv x a; rm -rf a; head -c 99999 /dev/zero > f; done)"
        " >/dev/null 2>&1 &"
    )
    for _ in range(5):
        machine.pull("/app", tmp_path)
        machine.snapshot(keep=in_app)
        machine.fork().close()
    assert machine.processes()


def test_an_error_of_keep_is_the_caller_s_and_the_machine_goes_on(machine):
    machine.run("touch a b; (while :; do echo 1 > now; sleep 0.01; done) >/dev/null 2>&1 &")
    for error in (OSError("mine"), ValueError("mine")):

        def keep(_, error=error):
            raise error

        with pytest.raises(type(error), match="mine"):
            machine.snapshot(keep=keep)
        wait = "rm -f now; until [ -e now ]; do sleep 0.01; done"
        assert machine.run(wait).limit is None


@pytest.mark.filterwarnings("ignore:Machines of 'process':RuntimeWarning")
def test_machines_of_process_may_have_deep_folders_too(tmp_path):
    provider = ProcessProvider()
    machine = provider.start(MachineSpec(workdir="/app"))
    assert machine.run(DEEP.format(".")).ok
    copy = machine.fork()
    assert copy.run("find . -name deep | wc -l").stdout == "1201\n"
    with pytest.raises(MachineError, match="more than 256 folders"):
        machine.pull("/app", tmp_path)
    folders = [one._folder for one in (machine, copy)]
    provider.close()
    assert not any(folder.exists() for folder in folders)


def test_folders_above_what_is_kept_are_not_as_the_agent_left_them(provider, machine):
    open_all = "mkdir -p /srv/shop/data && echo 1 > /srv/shop/data/x && chmod -R 777 /srv"
    machine.run(f"{open_all}; chmod 777 /; chown 7:8 /srv /srv/shop")

    def in_data(change):
        return change.path.startswith("/srv/shop/data")

    with provider.start(SPEC, machine.snapshot(keep=in_data)) as other:
        listed = other.run("stat -c '%u %a %n' / /srv /srv/shop /srv/shop/data", cwd="/").stdout
        owners = [line.split()[:2] for line in listed.splitlines()]
        assert owners == [["0", "755"], ["0", "755"], ["0", "755"], ["0", "777"]]
