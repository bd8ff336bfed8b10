"""The connection of this process to a Ray cluster, which pools and executors share."""

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.lifetimes import Lifetime, Lock
from gem_core.secret import SecretParts
from gem_serve.cluster.forks import check_not_forked

__all__ = ["Connection", "RuntimeEnv", "load_ray"]

RuntimeEnv = Annotated[Mapping[str, Any], SecretParts(("env_vars",))]
"""Ray's ``runtime_env``: what workers need besides what is installed."""

Result = TypeVar("Result")

_PATIENCE = 15.0
"""Seconds in which a cluster must be reached; a network may fail for a moment."""
_FIRST_PAUSE = 0.25
_lock = Lock()
_users = 0
_is_ours = False


def load_ray() -> Any:
    """Import Ray, without its messages.

    Raises:
        NotInstalledError: It is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of the change
    require("gem-serve[ray]", "The executor 'ray'")
    import ray  # noqa: PLC0415 - an extra, and it takes a second

    return ray


def patiently(call: Callable[[], Result], *, seconds: float = _PATIENCE) -> Result:
    """Return the result of a call to a cluster, tried again while its connection fails.

    Args:
        call: The call.
        seconds: No further attempt begins after this time.

    Raises:
        Exception: The last attempt failed, or an attempt failed for another reason.
    """
    until, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        try:
            return call()
        except (OSError, RuntimeError):  # what Ray raises if a connection is refused or lost
            if time.monotonic() + pause > until:
                raise
        time.sleep(pause)
        pause *= 2


class Connection:
    """A connection to a cluster.

    A program that has called ``ray.init`` keeps its own connection. Otherwise the first user of
    this class connects and the last one disconnects.

    Args:
        address: ``HOST:PORT``; ``auto`` for the cluster that this machine belongs to; None for a
            cluster of this machine alone, which ends with the connection.
        runtime_env: What workers need besides what is installed; see Ray's ``runtime_env``.

    Raises:
        ConfigError: There is no cluster at the address.
        NotInstalledError: Ray is not installed.
        ForkError: This process is a fork of one that is connected.
    """

    def __init__(self, address: str | None, runtime_env: Mapping[str, Any] | None) -> None:
        check_not_forked()
        self.ray = load_ray()
        self.options: dict[str, Any] = {}
        """Options of actors."""
        with _lock:
            self._connect(address, dict(runtime_env or {}))
        self._lifetime = Lifetime(self, _leave, self.ray, what="connection to a Ray cluster")

    def _connect(self, address: str | None, runtime_env: dict[str, Any]) -> None:
        global _users, _is_ours  # noqa: PLW0603 - a process has one connection
        if self.ray.is_initialized():
            if runtime_env:
                self.options["runtime_env"] = runtime_env
        else:
            _initialise(self.ray, address, runtime_env)
            _is_ours, _users = True, 0
        _users += 1

    def resources(self) -> dict[str, float]:
        """Return the resources of the whole cluster, such as ``CPU`` and custom ones."""
        found: dict[str, float] = patiently(self.ray.cluster_resources)
        return found

    def close(self) -> None:
        """Disconnect if nobody else uses the connection; may be called twice."""
        self._lifetime.end()


def _leave(ray: Any) -> None:
    global _users, _is_ours  # noqa: PLW0603 - as above
    with _lock:
        _users -= 1
        if _is_ours and not _users:
            _is_ours = False
            ray.shutdown()


def _initialise(ray: Any, address: str | None, runtime_env: dict[str, Any]) -> None:
    starts = address is None and not os.environ.get("RAY_ADDRESS")
    # Ray prints what befalls workers to the standard output, also without log_to_driver. The pool
    # handles it, and the standard output of a command is for its results.
    vars(ray._private.worker)["_worker_logs_enabled"] = False  # noqa: SLF001 - there is no option
    # Without an address, Ray takes the cluster that was started last on this machine, if it runs.
    own: dict[str, Any] = {"address": "local", "include_dashboard": False}
    options = own if starts else {"address": address}
    logging.getLogger("ray").setLevel(logging.ERROR)

    def connect() -> None:
        try:
            ray.init(
                runtime_env=runtime_env or None,
                log_to_driver=False,
                logging_level="ERROR",
                **options,
            )
        except Exception:
            ray.shutdown()  # what a half-made connection leaves would refuse the next attempt
            raise

    try:
        if not starts:
            _reach(address or os.environ["RAY_ADDRESS"])
        patiently(connect, seconds=0.0 if starts else _PATIENCE)
    except Exception as error:  # Ray raises plain exceptions, too
        raise ConfigError(
            f"There is no connection to a Ray cluster (address={address!r}): {error} Start one "
            f"with 'ray start --head', give executor.address=HOST:PORT, or leave the address "
            f"out for a cluster of this machine alone."
        ) from error


def _reach(address: str) -> None:
    """Connect to an address, as Ray itself waits for minutes where nobody answers.

    Raises:
        OSError: Nobody has answered for some seconds.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        place = host.strip("[]"), int(port)
        patiently(lambda: socket.create_connection(place, _PATIENCE).close(), seconds=_PATIENCE)
