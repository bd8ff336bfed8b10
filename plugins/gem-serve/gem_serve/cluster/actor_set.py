"""The actors of a pool: which are idle, which are started, and which are in quarantine.

A call that an actor fails to answer says little about the cause: the process has crashed, or its
machine is gone, or the network is slow. So the actor and the idle ones of its machine are asked
whether they live (``ping``) before they get another call. A dead one is replaced. Without this
the next call would go to a dead neighbour, which fails immediately and is idle again.
"""

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from gem_core.errors import ClosedError, GemError, WorkerDiedError
from gem_core.lifetimes import Lock
from gem_serve.cluster.versions import check_versions, installed_versions

__all__ = ["CLOSED", "PATIENCE", "START_SECONDS", "ActorSet", "Member"]

CLOSED = "This pool of Ray actors is closed."
_PING_SECONDS = 5.0
_QUARANTINE_SECONDS = 30.0
"""An actor that has not answered after this time is killed and replaced."""
_MOST_FAILED_STARTS = 5
_START_PAUSE = 0.5
"""Seconds before the second attempt to start an actor; each further pause is twice as long."""
PATIENCE = 15.0
"""Seconds without any actor after which the standard error says what the pool waits for."""
START_SECONDS = 1800.0
"""Seconds in which an actor must start: a cluster may have to add a machine for it."""


class Member:
    """An actor of a pool, as the driver knows it.

    Args:
        handle: Ray's handle.
        name: Its name.
    """

    def __init__(self, handle: Any, name: str) -> None:
        self.handle = handle
        self.name = name
        self.machine = ""
        """Name of its machine; empty before it has said so."""
        self.versions: dict[str, str] = {}
        """What is installed there."""
        self._calls: dict[str, Any] = {}

    def call(self, target: str, args: tuple[Any, ...]) -> "Future[Any]":
        """Begin a call; the dashboard shows the function's name."""
        if target not in self._calls:
            name = target.rpartition(":")[2]
            self._calls[target] = self.handle.call.options(name=name)
        future: Future[Any] = self._calls[target].remote(target, *args).future()
        return future


