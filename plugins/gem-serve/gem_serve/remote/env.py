"""An environment on a server, as if it were here."""

import asyncio
import base64
import concurrent.futures
import os
import secrets
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar, Self

from gem_core.env import Step
from gem_core.errors import (
    ConfigError,
    DeadlineError,
    EpisodeEndedError,
    GemError,
    SnapshotError,
    UnknownIdError,
    near_names,
)
from gem_core.observation import Action, Info, Observation
from gem_core.secret import Secret
from gem_core.seeding import check_seed, fresh_seed
from gem_core.specs import EnvSpec
from gem_serve.errors import ConnectionLostError, SessionLostError
from gem_serve.remote.link import Link, Reply, link_to
from gem_serve.wire import from_wire, to_wire

__all__ = ["RemoteEnv"]

_MOST_UNANSWERED = 6
"""Fewer than the answers that a server keeps for a session."""
_MARK = b"gem-remote\0"


class RemoteEnv:
    """An environment that a server plays.

    Where an event loop runs, ``reset`` and ``step`` return awaitables; elsewhere they return the
    values. The session on the server begins with the first call that needs it. After
    ``SessionLostError``, ``ConnectionLostError`` or ``DeadlineError`` the episode is lost, and the
    next ``reset`` begins a new session.

    Args:
        address: ``HOST:PORT``.
        name: Name of the environment on the server.
        token: The server's token; None for that in the environment variable ``GEM_SERVE_TOKEN``.
        timeout: Most seconds to wait for an answer.
        reconnect: Seconds in which a lost connection must be made again.
        tls: Whether to connect with TLS.

    Raises:
        ConnectionLostError: The server cannot be reached.
        AccessError: It refuses the token.
        UnknownIdError: It does not have this environment; near names are suggested.
        ConfigError: A time is not positive.
    """

    blocking = False
    multi_agent: ClassVar[bool] = False
    spec: EnvSpec | None = None

    def __init__(
        self,
        address: str,
        name: str,
        *,
        token: Secret | None = None,
        timeout: float = 60.0,
        reconnect: float = 30.0,
        tls: bool = False,
    ) -> None:
        if timeout <= 0 or reconnect <= 0:
            raise ConfigError(
                f"timeout and reconnect must be positive; got {timeout}, {reconnect}."
            )
        self._options: dict[str, Any] = {
            "address": address,
            "name": name,
            "token": token,
            "timeout": timeout,
            "reconnect": reconnect,
            "tls": tls,
        }
        self._name, self._timeout = name, timeout
        url = f"{'https' if tls else 'http'}://{address}"
        self._link = link_to(url, token or os.environ.get("GEM_SERVE_TOKEN") or None, reconnect)
        self._session = _Session(self._link)
        described = self._link.hello(max(timeout, reconnect) + 1)["environments"]
        if name not in described:
            raise UnknownIdError(
                f"{url} has no environment {name!r}.{near_names(name, described)} "
                f"It has: {', '.join(list(described)[:8])}."
            )
        self._about: dict[str, Any] = described[name]

    @property
    def unseeded_info(self) -> frozenset[str]:
        """The keys of ``info`` whose values the seed does not decide."""
        return frozenset(self._about["unseeded_info"])

    @property
    def unwrapped(self) -> Self:
        """The environment itself."""
        return self

    @property
    def provisioning_seconds(self) -> float | None:
        """Seconds that the server took to make the environment; None before the first call."""
        return self._session.provisioning_seconds

    def reset(self, *, seed: int | None = None, **options: Any) -> Any:
        """Start an episode; see ``Env.reset``.

        Raises:
            CapacityError: The server takes no more sessions or episodes.
            DeadlineError: There was no answer in time.
            ConnectionLostError: The connection was lost and not made again in time.
        """
        if self._session.is_lost:
            self._session.close()
            self._session = _Session(self._link)
        message: Reply = {"seed": seed}
        if "remote_task" in options:
            message["task"] = options.pop("remote_task")
        if options:
            message["options"] = to_wire(options)
        return self._asked("reset", message, _first)

    def step(self, action: Action) -> Any:
        """Take one action; see ``Env.step``.

        Raises:
            SessionLostError: The server no longer has the session.
            DeadlineError: There was no answer in time; the episode is lost.
            ConnectionLostError: The connection was lost and not made again in time.
        """
        if not self._session.is_open or self._session.is_lost:
            raise EpisodeEndedError("RemoteEnv.step: no episode is running. Call reset() first.")
        return self._asked("step", {"action": to_wire(action)}, _step)

    def sample_random_action(self) -> Action:
        """Return a well-formed action for the current state, chosen by the server."""
        return from_wire(self._now("sample")["action"])

    def seed(self, seed: int) -> None:
        """Make the next ``reset()`` and all that follow it repeatable."""
        self._opened().send("seed", {"seed": check_seed(seed)})

    def seed_actions(self, seed: int) -> None:
        """Seed what ``sample_random_action`` draws."""
        self._opened().send("seed_actions", {"seed": check_seed(seed)})

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number``; the server looks them up."""
        return {"remote_task": [number, seed]} if self._about["has_tasks"] else {}

    def snapshot(self) -> bytes:
        """Return the state, signed by the server. It is opaque here, and is never unpickled here.

        Raises:
            SnapshotError: The environment cannot be saved.
        """
        return _MARK + base64.b64decode(self._now("snapshot")["snapshot"])

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot from a server with the same secret.

        Raises:
            SnapshotError: It is not one, or is of another environment; nothing has changed.
        """
        self._now("restore", {"snapshot": _signed(snapshot)})

    def fork(self) -> Self:
        """Return a copy with a session of its own, which continues exactly as this one would."""
        return self._copied({})

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new environment of the same configuration; see ``Env.spawn``."""
        if same_state:
            return self.fork()
        return self._copied({"seed": fresh_seed() if seed is None else check_seed(seed)})

    def close(self) -> None:
        """End the session; a later ``reset`` begins another."""
        self._session.close()
        self._session = _Session(self._link)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = self.snapshot() if self._session.is_open and not self._session.is_lost else None
        return {"options": self._options, "spec": self.spec, "snapshot": state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["options"])  # type: ignore[misc]
        self.spec = state["spec"]
        if state["snapshot"] is not None:
            self._session.open(self._name, _signed(state["snapshot"]))

    def _copied(self, message: dict[str, Any]) -> Self:
        twin = type(self)(**self._options)
        twin.spec = self.spec
        into = twin._session.id  # noqa: SLF001 - its own class
        sent = self._opened().send("fork", {"into": into, **message})
        twin._session.begun_by(sent)  # noqa: SLF001 - its own class
        return twin

    def _opened(self) -> "_Session":
        if self._session.is_lost:
            raise SessionLostError("The session was lost. Call reset() first.")
        if not self._session.is_open:
            self._session.open(self._name)
        return self._session

    def _now(self, op: str, message: Reply | None = None) -> Reply:
        session = self._opened()
        return session.result(session.send(op, message or {}), self._timeout)

    def _asked(self, op: str, message: Reply, read: Callable[[Reply], Any]) -> Any:
        session = self._opened()
        sent = session.send(op, message)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return read(session.result(sent, self._timeout))
        return self._later(session, sent, read)

    async def _later(
        self, session: "_Session", sent: Future[Reply], read: Callable[[Reply], Any]
    ) -> Any:
        return read(await session.wait(sent, self._timeout))


class _Session:
    """The client's side of a session: numbers its calls, and ends it when it is garbage.

    Args:
        link: The connection.
    """

    def __init__(self, link: Link) -> None:
        self.id = secrets.token_urlsafe(24)
        self.is_open = False
        self.is_lost = False
        self._link = link
        self._number = 0
        self._unanswered: list[Future[Reply]] = []
        self._earlier: list[Future[Reply]] = []
        self._finalizer: weakref.finalize[Any, Any] | None = None

    @property
    def provisioning_seconds(self) -> float | None:
        """Seconds that it took to make the environment; None if that is not known."""
        opened = getattr(self, "_opening", None)
        if opened is None or not opened.done() or opened.exception() is not None:
            return None
        found: float | None = opened.result().get("provisioning_seconds")
        return found

    def open(self, name: str, snapshot: str | None = None) -> None:
        """Begin it on the server."""
        message = {"op": "open", "session": self.id, "env": name}
        if snapshot is not None:
            message["snapshot"] = snapshot
        self.begun_by(self._link.submit(message))

    def begun_by(self, opening: Future[Reply]) -> None:
        """Note the call that begins it on the server, and end it there when this is garbage."""
        self.is_open = True
        self._opening = opening
        self._earlier.append(opening)
        self._link.keep(self.id)
        self._finalizer = weakref.finalize(self, self._link.end, self.id)

    def send(self, op: str, message: Reply) -> Future[Reply]:
        """Send the next call; ``result`` and ``wait`` return its reply.

        Raises:
            OversizeError: The message is too large; the call has not been made.
        """
        self._unanswered = [future for future in self._unanswered if not future.done()]
        if len(self._unanswered) >= _MOST_UNANSWERED:
            concurrent.futures.wait(self._unanswered)
        number = self._number + 1
        numbered = {"op": op, "session": self.id, "number": number, **message}
        sent = self._link.submit(numbered)
        self._number = number
        self._unanswered.append(sent)
        if op in ("seed", "seed_actions"):  # the copy waits for a fork
            self._earlier.append(sent)
        return sent

    def result(self, sent: Future[Reply], timeout: float) -> Reply:
        """Wait for a reply to a call.

        Raises:
            GemError: The call failed, or an earlier one that nobody waited for.
        """
        try:
            reply = self._link.result(sent, timeout)
        except GemError as error:
            raise self._cause(error) from None
        self._raise_earlier()
        return reply

    async def wait(self, sent: Future[Reply], seconds: float) -> Reply:
        """Wait for a reply in an event loop; see ``result``."""
        try:
            reply = await asyncio.wait_for(asyncio.wrap_future(sent), seconds)
        except GemError as error:
            raise self._cause(error) from None
        except TimeoutError as error:
            raise self._cause(self._link.late(seconds)) from error
        except asyncio.CancelledError:
            self.is_lost = True  # the server may have done it
            raise
        self._raise_earlier()
        return reply

    def close(self) -> None:
        """End it on the server, if it was begun there."""
        if self._finalizer is not None:
            self._finalizer()

    def _cause(self, error: GemError) -> GemError:
        """Return the first error of the calls that led to an error, and note if all is lost."""
        if isinstance(error, SessionLostError | ConnectionLostError | DeadlineError):
            self.is_lost = True
        try:
            self._raise_earlier()
        except GemError as earlier:
            self.is_lost = True
            return earlier
        return error

    def _raise_earlier(self) -> None:
        earlier, self._earlier = self._earlier, []
        for future in earlier:
            if future.done():
                self._link.result(future, None)
            else:
                self._earlier.append(future)


def _first(reply: Reply) -> tuple[Observation, Info]:
    return from_wire(reply["observation"]), from_wire(reply["info"])


def _step(reply: Reply) -> Step:
    return Step(
        from_wire(reply["observation"]),
        float(reply["reward"]),
        reply["terminated"],
        reply["truncated"],
        from_wire(reply["info"]),
    )


def _signed(snapshot: bytes) -> str:
    if not isinstance(snapshot, bytes) or not snapshot.startswith(_MARK):
        raise SnapshotError("This is not a snapshot of an environment on a server.")
    return base64.b64encode(snapshot[len(_MARK) :]).decode()
