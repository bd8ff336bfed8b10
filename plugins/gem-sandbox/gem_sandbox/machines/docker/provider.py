"""The provider ``docker``: machines of any image, as containers."""

import secrets
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from gem_core.errors import MachineError, SnapshotError
from gem_core.lifetimes import Lifetime
from gem_sandbox.holder import Holder
from gem_sandbox.machines.base import BaseMachine
from gem_sandbox.machines.docker import scripts
from gem_sandbox.machines.docker.container import Container
from gem_sandbox.machines.docker.default_image import DEFAULT_IMAGE
from gem_sandbox.machines.docker.engine import SNAPSHOTS, ContainerEngine
from gem_sandbox.machines.docker.files import untouched
from gem_sandbox.machines.docker.images import Image, find_or_make
from gem_sandbox.machines.docker.saved import SavedFiles, saved_changes
from gem_sandbox.machines.docker.streams import JobStreams
from gem_sandbox.machines.job_starter import Job
from gem_sandbox.shared_pools import shared_pools
from gem_workers.machine import FileChange, MachineSnapshot, MachineSpec

__all__ = ["DockerMachine", "DockerProvider"]

_KILL, _PATIENCE = 9, 0.5


class DockerProvider:
    """Machines that are containers of an engine, without a network.

    An image may be any that has ``/bin/bash``; it is pulled if the engine does not have it. Its
    variables are those of commands; its ``WORKDIR`` and ``USER`` are used where the spec has none,
    its ``ENTRYPOINT`` never. ``build`` is built by the engine, once for each content of the folder.

    ``disk`` limits the size of each file. Where the engine can (overlay2 on XFS with project
    quotas), it also limits the sum.

    A snapshot is an image of the engine, which is removed when the last provider of this process is
    closed or the process ends. One that was taken with ``keep`` holds the files themselves.

    Args:
        image: The image of a spec that names none. The default is made from this host's programs
            when it is needed first.
        host: The address of the engine, such as ``unix:///run/docker.sock``; None for
            ``DOCKER_HOST``, or the engine's default.
        runtime: The name of one of the engine's runtimes, such as ``runsc``; None for its default.
    """

    isolated = True

    def __init__(
        self, *, image: str = DEFAULT_IMAGE, host: str | None = None, runtime: str | None = None
    ) -> None:
        self._image = image
        self._runtime = runtime
        self._images: dict[tuple[str, str], Image] = {}
        key = ("docker machines", host)
        self.engine = shared_pools.lease(key, lambda: ContainerEngine(host))
        self._lifetime = Lifetime(
            self, shared_pools.release, key, what="provider", error=MachineError
        )
        self._machines: weakref.WeakSet[DockerMachine] = weakref.WeakSet()

    def prepare(self, spec: MachineSpec) -> None:
        """Pull or build the image of a spec, unless the engine has it; see ``MachineProvider``."""
        self._images[spec.image, spec.build] = find_or_make(self.engine, spec, self._image)

    def image(self, spec: MachineSpec) -> Image:
        """Return the image of a spec."""
        if (spec.image, spec.build) not in self._images:
            self.prepare(spec)
        return self._images[spec.image, spec.build]

    def start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> "DockerMachine":
        """Start a machine; see ``MachineProvider``."""
        self._lifetime.check()
        image = self.image(spec)
        machine = DockerMachine(self, spec.settled(workdir=image.workdir, user=image.user))
        self._machines.add(machine)
        self._lifetime.check()
        machine.begin(snapshot)
        return machine

    def connect(self, spec: MachineSpec, saved: SavedFiles) -> Container:
        """Start a container with saved files."""
        image = saved.image or self.image(spec).name
        if saved.image and not self.engine.has_image(saved.image):
            raise SnapshotError(
                f"The engine has no image {saved.image!r}: snapshots live as long as the process "
                f"that took them."
            )
        container = Container(self.engine, image, spec, self._runtime)
        try:
            if saved.removed:
                container.control(scripts.remove(saved.removed))
            if saved.archive:
                container.unpack(saved.archive)
        except BaseException:
            container.end()
            raise
        return container

    def close(self) -> None:
        """End all machines; may be called twice. In a fork, nothing happens.

        It takes as long as the engine does, which is given up after 60 seconds for each container.
        """
        for machine in list(self._machines):
            machine.close()
        self._lifetime.end()
        for machine in list(self._machines):  # that another thread was starting
            machine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DockerMachine(BaseMachine):
    """A machine of ``DockerProvider``."""

    provider = "docker"

    def __init__(self, provider: DockerProvider, spec: MachineSpec) -> None:
        self._held: Holder[_Held] = Holder(_end, what="machine", error=MachineError)
        super().__init__(spec, self._held.end)
        self._provider = provider
        self._base = SavedFiles()
        """What the files were when the container was started."""
        self._jobs: weakref.WeakValueDictionary[int, JobStreams] = weakref.WeakValueDictionary()

    def begin_files(self, data: bytes | None) -> None:
        self._base = SavedFiles() if data is None else SavedFiles.from_bytes(data)
        self.image_env = self._provider.image(self.spec).env
        self._hold(self._provider.connect(self.spec, self._base))

    def _hold(self, container: Container) -> None:
        self._held.put(_Held(container, self._provider.engine))

    def replace_files(self, data: bytes) -> None:
        base = SavedFiles.from_bytes(data)
        container = self._provider.connect(self.spec, base)
        self._hold(container)
        self._base = base

    def save_files(self, keep: Callable[[FileChange], bool] | None) -> bytes:
        container = self._running
        now_changed, now_deleted = container.changes()
        changed, deleted = self._base.changed | now_changed, self._base.deleted | now_deleted
        if keep is None:
            tag = secrets.token_hex(16)
            container.commit(SNAPSHOTS, tag)
            return SavedFiles(f"{SNAPSHOTS}:{tag}", changed, deleted).to_bytes()
        with untouched(self._provider.engine, self._provider.image(self.spec).name) as image:
            limit = self.spec.disk << 1
            return saved_changes(container, image, changed, deleted, keep, limit).to_bytes()

    def copy(self, snapshot: MachineSnapshot) -> "DockerMachine":
        machine = self._provider.start(self.spec, snapshot)
        machine.own_image()
        return machine

    def own_image(self) -> None:
        """Remove the image with the machine: nobody else has the snapshot."""
        if (held := self._held.value) is not None:
            held.own_image = self._base.image

    @property
    def _running(self) -> Container:
        self.check_open()
        if (held := self._held.value) is None:
            raise MachineError("This machine is closed.")
        return held.container

    def spawn(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        *,
        env: Mapping[str, str],
        user: str,
        cwd: str,
    ) -> Job:
        job = self._running.spawn(argv, descriptors, env=env, user=user, cwd=cwd)
        self._jobs[job.pid] = job
        return Job(job.pid, job.status)

    def signal(self, pid: int, number: int, *, since: float | None = None) -> None:
        job = self._jobs.get(pid)
        if job is None:
            return
        uptime = None if since is None else max(0.0, since - job.booted)
        self._running.control(scripts.send_signal(pid, job.group, number, uptime))
        if number == _KILL and since is None:
            job.killed(number, _PATIENCE)

    def write_file(self, path: str, data: bytes, mode: int) -> None:
        self._running.write(path, data, mode)

    def read_file(self, path: str, limit: int) -> bytes:
        return self._running.read(path, limit)

    def pack(self, path: str, limit: int) -> bytes:
        return self._running.pack(path, limit)

    def running(self) -> list[tuple[int, str]]:
        ours = " ".join(scripts.ENTRY)
        found = []
        for line in self._running.control(scripts.list_processes()).split(b"\0"):
            pid, _, command = line.decode("utf-8", "replace").partition(" ")
            if command and command.strip() != ours:
                found.append((int(pid), command.strip()))
        return found

    def end_processes(self) -> None:
        self._running.control(scripts.end_processes())


@dataclass
class _Held:
    """What a machine holds."""

    container: Container
    engine: ContainerEngine
    own_image: str = ""
    """The image of a snapshot that nobody else has."""


def _end(held: _Held) -> None:
    held.container.end()
    if held.own_image:
        held.engine.remove_image(held.own_image)
