"""Control groups of machines: the kernel limits their processors and their memory.

They are made below the group of the server, where it may make them: mostly as root, in version 1 of
control groups, or in the root group of version 2. Elsewhere machines do without.
"""

import contextlib
import os

__all__ = ["Groups"]

_ROOT = "/sys/fs/cgroup"
_NAME = "gem-machines"
_PERIOD = 100_000
"""Microseconds in which a machine may use its share of the processors."""
_CONTROLLERS = ("cpu", "memory")
_OF_VERSION_1 = {"cpu": "cpu.cfs_quota_us", "memory": "memory.limit_in_bytes"}
_OF_VERSION_2 = {"cpu": "cpu.max", "memory": "memory.max"}
_MARGIN = 256 << 20
"""Bytes of a group besides the machine's memory and files: ``/dev/shm``, and the first process."""


class Groups:
    """The groups of a server's machines, by the process id of the first process.

    Groups of servers that were killed are removed when a new one starts.
    """

    def __init__(self) -> None:
        own = _own_groups()
        self._parents = {name: path for name in _CONTROLLERS if (path := _parent(name, own))}
        """The folder in which groups are made, for each controller that can be used."""
        self._made: dict[int, list[str]] = {}
        for parent in set(self._parents.values()):
            _remove_left(parent)

    @property
    def controllers(self) -> frozenset[str]:
        """What the kernel limits here: ``cpu``, ``memory``, both or nothing."""
        return frozenset(self._parents)

    def add(self, pid: int, *, cpus: float, memory: int) -> None:
        """Limit a process and its descendants.

        Args:
            pid: The process id.
            cpus: Processors that all together may use.
            memory: Bytes that all together may have, files in memory included.
        """
        limits = {"cpu": int(cpus * _PERIOD), "memory": memory + _MARGIN}
        folders: dict[str, str] = {}
        for name, parent in self._parents.items():
            folder = f"{parent}/{_NAME}-{os.getpid()}-{pid}"
            with contextlib.suppress(OSError):
                if parent not in folders:
                    os.mkdir(folder)
                    folders[parent] = folder
                    _write(f"{folder}/cgroup.procs", str(pid))
                _limit(folder, name, limits[name])
        self._made[pid] = list(folders.values())

    def remove(self, pid: int) -> None:
        """Remove the groups of a process that has ended, with all its descendants."""
        for folder in self._made.pop(pid, ()):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _own_groups() -> dict[str, str]:
    """Return the path of this process's group for each controller; of version 2 for no name."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            found |= dict.fromkeys(names.split(","), path.rstrip("/"))
    return found


def _parent(name: str, own: dict[str, str]) -> str:
    """Return the folder in which groups with a controller can be made; empty if there is none."""
    first = f"{_ROOT}/{name}{own.get(name, '')}"
    second = f"{_ROOT}{own.get('', '')}"
    for parent, file in ((first, _OF_VERSION_1[name]), (second, _OF_VERSION_2[name])):
        trial = f"{parent}/{_NAME}-{os.getpid()}-0"
        with contextlib.suppress(OSError):
            os.mkdir(trial)
            try:
                if os.access(f"{trial}/{file}", os.W_OK):
                    return parent
            finally:
                os.rmdir(trial)
    return ""


def _limit(folder: str, name: str, value: int) -> None:
    if os.path.exists(f"{folder}/{_OF_VERSION_2[name]}"):
        _write(f"{folder}/{_OF_VERSION_2[name]}", f"{value} {_PERIOD}" if name == "cpu" else value)
        return
    if name == "cpu":
        _write(f"{folder}/cpu.cfs_period_us", _PERIOD)
    _write(f"{folder}/{_OF_VERSION_1[name]}", value)


def _write(path: str, value: object) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def _remove_left(parent: str) -> None:
    """Remove the groups of servers that are gone."""
    for name in os.listdir(parent):
        server = name.removeprefix(f"{_NAME}-").partition("-")[0]
        if name.startswith(_NAME) and server.isdecimal() and not os.path.exists(f"/proc/{server}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{parent}/{name}")
