"""The provider ``local``: machines that start in milliseconds and are forked in mid-episode."""

import contextlib
import functools
import os
import shutil
import socket
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal, Self, TypeVar, cast

from gem_core.errors import ConfigError, MachineError, SnapshotError
from gem_core.lifetimes import Lifetime, Lock
from gem_sandbox.holder import Holder
from gem_sandbox.machines.build import base_image
from gem_sandbox.machines.host_machine import HostMachine
from gem_sandbox.machines.job_starter import Job
from gem_sandbox.machines.local.bases import Base, Bases
from gem_sandbox.machines.local.host_network import name_files
from gem_sandbox.machines.local.images import BuiltImage, find_or_build
from gem_sandbox.machines.local.installed import FOLDER as PROGRAMS
from gem_sandbox.machines.local.installed import programs
from gem_sandbox.machines.local.layers import FILES, Layers, has_path
from gem_sandbox.machines.local.messages import STATUS, receive, send
from gem_sandbox.machines.local.outlook import doubts, why_engine
from gem_sandbox.machines.local.server_process import ServerProcess
from gem_sandbox.machines.local.skeleton import skeleton
from gem_sandbox.machines.memory_file import memory_file
from gem_sandbox.machines.roots.store import hold_root
from gem_sandbox.machines.selection import Record, records
from gem_sandbox.shared_pools import shared_pools
from gem_workers.dockerfile import Instruction, read_dockerfile
from gem_workers.machine import FileChange, MachineSnapshot, MachineSpec, Outlook, check_path

__all__ = ["LocalMachine", "LocalProvider"]

_Taken = TypeVar("_Taken")
_START, _RESTORE, _ANSWER = 30.0, 600.0, 30.0
"""Seconds until a machine must have started, alone or with files of another one, and answers."""
_KEY = "machines"
_SYSTEM = ("/usr",)
"""The folders of the host that the default root file system has."""


