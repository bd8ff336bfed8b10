"""A fork of a process that is connected to a Ray cluster leaves the connection alone.

Ray does not survive a fork: what its handles, its destructors and its handler of the interpreter's
end do in a child hangs or crashes, or takes the parent's sockets with it. So a child forgets the
connection, frees nothing of it, and ends without C++ destructors.
"""

import atexit
import ctypes
import os
import sys
from typing import Any

from gem_core.errors import ForkError

__all__ = ["check_not_forked"]

_is_fork = False
"""Whether this process is a fork of one that was connected."""


def check_not_forked() -> None:
    """Check that Ray can be used in this process.

    Raises:
        ForkError: It is a fork of a process that was connected to a cluster.
    """
    if _is_fork:
        raise ForkError(
            "This process is a fork of one that was connected to a Ray cluster, where Ray cannot "
            "be used. Start processes with 'spawn' or 'forkserver', or fork before you connect."
        )


def _forget() -> None:
    global _is_fork  # noqa: PLW0603 - of the process
    ray = sys.modules.get("ray")
    if ray is None or not hasattr(ray, "is_initialized") or not ray.is_initialized():
        return
    _is_fork = True
    worker = ray._private.worker  # noqa: SLF001 - there is no other way
    state, node = ray._private.state.state, worker._global_node  # noqa: SLF001
    atexit.unregister(worker.shutdown)
    kept: list[Any] = [*vars(worker.global_worker).values(), *vars(state).values(), node]
    kept += vars(sys.modules["ray.experimental.internal_kv"]).values()
    for one in kept:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    vars(worker.global_worker).pop("core_worker", None)
    worker.global_worker.set_mode(None)
    if node is not None:
        node.kill_all_processes = lambda *_, **__: None
    c = ctypes.CDLL(None)
    if hasattr(c, "on_exit"):  # glibc: what is registered last is called first, with the status
        c.on_exit(c._exit, None)  # noqa: SLF001 - its name


os.register_at_fork(after_in_child=_forget)
