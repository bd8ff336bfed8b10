"""A container that is a machine: its start and end, and its processes."""

import contextlib
import functools
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.errors import MachineError
from gem_sandbox.docker_connection import close, frames, raw_socket
from gem_sandbox.machines.docker import scripts
from gem_sandbox.machines.docker.engine import ContainerEngine, said_by_engine, told_by_engine
from gem_sandbox.machines.docker.files import ENDED, ContainerFiles
from gem_sandbox.machines.docker.streams import JobStreams
from gem_workers.machine import MachineSpec

__all__ = ["Container"]

_START = 30.0
_ROOM = 64
"""Processes that may exist above the limit while a script of ours runs."""
_DROPPED = ["MKNOD", "NET_RAW"]


class Container(ContainerFiles):
    """A container, which runs until it is removed or this process dies.

    Args:
        engine: The engine.
        image: The image.
        spec: The limits.
        runtime: The name of one of the engine's runtimes; None for its default.

    Raises:
        MachineError: It cannot be started.
    """

    def __init__(
        self, engine: ContainerEngine, image: str, spec: MachineSpec, runtime: str | None
    ) -> None:
        super().__init__(engine)
        self._processes = spec.processes
        self._stream: Any = None
        self.image = image
        with engine.starting, told_by_engine(f"A container of {image!r} cannot be started"):
            try:
                self.id = self._create(spec, runtime)
                self._stream = engine.api.attach_socket(self.id, {"stdin": 1, "stream": 1})
                self._connection = raw_socket(self._stream)
                engine.hold(self._connection)
                engine.api.start(self.id)
            except BaseException as error:
                self.end()
                if "/bin/bash" in str(error):
                    raise MachineError(
                        f"The image {image!r} has no /bin/bash, which machines need."
                    ) from error
                raise

    def _create(self, spec: MachineSpec, runtime: str | None) -> str:
        import docker.errors  # noqa: PLC0415 - optional

        options = _options(spec, runtime, self._engine.labels())
        create = functools.partial(
            self._engine.client.containers.create, self.image, [*scripts.FIRST[1:]], **options
        )
        if self._engine.has_quota is None and self._engine.api.info()["Driver"] != "overlay2":
            self._engine.has_quota = False  # the size would include the image's
        if self._engine.has_quota is not False:
            try:
                made = create(storage_opt={"size": str(spec.disk)})
            except docker.errors.APIError as error:
                if "storage-opt" not in said_by_engine(error):
                    raise
                self._engine.has_quota = False
            else:
                self._engine.has_quota = True
                return str(made.id)
        return str(create().id)

    def _remove(self) -> None:
        if self.id:
            with self._engine.stopping, contextlib.suppress(Exception):
                # It may be gone; and without an engine, it ends with its standard input.
                self._engine.api.remove_container(self.id, force=True, v=True)

    def end(self) -> None:
        """End all processes and drop the files."""
        self._remove()
        self.hang_up()

    def hang_up(self) -> None:
        """Close the first process's standard input, with which the container ends."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
            close(self._stream)

    def spawn(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        *,
        env: Mapping[str, str],
        user: str,
        cwd: str,
    ) -> JobStreams:
        """Start a job; one with five descriptors is a shell.

        Args:
            argv: The program and its arguments.
            descriptors: As ``BaseMachine.spawn`` has them.
            env: Environment variables, besides those of the image.
            user: The user.
            cwd: The directory.

        Raises:
            MachineError: It cannot be started.
        """
        is_shell = len(descriptors) > 3
        mark = secrets.token_hex(16)
        script = scripts.job(argv, cwd=cwd, mark=f"\\001{mark}", is_shell=is_shell)
        name, stream = self._execute(user, env)
        streams = JobStreams(
            stream,
            b"\1" + mark.encode(),
            {1: descriptors[1]} if is_shell else {1: descriptors[1], 2: descriptors[2]},
            exit_code=functools.partial(self._exit_code, name),
        )
        self._engine.hold(streams.connection)
        streams.send(script + b"\0")
        if not streams.wait_begun(_START):
            streams.close()
            raise MachineError(
                f"No command can be started as user {user!r}: "
                f"{streams.refusal or 'the machine has ended'}."
            )
        if is_shell:
            streams.feed(descriptors[3])
            pid = streams.pid
            streams.forward(descriptors[0], lambda data: self._type(pid, data, user))
        else:
            streams.feed(descriptors[0])
        return streams

    def _type(self, pid: int, data: bytes, user: str) -> None:
        for script in scripts.type_text(pid, data):
            self.control(script, user=user)

    def _execute(self, user: str, env: Mapping[str, str]) -> tuple[str, Any]:
        """Start our short command; return its name and the connection to it."""
        import docker.errors  # noqa: PLC0415 - optional

        api = self._engine.api
        options = {
            "user": "0" if user == "root" else user,  # the container may have lost its users' names
            "environment": dict(env),
            "workdir": "/",
        }
        try:
            made = api.exec_create(self.id, [*scripts.ENTRY], stdin=True, **options)
            return made["Id"], api.exec_start(made["Id"], socket=True)
        except docker.errors.NotFound as error:
            raise MachineError(f"{ENDED}.") from error
        except Exception as error:
            raise MachineError(f"No command can be started: {said_by_engine(error)}") from error

    def _exit_code(self, name: str) -> int | None:
        """Return how a command ended that could not say it; None if the container has ended."""
        with contextlib.suppress(Exception):
            for _ in range(40):
                found = self._engine.api.exec_inspect(name)
                if not found["Running"]:
                    return None if found["ExitCode"] is None else int(found["ExitCode"])
                time.sleep(0.05)
        return None

    def control(self, script: bytes, *, user: str = "root") -> bytes:
        """Run a script of ours to its end; return its output.

        Raises:
            MachineError: It could not be run.
        """
        output = self._try(script, user)
        if not output.endswith(scripts.DONE):  # perhaps there are too many processes
            self._limit_processes(self._processes + _ROOM)
            output = self._try(script, user)
            self._limit_processes(self._processes)
        if not output.endswith(scripts.DONE):
            raise MachineError(f"{ENDED}, or its /bin/bash no longer works.")
        return output.removesuffix(scripts.DONE)

    def _try(self, script: bytes, user: str) -> bytes:
        _, stream = self._execute(user, {})
        connection = raw_socket(stream)
        connection.settimeout(_START)
        try:
            connection.sendall(script + b"\0")
            return b"".join(data for number, data in frames(stream) if number == 1)
        except OSError:
            return b""
        finally:
            close(stream)

    def _limit_processes(self, number: int) -> None:
        with told_by_engine(ENDED):
            path = f"/containers/{self.id}/update"
            self._engine.request("POST", path, json={"PidsLimit": number})


def _options(spec: MachineSpec, runtime: str | None, labels: dict[str, str]) -> dict[str, Any]:
    from docker.types import LogConfig, Ulimit  # noqa: PLC0415 - optional

    return {
        "entrypoint": [scripts.FIRST[0]],
        "labels": labels,
        "user": "0:0",
        "stdin_open": True,
        "auto_remove": True,
        "healthcheck": {"test": ["NONE"]},
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "network_mode": spec.network,
        "hostname": "machine",
        "extra_hosts": {"machine": "127.0.0.1"},
        "ipc_mode": "private",
        "working_dir": spec.workdir,
        "cap_drop": _DROPPED,
        "security_opt": ["no-new-privileges"],
        "pids_limit": spec.processes,
        "nano_cpus": int(spec.cpus * 1e9),
        "mem_limit": spec.memory,
        "memswap_limit": spec.memory,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=spec.disk, hard=spec.disk),
        ],
        "runtime": runtime,
    }
