"""The calls of our protocol: what each message does, whichever way it came.

A message is a JSON object with the name of a call in ``op``. Calls of a session have its id in
``session`` and their place among its calls in ``number``; the same number gets the same answer, and
is done once. ``docs/serving.md`` lists the fields.
"""

import asyncio
import base64
import binascii
import functools
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from gem_core.env import Env, Step
from gem_core.errors import near_names
from gem_core.observation import Info, Observation
from gem_core.optional import reset_options, seed_actions, seeded
from gem_serve.errors import MessageError, OversizeError, error_reply
from gem_serve.server.metrics import Metrics
from gem_serve.server.session import Reply, Session
from gem_serve.server.sessions import Sessions
from gem_serve.server.signing import Signer
from gem_serve.wire import from_wire, to_wire

__all__ = ["MOST_CALLS", "PROTOCOL", "Calls"]

PROTOCOL = 1
"""The version of the protocol, which clients compare with theirs."""
MOST_CALLS = 1024
"""Most calls in a batch."""
_LONGEST_WAIT = 86_400
_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


class Calls:
    """Answers messages.

    Args:
        sessions: The sessions.
        signer: Signs the snapshots that leave.
        metrics: Counts what happens.
    """

    def __init__(self, sessions: Sessions, signer: Signer, metrics: Metrics) -> None:
        self.sessions = sessions
        self.metrics = metrics
        self._signer = signer
        self._of_server: dict[str, Callable[[Reply, object], Awaitable[Reply]]] = {
            "hello": self._hello,
            "open": self._open,
            "close": self._close,
            "attach": self._attach,
            "batch": self._batch,
        }
        self._of_session: dict[str, Callable[[Session, Reply], Awaitable[Reply]]] = {
            "reset": self.reset,
            "step": self.step,
            "sample": self._sample,
            "seed": self._seed,
            "seed_actions": self._seed_actions,
            "snapshot": self._snapshot,
            "restore": self._restore,
            "fork": self._fork,
        }

    async def answer(self, message: Reply, link: object = None) -> Reply:
        """Return the reply to a message; an error is a reply too.

        Args:
            message: The message.
            link: The connection that keeps its sessions alive; None for a single request.
        """
        self.metrics.messages += 1
        try:
            reply = await self._answer(message, link)
        except Exception as error:  # noqa: BLE001 - one client's error is its own
            reply = error_reply(error)
        if "error" in reply:
            self.metrics.errors[reply["error"]["type"]] += 1
        return reply

    async def _answer(self, message: Reply, link: object) -> Reply:
        op = message.get("op")
        if op in self._of_server:
            return await self._of_server[op](message, link)
        act = self._of_session.get(op) if isinstance(op, str) else None
        if act is None:
            known = [*self._of_server, *self._of_session]
            raise MessageError(f"Unknown call {str(op)[:100]!r}.{near_names(str(op), known)}")
        if op != "fork":
            return await self._numbered(act, message, link)
        into = _id(message, "into")
        reserved = self.sessions.reserve(into)  # its calls may come before this one is done
        try:
            return await self._numbered(act, message, link)
        finally:
            self.sessions.release(into, reserved)

    async def _numbered(
        self, act: Callable[[Session, Reply], Awaitable[Reply]], message: Reply, link: object
    ) -> Reply:
        session = await self.sessions.find(_id(message))
        session.link = link
        number = message.get("number")
        if number is not None and (type(number) is not int or number < 1):
            raise MessageError(f"number is a positive int, or absent; got {number!r}.")

        async def awake() -> Reply:
            await self.sessions.wake(session)
            return await act(session, message)

        try:
            return await session.answer(number, awake)
        finally:
            if session.has_ended_episode:
                self.sessions.make_room()

    async def _hello(self, _: Reply, __: object) -> Reply:
        """Describe the server and its environments."""
        return {
            "protocol": PROTOCOL,
            "max_bytes": self.sessions.limits.max_bytes,
            "idle_timeout": self.sessions.limits.idle_timeout,
            "environments": {
                name: {
                    "id": factory.spec.id,
                    "description": factory.spec.description,
                    "return_range": factory.spec.return_range,
                    "varies": factory.spec.varies,
                    **self.sessions.described[name],
                }
                for name, factory in self.sessions.factories.items()
            },
        }

    async def _open(self, message: Reply, link: object) -> Reply:
        """Make an environment; its session has the id that the client chose."""
        name, patience = _text(message, "env"), _seconds(message, "wait")
        session, seconds = await self.sessions.open(_id(message), name, patience)
        session.link = link
        if (signed := message.get("snapshot")) is not None and session.is_new:
            try:
                await self._load(session, signed)
            except Exception:
                await self.sessions.close(_id(message))
                raise
        session.is_new = False
        return {"provisioning_seconds": seconds}

    async def _close(self, message: Reply, _: object) -> Reply:
        await self.sessions.close(_id(message))
        return {}

    async def _attach(self, message: Reply, link: object) -> Reply:
        """Keep sessions alive by this connection, after another one was lost."""
        found = _field(message, "sessions")
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise MessageError("sessions is a list of ids.")
        self.sessions.attach(found, link)
        return {}

    async def _batch(self, message: Reply, link: object) -> Reply:
        """Answer several messages, at the same time if they are of different sessions."""
        calls = message.get("calls")
        if not isinstance(calls, list) or not all(isinstance(one, dict) for one in calls):
            raise MessageError("calls is a list of messages.")
        if len(calls) > MOST_CALLS:
            raise OversizeError(f"A batch has at most {MOST_CALLS} calls; got {len(calls)}.")
        if any(one.get("op") == "batch" for one in calls):
            raise MessageError("A batch does not contain batches.")
        return {"replies": await asyncio.gather(*(self.answer(one, link) for one in calls))}

    async def reset(self, session: Session, message: Reply) -> Reply:
        """Start an episode."""
        observation, info = await self.begun(session, message)
        return {"observation": to_wire(observation), "info": to_wire(info)}

    async def begun(self, session: Session, message: Reply) -> tuple[Observation, Info]:
        """Return the start of an episode."""
        self.sessions.check_not_draining()
        options = from_wire(message.get("options") or {})
        if not isinstance(options, dict):
            raise MessageError(f"options is an object; got {options!r}.")
        if (task := message.get("task")) is not None:  # [number, seed], see ``reset_options``
            options = {**reset_options(session.env, *task), **options}
        function = functools.partial(session.env.reset, seed=message.get("seed"), **options)
        first: tuple[Observation, Info] = await self.sessions.call(session, function)
        session.steps, session.episode = 0, str(message.get("episode") or "episode")
        self.metrics.begun(session.name)
        return first

    async def step(self, session: Session, message: Reply) -> Reply:
        """Take one action."""
        step = await self.stepped(session, from_wire(_field(message, "action")))
        return {
            "observation": to_wire(step.observation),
            "reward": to_wire(step.reward),
            "terminated": bool(step.terminated),
            "truncated": bool(step.truncated),
            "info": to_wire(step.info),
        }

    async def stepped(self, session: Session, action: Any) -> Step:
        """Return the step that an action makes."""
        started = time.perf_counter()
        function = functools.partial(session.env.step, action)
        step = Step(*await self.sessions.call(session, function))
        self.metrics.stepped(session.name, time.perf_counter() - started)
        session.steps += 1
        if step.terminated or step.truncated:
            session.episode, session.has_ended_episode = None, True
        return step

    async def _sample(self, session: Session, _: Reply) -> Reply:
        return {
            "action": to_wire(await self.sessions.call(session, session.env.sample_random_action))
        }

    async def _seed(self, session: Session, message: Reply) -> Reply:
        seed = _field(message, "seed")
        session.env = await self.sessions.call(session, lambda: seeded(session.env, seed))
        return {}

    async def _seed_actions(self, session: Session, message: Reply) -> Reply:
        seed = _field(message, "seed")
        await self.sessions.call(session, lambda: seed_actions(session.env, seed))
        return {}

    async def _snapshot(self, session: Session, _: Reply) -> Reply:
        state = await self.sessions.call(session, session.env.snapshot)
        signed = self._signer.sign(session.name, state)
        return {"snapshot": base64.b64encode(signed).decode(), "playing": session.episode}

    async def _restore(self, session: Session, message: Reply) -> Reply:
        await self._load(session, _field(message, "snapshot"))
        return {}

    async def _load(self, session: Session, signed: Any) -> None:
        try:
            signed = base64.b64decode(signed, validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise MessageError(f"snapshot is text in base64: {error}.") from error
        state = self._signer.verified(session.name, signed)
        await self.sessions.call(session, lambda: session.env.restore(state))
        session.episode = "restored"

    async def _fork(self, session: Session, message: Reply) -> Reply:
        """Add a session with a copy of the environment, under the id that the client chose."""
        into = _id(message, "into")
        self.sessions.check_id(into)
        await self.sessions.take_slot(session.patience, into)
        try:
            twin: Env = await self.sessions.call(session, _copier(session.env, message))
        except BaseException:
            self.sessions.capacity.release()
            raise
        made = self.sessions.add(into, Session(session.name, twin, session.patience))
        made.link, made.is_new = session.link, False
        if "seed" not in message:
            made.episode, made.steps = session.episode, session.steps
        return {}


def _copier(env: Env, message: Reply) -> Callable[[], Env]:
    if "seed" not in message:
        return env.fork
    return functools.partial(env.spawn, seed=message["seed"])


def _field(message: Reply, name: str) -> Any:
    if name not in message:
        raise MessageError(f"The call {message.get('op')!r} needs {name!r}.")
    return message[name]


def _text(message: Reply, name: str) -> str:
    value = _field(message, name)
    if not isinstance(value, str):
        raise MessageError(f"{name} is text; got {value!r}.")
    return value


def _seconds(message: Reply, name: str) -> float:
    value = message.get(name, 0.0)
    if type(value) not in (int, float) or not 0 <= value <= _LONGEST_WAIT:
        raise MessageError(f"{name} is a number of seconds, 0 to {_LONGEST_WAIT}; got {value!r}.")
    return float(value)


def _id(message: Reply, name: str = "session") -> str:
    value = _text(message, name)
    if not _ID.fullmatch(value):
        raise MessageError(
            f"{name} is the id of a session, 16 to 64 random letters, digits, '_' and '-'; "
            f"got {value[:80]!r}."
        )
    return value
