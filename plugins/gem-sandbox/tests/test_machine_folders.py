"""Machines see folders of the host, and the host listens on a machine's loopback."""

import socket
import threading

import pytest

from gem_core.errors import ConfigError, MachineError
from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import MachineSpec, make_machine

pytestmark = pytest.mark.usefixtures("provider")  # whose server all others use
HELLO = "exec 3<>/dev/tcp/127.0.0.1/$PORT; echo hello >&3; cat <&3"


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    folder.chmod(0o755)
    for parent in tmp_path.parents:  # as pytest makes them for their owner alone
        if parent.name.startswith("pytest-"):
            parent.chmod(0o755)
    tmp_path.chmod(0o755)
    (folder / "say").write_text("#!/bin/sh\necho said\n")
    (folder / "say").chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("overlay", [True, False])
def test_a_machine_runs_programs_of_a_folder_of_the_host(tools, overlay, subtests):
    # Without overlayfs, /usr cannot be changed, so it gets no folder.
    for inside in ("/opt/tools", "/not/there/before", *["/usr/local/more"] * overlay):
        with (
            subtests.test(inside),
            LocalProvider(folders={inside: str(tools)}, overlay=overlay) as provider,
            provider.start(MachineSpec()) as machine,
        ):
            assert machine.run(f"{inside}/say").stdout == "said\n"


@pytest.mark.slow
def test_what_a_machine_writes_there_stays_in_it_and_in_its_copies(tools):
    with (
        LocalProvider(folders={"/opt/tools": str(tools)}) as provider,
        provider.start(MachineSpec()) as machine,
        provider.start(MachineSpec()) as other,
    ):
        machine.run("echo new > /opt/tools/new; rm /opt/tools/say")
        with machine.fork() as fork, provider.start(MachineSpec(), machine.snapshot()) as copy:
            for one in (machine, fork, copy):
                assert one.run("ls /opt/tools").stdout == "new\n"
        assert other.run("ls /opt/tools").stdout == "say\n"
    assert [path.name for path in tools.iterdir()] == ["say"]


def test_machines_of_an_image_that_was_built_without_the_folders_see_them(tools, tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN echo built > /opt/built\n")
    spec = MachineSpec(build=str(tmp_path))
    with LocalProvider() as provider:
        provider.prepare(spec)
    shown = {"/opt/tools": str(tools)}
    with LocalProvider(folders=shown) as provider, provider.start(spec) as machine:
        assert machine.run("cat /opt/built; /opt/tools/say").stdout == "built\nsaid\n"


def test_folders_that_cannot_be_shared_are_refused(subtests):
    for folders in ({"opt": "/usr"}, {"/opt/a": "usr"}, {"/opt/a": "/no/such"}):
        with subtests.test(str(folders)), pytest.raises(ConfigError, match="absolute"):
            LocalProvider(folders=folders)


def serve_once(listener, found):
    connection, _ = listener.accept()
    with connection:
        found.append(connection.makefile("rb").readline())
        connection.sendall(b"answered\n")


@pytest.mark.parametrize("provider", ["local", "process"])
@pytest.mark.filterwarnings("ignore:Machines of 'process':RuntimeWarning")
def test_the_host_answers_on_a_port_of_the_machine(provider):
    found = []
    machine = make_machine(provider)
    with machine, machine.listen() as listener:
        thread = threading.Thread(target=serve_once, args=(listener, found))
        thread.start()
        port = listener.getsockname()[1]
        assert machine.run(HELLO, env={"PORT": str(port)}).stdout == "answered\n"
        thread.join()
    assert found == [b"hello\n"]


@pytest.mark.slow
def test_the_port_of_a_machine_can_be_reached_neither_from_the_host_nor_from_others():
    with LocalProvider() as provider, provider.start(MachineSpec()) as machine:
        with machine.listen() as listener, provider.start(MachineSpec()) as other:
            port = listener.getsockname()[1]
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
            done = other.run(HELLO, env={"PORT": str(port)})
            assert "refused" in done.stderr
        with pytest.raises(MachineError, match="closed"):
            other.listen()


def test_a_port_that_is_taken_is_refused():
    with (
        LocalProvider() as provider,
        provider.start(MachineSpec()) as machine,
        machine.listen() as listener,
        pytest.raises(MachineError, match="in use"),
    ):
        machine.listen(listener.getsockname()[1])
