"""The sandbox ``docker``, on an engine that really runs."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from backends import make_backend, require
from commands import Command

import gem_workers
from gem_core.errors import ConfigError, SandboxError
from gem_sandbox.docker import DockerSandbox, connect, make_image, owned, reap
from gem_sandbox.image import DEFAULT_IMAGE
from gem_workers.sandbox import Program, Sandbox


@pytest.fixture
def client() -> Iterator[Any]:
    require("docker")
    with contextlib.closing(connect()) as made:
        yield made


@pytest.fixture
def sandbox(client: Any) -> Iterator[Sandbox]:
    made = make_backend("docker", workers=1)
    yield made
    made.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.02)


def exists(client: Any, name: str) -> bool:
    there = client.containers.list(all=True, ignore_removed=True)
    return any(container.id == name for container in there)


@pytest.mark.slow
def test_a_container_may_do_no_more_than_it_must(client: Any, sandbox: Sandbox) -> None:
    sandbox.run(Program("pass"))
    (container,) = owned(client)
    config = container.attrs["HostConfig"]
    assert config["NetworkMode"] == "none"
    assert config["ReadonlyRootfs"]
    assert config["CapDrop"] == ["ALL"]
    assert set(config["CapAdd"]) == {"SETUID", "SETGID", "KILL"}
    assert "no-new-privileges" in config["SecurityOpt"]
    assert config["PidsLimit"] > 0
    assert config["NanoCpus"] > 0
    assert not config["Privileged"]
    assert not config["Binds"]
    assert config["LogConfig"]["Type"] == "none"
    assert container.attrs["HostConfig"]["Memory"] > 0


def test_programs_are_unprivileged_and_stay_so(sandbox: Sandbox) -> None:
    source = (
        "import os\n"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "print(os.getuid() > 0, os.getgid() > 0, os.getgroups(), int(status['CapEff'], 16),\n"
        "      int(status['NoNewPrivs']), int(status['Seccomp']))\n"
    )
    assert sandbox.run(Program(source)).stdout == "True True [] 0 1 2\n"


def test_one_container_serves_many_runs(client: Any, sandbox: Sandbox) -> None:
    for number in range(5):
        assert sandbox.run(Program(f"print({number})")).stdout == f"{number}\n"
    assert len(owned(client)) == 1


def test_the_memory_of_all_processes_of_a_program_is_bounded(sandbox: Sandbox) -> None:
    source = (
        "import os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: break\n"
        "held = b'x' * (150 << 20)\n"
        "time.sleep(20)\n"
    )
    execution = sandbox.run(Program(source, memory=200 << 20, timeout=30.0))
    assert execution.limit == "memory"
    assert sandbox.run(Program("print(len(b'x' * (150 << 20)))")).ok


def test_sessions_have_containers_of_their_own_and_give_them_back(
    client: Any, sandbox: Sandbox
) -> None:
    sandbox.run(Program("pass"))
    session = sandbox.session()
    session.run("x = 1")
    assert sandbox.run(Program("print(1)")).ok
    assert len(owned(client)) == 2
    session.close()
    assert len(owned(client)) == 1


def test_closing_removes_the_containers(client: Any) -> None:
    sandbox = make_backend("docker", workers=1)
    session = sandbox.session()
    session.run("pass")
    sandbox.run(Program("pass"))
    assert len(owned(client)) == 2
    sandbox.close()
    wait_until(lambda: not owned(client))


def test_a_container_that_was_removed_is_replaced(client: Any, sandbox: Sandbox) -> None:
    sandbox.run(Program("pass"))
    (container,) = owned(client)
    container.remove(force=True)
    assert sandbox.run(Program("print('on')")).stdout == "on\n"


def test_a_session_whose_container_was_removed_says_so(client: Any, sandbox: Sandbox) -> None:
    session = sandbox.session()
    session.run("x = 1")
    for container in owned(client):
        container.remove(force=True)
    assert session.run("print(x)").exit_status == 137
    execution = session.run("print('x' in globals())")
    assert execution.stdout == "False\n"
    assert "started from an empty state" in execution.stderr
    session.close()


def test_nothing_outlives_a_host_that_is_killed(client: Any) -> None:
    code = (
        "import gem_workers\n"
        "from gem_workers.sandbox import Program\n"
        "from gem_sandbox.docker import connect, owned\n"
        "sandbox = gem_workers.make_sandbox('docker')\n"
        "sandbox.run(Program('pass'))\n"
        "print(owned(connect())[0].id, flush=True)\n"
        "sandbox.run(Program('while True: pass', timeout=100))\n"
    )
    with Command([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        name = host.stdout.readline().strip()
        assert exists(client, name)
        host.send_signal(signal.SIGKILL)
    wait_until(lambda: not exists(client, name))


def test_the_reaper_removes_what_a_dead_process_left_and_nothing_else(
    client: Any, sandbox: Sandbox
) -> None:
    sandbox.run(Program("pass"))
    (mine,) = owned(client)
    ((label, identity),) = mine.labels.items()
    boot_and_space, _, pid = identity.rpartition(" ")
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    labels = {
        "dead": f"{boot_and_space} {dead.pid}@1",
        "number used again": f"{boot_and_space} {pid.partition('@')[0]}@1",
        "other machine": f"elsewhere pid:[1] {dead.pid}@1",
    }
    made = {
        name: client.containers.create(DEFAULT_IMAGE, ["python3"], labels={label: value}).id
        for name, value in labels.items()
    }
    try:
        reap(client)
        left = [name for name, container in made.items() if exists(client, container)]
        assert left == ["other machine"]
        assert exists(client, mine.id)
    finally:
        for container in made.values():
            with contextlib.suppress(Exception):
                client.containers.get(container).remove(force=True)


def test_without_an_engine_the_error_says_what_to_do() -> None:
    sandbox = gem_workers.make_sandbox("docker", host="unix:///nowhere/docker.sock")
    with pytest.raises(
        SandboxError, match=r"No Docker engine answers at unix:///nowhere.*DOCKER_HOST"
    ):
        sandbox.run(Program("pass"))
    sandbox.close()


def test_without_the_image_the_error_says_what_to_do(client: Any) -> None:
    sandbox = DockerSandbox(image="gem-no-such-image:1")
    with pytest.raises(SandboxError, match=r"no image 'gem-no-such-image:1'. Run: docker pull"):
        sandbox.run(Program("pass"))
    sandbox.close()


def test_without_docker_py_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    sandbox = DockerSandbox()
    with pytest.raises(SandboxError, match=r"pip install 'gem-sandbox\[docker\]'"):
        sandbox.run(Program("pass"))
    sandbox.close()


def test_an_image_has_the_packages_that_were_asked_for(client: Any) -> None:
    name = "gem-sandbox-test:packages"
    make_image(client, name, packages=["mpmath"])
    sandbox = DockerSandbox(image=name, workers=1)
    try:
        execution = sandbox.run(Program("import mpmath, ctypes, ssl; print(mpmath.mpf(2) ** 0.5)"))
        assert execution.stdout == "1.4142135623731\n"
    finally:
        sandbox.close()
        client.images.remove(name, force=True)


def test_an_unknown_package_is_refused(client: Any) -> None:
    with pytest.raises(ConfigError, match="'no-such-package' is not installed"):
        make_image(client, "gem-sandbox-test:none", packages=["no-such-package"])


@pytest.mark.parametrize("options", [{"cpus": 0}, {"disk": -1}, {"workers": 0}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="must be"):
        DockerSandbox(**options)
