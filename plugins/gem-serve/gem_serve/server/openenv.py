"""OpenEnv's routes, so that its clients play our environments unchanged.

``/ws`` has a session for each connection, from its first message to its end. ``/reset`` and
``/step`` are for clients without WebSockets: ``/reset`` returns an ``episode_id``, which ``/step``
takes. An action is ``{"text": ...}``. An observation is the text that an agent sees, and the
images; what OpenEnv has no field for is in ``metadata``. All routes are also under ``/env/NAME``,
and those without this prefix are of the first environment.
"""

import secrets
import time
from typing import Any

from aiohttp import WSMsgType, web

from gem_core.content import images_of
from gem_core.errors import GemError, InvalidActionError
from gem_core.info import without_grading
from gem_core.observation import Info, Observation, visible_text
from gem_serve.errors import CapacityError, MessageError, SessionLostError
from gem_serve.server.calls import Calls
from gem_serve.server.guard import Guard
from gem_serve.server.mcp import mcp_reply
from gem_serve.server.session import Reply, Session
from gem_serve.wire import dumps, loads, plain

__all__ = ["OpenEnv"]

_TEXT = {"type": "string", "description": "What the agent says, as it wrote it."}
_SCHEMAS = {
    "action": {
        "title": "TextAction",
        "type": "object",
        "properties": {"text": _TEXT},
        "required": ["text"],
    },
    "observation": {
        "title": "TextObservation",
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What the agent sees."},
            "images": {"type": "array", "items": {"type": "string"}},
            "metadata": {"type": "object"},
        },
        "required": ["text"],
    },
    "state": {
        "title": "State",
        "type": "object",
        "properties": {
            "episode_id": {"type": ["string", "null"]},
            "step_count": {"type": "integer", "minimum": 0},
            "env": {"type": "string"},
        },
    },
}
_SILENT_SECONDS = 60.0
_CODES = {"CapacityError": "CAPACITY_REACHED", "SessionLostError": "SESSION_ERROR"}


