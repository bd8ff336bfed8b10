"""Machines of ``docker``, on an engine that really runs."""

import contextlib
import functools
import gc
import http.client
import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest
from commands import Command
from hostile_shells import HARMLESS, STUCK, check_shell_goes_on
from needs import missing
from selection import some, thorough

import gem_workers
from gem_core.errors import ConfigError, MachineError, NoMachineError, SandboxError, SnapshotError
from gem_sandbox.docker import connect
from gem_sandbox.machines.docker.default_image import DEFAULT_IMAGE
from gem_sandbox.machines.docker.engine import LABEL, ContainerEngine
from gem_sandbox.machines.docker.provider import DockerProvider
from gem_workers.machine import MachineSnapshot, MachineSpec
from gem_workers.testing import MACHINE_CHECKS, check_machine


@functools.cache
def why_not() -> str:
    try:
        connect().close()
    except SandboxError as error:
        return str(error)
    return ""


@pytest.fixture
def client():
    if why_not():
        missing("docker", f"machines of docker do not work here: {why_not()}")
    with contextlib.closing(connect()) as made:
        yield made


@pytest.fixture(scope="module")
def shared():
    if why_not():
        missing("docker", f"machines of docker do not work here: {why_not()}")
    with DockerProvider() as made:
        made.prepare(MachineSpec())  # some tests build images from the default one
        yield made


@pytest.fixture
def provider(shared):
    return shared


@pytest.fixture
def machine(provider):
    with provider.start(MachineSpec()) as made:
        yield made


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.02)


def exists(client, container):
    return any(one.id == container for one in client.containers.list(all=True, ignore_removed=True))


@pytest.mark.parametrize("check", MACHINE_CHECKS)
def test_docker_machines_keep_the_contract(client, check):
    report = check_machine("docker", checks=[check])
    report.raise_for_findings()
    assert not report.unchecked


def test_an_image_that_is_nowhere_is_named(provider):
    with pytest.raises(MachineError, match=r"no image 'gem-no-such-image:1' and cannot pull it"):
        provider.prepare(MachineSpec(image="gem-no-such-image:1"))


def test_an_image_without_bash_is_named(client, provider):
    name = "gem-machine-test:bare"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    client.api.import_image_from_data(
        packed.getvalue(), repository=name.partition(":")[0], tag="bare"
    )
    try:
        with pytest.raises(MachineError, match=f"{name!r} has no /bin/bash"):
            provider.start(MachineSpec(image=name))
    finally:
        client.images.remove(name, force=True)


def test_a_dockerfile_is_built_once_for_each_content(client, provider, tmp_path):
    (tmp_path / "names.txt").write_text("Ada\n")
    (tmp_path / "Dockerfile").write_text(
        f"FROM {DEFAULT_IMAGE} AS first\nRUN echo built > /srv/built\n"
        f"FROM {DEFAULT_IMAGE}\nENV COLOUR=green\nCOPY --from=first /srv/built /app/\n"
        "COPY names.txt /app/\n"
    )
    spec = MachineSpec(build=str(tmp_path), workdir="/app")
    names = []
    try:
        for _ in range(2):
            provider.prepare(spec)
            names.append(provider.image(spec).name)
        assert names[0] == names[1]
        with provider.start(spec) as machine:
            found = machine.run("cat names.txt built; echo $COLOUR")
            assert found.stdout == "Ada\nbuilt\ngreen\n"
        (tmp_path / "names.txt").write_text("Bob\n")
        provider.prepare(spec)
        names.append(provider.image(spec).name)
        assert names[2] != names[0]
    finally:
        for name in set(names):
            client.images.remove(name, force=True)


def test_what_cannot_be_built_says_why(provider, tmp_path):
    with pytest.raises(ConfigError, match="Dockerfile is missing"):
        provider.prepare(MachineSpec(build=str(tmp_path)))
    (tmp_path / "Dockerfile").write_text(f"FROM {DEFAULT_IMAGE}\nRUN echo no such thing; exit 3\n")
    with pytest.raises(MachineError, match=r"(?s)cannot be built.*no such thing.*code: 3"):
        provider.prepare(MachineSpec(build=str(tmp_path)))


def test_user_environment_and_folder(provider):
    spec = MachineSpec(user="nobody", env={"A": "1"}, workdir="/srv/work")
    with provider.start(spec) as machine:
        assert machine.run("id -un; echo $A $USER; pwd").stdout == "nobody\n1 nobody\n/srv/work\n"
        assert machine.run("id -u", user="1234").stdout == "1234\n"
        assert machine.run("id -u; hostname", user="root").stdout == "0\nmachine\n"
        with pytest.raises(MachineError, match="unable to find user nobody-known"):
            machine.run("true", user="nobody-known")
        shell = machine.shell()
        assert shell.send("read line; echo $line; id -un", timeout=0.2).running
        assert shell.send("typed é\n").text == "typed é\nnobody\n"


