"""What the tests with an engine's own HTTP server share, whichever engine it is."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from typing import Any

import pydantic
import uvicorn

from gem_rollout.models.tiny_model import save_tiny_model
from gem_serve.gateway.testing.engine import TestEngine


class HttpEngine(TestEngine):
    """An engine's own server with what a script says; see ``TestEngine``.

    Attributes:
        unknown: Fields of requests that the engine does not have, and would ignore.
    """

    models: Mapping[str, Any]
    """The engine's model of a request by the path."""
    unknown: list[str]

    async def _start(self) -> None:
        self.unknown = []
        self._folder = tempfile.TemporaryDirectory()
        app = await self._app(str(save_tiny_model(self._folder.name)))
        self._server = uvicorn.Server(
            uvicorn.Config(self._checked(app), port=0, log_level="warning", loop="asyncio")
        )
        self._serving = asyncio.ensure_future(self._server._serve())
        while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
        self._runner = self

    async def _app(self, folder: str) -> Any:
        """Return the engine's ASGI app for the model in a folder."""
        raise NotImplementedError

    async def cleanup(self) -> None:
        self._server.should_exit = True
        await self._serving
        self._folder.cleanup()

    def _checked(self, app: Any) -> Any:
        """Return an app that notes unknown fields before it passes a request on."""

        async def called(scope: Any, receive: Any, send: Any) -> None:
            model = self.models.get(scope.get("path"))
            if model is None:
                await app(scope, receive, send)
                return
            body, message = b"", {"more_body": True}
            while message.get("more_body"):
                message = await receive()
                body += message.get("body", b"")
            # a model may change what it is given
            read = pydantic.TypeAdapter(model).validate_python(json.loads(body))
            known = read.model_dump(exclude_unset=True, by_alias=True)
            self.unknown += [*(read.model_extra or ()), *_unknown(json.loads(body), known)]
            first = [{"type": "http.request", "body": body, "more_body": False}]

            async def again() -> Any:
                return first.pop() if first else await receive()

            await app(scope, again, send)

        return called


def _unknown(given: Any, known: Any, where: str = "") -> list[str]:
    """Return the fields that a model left out of what it was given."""
    if isinstance(given, dict) and isinstance(known, dict):
        found = [f"{where}{name}" for name in given if name not in known]
        for name in given.keys() & known.keys():
            found += _unknown(given[name], known[name], f"{where}{name}.")
        return found
    if isinstance(given, list) and isinstance(known, list):
        return [
            one
            for at, pair in enumerate(zip(given, known, strict=True))
            for one in _unknown(*pair, f"{where}{at}.")
        ]
    return []
