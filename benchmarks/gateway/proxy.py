"""A bare proxy, which passes on requests and answers unread: ``python proxy.py ENGINE``."""

import socket
import sys
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web


async def _session(app: web.Application) -> AsyncIterator[None]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        app["session"] = session
        yield


async def _pass_on(request: web.Request) -> web.StreamResponse:
    body = await request.read()
    url = sys.argv[1] + request.path
    headers = {"Content-Type": "application/json"}
    async with request.app["session"].post(url, data=body, headers=headers) as found:
        if found.headers["Content-Type"] == "application/json":
            return web.Response(body=await found.read(), content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        async for data in found.content.iter_any():
            await response.write(data)
        await response.write_eof()
        return response


def main() -> None:
    """Serve, and print the URL."""
    app = web.Application(client_max_size=2**28)
    app.cleanup_ctx.append(_session)
    app.router.add_post("/{tail:.*}", _pass_on)
    sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
    web.run_app(app, sock=sock, print=None, access_log=None)


if __name__ == "__main__":
    main()