def test_why_nothing_starts_is_said_when_the_engine_answers_before_it_is_listened_to(
    machine, monkeypatch
):
    """Then its words are received together with the headers of its answer."""
    begin = http.client.HTTPResponse.begin

    def late(response):
        time.sleep(0.5)
        begin(response)

    monkeypatch.setattr(http.client.HTTPResponse, "begin", late)
    with pytest.raises(MachineError, match="unable to find user nobody-known"):
        machine.run("true", user="nobody-known")


def test_what_a_command_writes_first_is_not_taken_for_the_engine_s_words(machine):
    """The engine gives no order between the two outputs."""
    for _ in range(30 if thorough() else 8):
        assert machine.run("echo err >&2").stderr == "err\n"


def test_there_is_no_network_unless_it_is_asked_for(provider, machine):
    listed = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"
    assert machine.run(listed).stdout == "lo\n"
    with provider.start(MachineSpec(network="host")) as other:
        here = Path("/proc/net/dev").read_text().splitlines()[2:]
        expected = {line.partition(":")[0].strip() for line in here}
        assert set(other.run(listed).stdout.split()) == expected


def test_a_container_may_do_no_more_than_it_must(client, provider):
    spec = MachineSpec(memory=100 << 20, processes=50, cpus=0.5)
    with provider.start(spec) as machine:
        config = client.containers.get(machine._running.id).attrs["HostConfig"]
    assert config["NetworkMode"] == "none"
    assert "no-new-privileges" in config["SecurityOpt"]
    assert set(config["CapDrop"]) == {"MKNOD", "NET_RAW"}
    assert not config["CapAdd"]
    assert not config["Privileged"]
    assert not config["Binds"]
    assert (config["Memory"], config["PidsLimit"], config["NanoCpus"]) == (100 << 20, 50, 5 * 10**8)


def test_the_order_of_output_and_end_is_kept(machine):
    shell = machine.shell()
    for number in range(20):
        assert shell.send(f"echo {number}; echo err{number} >&2").text == f"{number}\nerr{number}\n"


def test_a_fork_of_a_fork_and_what_was_deleted(provider, machine):
    machine.run("rm -rf /usr/share/misc; echo 1 > /srv/one; mkdir /srv/d; touch /srv/d/x")
    with machine.fork() as first:
        first.run("echo 2 > /srv/two; rm -rf /srv/d; ln -s /etc /srv/d")
        with first.fork() as second:
            found = second.run("cat /srv/one /srv/two; ls /usr/share/misc; readlink /srv/d")
            assert found.stdout == "1\n2\n/etc\n"
            snapshot = second.snapshot(keep=lambda change: change.path.startswith("/srv"))
    with provider.start(MachineSpec(), snapshot) as other:
        assert other.run("cat /srv/one /srv/two; readlink /srv/d").stdout == "1\n2\n/etc\n"
        assert other.run("ls -d /usr/share/misc; ls /etc/passwd").stdout.endswith("/etc/passwd\n")


def test_a_snapshot_of_some_changes(provider, machine):
    machine.run(
        "mkdir -p /srv/new/in; echo 1 > /srv/new/in/kept; echo 2 > /srv/new/dropped; "
        "ln /srv/new/in/kept /srv/new/same; echo x >> /etc/profile; rm /etc/issue; "
        "rm -r /etc/alternatives; mkdir /etc/alternatives; touch /etc/alternatives/own; "
        "echo changed > /bin/sort; chmod 711 /opt"
    )
    seen = {}

    def keep(change):
        seen[change.path] = (change.kind, change.in_image)
        return change.path not in {"/srv/new/dropped", "/bin/sort", "/usr/bin/sort", "/etc/profile"}

    with provider.start(MachineSpec(), machine.snapshot(keep=keep)) as other:
        found = other.run(
            "cat /srv/new/in/kept /srv/new/same; ls /srv/new; ls /etc/alternatives; "
            "test -e /etc/issue; echo $?; stat -c %a /opt; tail -n 1 /etc/profile; "
            "printf '2\\n1\\n' | sort"
        )
    lines = found.stdout.split("\n")
    assert lines[:7] == ["1", "1", "in", "same", "own", "1", "711"]
    assert lines[-3:] == ["1", "2", ""]
    assert "x" not in lines
    assert seen["/srv/new"] == ("folder", False)
    assert seen["/usr/bin/sort"] == ("file", True)
    assert seen["/etc/issue"] == ("deleted", True)


