"""The connection of this process to a container engine, which all its providers share.

What is made there carries a label with the process that owns it. Containers end when their owner
dies, as their standard input ends. What an engine that died itself has kept, and the images of
snapshots, are removed by the next process that makes machines.
"""

import contextlib
import os
import secrets
import socket
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gem_core.errors import ConfigError, MachineError, NoMachineError, SandboxError
from gem_core.lifetimes import Lock
from gem_sandbox.docker import connect
from gem_sandbox.owners import identity, is_orphaned

if TYPE_CHECKING:
    import docker

__all__ = ["LABEL", "SNAPSHOTS", "ContainerEngine", "said_by_engine", "told_by_engine"]

LABEL = "org.gem-core.machine"
"""The label with the process that owns a container or an image."""
_CONNECTION = f"{LABEL}.connection"
SNAPSHOTS = "gem-machine-snapshot"
"""The name of the images of snapshots; each has a tag of its own."""
_AT_ONCE = 4
"""Containers that are started or saved, and that are ended, at the same time. An engine takes turns
in most of the work, so more of them only take longer each; and docker-py has ten connections."""


class ContainerEngine:
    """A connection, made on first use.

    Args:
        host: The address of the engine; None for ``DOCKER_HOST``, or the engine's default.
    """

    def __init__(self, host: str | None) -> None:
        self._host = host
        self._lock = Lock()
        self._client: docker.DockerClient | None = None
        self._token = secrets.token_hex(16)
        self._connections: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._preparing: dict[str, Lock] = {}
        self.starting = threading.BoundedSemaphore(_AT_ONCE)
        self.stopping = threading.BoundedSemaphore(_AT_ONCE)
        self._is_closed = False
        self.has_quota: bool | None = None
        """Whether the engine limits the size of what a container writes; None if not tried."""

    @property
    def client(self) -> "docker.DockerClient":
        """The client.

        Raises:
            NoMachineError: docker-py is not installed, or no engine answers.
            MachineError: This is closed.
        """
        with self._lock:
            if self._is_closed:
                raise MachineError("This provider is closed.")
            if self._client is None:
                try:
                    self._client = connect(self._host)
                except SandboxError as error:
                    raise NoMachineError(str(error)) from error
                _remove(self._client, lambda labels: is_orphaned(labels[LABEL]))
            return self._client

    def preparing(self, image: str) -> Lock:
        """Return the lock that is held while an image is looked for and made."""
        return self._preparing.setdefault(image, Lock())

    @property
    def api(self) -> Any:
        """The client of one method for each request."""
        return self.client.api

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Send a request that docker-py has no method for; return the response."""
        api = self.api
        url = f"{api.base_url}/v{api.api_version}{path}"
        return api.request(method, url, timeout=api.timeout, **options)

    def hold(self, connection: socket.socket) -> None:
        """Note a connection, which a forked process closes: it belongs to its parent."""
        self._connections.add(connection)

    def labels(self) -> dict[str, str]:
        """Return the labels of what is made here."""
        return {LABEL: identity(os.getpid()), _CONNECTION: self._token}

    def has_image(self, name: str) -> bool:
        """Return whether the engine has an image."""
        import docker.errors  # noqa: PLC0415 - optional

        with told_by_engine(f"The image {name!r} cannot be looked up"):
            try:
                self.api.inspect_image(name)
            except docker.errors.ImageNotFound:
                return False
            return True

    def remove_image(self, name: str) -> None:
        """Remove an image of a snapshot, unless others stand on it; then it goes with them."""
        with contextlib.suppress(Exception):  # the engine may have ended
            self.api.remove_image(name)

    def close(self) -> None:
        """Remove what was made here; may be called twice. It takes as long as the engine does."""
        with self._lock:
            self._is_closed = True
            client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):  # the engine may have ended
                _remove(client, lambda labels: labels.get(_CONNECTION) == self._token)
            client.close()

    def forget(self) -> None:
        """Close, in a fork, the connections, which belong to its parent."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                os.close(connection.detach())


def _remove(client: "docker.DockerClient", is_meant: Callable[[Mapping[str, str]], bool]) -> None:
    """Remove the containers and the images of snapshots with some labels."""
    for container in client.containers.list(
        all=True, filters={"label": LABEL}, ignore_removed=True
    ):
        with contextlib.suppress(Exception):  # it may be ending by itself
            if is_meant(container.labels):
                container.remove(force=True, v=True)
    for image in client.images.list(SNAPSHOTS, filters={"label": LABEL}):
        with contextlib.suppress(Exception):  # another process may be removing it
            if is_meant(image.labels):
                for tag in image.tags:
                    client.images.remove(tag)


@contextlib.contextmanager
def told_by_engine(what: str) -> Iterator[None]:
    """Raise ``MachineError`` for what docker-py raises.

    Args:
        what: What fails, as the beginning of the message.
    """
    try:
        yield
    except (MachineError, ConfigError):
        raise
    except Exception as error:
        raise MachineError(f"{what}: {said_by_engine(error)}") from error


def said_by_engine(error: Exception) -> str:
    """Return the engine's message of an error, without the words of docker-py."""
    import docker.errors  # noqa: PLC0415 - optional

    if isinstance(error, docker.errors.APIError) and error.explanation:
        said = error.explanation
        return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    if isinstance(error, OSError):  # requests derives its errors from it
        return f"the engine does not answer: {error}"
    return str(error)
