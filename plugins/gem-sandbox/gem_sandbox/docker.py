"""The sandbox ``docker``: programs in containers, for machines where ``warm`` has no isolation.

Process 1 of each container is a runner (``gem_sandbox.guest.runner``). It runs one program after
another under an unprivileged user id and removes everything that a program leaves, so containers
are reused: starting one takes a hundred times as long as running a small program. The runner reads
requests from the container's standard input. When that ends, because this process closed it or has
died, the container ends and Docker removes it. If the engine died as well, the next process that
makes this sandbox removes the container.
"""

import base64
import contextlib
import functools
import os
import random
import socket
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gem_core.errors import ConfigError, SandboxError
from gem_core.lifetimes import Lock
from gem_core.records import json_value
from gem_sandbox.docker_connection import close, raw_socket, take_frames
from gem_sandbox.image import DEFAULT_IMAGE, image_environment, write_image
from gem_sandbox.owners import identity, is_orphaned
from gem_sandbox.runner import WRITE_SECONDS, Channel, Launcher, runner_arguments
from gem_sandbox.runner_sandbox import RunnerSandbox
from gem_sandbox.shortage import shortage
from gem_sandbox.warm.seccomp import MACHINES, call_filter

if TYPE_CHECKING:
    import docker

__all__ = ["DockerSandbox", "connect", "make_image", "owned", "reap"]

_LABEL = "org.gem-core.sandbox"
_RUNNER_MEMORY = 64 << 20
"""Bytes for a runner and its monitor, besides the program."""
_MAX_PROCESSES = 512
_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108 - the container's
_STDERR = 2
_NO_SYSTEM_V = {
    "kernel.shmmni": "0",
    "kernel.msgmni": "0",
    "kernel.sem": "250 32000 32 0",
    "fs.mqueue.queues_max": "0",
}
"""System V objects and message queues would outlive their program, so none can be created."""


class DockerSandbox(RunnerSandbox):
    """Runs programs in containers without network that can write only to memory.

    Args:
        image: An image with ``python3`` 3.9 or later; ``gem-core doctor --make-image`` makes the
            default one.
        workers: The number of containers, and so of programs that may run at the same time; None
            for one per core, at most 8. Each open session has another one.
        cpus: The number of cores that one container may use.
        disk: Bytes of files, which are held in memory; ``/dev/shm`` may hold the same number.
        host: The address of the engine, such as ``unix:///run/docker.sock``; None for
            ``DOCKER_HOST``, or the engine's default.
        runtime: The name of one of the engine's runtimes, such as ``runsc``; None for its default.

    Raises:
        ConfigError: ``cpus``, ``disk`` or ``workers`` is too small.
        SandboxError: Raised by the first run: docker-py, the engine or the image is missing.
    """

    isolated = True

    def __init__(
        self,
        *,
        image: str = DEFAULT_IMAGE,
        workers: int | None = None,
        cpus: float = 1.0,
        disk: int = 1 << 26,
        host: str | None = None,
        runtime: str | None = None,
    ) -> None:
        if cpus <= 0 or disk <= 0:
            raise ConfigError(f"cpus and disk must be above 0; got {cpus} and {disk}.")
        launcher = ContainerLauncher(image=image, cpus=cpus, disk=disk, host=host, runtime=runtime)
        key = ("docker", image, cpus, disk, host, runtime)
        super().__init__(key, launcher, workers)


class ContainerLauncher(Launcher):
    """Starts containers; connects to the engine on first use."""

    def __init__(
        self, *, image: str, cpus: float, disk: int, host: str | None, runtime: str | None
    ) -> None:
        self._image, self._cpus, self._disk = image, cpus, disk
        self._host, self._runtime = host, runtime
        self._lock = Lock()
        self._client: docker.DockerClient | None = None

    def launch(self) -> Channel:
        client = self._connected()
        user = random.SystemRandom().randint(20_000, 59_999)
        command = runner_arguments(
            command=["python3", "-s"], folders=_WRITABLE, user=user, filters=_filters()
        )
        try:
            container = client.containers.create(
                self._image, ["-I", "-S", *command], **self._options()
            )
            return ContainerChannel(client, container)
        except Exception as error:
            raise SandboxError(self._explain(error)) from error

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> "docker.DockerClient":
        with self._lock:
            if self._client is None:
                self._client = connect(self._host)
                reap(self._client)
            return self._client

    def _options(self) -> dict[str, Any]:
        from docker.types import LogConfig, Ulimit  # noqa: PLC0415 - optional

        memory_files = f"rw,exec,nosuid,nodev,size={self._disk},nr_inodes=16384,mode=1777"
        return {
            "entrypoint": ["python3"],
            "labels": {_LABEL: identity(os.getpid())},
            "user": "0:0",
            "stdin_open": True,
            "auto_remove": True,
            "log_config": LogConfig(type=LogConfig.types.NONE),
            "network_mode": "none",
            "dns": ["127.0.0.1"],
            "hostname": "sandbox",
            "ipc_mode": "private",
            "read_only": True,
            "tmpfs": {"/tmp": memory_files},  # noqa: S108 - the container's
            "shm_size": self._disk,
            "working_dir": "/",
            # The runner starts and kills processes of another user. Programs have no capabilities.
            "cap_drop": ["ALL"],
            "cap_add": ["SETUID", "SETGID", "KILL"],
            "security_opt": ["no-new-privileges"],
            "sysctls": _NO_SYSTEM_V,
            "pids_limit": _MAX_PROCESSES + 16,
            "nano_cpus": int(self._cpus * 1e9),
            "ulimits": [
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="nofile", soft=1024, hard=1024),
            ],
            "runtime": self._runtime,
        }

    def _explain(self, error: Exception) -> str:
        import docker.errors  # noqa: PLC0415 - optional

        if isinstance(error, docker.errors.ImageNotFound):
            make = "gem-core doctor --make-image"
            other = f"docker pull {self._image}" if self._image != DEFAULT_IMAGE else make
            return (
                f"The engine has no image {self._image!r}. Run: {other}. Any image with python3 "
                f"works: make_sandbox('docker', image='python:3.12-slim')."
            )
        return f"No container of the image {self._image!r} could be started: {error}"