def test_a_broken_snapshot_is_refused_and_changes_nothing(machine, subtests):
    machine.shell().send("x=1; touch file")
    for data in (b"", b"\xff" * 9, b"\0" * 8 + b'{"image": 3}', b"\0" * 8 + b"[]"):
        with subtests.test(repr(data)):
            with pytest.raises(SnapshotError):
                machine.restore(MachineSnapshot("docker", data))
            assert machine.shell().send("echo $x; ls").text == "1\nfile\n"


def test_a_snapshot_ends_with_its_owner(client):
    provider = DockerProvider(host=os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    with provider.start(MachineSpec()) as machine:
        snapshot = machine.snapshot()
    provider.close()
    with (
        DockerProvider() as other,
        pytest.raises(SnapshotError, match="as long as the process"),
    ):
        other.start(MachineSpec(), snapshot)


def test_nothing_is_left_of_an_owner_that_is_killed(client):
    code = (
        "import os, gem_workers\n"
        "machine = gem_workers.make_machine('docker')\n"
        "machine.shell().send('setsid sleep 99 & sleep 98 &')\n"
        "snapshot = machine.snapshot()\n"
        "print(machine._running.id, flush=True)\n"
        "machine.run('sleep 97', timeout=100)\n"
    )
    with Command([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        container = owner.stdout.readline().strip()
        assert exists(client, container)
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not exists(client, container))
    engine = ContainerEngine(None)
    assert engine.client  # the first use removes what dead processes have left
    engine.close()
    for image in client.api.images(filters={"label": LABEL}):  # others may remove theirs meanwhile
        owner_pid = int(image["Labels"][LABEL].rpartition(" ")[2].partition("@")[0])
        assert Path(f"/proc/{owner_pid}").exists()


def test_the_reaper_touches_nothing_of_others(client, machine):
    here = client.containers.get(machine._running.id).labels[LABEL].rpartition(" ")[0]
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    owners = {"dead": f"{here} {dead.pid}@1", "elsewhere": f"elsewhere pid:[1] {dead.pid}@1"}
    made = {
        name: client.containers.create(DEFAULT_IMAGE, ["true"], labels={LABEL: owner}).id
        for name, owner in owners.items()
    }
    made["no label"] = client.containers.create(DEFAULT_IMAGE, ["true"]).id
    try:
        engine = ContainerEngine(None)
        assert engine.client
        engine.close()
        left = {name for name, container in made.items() if exists(client, container)}
        assert left == {"elsewhere", "no label"}
        assert machine.run("echo well").stdout == "well\n"
    finally:
        for container in made.values():
            with contextlib.suppress(Exception):
                client.containers.get(container).remove(force=True)


class Relay:
    """Stands between a client and the engine, until it is closed."""

    def __init__(self, path: Path, engine: str) -> None:
        self._engine = engine
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(self._engine)
                self._open += [client, engine]
                for pair in ((client, engine), (engine, client)):
                    threading.Thread(target=self._copy, args=pair, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of docker-py
def test_an_engine_that_stops_is_an_error_that_says_so(client, tmp_path):
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        pytest.skip("the engine is not at a socket of this host")
    relay = Relay(tmp_path / "engine.sock", address.removeprefix("unix://"))
    provider = DockerProvider(host=f"unix://{tmp_path}/engine.sock")
    machine = provider.start(MachineSpec())
    container = machine._running.id
    threading.Timer(0.3, relay.close).start()
    with pytest.raises(MachineError, match="ended while a command was running"):
        machine.run("sleep 50")
    with pytest.raises(MachineError, match="does not answer"):
        machine.read("/etc/passwd")
    with pytest.raises(MachineError):
        machine.run("true")
    machine.close()
    provider.close()
    wait_until(lambda: not exists(client, container))
    gc.collect()  # docker-py does not close a socket that cannot connect


def test_a_machine_that_was_removed_says_so(client, provider):
    machine = provider.start(MachineSpec())
    client.containers.get(machine._running.id).remove(force=True)
    for refused in (lambda: machine.run("true"), lambda: machine.read("/etc/passwd")):
        with pytest.raises(MachineError, match="has ended"):
            refused()
    machine.close()


def test_without_an_engine_the_error_says_what_to_do():
    with pytest.raises(NoMachineError, match=r"No Docker engine answers at unix:///nowhere"):
        gem_workers.make_machine("docker", host="unix:///nowhere/docker.sock")


def test_without_docker_py_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(NoMachineError, match=r"pip install 'gem-sandbox\[docker\]'"):
        gem_workers.make_machine("docker", host="unix:///other/docker.sock")


def test_a_command_that_breaks_its_shell_does_no_harm_to_the_next(provider, subtests):
    for command in some((*HARMLESS, *STUCK)):
        with subtests.test(command), provider.start(MachineSpec(workdir="/app")) as machine:
            check_shell_goes_on(machine, command, is_stuck=command in STUCK, patience=1.0)
