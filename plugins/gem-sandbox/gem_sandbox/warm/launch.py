"""Start zygotes: inside bubblewrap, inside namespaces of their own, or with filters only."""

import errno
import marshal
import os
import resource
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

from gem_sandbox.warm.guest.isolation import OPEN_FILES
from gem_sandbox.warm.guest.kernel import (
    LANDLOCK_SIGNALS_ABI,
    LANDLOCK_TRUNCATION_ABI,
    landlock_abi,
)
from gem_sandbox.warm.seccomp import call_filter, scope_filters
from gem_sandbox.warm.visible_paths import DEVICES, library_path, visible_paths, working_folder
from gem_workers.launcher import Launcher

__all__ = ["ZygoteLauncher"]

_MODULES = (
    "gem_workers.frames",
    "gem_workers.common_names",
    "gem_sandbox.guest.cells",
    "gem_sandbox.guest.process_tree",
    "gem_sandbox.guest.memory",
    *(
        f"gem_sandbox.warm.guest.{name}"
        for name in (
            *("kernel", "messages", "exit_status", "folders", "fd_passing"),
            *("jail", "program", "isolation", "confined", "tiers", "monitor"),
            *("fork_server", "scope", "supervisor", "zygote"),
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
sys.modules["gem_sandbox.warm.guest.zygote"].begin({control}, plan)
"""
_NOBODY = 65534
_AT_START = {"LD_BIND_NOW": "1"}
"""For the zygote only: it links libraries when it loads them, or each fork would do it later."""
_BUBBLEWRAP = "bwrap"


class ZygoteLauncher(Launcher):
    """Starts a zygote for the first run, and again if it dies.

    Args:
        tier: The kind of isolation.
        preload: Modules that the zygote imports.
    """

    def __init__(self, *, tier: str, preload: Sequence[str]) -> None:
        super().__init__(preload=preload, memory_mib=None)
        self._tier = tier
        self._modules = tuple(preload)

    @property
    def ready(self) -> bool:
        """Whether the zygote has started; it may have died since it was last used."""
        return self._ready

    def spawn(self, theirs: socket.socket, stderr: IO[bytes]) -> "subprocess.Popen[bytes]":
        """Start a zygote that is controlled over a socket."""
        _check_open_files()
        plan = _plan(self._tier, self._modules)
        with tempfile.TemporaryFile() as payload:
            marshal.dump((_code(), plan), payload)
            payload.seek(0)
            return subprocess.Popen(  # noqa: S603 - this interpreter, our code
                [*_wrapper(self._tier), *_interpreter(payload.fileno(), theirs.fileno())],
                pass_fds=[payload.fileno(), theirs.fileno()],
                env={**_environment(), **_AT_START},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )


def _check_open_files() -> None:
    """Check that a zygote may open as many files as its programs may.

    Raises:
        OSError: It may not.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < OPEN_FILES:
        raise OSError(
            errno.EMFILE, f"the limit of open files is {most}; a warm sandbox needs {OPEN_FILES}"
        )


def _interpreter(payload: int, control: int) -> list[str]:
    boot = _BOOT.format(payload=payload, control=control)
    return [str(Path(sys.executable).resolve()), "-s", "-S", "-P", "-c", boot]


@cache
def _code() -> list[tuple[str, Any]]:
    """Return the modules of a zygote, compiled, in the order of their imports."""
    modules = []
    for name in _MODULES:
        path = Path(str(import_module(name).__file__))
        source = path.read_text(encoding="utf-8")
        modules.append((name, compile(source, f"<{name}>", "exec", dont_inherit=True)))
    return modules


def _plan(tier: str, preload: Sequence[str]) -> dict[str, Any]:
    """Return the configuration of a zygote, in types that can be marshalled."""
    view = visible_paths()
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
    """Return the folders of the root: parents of visible paths, and mount points."""
    view = visible_paths()
    places = ["/dev", "/dev/shm", "/proc", "/tmp", working_folder(view)]  # noqa: S108
    return list(dict.fromkeys([*view.folders(), *places]))


def _open_to_all(path: str) -> bool:
    folders = Path(path).parents
    return Path(path).stat().st_mode & 4 > 0 and all(each.stat().st_mode & 1 for each in folders)


def _filters(tier: str) -> dict[str, bytes]:
    """Return the filters of system calls of programs, and of their isolation scope."""
    if tier == "confined":
        return {"filter": call_filter(without=_withheld())}
    scope, own = scope_filters()
    return {"filter": own, "scope_filter": scope}


def _withheld() -> list[str]:
    """Return the calls that affect other processes or files of the program's user.

    Landlock restricts which files can be opened, but not changes of their mode, owner or times,
    and older versions do not restrict signals.
    """
    # Everybody may set the times of a file that all may write to, such as a device, and change no
    # owner of any file, which changes a time.
    calls = ["utime", "utimes", "futimesat", "utimensat"]
    calls += ["chown", "fchown", "lchown", "fchownat"]
    if landlock_abi() < LANDLOCK_TRUNCATION_ABI:
        calls += ["truncate"]
    if os.geteuid() == 0:
        return calls
    calls += ["chmod", "fchmod", "fchmodat", "truncate"]
    if landlock_abi() < LANDLOCK_SIGNALS_ABI:
        calls += ["kill", "tkill", "tgkill"]
    return calls


def _standard_path() -> list[str]:
    stdlib = sysconfig.get_path("stdlib")
    archive = f"{Path(stdlib).parent}/python{sys.version_info[0]}{sys.version_info[1]}.zip"
    return [archive, stdlib, sysconfig.get_config_var("DESTSHARED") or f"{stdlib}/lib-dynload"]


def _environment() -> dict[str, str]:
    """Return the whole environment of programs; nothing comes from the host's."""
    one_thread = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
    folder = working_folder(visible_paths())
    return {
        "HOME": folder,
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Sets of strings have the same order in every run, so results are reproducible.
        "PYTHONHASHSEED": "0",
        "TMPDIR": folder,
        **{f"{name}_NUM_THREADS": "1" for name in one_thread},
    }


def _wrapper(tier: str) -> list[str]:
    """Return the command that starts the interpreter, if there is one."""
    if tier != "full":
        return []
    path = shutil.which(_BUBBLEWRAP)
    if path is None:
        raise FileNotFoundError(_BUBBLEWRAP)
    view, root = visible_paths(), os.geteuid() == 0
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
    """Return bubblewrap's options for root: no user namespace, for files that only root can read.

    The zygote then becomes an unprivileged user. It also mounts ``/proc``: bubblewrap would cover
    parts of it, and the kernel does not let runs mount their own if a part is covered.
    """
    kinds = ("ipc", "pid", "net", "uts", "cgroup-try")
    return [*(f"--unshare-{kind}" for kind in kinds), "--cap-add", "ALL"]