class ContainerChannel(Channel):
    """A container's standard streams.

    Args:
        client: The engine.
        container: A container that has not been started.
    """

    def __init__(self, client: "docker.DockerClient", container: Any) -> None:
        self._api, self._id = client.api, container.id
        self._memory = 0
        self._stderr = b""
        self._received = bytearray()
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        try:
            self._stream = self._api.attach_socket(self._id, streams)
            self._socket = raw_socket(self._stream)
            container.start()
        except BaseException:
            self._remove()
            raise

    def allow(self, memory: int) -> None:
        if memory != self._memory:
            total = memory + _RUNNER_MEMORY
            self._api.update_container(self._id, mem_limit=total, memswap_limit=total)
            self._memory = memory

    def write(self, data: bytes) -> None:
        self._socket.settimeout(WRITE_SECONDS)
        self._socket.sendall(data)

    def read(self, timeout: float) -> bytes:
        self._socket.settimeout(timeout)
        while True:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                return b""
            self._received += chunk
            output = self._take_stdout()
            if output:
                return output

    def _take_stdout(self) -> bytes:
        """Return the standard output received so far, and keep the end of standard error."""
        output = bytearray()
        for number, body in take_frames(self._received):
            if number == _STDERR:
                self._stderr = (self._stderr + body)[-2000:]
            else:
                output += body
        return bytes(output)

    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        self.hang_up()
        self.abandon()
        self._remove()

    def _remove(self) -> None:
        from docker.errors import APIError  # noqa: PLC0415 - optional

        with contextlib.suppress(APIError, OSError):  # it removes itself when it ends
            self._api.remove_container(self._id, force=True)

    def abandon(self) -> None:
        close(self._stream)


@functools.cache
def _filters() -> dict[str, str]:
    """Return our filters of system calls: Docker's own allows vsock, to the hypervisor."""
    return {
        machine: base64.b64encode(call_filter(machine, locks=True)).decode() for machine in MACHINES
    }


def connect(host: str | None = None) -> "docker.DockerClient":
    """Return a client of the engine.

    Raises:
        SandboxError: docker-py is not installed, or no engine answers.
    """
    try:
        import docker  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise SandboxError(
            "docker-py is missing. Run: pip install 'gem-sandbox[docker]'"
        ) from error
    where = host or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    try:
        if where.startswith("unix://"):  # docker-py leaks a socket if no engine answers
            with socket.socket(socket.AF_UNIX) as trial:
                trial.connect(where.removeprefix("unix://"))
        return docker.DockerClient(base_url=host) if host else docker.from_env()
    except Exception as error:
        if missing := shortage(error):
            raise SandboxError(f"No connection to the engine at {where}: {missing}.") from error
        raise SandboxError(
            f"No Docker engine answers at {where}: {error}. Start one (apt-get install docker.io), "
            f"or set its address: DOCKER_HOST=unix:///path, or the parameter host."
        ) from error


def make_image(
    client: "docker.DockerClient", name: str = DEFAULT_IMAGE, packages: Iterable[str] = ()
) -> str:
    """Make an image from this interpreter; return its id.

    Args:
        client: The engine.
        name: The name of the image.
        packages: Installed distributions to include.

    Raises:
        ConfigError: A package is not installed.
        SandboxError: This is not Linux, or the engine refuses.
    """
    repository, _, tag = name.partition(":")
    changes = [f"ENV {name}={value}" for name, value in image_environment().items()]
    with tempfile.TemporaryFile() as file:
        write_image(file, packages)
        file.seek(0)
        chunks = iter(lambda: file.read(1 << 20), b"")
        response = client.api.import_image_from_stream(
            chunks, repository=repository, tag=tag or "latest", changes=changes
        )
    answer = json_value(response.strip().splitlines()[-1])
    if "status" not in answer:
        raise SandboxError(f"The engine did not take the image: {answer.get('error', answer)}")
    return str(answer["status"])


def owned(client: "docker.DockerClient") -> list[Any]:
    """Return the containers that this process has started."""
    label = f"{_LABEL}={identity(os.getpid())}"
    return list(client.containers.list(filters={"label": label}, ignore_removed=True))


def reap(client: "docker.DockerClient") -> int:
    """Remove containers whose process on this machine has died; return how many."""
    removed = 0
    started = client.containers.list(all=True, filters={"label": _LABEL}, ignore_removed=True)
    for container in started:
        with contextlib.suppress(Exception):  # it may be ending by itself
            if is_orphaned(container.labels[_LABEL]):
                container.remove(force=True)
                removed += 1
    return removed