class OpenEnv:
    """The handlers of OpenEnv's routes.

    Args:
        calls: Does what messages ask for.
        guard: Checks sizes and rates.
    """

    def __init__(self, calls: Calls, guard: Guard) -> None:
        self._calls = calls
        self._sessions = calls.sessions
        self._guard = guard

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        found = [web.get("/list_environments", self._listed)]
        for prefix in ("", r"/env/{env:[^?]+?}"):
            found += [
                web.get(f"{prefix}/ws", self._socket),
                web.get(f"{prefix}/schema", self._schema),
                web.get(f"{prefix}/metadata", self._metadata),
                web.get(f"{prefix}/health", self._health),
                web.get(f"{prefix}/state", self._state),
                web.post(f"{prefix}/mcp", self._mcp),
                web.post(f"{prefix}/reset", self._reset),
                web.post(f"{prefix}/step", self._step),
            ]
        return found

    def _name(self, request: web.Request) -> str:
        name = request.match_info.get("env") or next(iter(self._sessions.factories))
        self._sessions.factory(name)
        return name

    async def _listed(self, _: web.Request) -> web.Response:
        return web.json_response(list(self._sessions.factories))

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    async def _schema(self, request: web.Request) -> web.Response:
        self._name(request)
        return web.json_response(_SCHEMAS)

    async def _metadata(self, request: web.Request) -> web.Response:
        name = self._name(request)
        about = self._sessions.factories[name].spec.description or name
        return web.json_response({"name": name, "description": about, "version": "1"})

    async def _reset(self, request: web.Request) -> web.Response:
        data = loads(await request.read() or "{}")
        session_id, name = secrets.token_urlsafe(24), self._name(request)
        await self._make_room()
        session, _ = await self._sessions.open(session_id, name)
        session.is_of_post = True
        episode = {**data, "episode_id": session_id}
        try:
            found = await self._do("reset", session_id, episode)
        except Exception:
            await self._sessions.close(session_id)  # nobody knows its id
            raise
        found.setdefault("metadata", {})["episode_id"] = session_id
        return web.json_response(found, dumps=dumps)

    async def _make_room(self) -> None:
        """End a session that ``POST /reset`` began, if the server is full.

        Its clients cannot end one. The first choice is an episode that has ended, then one without
        a step, then one whose client has been silent for a minute; each time the one that was not
        used for longest.
        """
        if not self._sessions.capacity.is_full or self._sessions.draining:
            return
        silent = time.monotonic() - _SILENT_SECONDS
        found = [
            ((one.episode is not None) + (one.steps > 0 and one.episode is not None), one.used, key)
            for key, one in self._sessions.items()
            if one.is_of_post and not one.is_busy
            if one.episode is None or not one.steps or one.used < silent
        ]
        if found:
            await self._sessions.close(min(found)[2])

    async def _step(self, request: web.Request) -> web.Response:
        data = loads(await request.read())
        found = await self._do("step", _episode(data.get("episode_id")), data.get("action"))
        return web.json_response(found, dumps=dumps)

    async def _state(self, request: web.Request) -> web.Response:
        session = await self._sessions.find(_episode(request.query.get("episode_id")))
        return web.json_response(_state_of(session))

    async def _mcp(self, request: web.Request) -> web.Response:
        self._name(request)
        return web.json_response(mcp_reply(await request.read()))

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        name = self._name(request)
        socket = self._guard.socket()
        await socket.prepare(request)
        session_id = secrets.token_urlsafe(24)
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    continue
                try:
                    session, _ = await self._sessions.open(session_id, name)
                except GemError as error:  # in answer to a message, as its clients expect
                    await socket.send_str(dumps(_error(error)))
                    break
                session.link = socket
                reply = await self._replied(request, session_id, message.data)
                if reply is None:
                    break
                await socket.send_str(dumps(reply))
                if reply.get("data", {}).get("code") == _CODES["CapacityError"]:
                    break  # the client connects again, perhaps to another server
        finally:
            await self._sessions.close(session_id)
        await socket.close()
        return socket

    async def _replied(self, request: web.Request, session_id: str, text: str) -> Reply | None:
        """Return the reply to a message; None if it ends the session."""
        try:
            self._guard.check(request, len(text))
            message = loads(text)
        except GemError as error:
            return _error(error, "INVALID_JSON")
        kind, data = message.get("type"), message.get("data")
        if kind == "close":
            return None
        try:
            if kind == "state":
                return {"type": "state", "data": _state_of(await self._sessions.find(session_id))}
            if kind not in ("reset", "step"):
                return _error(MessageError(f"Unknown message type: {kind!r}."), "UNKNOWN_TYPE")
            return {"type": "observation", "data": await self._do(kind, session_id, data)}
        except Exception as error:  # noqa: BLE001 - the client's answer
            self._calls.metrics.errors[type(error).__name__] += 1
            return _error(error)

    async def _do(self, kind: str, session_id: str, data: Any) -> Reply:
        """Reset or step a session; return the result in OpenEnv's form."""
        session = await self._sessions.find(session_id)
        self._calls.metrics.messages += 1
        result: list[Reply] = []

        async def act() -> Reply:
            try:
                result.append(await (self._begin if kind == "reset" else self._act)(session, data))
            except Exception as error:  # noqa: BLE001 - raised again below
                failed.append(error)
            return {}

        failed: list[Exception] = []
        await session.answer(None, act)
        if failed:
            raise failed[0]
        return result[0]

    async def _begin(self, session: Session, data: Any) -> Reply:
        if not isinstance(data or {}, dict):
            raise MessageError(f"The data of reset is an object; got {data!r}.")
        options = dict(data or {})
        seed, episode = options.pop("seed", None), options.pop("episode_id", None)
        message = {"seed": seed, "episode": episode, "options": options}
        observation, info = await self._calls.begun(session, message)
        return _observed(observation, info, None, done=False, terminated=False, truncated=False)

    async def _act(self, session: Session, data: Any) -> Reply:
        step = await self._calls.stepped(session, _action(data))
        return _observed(
            step.observation,
            step.info,
            float(step.reward),
            done=step.terminated or step.truncated,
            terminated=step.terminated,
            truncated=step.truncated,
        )


def _action(data: Any) -> str:
    """Return the text of an action.

    A client may have read a text that looks like JSON, such as ``7``, as its value.
    """
    if not isinstance(data, dict) or "text" not in data:
        raise InvalidActionError(f'An action is {{"text": ...}}; got {str(data)[:200]}.')
    text = data["text"]
    return text if isinstance(text, str) else dumps(text)


def _observed(
    observation: Observation, info: Info, reward: float | None, *, done: bool, **flags: bool
) -> Reply:
    metadata = {"info": plain(info), **flags}
    shown: Reply = {"text": visible_text(observation, info)}
    if images := images_of(observation):
        shown["images"] = plain(images)
    # A client may show a model the whole observation, so the expected answer is only beside it.
    shown["metadata"] = {**metadata, "info": plain(without_grading(info))}
    return {"observation": shown, "reward": reward, "done": done, "metadata": metadata}


def _state_of(session: Session) -> Reply:
    return {"episode_id": session.episode, "step_count": session.steps, "env": session.name}


def _episode(session_id: Any) -> str:
    if not isinstance(session_id, str):
        raise SessionLostError(
            "HTTP has no session of its own: send the episode_id that /reset returned, or use /ws."
        )
    return session_id


def _error(error: Exception, code: str = "EXECUTION_ERROR") -> Reply:
    if isinstance(error, MessageError | InvalidActionError) and code == "EXECUTION_ERROR":
        code = "VALIDATION_ERROR"
    code = _CODES.get(type(error).__name__, code)
    found = {"message": str(error), "code": code, "type": type(error).__name__}
    if isinstance(error, CapacityError):
        found["code"] = "CAPACITY_REACHED"
    return {"type": "error", "data": found}
