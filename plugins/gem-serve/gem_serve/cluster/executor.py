"""Runs the environments of a vector in the actors of a Ray cluster.

Each actor holds a share of the slots. An actor that dies is replaced, and its environments report
that their episodes were lost, as with the executor ``processes``.
"""

import contextlib
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import cloudpickle

from gem_core.errors import ClosedError, ConfigError, GemError, WorkerDiedError
from gem_core.lifetimes import Lock
from gem_core.notices import notice_after
from gem_core.vector.executor import CLOSE_SECONDS, QueueExecutor, Request, Result
from gem_core.vector.slot import Fault, Slot
from gem_serve.cluster.actor_set import PATIENCE, START_SECONDS
from gem_serve.cluster.actors import GemSlots
from gem_serve.cluster.connection import Connection, RuntimeEnv
from gem_serve.cluster.pool import check_numbers, fitting
from gem_serve.cluster.versions import check_versions, installed_versions
from gem_workers.pickles import dump, load

__all__ = ["RayExecutor"]


class RayExecutor(QueueExecutor):
    """A fixed number of actors; each environment stays in one of them.

    The steps of an actor's environments run one at a time; those that are coroutines wait
    together.

    Args:
        address: See ``RayPool``.
        actors: Number of actors; None for as many as fit into the cluster. There are never more
            than environments.
        cpus: See ``RayPool``.
        resources: See ``RayPool``.
        runtime_env: See ``RayPool``.

    Raises:
        ConfigError: There is no cluster at the address, or a number is out of range.
        EntryPointError: Ray is not installed.
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
    ) -> None:
        super().__init__()
        check_numbers(actors, cpus)
        self._connection = Connection(address, runtime_env)
        self._actors = actors
        self._needs = {"CPU": cpus, **(resources or {})}
        self._options = {
            "num_cpus": cpus,
            "resources": dict(resources or {}),
            "scheduling_strategy": "SPREAD",
            "max_restarts": 0,
            **self._connection.options,
        }
        self._workers: list[_SlotActor] = []

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Start the actors; each makes its share of the slots while the others do the same."""
        ray = self._connection.ray
        size = self._actors or fitting(
            self._connection.resources(), self._needs, most=len(make_slots)
        )
        count = min(size, len(make_slots))
        shares = [dict(list(enumerate(make_slots))[i::count]) for i in range(count)]
        remote = ray.remote(GemSlots)
        try:
            blobs = [_dump_slots(share) for share in shares]
            for number, (share, blob) in enumerate(zip(shares, blobs, strict=True), 1):
                options = {**self._options, "max_concurrency": len(share) + 1}
                make = partial(_make, remote, options, f"gem slots {number}")
                self._workers.append(_SlotActor(ray, make, blob, self._results))
            needs = ", ".join(f"{amount:g} {what}" for what, amount in self._needs.items())
            text = f"Waiting for Ray to start {count} actors; each needs {needs}."
            with notice_after(PATIENCE, text):
                for worker in self._workers:
                    worker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Send each request to the actor that holds its slot."""
        count = len(self._workers)
        for index, argument in requests:
            self._workers[index % count].send(index, method, argument)

    def close(self) -> None:
        """Close the slots and end the actors.

        An actor whose environments are not closed within ``CLOSE_SECONDS`` is killed.
        """
        workers, self._workers = self._workers, []
        closing = [worker.begin_close() for worker in workers]
        end = time.monotonic() + CLOSE_SECONDS
        for worker, done in zip(workers, closing, strict=True):
            worker.finish_close(done, max(0.0, end - time.monotonic()))
        self._connection.close()


def _make(remote: Any, options: Mapping[str, Any], name: str, generation: int) -> Any:
    where = f"{socket.gethostname()}, process {os.getpid()}"
    unique = f"{name} ({where}, {id(options):x}, {generation})"
    return remote.options(name=unique, **options).remote(name)


def _dump_slots(make_slots: dict[int, Callable[..., Slot]]) -> bytes:
    try:
        blob: bytes = cloudpickle.dumps(make_slots)
    except Exception as error:
        raise ConfigError(
            f"An environment for the executor 'ray' must be picklable, with its arguments, tools "
            f"and wrappers: {error}"
        ) from error
    return blob


class _SlotActor:
    """The driver's side of one actor: it replaces the actor if it dies.

    Args:
        ray: The package.
        make: Makes the actor of a generation.
        make_slots: What makes the slots, pickled.
        results: Where answers go.
    """

    def __init__(
        self,
        ray: Any,
        make: Callable[[int], Any],
        make_slots: bytes,
        results: "queue.SimpleQueue[Result]",
    ) -> None:
        self._ray = ray
        self._make = make
        self._make_slots = make_slots
        self._results = results
        self._lock = Lock()
        self._in_flight: dict[int, tuple[str, bytes]] = {}
        self._held: list[int] | None = None
        """The slots whose requests wait until the actor was replaced; None while it lives."""
        self._generation = 0
        self._failure: BaseException | None = None
        self._closing = False
        self._ready = self._launch(None)

    def _launch(self, lost: BaseException | None) -> "Future[Any]":
        self._handle = self._make(self._generation)
        self._hello = self._handle.hello.remote(list(filter(None, sys.path))).future()
        blob = None if lost is None else dump(lost)
        made: Future[Any] = self._handle.make.remote(self._make_slots, blob).future()
        return made

    def wait_until_ready(self) -> None:
        """Wait for the slots; raise the error of one that cannot be made."""
        try:
            machine, versions = self._hello.result(START_SECONDS)
            check_versions(installed_versions(), versions, machine)
            answer = self._ready.result()
        except self._ray.exceptions.RayError as error:
            raise WorkerDiedError(f"Ray cannot start an actor for the vector: {error}") from error
        except TimeoutError:
            said = f"Ray has started no actor for the vector in {START_SECONDS:g} seconds."
            raise WorkerDiedError(said) from None
        if answer is not None:
            failure: BaseException = load(answer)
            raise failure

    def send(self, index: int, method: str, argument: Any) -> None:
        """Request a call of a method of a slot."""
        try:
            blob = dump(argument)
        except Exception as error:  # noqa: BLE001 - an action may be any object
            self._results.put((index, Fault(error)))
            return
        with self._lock:
            if self._failure is not None:
                self._results.put((index, Fault(self._failure)))
                return
            self._in_flight[index] = method, blob
            if self._held is not None:
                self._held.append(index)
            else:
                self._request(index, method, blob)

    def _request(self, index: int, method: str, blob: bytes) -> None:
        try:
            future = self._handle.perform.remote(index, method, blob).future()
        except Exception as error:  # noqa: BLE001 - somebody waits for an answer
            self._settle(index, Fault(WorkerDiedError(f"Ray does not take a call: {error}")))
            return
        future.add_done_callback(partial(self._answer, index, self._generation))

    def _answer(self, index: int, generation: int, future: "Future[Any]") -> None:
        error = future.exception()
        with self._lock:
            if generation != self._generation:
                return  # it was sent again, or settled
            if error is None:
                self._settle(index, _load_answer(future.result()))
            elif not self._closing:
                self._generation += 1  # the first of its requests to fail
                self._held = []
                threading.Thread(target=self._replace, args=(error,), daemon=True).start()

    def _settle(self, index: int, value: Any) -> None:
        if self._in_flight.pop(index, None) is not None:
            self._results.put((index, value))

    def _replace(self, cause: BaseException) -> None:
        """Start a new actor in place of one that died.

        It gets the steps again and answers them with the loss of the episode. Any other request
        might kill it as well, and is answered here.
        """
        reason = str(cause).partition("\n")[0]
        error: BaseException = WorkerDiedError(
            f"A Ray actor died ({reason}), and with it the episodes of its environments. Their "
            f"next reset starts afresh."
        )
        failure: BaseException | None = None
        try:  # without the lock, as others want to hand over requests
            self._ray.kill(self._handle)
            self._ready = self._launch(error)
            if self._closing:
                self._kill()
            self.wait_until_ready()
        except BaseException as why:  # noqa: BLE001 - raised in every later call
            self._failure = failure = why
        with self._lock:
            held, self._held = self._held or [], None
            for index, (method, blob) in list(self._in_flight.items()):
                if failure is None and (method == "step" or index in held):
                    self._request(index, method, blob)
                else:
                    self._settle(index, Fault(failure or error))

    def begin_close(self) -> "Future[Any] | None":
        """Let the actor close its environments."""
        self._closing = True
        try:
            done: Future[Any] = self._handle.close.remote().future()
        except Exception:  # noqa: BLE001 - it is gone
            return None
        return done

    def finish_close(self, done: "Future[Any] | None", seconds: float) -> None:
        """Wait until the environments are closed, end the actor, and answer its caller."""
        with contextlib.suppress(Exception):  # it is ended below
            if done is not None:
                done.result(timeout=seconds)
        self._kill()
        with self._lock:
            self._failure = ClosedError("This vector is closed.")
            for index in list(self._in_flight):
                self._settle(index, Fault(self._failure))

    def _kill(self) -> None:
        with contextlib.suppress(Exception):  # in one of Ray's many words: it is gone
            self._ray.kill(self._handle)


def _load_answer(blob: bytes) -> Any:
    try:
        return load(blob)
    except Exception as error:  # noqa: BLE001 - somebody waits for an answer
        return Fault(error if isinstance(error, GemError) else GemError(repr(error)))
