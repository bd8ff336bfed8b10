"""The admin API: episodes, rewards, and the pause for new weights.

==============================================  ===================================================
``POST /episodes``                              create one; the answer has its URLs and variables
``GET /episodes``, ``GET /episodes/{id}``       their states
``POST /episodes/{id}/reward``                  ``{"reward": 1.0, "info": {}}``
``POST /episodes/{id}/close``                   the answer is the trajectory
``GET /episodes/{id}/trajectory``               the trajectory so far; ``?labels=main,compacted``
``DELETE /episodes/{id}``                       forget a closed episode; its files stay
``POST /pause``, ``POST /resume``               hold new calls while weights are exchanged
``GET /health``, ``GET /metrics``               whether calls are answered; counters
==============================================  ===================================================
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web
from prometheus_client.core import GaugeMetricFamily, UntypedMetricFamily

from gem_core.errors import ConfigError
from gem_rollout.records.trajectory import Trajectory
from gem_serve.exposition import exposed
from gem_serve.gateway.episode import ProgramEpisode
from gem_serve.gateway.events import CallError
from gem_serve.gateway.gateway import Gateway
from gem_serve.gateway.programs import PROGRAMS, variables_of
from gem_serve.gateway.sequences import LABELS, trajectory_of
from gem_serve.gateway.server import without_pages

__all__ = ["admin_app"]

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def admin_app(gateway: Gateway, url: Callable[[], str], token: str) -> web.Application:
    """Return the application.

    Args:
        gateway: The gateway.
        url: Returns the URL of the programs' server.
        token: What callers must send as bearer token.
    """

    @web.middleware
    async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(sent.encode(), token.encode()):
            return _error(401, "The admin API needs its token: Authorization: Bearer TOKEN.")
        try:
            return await handler(request)
        except CallError as error:
            refused = _error(error.status, error.message)
            if error.retry_after is not None:
                refused.headers["Retry-After"] = error.retry_after
            return refused
        except ConfigError as error:
            return _error(400, str(error))
        except OSError as error:  # such as a full disk
            return _error(507, str(error))

    pages = without_pages(lambda problem: _error(403, problem))
    app = web.Application(middlewares=[pages, guard])
    routes = _Admin(gateway, url)
    app.add_routes(
        [
            web.post("/episodes", routes.create),
            web.get("/episodes", routes.list),
            web.get("/episodes/{id}", routes.show),
            web.delete("/episodes/{id}", routes.forget),
            web.post("/episodes/{id}/reward", routes.reward),
            web.post("/episodes/{id}/close", routes.close),
            web.get("/episodes/{id}/trajectory", routes.trajectory),
            web.post("/pause", routes.pause),
            web.post("/resume", routes.resume),
            web.get("/health", routes.health),
            web.get("/metrics", routes.metrics),
        ]
    )
    return app


class _Admin:
    def __init__(self, gateway: Gateway, url: Callable[[], str]) -> None:
        self._gateway, self._url = gateway, url

    def _episode(self, request: web.Request) -> ProgramEpisode:
        return self._gateway.find(request.match_info["id"])

    async def create(self, request: web.Request) -> web.Response:
        if not self._gateway.is_ready:
            raise CallError(503, "The gateway reads its log; ask again.", "unavailable")
        episode = self._gateway.create(**await _body(request))
        model = (episode.options.models or [self._gateway.engine.model or "policy"])[0]
        url = f"{self._url()}/e/{episode.id}"
        variables = {name: variables_of(name, url, episode.id, model) for name in PROGRAMS}
        found = {"episode": episode.id, "key": episode.id, "model": model}
        urls = {"url": url, "openai_url": f"{url}/v1", "anthropic_url": url}
        return _json({**found, **urls, "variables": variables}, 201)

    async def list(self, _: web.Request) -> web.Response:
        found = [self._gateway.status(one) for one in self._gateway.episodes.values()]
        return _json({"episodes": found})

    async def show(self, request: web.Request) -> web.Response:
        return _json(self._gateway.status(self._episode(request)))

    async def forget(self, request: web.Request) -> web.Response:
        episode = self._episode(request)
        if episode.closed is None:
            raise CallError(409, f"Episode {episode.id} is open; close it first.", "conflict")
        self._gateway.forget(episode)
        return _json({"episode": episode.id})

    async def reward(self, request: web.Request) -> web.Response:
        episode, body = self._episode(request), await _body(request)
        if episode.closed is not None:
            raise CallError(409, f"Episode {episode.id} is closed.", "conflict")
        episode.set_reward(body.get("reward"), body.get("info"))  # type: ignore[arg-type]
        return _json({"episode": episode.id, "reward": episode.reward})

    async def close(self, request: web.Request) -> web.Response:
        episode, body = self._episode(request), await _body(request)
        if "reward" in body and episode.closed is None:
            episode.set_reward(body["reward"], body.get("info"))
        how = {name: body[name] for name in ("truncated", "error") if name in body}
        return _trajectory(await self._gateway.close(episode, **how))

    async def trajectory(self, request: web.Request) -> web.Response:
        asked = request.query.get("labels")
        labels = LABELS if asked is None else tuple(asked.split(","))
        for one in labels:
            if one not in LABELS:
                raise ConfigError(f"The labels are {', '.join(LABELS)}; got {one!r}.")
        flags = {name: request.query.get(name) == "true" for name in ("inexact", "undelivered")}
        return _trajectory(trajectory_of(self._episode(request), labels=labels, **flags))

    async def pause(self, request: web.Request) -> web.Response:
        seconds = (await _body(request)).get("seconds")
        return _json({"idle": await self._gateway.pause(seconds), "version": self._gateway.version})

    async def resume(self, request: web.Request) -> web.Response:
        version = (await _body(request)).get("version")
        if version is not None and type(version) is not int:
            raise ConfigError(f"version is a whole number; got {version!r}.")
        return _json({"version": self._gateway.resume(version)})

    async def health(self, _: web.Request) -> web.Response:
        if not self._gateway.is_ready:
            return _error(503, "The gateway reads its log.")
        if self._gateway.draining:
            return _error(503, "The gateway is about to end.")
        try:
            model = await self._gateway.engine.name()
        except CallError as error:
            return _error(503, error.message)
        return _json({"status": "ok", "model": model, "episodes": len(self._gateway.episodes)})

    async def metrics(self, _: web.Request) -> web.Response:
        """Answer in the text format of Prometheus."""
        episodes = self._gateway.episodes.values()
        now = {
            "episodes_open": sum(one.closed is None for one in episodes),
            "calls_live": sum(len(one.live) for one in episodes),
            "weights_version": self._gateway.version,
        }
        counts = [
            UntypedMetricFamily(f"gem_gateway_{name}", "", count)
            for name, count in sorted(self._gateway.counts.items())
        ]
        gauges = [GaugeMetricFamily(f"gem_gateway_{name}", "", n) for name, n in now.items()]
        return exposed([*counts, *gauges])


async def _body(request: web.Request) -> dict[str, Any]:
    raw = await request.read()
    try:
        body = orjson.loads(raw) if raw else {}
    except ValueError as error:
        raise ConfigError(f"The body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ConfigError("The body must be a JSON object.")
    return body


def _trajectory(trajectory: Trajectory) -> web.Response:
    return _json(trajectory.to_dict())


def _json(content: Any, status: int = 200) -> web.Response:
    options = orjson.OPT_NON_STR_KEYS
    body = orjson.dumps(content, default=str, option=options)
    return web.Response(body=body, status=status, content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    return _json({"error": {"message": message}}, status)