class ActorSet:
    """The actors of a pool. Any thread may use it.

    Args:
        ray: The package.
        make: Makes the actor with a name; returns Ray's handle.
        size: Most actors.
        name: The first part of their names.
        needs: What each actor needs, in words.
    """

    def __init__(
        self, ray: Any, make: Callable[[str], Any], *, size: int, name: str, needs: str
    ) -> None:
        self._ray = ray
        self._make = make
        self.size = size
        """Most actors."""
        self._name = name
        self._needs = needs
        self._lock = Lock()
        self._idle: list[Member] = []
        self._quarantined = 0
        self._members: set[Member] = set()
        self._waiters: deque[Future[Member]] = deque()
        self._starting = 0
        self._begun: set[Member] = set()
        self._made = 0
        self._failed_starts = 0
        self._failure: BaseException | None = None
        self._closed = False
        self._has_said = False
        self._versions = installed_versions()
        self.replaced = 0
        """Actors that were replaced."""

    @property
    def busy(self) -> int:
        """Actors that are in a call."""
        with self._lock:
            return len(self._members) - len(self._idle) - self._quarantined

    def lacks(self, member: Member, summary: str) -> str:
        """Name the distributions that a machine lacks, if a call may have failed for that."""
        if not any(word in summary for word in ("EntryPointError", "ModuleNotFound", "UnknownId")):
            return ""
        missing = sorted(self._versions.keys() - member.versions.keys())
        if not missing:
            return f" (on {member.machine}, which has the driver's distributions)"
        names = ", ".join(f"{name} {self._versions[name]}" for name in missing)
        return (
            f" {member.machine} lacks what the driver has: {names}. Install it there, or give it "
            f"with executor.runtime_env."
        )

    def take(self) -> "Future[Member]":
        """Return a future of an idle actor; start another if there is none."""
        waiter: Future[Member] = Future()
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._closed:
                raise ClosedError(CLOSED)
            if self._idle:
                waiter.set_result(self._idle.pop())
            else:
                self._waiters.append(waiter)
                self._start_if_needed()
        return waiter

    def leave(self, waiter: "Future[Member]") -> None:
        """Stop waiting; pass on the actor if one has just been assigned."""
        if not waiter.cancel() and waiter.exception() is None:
            self.give_back(waiter.result())

    def give_back(self, member: Member) -> None:
        """Hand an actor to the caller that has waited longest, or keep it."""
        with self._lock:
            if member not in self._members:
                return  # killed in the meantime
            waiter = self._next_waiter()
            if waiter is None:
                self._idle.append(member)
        if waiter is not None:
            waiter.set_result(member)

    def _next_waiter(self) -> "Future[Member] | None":
        while self._waiters:
            waiter = self._waiters.popleft()
            if waiter.set_running_or_notify_cancel():
                return waiter
        return None

    def replace(self, member: Member) -> None:
        """Kill an actor and start another in its place."""
        self._kill(member)
        with self._lock:
            if member in self._members:
                self._members.remove(member)
                self.replaced += 1
                self._start_if_needed(at_least=1)

    def _kill(self, member: Member) -> None:
        with contextlib.suppress(Exception):  # in one of Ray's many words: it is gone
            self._ray.kill(member.handle)

    def quarantine(self, member: Member) -> None:
        """Take an actor that failed, and the idle ones of its machine, out until they answer."""
        with self._lock:
            neighbours = [one for one in self._idle if one.machine == member.machine]
            self._idle = [one for one in self._idle if one not in neighbours]
            self._quarantined += 1 + len(neighbours)
        for one in (member, *neighbours):
            threading.Thread(target=self._examine, args=(one,), daemon=True).start()

    def _examine(self, member: Member) -> None:
        """Ping an actor; give it back if it answers, and replace it otherwise."""
        lives = self._answers(member)
        with self._lock:
            self._quarantined -= 1
        if lives:
            self.give_back(member)
        elif not self._closed:
            self.replace(member)

    def _answers(self, member: Member) -> bool:
        """Ping an actor until it answers, is dead or has had enough time."""
        unavailable = (self._ray.exceptions.ActorUnavailableError, TimeoutError)
        end, pause = time.monotonic() + _QUARANTINE_SECONDS, 0.05
        while not self._closed and time.monotonic() < end:
            try:
                member.handle.ping.remote().future().result(timeout=_PING_SECONDS)
            except unavailable:
                time.sleep(pause)
                pause = min(2 * pause, 2.0)
            except Exception:  # noqa: BLE001 - it is dead, in one of Ray's many words
                return False
            else:
                return True
        return False

    def _start_if_needed(self, at_least: int = 0) -> None:
        wanted = max(at_least, len(self._waiters))
        while self._starting < wanted and len(self._members) + self._starting < self.size:
            self._starting += 1
            self._start()

    def _start(self) -> None:
        """Start an actor in the background; the caller has counted it in ``_starting``."""
        if self._closed:
            return
        self._made += 1
        name = f"{self._name} {self._made}"
        threading.Thread(target=self._run_start, args=(name,), daemon=True).start()

    def _run_start(self, name: str) -> None:
        member: Member | None = None
        try:
            member = Member(self._make(name), name)
            self._begun.add(member)
            self._greet(member)
        except BaseException as error:  # noqa: BLE001 - raised in the callers that wait
            if member is not None:
                self._kill(member)
            self._fail_start(error)
        finally:
            self._begun.discard(member)

    def _greet(self, member: Member) -> None:
        answer = member.handle.hello.remote(list(filter(None, sys.path))).future()
        if self._closed:
            self._kill(member)
        member.machine, member.versions = self._patiently(answer)
        try:
            check_versions(self._versions, member.versions, member.machine)
        except GemError as error:
            self._kill(member)
            self._fail(error, lasts=True)
            return
        with self._lock:
            self._starting -= 1
            self._failed_starts = 0
            if self._closed:
                self._kill(member)
                return
            self._members.add(member)
        self.give_back(member)

    def _patiently(self, answer: "Future[Any]") -> Any:
        """Wait for an actor's first answer; say so if the pool has no other actor meanwhile."""
        try:
            return answer.result(timeout=PATIENCE)
        except TimeoutError:
            if not (self._members or self._closed or self._has_said):
                self._has_said = True
                sys.stderr.write(f"Waiting for Ray to start actors; each needs {self._needs}.\n")
        try:
            return answer.result(timeout=START_SECONDS)
        except TimeoutError:
            raise WorkerDiedError(f"none has started in {START_SECONDS:g} seconds") from None

    def _fail_start(self, error: BaseException) -> None:
        """Try again, unless it is hopeless."""
        lasts = isinstance(error, self._ray.exceptions.RuntimeEnvSetupError)
        with self._lock:
            self._failed_starts += 1
            count = self._failed_starts
        if self._closed:
            return
        if lasts or isinstance(error, WorkerDiedError) or count >= _MOST_FAILED_STARTS:
            said = f"Ray cannot start actors for {self._name!r}: {error}"
            self._fail(WorkerDiedError(said), lasts=lasts)
            return
        time.sleep(_START_PAUSE * 2 ** (count - 1))
        self._start()

    def _fail(self, error: GemError, *, lasts: bool) -> None:
        """Raise an error in all callers that wait if there is no actor, and in later ones.

        Args:
            error: The error.
            lasts: Whether another start would fail, too; otherwise later callers try one.
        """
        with self._lock:
            self._starting -= 1
            self._failed_starts = 0
            if self._members:  # the others go on
                sys.stderr.write(f"{error}\n")
                return
            if lasts:
                self._failure = error
            waiters = list(iter(self._next_waiter, None))
        for waiter in waiters:
            waiter.set_exception(error)

    def close(self) -> None:
        """Kill all actors; callers that wait raise a ``GemError``."""
        with self._lock:
            self._closed = True
            members, self._members = [*self._members, *self._begun], set()
            self._idle.clear()
            waiters = list(iter(self._next_waiter, None))
        for member in members:
            self._kill(member)
        for waiter in waiters:
            waiter.set_exception(ClosedError(CLOSED))
