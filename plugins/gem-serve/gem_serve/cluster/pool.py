"""Workers that are the actors of a Ray cluster."""

import asyncio
import contextlib
import itertools
import os
import pickle
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NoReturn, Self

from gem_core.errors import (
    ClosedError,
    ConfigError,
    DeadlineError,
    SnapshotError,
    WorkerCallError,
    WorkerDiedError,
)
from gem_core.lifetimes import Lifetime
from gem_core.notices import notice_after
from gem_core.vector.slot import Slot
from gem_serve.cluster.actor_set import CLOSED, PATIENCE, ActorSet, Member
from gem_serve.cluster.actors import GemWorker
from gem_serve.cluster.connection import Connection, RuntimeEnv
from gem_serve.cluster.slots import RaySlots
from gem_workers.cancellation import cancellable
from gem_workers.vector_workers import VectorWorkers

__all__ = ["RayPool"]

_NO_DEADLINE = 1e6
"""Seconds."""
MOST_LOST = 4
"""A call whose actors die this often is not repeated: it probably kills them."""
_MOST_ACTORS = 256
_NO_LIMIT = 100_000
_numbers = itertools.count(1)
"""The numbers of pools in this process: names of actors must be unique in a cluster."""


class RayPool(VectorWorkers):
    """Actors of a Ray cluster: they call functions, each call with a deadline, or run a vector.

    It takes the place of ``gem_workers.WorkerPool``. Actors start when calls wait, up to
    ``actors``, and stay until the pool is closed. A call whose actor or machine is lost is
    repeated in another actor. Any number of threads and event loops may use a pool. After
    ``close`` calls raise ``ClosedError``, and in a fork of the process that made it ``ForkError``.

    As an executor of a vector, it keeps each environment in one of its actors. The steps of an
    actor's environments run one at a time; those that are coroutines wait together.

    Args:
        address: ``HOST:PORT``; ``auto`` for the cluster that this machine belongs to; None for a
            cluster of this machine alone. A connection that the program has is used as it is.
        actors: Most actors at the same time; None for as many as fit into the cluster when the
            pool is made, at most 256 for calls. A vector has at most one for each environment.
        cpus: Cores that Ray reserves for an actor; may be a fraction.
        resources: Custom resources that Ray reserves for an actor, such as ``{"sandbox": 1}``: it
            then runs only on machines that have them.
        runtime_env: What workers need besides what is installed, for example
            ``{"pip": ["my-plugin==1.2"]}``; see Ray's ``runtime_env``.
        name: What the actors are called in the dashboard, before their number.

    Raises:
        ConfigError: There is no cluster at the address, or a number is out of range.
        NotInstalledError: Ray is not installed.
        ForkError: This process is a fork of one that is connected to a cluster.
    """

    def __init__(
        self,
        *,
        address: str | None = None,
        actors: int | None = None,
        cpus: float = 1.0,
        resources: Mapping[str, float] | None = None,
        runtime_env: RuntimeEnv | None = None,
        name: str = "gem",
    ) -> None:
        super().__init__()
        if actors is not None and actors < 1:
            raise ConfigError(f"actors must be at least 1, or None; got {actors}.")
        if not cpus >= 0:
            raise ConfigError(f"cpus must be 0 or more; got {cpus!r}.")
        self._connection = Connection(address, runtime_env)
        self._options = {
            "num_cpus": cpus,
            "resources": dict(resources or {}),
            "scheduling_strategy": "SPREAD",
            "max_restarts": 0,
            **self._connection.options,
        }
        needs = {"CPU": cpus, **self._options["resources"]}
        self._most = actors or fitting(self._connection.resources(), needs, most=_NO_LIMIT)
        size = actors or min(self._most, _MOST_ACTORS)
        self._needs = ", ".join(f"{amount:g} {what}" for what, amount in needs.items())
        self._name = name
        self._blobs: dict[bytes, Any] = {}
        self._calls: set[Future[Any]] = set()
        self._where = f"{socket.gethostname()}, process {os.getpid()}, pool {next(_numbers)}"
        self._slots_made = itertools.count(1)
        self._actors = ActorSet(
            self._connection.ray,
            partial(_make, self._connection.ray.remote(GemWorker), self._options, self._where),
            size=size,
            name=name,
            needs=self._needs,
        )
        self.repeated = 0
        """Calls that were repeated because their actor was lost."""
        held = self._actors, self._calls, self._blobs, self._connection
        self._lifetime = Lifetime(self, _close, *held, what="pool of Ray actors")

    @property
    def size(self) -> int:
        """Most actors at the same time."""
        return self._actors.size

    @property
    def busy(self) -> int:
        """Actors that are in a call."""
        return self._actors.busy

    @property
    def replaced(self) -> int:
        """Actors that were replaced: they died, missed a deadline or did not answer."""
        return self._actors.replaced

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Start the actors of a vector; see ``VectorWorkers.start``."""
        self._lifetime.check()
        text = f"Waiting for Ray to start the actors of a vector; each needs {self._needs}."
        with notice_after(PATIENCE, text):
            super().start(make_slots)

    def _count_of(self, slots: int) -> int:
        return self._most

    def _open(self, slots: int) -> RaySlots:
        title = f"{self._name} slots {next(self._slots_made)}"
        options = {**self._options, "name": f"{title} ({self._where})"}
        return RaySlots(self._connection.ray, options, title, slots)

    def call(self, target: str, *args: Any, deadline: float) -> Any:
        """Call a function in an actor and return its result.

        Args:
            target: ``"package.module:function"``.
            args: Its positional arguments.
            deadline: Most seconds that the call may take; waiting for an actor does not count. A
                million or more, such as ``math.inf``, means no limit.

        Raises:
            ConfigError: The deadline is not positive, or the workers' versions are not the
                driver's.
            ClosedError: The pool was closed, before or during the call.
            DeadlineError: The call took longer; its actor was killed.
            WorkerCallError: The function raised (a note of the error holds the traceback), does
                not exist, or its arguments or result cannot be pickled.
            WorkerDiedError: The actor died, and so did those that repeated the call.
        """
        seconds = _timeout(deadline)
        lost = 0
        while True:
            member = self._taken()
            future = self._begin(member, target, args)
            try:
                with cancellable(future.cancel):
                    reply = future.result(timeout=seconds)
            except BaseException as error:  # noqa: BLE001 - with Ctrl-C, cancelled
                lost += 1
                self._lose(member, error, target, deadline, last=lost == MOST_LOST)
            else:
                return self._finish(member, reply, target)

    async def call_async(self, target: str, *args: Any, deadline: float) -> Any:
        """Do the same as ``call`` without blocking the running event loop.

        If the call is cancelled, its actor is killed.
        """
        seconds = _timeout(deadline)
        lost = 0
        while True:
            member = await self._taken_async()
            future = self._begin(member, target, args)
            try:
                reply = await asyncio.wait_for(_awaitable(future), seconds)
            except BaseException as error:  # noqa: BLE001 - also cancelled
                lost += 1
                self._lose(member, error, target, deadline, last=lost == MOST_LOST)
            else:
                return self._finish(member, reply, target)

    def _taken(self) -> Member:
        self._lifetime.check()
        waiter = self._actors.take()
        try:
            with cancellable(waiter.cancel):
                return waiter.result()
        except BaseException:
            self._actors.leave(waiter)
            raise

    async def _taken_async(self) -> Member:
        self._lifetime.check()
        waiter = self._actors.take()
        if waiter.done():
            return waiter.result()
        try:
            return await asyncio.wrap_future(waiter)
        except BaseException:
            self._actors.leave(waiter)
            raise

    def _begin(self, member: Member, target: str, args: tuple[Any, ...]) -> "Future[Any]":
        try:
            future = member.call(target, args)
        except Exception as error:  # of pickling
            self._actors.give_back(member)
            self._lifetime.check()
            raise WorkerCallError(
                f"The arguments of {target} cannot be pickled: {error}"
            ) from error
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        return future

    def _finish(self, member: Member, reply: tuple[bool, Any, bool], target: str) -> Any:
        returned, value, is_last = reply
        if is_last:
            self._actors.replace(member)
        else:
            self._actors.give_back(member)
        if returned:
            return value
        summary, trace = pickle.loads(value)  # noqa: S301 - from our own worker
        failure = WorkerCallError(f"{target} {summary}{self._actors.lacks(member, summary)}")
        failure.add_note(trace)
        raise failure

    def _lose(
        self, member: Member, error: BaseException, target: str, deadline: float, *, last: bool
    ) -> None:
        """Handle a call without an answer; return if it is to be repeated."""
        errors = self._connection.ray.exceptions
        if not self._lifetime.is_open:
            raise ClosedError(CLOSED) from error
        if isinstance(error, TimeoutError) and not isinstance(error, errors.RayError):
            self._actors.replace(member)
            raise DeadlineError(
                f"{target} took longer than {deadline:g} seconds; its actor was killed."
            ) from None
        if isinstance(error, errors.RayTaskError):
            self._actors.give_back(member)
            raise WorkerCallError(f"The result of {target} cannot be sent: {error}") from error
        if not isinstance(error, errors.RayError):  # Ctrl-C, or cancelled
            self._actors.replace(member)
            raise error
        self._actors.quarantine(member)
        if last:
            raise WorkerDiedError(
                f"{MOST_LOST} actors died in {target}, the last one on {member.machine}: {error}"
            ) from error
        self.repeated += 1

    def shared(self, blob: bytes) -> Any:
        """Return a reference to the bytes in the cluster's object store, where they are put once.

        They stay there until the pool is closed.
        """
        self._lifetime.check()
        if blob not in self._blobs:
            self._blobs[blob] = self._connection.ray.put(blob)
        return self._blobs[blob]

    def close(self) -> None:
        """Close the environments of a vector, and kill all actors; may be called twice.

        Calls in progress and waiting calls raise ``ClosedError``. Environments that are not closed
        within ``CLOSE_SECONDS`` are lost with their actor.
        """
        if self._lifetime.is_open:
            self._close_hosts()
        self._lifetime.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise SnapshotError("A pool of Ray actors can neither be pickled nor copied.")


def _make(remote: Any, options: Mapping[str, Any], where: str, name: str) -> Any:
    return remote.options(name=f"{name} ({where})", **options).remote(name)


def _close(
    actors: ActorSet, calls: "set[Future[Any]]", blobs: dict[bytes, Any], connection: Connection
) -> None:
    actors.close()
    for call in list(calls):
        call.cancel()
    blobs.clear()
    connection.close()


def fitting(has: Mapping[str, float], needs: Mapping[str, float], *, most: int) -> int:
    """Return the number of actors that fit into a cluster, at least 1.

    Args:
        has: The resources of the cluster.
        needs: Those that an actor needs.
        most: The largest result.
    """
    room = [has.get(name, 0.0) / amount for name, amount in needs.items() if amount]
    return max(1, min([most, *(int(share + 1e-9) for share in room)]))


def _timeout(deadline: float) -> float | None:
    if not deadline > 0:
        raise ConfigError(f"deadline must be a positive number of seconds; got {deadline!r}.")
    return deadline if deadline < _NO_DEADLINE else None


def _awaitable(future: "Future[Any]") -> "asyncio.Future[Any]":
    """Return a future of the running event loop; cancelling it leaves Ray's own future alone."""
    loop = asyncio.get_running_loop()
    mine: asyncio.Future[Any] = loop.create_future()

    def settle() -> None:
        if mine.done():
            return
        if future.cancelled():
            mine.cancel()
            return
        error = future.exception()
        if error is None:
            mine.set_result(future.result())
        else:
            mine.set_exception(error)

    def tell(_: "Future[Any]") -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle)

    future.add_done_callback(tell)
    return mine
