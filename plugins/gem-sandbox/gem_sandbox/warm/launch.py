"""Start zygotes: behind bubblewrap, behind namespaces of their own, or with the filter alone."""

import marshal
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from gem_sandbox.warm.inside.kernel import LANDLOCK_SIGNALS_ABI, landlock_abi
from gem_sandbox.warm.seccomp import call_filter, room_filters
from gem_sandbox.warm.view import DEVICES, host_view, library_path, working_folder
from gem_workers.launcher import Launcher

__all__ = ["ZygoteLauncher"]

_MODULES = (
    "gem_workers.frames",
    "gem_sandbox.far.cells",
    *(
        f"gem_sandbox.warm.inside.{name}"
        for name in (
            *("kernel", "messages", "ends", "names", "folders", "passing", "jail", "memory"),
            *("program", "walls", "confined", "tiers", "watch", "inputs", "room"),
            *("supervisor", "zygote"),
        )
    ),
)
_BOOT = """\
import marshal, os, sys, types
with open({payload}, "rb") as file:
    modules, plan = marshal.load(file)
for name, code in modules:
    module, package = types.ModuleType(name), ""
    for part in name.split(".")[:-1]:
        package += "." * bool(package) + part
        sys.modules.setdefault(package, types.ModuleType(package))
    setattr(sys.modules[package], name.rpartition(".")[2], module)
    sys.modules[name] = module
    exec(code, module.__dict__)
sys.modules["gem_sandbox.warm.inside.zygote"].begin({control}, plan)
"""
_NOBODY = 65534
_AT_START = {"LD_BIND_NOW": "1"}
"""For the zygote only: it links libraries at once, or each fork would do it, call by call."""
_BUBBLEWRAP = "bwrap"


class ZygoteLauncher(Launcher):
    """Starts a zygote when the first run is wanted, and again if it dies.

    Args:
        tier: How runs are kept apart.
        preload: Modules that the zygote imports.
    """

    def __init__(self, *, tier: str, preload: Sequence[str]) -> None:
        super().__init__(preload=preload, memory_mib=None)
        self._tier = tier
        self._modules = tuple(preload)

    @property
    def ready(self) -> bool:
        """Whether the zygote is there; it may have died since it was last used."""
        return self._ready

    def spawn(self, theirs: socket.socket, stderr: IO[bytes]) -> "subprocess.Popen[bytes]":
        """Start a zygote that is controlled over a socket."""
        plan = _plan(self._tier, self._modules)
        with tempfile.TemporaryFile() as payload:
            marshal.dump((_code(), plan), payload)
            payload.seek(0)
            return subprocess.Popen(  # noqa: S603 - our own interpreter and code
                [*_wrapper(self._tier), *_interpreter(payload.fileno(), theirs.fileno())],
                pass_fds=[payload.fileno(), theirs.fileno()],
                env={**_environment(), **_AT_START},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )


def _interpreter(payload: int, control: int) -> list[str]:
    boot = _BOOT.format(payload=payload, control=control)
    return [str(Path(sys.executable).resolve()), "-s", "-S", "-P", "-c", boot]


@cache
def _code() -> list[tuple[str, Any]]:
    """Return the modules that a zygote consists of, compiled, in the order of their imports."""
    modules = []
    for name in _MODULES:
        path = Path(str(import_module(name).__file__))
        source = path.read_text(encoding="utf-8")
        modules.append((name, compile(source, f"<{name}>", "exec", dont_inherit=True)))
    return modules


def _plan(tier: str, preload: Sequence[str]) -> dict[str, Any]:
    """Return what a zygote must know, in types that can be marshalled."""
    view = host_view()
    standard = [path for path in _standard_path() if path not in library_path()]
    return {
        "tier": tier,
        "as_root": os.geteuid() == 0,
        "for_root_only": not all(_open_to_all(path) for path in view.binds),
        "nobody": _NOBODY,
        "preload": list(preload),
        "path": [*standard, *library_path()],
        "prefix": sys.prefix,
        "executable": sys.executable,
        **_filters(tier),
        "readable": [*view.binds],
        "links": dict(view.links),
        "folder": working_folder(view),
        "folders": _folders(),
        "devices": list(DEVICES),
        "only_at_start": [*_AT_START],
    }


def _folders() -> list[str]:
    """Return the folders of the root: those around what is shown, and those to mount on."""
    view = host_view()
    places = ["/dev", "/dev/shm", "/proc", "/tmp", working_folder(view)]  # noqa: S108
    return list(dict.fromkeys([*view.folders(), *places]))


def _open_to_all(path: str) -> bool:
    folders = Path(path).parents
    return Path(path).stat().st_mode & 4 > 0 and all(each.stat().st_mode & 1 for each in folders)


def _filters(tier: str) -> dict[str, bytes]:
    """Return what a program puts up, and what its room has put up before."""
    if tier == "confined":
        return {"filter": call_filter(without=_withheld())}
    room, own = room_filters()
    return {"filter": own, "room_filter": room}


def _withheld() -> list[str]:
    """Return the calls that reach too far where a program is no user of its own.

    Landlock says which files can be opened, not whose mode, owner or times can be changed, and
    it keeps signals in only from some version on.
    """
    calls = ["inotify_add_watch", "setpriority", "sched_setaffinity"]
    if os.geteuid() == 0:
        return calls
    calls += ["chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat"]
    calls += ["utime", "utimes", "futimesat", "utimensat", "truncate"]
    if landlock_abi() < LANDLOCK_SIGNALS_ABI:
        calls += ["kill", "tkill", "tgkill"]
    return calls


def _standard_path() -> list[str]:
    stdlib = sysconfig.get_path("stdlib")
    archive = f"{Path(stdlib).parent}/python{sys.version_info[0]}{sys.version_info[1]}.zip"
    return [archive, stdlib, sysconfig.get_config_var("DESTSHARED") or f"{stdlib}/lib-dynload"]


def _environment() -> dict[str, str]:
    """Return all of the environment that a program sees: nothing of the host's."""
    one_thread = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
    folder = working_folder(host_view())
    return {
        "HOME": folder,
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Sets of texts come in the same order in every run, so results can be repeated.
        "PYTHONHASHSEED": "0",
        "TMPDIR": folder,
        **{f"{name}_NUM_THREADS": "1" for name in one_thread},
    }


def _wrapper(tier: str) -> list[str]:
    """Return the command that the interpreter is started by."""
    if tier != "full":
        return []
    path = shutil.which(_BUBBLEWRAP)
    if path is None:
        raise FileNotFoundError(_BUBBLEWRAP)
    view, root = host_view(), os.geteuid() == 0
    arguments = [path, *(_as_root() if root else ["--unshare-all", "--proc", "/proc"])]
    arguments += ["--hostname", "sandbox", "--new-session"]
    for folder in _folders():
        arguments += ["--perms", "0755", "--dir", folder]
    for bind in view.binds:
        arguments += ["--ro-bind", bind, bind]
    for link, target in view.links.items():
        arguments += ["--symlink", target, link]
    for device in DEVICES:
        arguments += ["--dev-bind", device, device]
    return [*arguments, "--remount-ro", "/", "--chdir", "/", "--"]


def _as_root() -> list[str]:
    """Return how root starts it: without a user namespace, as files may be readable by root only.

    The zygote makes itself nobody then. It also mounts ``/proc``: bubblewrap would cover parts of
    it, and the kernel lets no run mount its own where a part is covered.
    """
    kinds = ("ipc", "pid", "net", "uts", "cgroup-try")
    return [*(f"--unshare-{kind}" for kind in kinds), "--cap-add", "ALL"]