class LocalProvider:
    """Machines in namespaces of the kernel: root of their own users, without a network.

    What a machine writes is kept in memory; it counts towards ``disk``. Images are folders of the
    host, or are built from a Dockerfile (``build``) without a container engine: of one stage, with
    files of its own folder.

    Args:
        images: Root file systems for names of images, which may have wildcards: the name of one
            that ``gem-core machine root`` has made, or an absolute folder, such as
            ``{"python:3.13": "debian", "*": "/srv/debian"}``. The most specific name counts. None
            for the file of images. A name in ``FROM`` that nothing stands for starts from the
            programs of this host, which ``base_of`` then says.
        build_network: The network of a Dockerfile's commands: ``host``, as its author is trusted
            just as an image is, or ``none``. Machines have none but what their spec says.
        installed: Where ``apt-get``, ``pip``, ``uv`` and others do nothing, and succeed, if what
            they are to install is there in the version asked for: in builds (``build``), in
            machines too (``skip``), as tests that install what they use need it without a network,
            or nowhere (``run``).
        folders: Folders of the host that machines see, by their path in the machine, such as
            ``{"/opt/tools": "/srv/tools"}``. What a machine writes there stays in the machine.
        overlay: Whether to use overlayfs where it can be mounted. Without it, programs cannot be
            changed: ``/usr``, or the image's folders ``bin``, ``lib``, ``sbin`` and ``usr``.
    """

    isolated = True

    def __init__(
        self,
        *,
        images: Mapping[str, str] | None = None,
        build_network: Literal["host", "none"] = "host",
        installed: Literal["build", "skip", "run"] = "build",
        folders: Mapping[str, str] | None = None,
        overlay: bool = True,
    ) -> None:
        if build_network not in {"host", "none"}:
            raise ConfigError(f"build_network must be 'host' or 'none'; got {build_network!r}.")
        if installed not in {"build", "skip", "run"}:
            raise ConfigError(f"installed must be 'build', 'skip' or 'run'; got {installed!r}.")
        self._bases = Bases(images)
        self._folders = _checked_folders(folders or {})
        self._overlay = overlay
        self._build_network, self._installed = build_network, installed
        self.skips_installed = installed == "skip"
        self._built: dict[str, BuiltImage] = {}
        """The images by their folders."""
        self._by_key: dict[str, BuiltImage] = {}
        """All images of these folders, those too that were built before a Dockerfile changed."""
        self._layers = Layers()
        self._server = shared_pools.lease(_KEY, ServerProcess)
        self._holding = Lock()
        self._held: dict[str, int] = {}
        """Locks on the roots that machines have, which are not removed meanwhile."""
        self._lifetime = Lifetime(self, _release, self._held, what="provider", error=MachineError)
        self._machines: weakref.WeakSet[LocalMachine] = weakref.WeakSet()

    def prepare(self, spec: MachineSpec) -> None:
        """Build the image of a spec, unless it was built before; see ``MachineProvider``."""
        self.image(spec, build=True)

    def image(self, spec: MachineSpec, *, build: bool = False) -> BuiltImage:
        """Return the image of a spec.

        Args:
            spec: The spec.
            build: Whether to look again for changes of the Dockerfile and its files.
        """
        if not spec.build:
            base = self._base_of_image(spec.image)
            return BuiltImage(base, base.env, base.workdir, base.user)
        built = self._built.get(spec.build)
        if build or built is None or not all(layer.exists() for layer in built.layers):
            built = find_or_build(
                spec.build,
                self._bases,
                self._layers,
                self._start_build,
                network=self._build_network,
                skips_installed=self._installed != "run",
                timeout=spec.build_timeout,
                mount_points=list(self._folders),
            )
            self._built[spec.build] = self._by_key[built.key] = built
        return built

    def base_of(self, spec: MachineSpec) -> Base:
        """Return the root file system from which a machine of a spec starts; nothing is built.

        Raises:
            ConfigError: The Dockerfile cannot be read, or a root is missing.
        """
        if not spec.build:
            return self._base_of_image(spec.image)
        return self._base_of_steps(spec.build, read_dockerfile(Path(spec.build)))

    def _base_of_steps(self, folder: str, steps: Sequence[Instruction]) -> Base:
        name = base_image(Path(folder), steps)
        return self._bases.find(name) or Base(name, is_exact=False)

    def stand_in(self, spec: MachineSpec) -> str:
        """Return what stands in for the image of a spec; see ``ForesightedProvider``."""
        built = self._built.get(spec.build)
        return (self.base_of(spec) if built is None else built.base).description

    def outlook(self, spec: MachineSpec) -> Outlook:
        """Return whether machines of a spec can be had; see ``ForesightedProvider``."""
        if not spec.build:
            if spec.image and not Path(spec.image).is_absolute():
                base = self._bases.find(spec.image)
                if base is None:
                    return Outlook("needs docker", (f"starts from the image {spec.image!r}",))
                if base.description:
                    return Outlook("may run", (f"the base is {base.description}",))
            return Outlook("runs")
        steps = read_dockerfile(Path(spec.build))
        if why := why_engine(steps):
            return Outlook("needs docker", (why,))
        base = self._base_of_steps(spec.build, steps)
        reasons = tuple(doubts(steps, base, has_network=self._build_network == "host"))
        return Outlook("may run" if reasons else "runs", reasons)

    def _base_of_image(self, name: str) -> Base:
        if not name:
            return Base(workdir="/root")
        if Path(name).expanduser().is_absolute():
            folder = Path(name).expanduser()
            if not folder.is_dir():
                raise ConfigError(f"There is no folder {name!r} with a root file system.")
            return Base(name, str(folder), workdir="/")
        base = self._bases.find(name)
        if base is None:
            raise ConfigError(
                f"No root file system stands for the image {name!r}. Make one: gem-core machine "
                f"root NAME --from docker:{name} --for {name}; or use the machine 'docker'."
            )
        return base

    def mount_points(self, base: Base) -> dict[str, str]:
        """Return the mount points of a machine with the host's folders below them.

        An empty name of a folder is the skeleton of the default root.
        """
        if not base.folder:
            return {"": "", **{path: path for path in _SYSTEM}, **self._folders}
        return {"": base.folder, **self._folders}

    def start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> "LocalMachine":
        """Start a machine; see ``MachineProvider``."""
        image = self.image(spec)
        if snapshot is not None and snapshot.image not in {"", image.key}:
            if snapshot.image not in self._by_key:
                raise SnapshotError(
                    f"The image of {spec.build or spec.image!r} is not the one that this snapshot "
                    f"was made over: it was built again meanwhile."
                )
            image = self._by_key[snapshot.image]
        return self.start_from(spec, image, snapshot)

    def start_from(
        self, spec: MachineSpec, image: BuiltImage, snapshot: MachineSnapshot | None = None
    ) -> "LocalMachine":
        """Start a machine of an image, whatever image the spec names."""
        machine = self.new(spec, image)
        machine.begin(snapshot)
        return machine

    def _start_build(self, spec: MachineSpec, image: BuiltImage) -> "LocalMachine":
        """Start a machine to carry out a Dockerfile on."""
        machine = self.new(spec, image, skips_installed=self._installed != "run")
        machine.begin(None)
        return machine

    def new(
        self, spec: MachineSpec, image: BuiltImage, *, skips_installed: bool | None = None
    ) -> "LocalMachine":
        """Return a machine that is yet to begin.

        Args:
            spec: What it starts with.
            image: Its image.
            skips_installed: Whether nothing is installed that is there; None for the default.
        """
        self._lifetime.check()
        if skips_installed is None:
            skips_installed = self.skips_installed
        with self._holding:
            if image.base.root and image.base.root not in self._held:
                self._held[image.base.root] = hold_root(image.base.root)
        spec = spec.settled(workdir=image.workdir, user=image.user)
        machine = LocalMachine(self, spec, image, skips_installed=skips_installed)
        self._machines.add(machine)
        self._lifetime.check()
        return machine

    def connect(
        self,
        spec: MachineSpec,
        image: BuiltImage,
        source: int | None,
        programs: Mapping[str, str],
    ) -> socket.socket:
        """Start a machine's processes; return its control socket.

        Args:
            spec: What it starts with.
            image: Its image.
            source: A descriptor of the files: an archive, or the folder of another machine's
                layers; None for those of the image.
            programs: Programs that it gets besides, by their paths in one folder.
        """
        plan = {
            **_plan(spec),
            "overlay": self._overlay,
            "mount_points": self.mount_points(image.base),
            "built": [(str(one.parent), f"{one.name}/{FILES}") for one in image.layers],
            "has_source": source is not None,
            "programs": dict(programs),
            "names": name_files() if spec.network == "host" else {},
        }
        mine, answer = self._ask_server(plan, source)
        if answer is None and self._server.has_died():  # before it got to this machine
            mine.close()
            mine, answer = self._ask_server(plan, source)
        try:
            _value(answer)
        except BaseException:
            mine.close()
            raise
        mine.settimeout(_ANSWER)
        return mine

    def _ask_server(
        self, plan: dict[str, Any], source: int | None
    ) -> tuple[socket.socket, dict[str, Any] | None]:
        """Ask for a machine; return its control socket and the first answer, if there is one."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        try:
            with theirs:
                descriptors = [theirs.fileno(), *([] if source is None else [source])]
                self._server.start(plan, descriptors)
            mine.settimeout(_START if source is None else _RESTORE)
            return mine, receive(mine)[0]
        except OSError as error:
            mine.close()
            raise MachineError(f"The machine has not started: {error}.") from error
        except BaseException:
            mine.close()
            raise

    def has(self, image: BuiltImage, path: str) -> bool:
        """Return whether an image has a path."""
        points = self.mount_points(image.base)
        targets = [target for target in points if f"{path}/".startswith(f"{target}/")]
        target = max(targets, key=len)
        inside = f"{list(points).index(target)}{path.removeprefix(target)}"
        for layer in reversed(image.layers):
            if (found := has_path(layer, inside)) is not None:
                return found
        if points[""]:
            return os.path.lexists(points[target] + path.removeprefix(target))
        return path in _skeleton_paths() or (
            bool(target) and os.path.lexists(points[target] + path.removeprefix(target))
        )

    def close(self) -> None:
        """End all machines; may be called twice. In a fork, nothing happens.

        A server of machines that does not end within 5 seconds is killed.
        """
        self._lifetime.end()
        for machine in list(self._machines):
            machine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _release(held: dict[str, int]) -> None:
    """Release the server of machines, and the roots that they had."""
    shared_pools.release(_KEY)
    for descriptor in held.values():
        os.close(descriptor)
    held.clear()


def _checked_folders(folders: Mapping[str, str]) -> dict[str, str]:
    """Return the folders, outer mount points before those inside them."""
    for inside, outside in folders.items():
        check_path(inside)
        if not Path(outside).is_absolute() or not Path(outside).is_dir():
            raise ConfigError(
                f"folders maps paths of machines to absolute paths of folders of the host; got "
                f"{outside!r} for {inside!r}."
            )
    return {path.rstrip("/"): folders[path] for path in sorted(folders)}


@functools.cache
def _skeleton_paths() -> frozenset[str]:
    return frozenset(path for path, _, _ in skeleton())


def _plan(spec: MachineSpec) -> dict[str, Any]:
    return {
        "folders": [spec.workdir],
        "network": spec.network,
        "hostname": "machine",
        "cpus": spec.cpus,
        "memory": spec.memory,
        "disk": spec.disk,
        "processes": spec.processes,
    }


def _value(answer: dict[str, Any] | None) -> Any:
    if answer is None:
        raise MachineError("The machine has ended.")
    if not answer.get("is_archive", True):
        raise SnapshotError(f"This is not a snapshot of a machine: {answer['error']}.")
    if "error" in answer:
        raise MachineError(f"The machine refused: {answer['error']}.")
    return answer["value"]


@contextlib.contextmanager
def _descriptor(data: bytes) -> Iterator[int]:
    descriptor = memory_file(data)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_packed(what: str, report: bytes) -> None:
    if len(report) != STATUS.size or STATUS.unpack(report)[0]:
        reason = report[: -STATUS.size].decode("utf-8", "replace")
        raise MachineError(f"{what}: {reason or 'its memory is used up, or it has ended'}.")


class LocalMachine(HostMachine):
    """A machine of ``LocalProvider``."""

    provider = "local"

    def __init__(
        self,
        provider: LocalProvider,
        spec: MachineSpec,
        image: BuiltImage,
        *,
        skips_installed: bool,
    ) -> None:
        self._image = image
        self._programs = programs() if skips_installed else {}
        self._control = Holder(_hang_up, what="machine", error=MachineError)
        super().__init__(spec, self._control.end)
        self.image_env = image.env
        self._provider = provider
        self._has_ended = False

    def begin_files(self, data: bytes | None) -> None:
        with contextlib.ExitStack() as stack:
            self._connect(None if data is None else stack.enter_context(_descriptor(data)))

    def _connect(self, source: int | None) -> None:
        control = self._provider.connect(self.spec, self._image, source, self._programs)
        self._control.put(control)

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command."""
        found = super().environment(env)
        return {**found, "PATH": f"{PROGRAMS}:{found['PATH']}"} if self._programs else found

    def snapshot(self, *, keep: Callable[[FileChange], bool] | None = None) -> MachineSnapshot:
        """Return the state, which is one over the image that the machine has; see ``Machine``."""
        return replace(super().snapshot(keep=keep), image=self._image.key)

    def replace_files(self, data: bytes) -> None:
        with _descriptor(data) as source:
            self._connect(source)
        self._has_ended = False

    def fork(self) -> "LocalMachine":
        """Return another machine in the same state; files are copied without an archive."""
        with self.in_use(), self._lock:
            state = self._shell.state()
            machine = self._provider.new(self.spec, self._image)
            _, layers = self._ask({"do": "stop"})
            if not layers:  # the machine has no overlay
                return super().fork()
            try:
                self._copy_files_to(machine, layers[0])
                machine.shell().resume(state)
            except BaseException:
                machine.close()
                raise
        return machine

    def _copy_files_to(self, machine: "LocalMachine", layers: int) -> None:
        try:
            machine._connect(layers)  # noqa: SLF001 - of its own class
        finally:
            os.close(layers)
            self._ask({"do": "resume"})

    def copy(self, snapshot: MachineSnapshot) -> "LocalMachine":
        return self._provider.start_from(self.spec, self._image, snapshot)

    def _ask(
        self, request: dict[str, Any], descriptors: Sequence[int] = ()
    ) -> tuple[Any, list[int]]:
        with self._lock:
            control = self._open_control()
            try:
                send(control, request, descriptors)
                answer, received = receive(control)
            except ValueError as error:
                raise MachineError(f"The machine cannot be asked this: {error}.") from error
            except BaseException as error:  # also Ctrl-C
                self._has_ended = True  # what it answers later would be taken for another answer
                self._control.drop()
                if not isinstance(error, OSError):
                    raise
                raise MachineError(f"The machine does not answer: {error}.") from error
            self._has_ended = answer is None
            return _value(answer), received

    def _open_control(self) -> socket.socket:
        self.lifetime.check()
        control = self._control.value
        if control is None or self._has_ended:
            raise MachineError("The machine has ended.")
        return control

    def check_open(self) -> None:
        self._open_control()

    def spawn(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        *,
        env: Mapping[str, str],
        user: str,
        cwd: str,
    ) -> Job:
        status, theirs = os.pipe()
        try:
            request = {
                "do": "spawn",
                "argv": list(argv),
                "env": dict(env),
                "user": user,
                "cwd": cwd,
            }
            pid, _ = self._ask(request, [*descriptors, theirs])
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(theirs)
        return Job(pid, status)

    def signal(self, pid: int, number: int, *, since: float | None = None) -> None:
        if since:
            since += time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        self._ask({"do": "signal", "pid": pid, "number": int(number), "since": since})

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        request = {"do": "open", "path": path, "flags": flags, "mode": mode}
        try:
            _, received = self._ask(request)
        except MachineError as error:
            raise MachineError(f"{path!r}: {error}") from None
        return received[0]

    def listen(self, port: int = 0) -> socket.socket:
        """Return a listening socket of the machine's loopback; see ``docs/machines.md``."""
        _, received = self._ask({"do": "listen", "port": port})
        return socket.socket(fileno=received[0])

    def find(self, name: str) -> tuple[str, bool]:
        _, layer, *rest = [*name.split("/", 2), ""][:3] if "/" in name else ("", "")
        points = self._provider.mount_points(self._image.base)
        target = list(points)[int(layer)] if layer else ""
        path = f"{target}/{rest[0]}" if rest and rest[0] else ""
        return path, bool(path) and self._provider.has(self._image, path)

    def pack(self, path: str, limit: int) -> bytes:
        request = {"do": "pack", "path": path, "limit": limit}
        return self._packed(path, request, lambda file: file.read())

    def pack_changes(
        self, limit: int, choose: Callable[[Iterable[Record]], bytes] | None = None
    ) -> bytes:
        def take(file: IO[bytes]) -> bytes:
            if choose is not None:
                file.write(choose(records(file)))
                file.flush()
            return file.read()

        request = {"do": "pack", "path": None, "limit": limit, "offers": choose is not None}
        return self._packed("The machine", request, take)

    def pack_layer(self, file: IO[bytes], limit: int) -> None:
        """End all processes, and write an archive of what was written over the image."""
        self.kill_all()
        request = {"do": "pack", "path": None, "limit": limit, "offers": False}
        self._packed("The machine", request, lambda source: shutil.copyfileobj(source, file))

    def _packed(
        self, what: str, request: dict[str, Any], take: Callable[[IO[bytes]], _Taken]
    ) -> _Taken:
        """Ask for an archive; return the result of ``take`` if the archive is complete."""
        mine, theirs = socket.socketpair()
        status, report = os.pipe()
        data, problem = None, None
        with os.fdopen(status, "rb") as ended:
            try:
                with mine, mine.makefile("rwb") as file:
                    with theirs:
                        self._ask(request, [theirs.fileno(), report])
                    data = take(cast("IO[bytes]", file))
            except OSError as error:  # mostly of the connection, and then the report says why
                problem = error
            finally:
                os.close(report)
            _check_packed(what, ended.read())
        if problem is not None:
            raise problem
        return cast("_Taken", data)

    def running(self) -> list[tuple[int, str]]:
        found, _ = self._ask({"do": "processes"})
        return list(found)

    def end_processes(self) -> None:
        self._ask({"do": "kill_all"})


def _hang_up(control: socket.socket) -> None:
    """End a machine; to close the socket is not enough, as a fork of this process may hold it."""
    with contextlib.suppress(OSError), control:
        control.shutdown(socket.SHUT_RDWR)
