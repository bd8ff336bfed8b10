r"""A scripted OpenAI-compatible endpoint on loopback, with latencies and faults.

In a thread of this process::

    with EndpointServer(reply="\\boxed{5}", latency=0.02, faults={"429:1": 0.02}) as server:
        client = openai.OpenAI(base_url=server.url, api_key="any")

In a separate process, which prints its URL, to measure a client::

    python -m gem_agents.testing.endpoint_server --latency 0.02 --tail 0.05:1 --fault 500=0.01

It implements HTTP itself, because a web framework would be slower than the clients to measure.
"""

import argparse
import asyncio
import contextlib
import functools
import json
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from gem_agents.testing.endpoint_replies import Reply, answer, fault_answer, is_fault, page
from gem_core.background import BackgroundLoop
from gem_core.errors import ConfigError

__all__ = ["EndpointServer", "Script", "serve_in_process"]

Script = Reply | Sequence[Reply] | Callable[[dict[str, Any]], Reply]
"""A single reply, several replies in turn, or a function from the request's body to a reply. A
reply is text, or an assistant's message as a mapping (``content``, ``tool_calls``,
``reasoning_content``)."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SLOW_SECONDS = 1.0


class EndpointServer:
    """An endpoint on loopback; it serves until it is closed.

    Tokens are the bytes of UTF-8, and a token id is the value of the byte. The prompt of each turn
    begins with the tokens of the earlier turns.

    Args:
        reply: The reply or replies.
        latency: Latency of every answer in seconds.
        tail: A share of the calls and their latency instead: ``(0.05, 1.0)``.
        faults: Shares of calls by fault (``{"429": 0.02, "cut": 0.01}``), or the faults of the next
            calls in order (``["500", None, "429:1"]``). The faults are

            - a status from 400 to 599, with an optional ``Retry-After`` after a colon: seconds, or
              ``date`` for a date one second ahead (``429``, ``429:0.5``, ``503:date``);
            - ``context``: status 400, the prompt exceeds the model's context;
            - ``cut`` and ``cut-body``: the connection is closed before or within the answer;
            - ``hang``: there is no answer;
            - ``slow`` and ``slow-body``: a delay of one second, or of ``slow:0.2`` seconds, before
              or within the answer;
            - ``malformed``, ``html``, ``text``: half of the JSON, a web page, JSON with the content
              type of plain text;
            - ``error``: an error in an answer of status 200;
            - ``no-choices``, ``no-usage``, ``null-content``, ``length``, ``content-filter``.
        seed: Seed of the shares.
        model: Name of the model.
        context: Context length of the model in tokens, which ``/models`` names; None to not name
            it. Longer prompts are answered nevertheless.
        port: The port; 0 for a free one.
        keep: Number of latest request bodies to keep in ``asked``; 0 for none.

    Attributes:
        url: The ``base_url`` for clients.
        requests: Number of calls so far.
        in_flight: Number of calls that wait for their answer.
        most_in_flight: Largest value of ``in_flight`` so far.
        connections: Number of connections so far.
        met: Number of calls that met each fault.
        asked: The latest request bodies.
        headers: Headers of the last request, as one text.

    Raises:
        ConfigError: A fault does not exist.
        OSError: The port is in use.
    """

    def __init__(
        self,
        reply: Script = "ok",
        *,
        latency: float = 0.0,
        tail: tuple[float, float] = (0.0, 0.0),
        faults: Mapping[str, float] | Sequence[str | None] = (),
        seed: int = 0,
        model: str = "scripted",
        context: int | None = None,
        port: int = 0,
        keep: int = 1000,
    ) -> None:
        self.latency = latency
        self.tail = tail
        self.model = model
        self.context = context
        self.keep = keep
        self.requests = self.in_flight = self.most_in_flight = self.connections = 0
        self.met: Counter[str] = Counter()
        self.asked: list[dict[str, Any]] = []
        self.headers = ""
        self._open: set[asyncio.Transport] = set()
        self._rng = random.Random(seed)
        self.set_reply(reply)
        self.set_faults(faults)
        self._loop = BackgroundLoop("endpoint servers", loop_factory=_new_event_loop)
        server = self._loop.run(self._listen(port))
        self._loop.before_end(functools.partial(_stop, server, self._open))
        self.port = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    async def _listen(self, port: int) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        return await loop.create_server(lambda: _Connection(self), "127.0.0.1", port, backlog=4096)

    def set_reply(self, reply: Script) -> None:
        """Change the reply or replies."""
        self._script = reply
        self._turn = 0

    def set_faults(self, faults: Mapping[str, float] | Sequence[str | None]) -> None:
        """Change the faults.

        Raises:
            ConfigError: A fault does not exist.
        """
        for fault in faults:
            if fault is not None and not is_fault(fault):
                raise ConfigError(f"There is no fault {fault!r}; see EndpointServer.")
        self._shares = dict(faults) if isinstance(faults, Mapping) else {}
        self._next = [] if isinstance(faults, Mapping) else list(faults)[::-1]

    def stats(self) -> dict[str, Any]:
        """Return the counters, as ``GET /stats`` does."""
        names = ("requests", "in_flight", "most_in_flight", "connections")
        return {name: getattr(self, name) for name in names} | {"met": dict(self.met)}

    def close(self) -> None:
        """Refuse new connections and close the open ones; may be called twice.

        It takes at most ten seconds, and does nothing in a fork of the process.
        """
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_fault(self) -> tuple[str, str]:
        """Return the kind and the parameter of the next call's fault, and count it."""
        fault: str | None = None
        if self._next:
            fault = self._next.pop()
        elif self._shares:
            drawn = self._rng.random()
            for name, share in self._shares.items():
                drawn -= share
                if drawn < 0:
                    fault = name
                    break
        if fault is None:
            return "", ""
        self.met[fault] += 1
        kind, _, parameter = fault.partition(":")
        return kind, parameter

    def seconds(self) -> float:
        """Return the latency of the next answer."""
        share, seconds = self.tail
        return seconds if share and self._rng.random() < share else self.latency

    def reply_to(self, body: dict[str, Any]) -> Reply:
        """Return the reply to a request."""
        if callable(self._script):
            return self._script(body)
        if isinstance(self._script, str | Mapping):
            return self._script
        self._turn += 1
        return self._script[(self._turn - 1) % len(self._script)]


class _Connection(asyncio.Protocol):
    """A connection, which answers its requests in order."""

    _transport: asyncio.Transport

    def __init__(self, server: EndpointServer) -> None:
        self._server = server
        self._buffer = b""
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._server._open.add(self._transport)  # noqa: SLF001 - the classes belong together
        self._server.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._server._open.discard(self._transport)  # noqa: SLF001 - the classes belong together
        if self._busy:
            self._done()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._busy:
            self._take()

    def _take(self) -> None:
        """Handle a request if the buffer contains a whole one."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        found = _LENGTH.search(self._buffer, 0, end)
        stop = end + 4 + (int(found[1]) if found else 0)
        if len(self._buffer) < stop:
            return
        head, body = self._buffer[:end], self._buffer[end + 4 : stop]
        self._buffer = self._buffer[stop:]
        method, path, _ = head.split(b" ", 2)
        if method == b"POST":
            self._post(path.decode(), head, body)
        elif path == b"/stats":
            self._transport.write(page(self._server.stats()))
        else:
            server, known = self._server, path.endswith(b"/models")
            card: dict[str, Any] = {"id": server.model, "object": "model"}
            if server.context is not None:
                card["max_model_len"] = server.context
            models = {"object": "list", "data": [card]}
            self._transport.write(page(models, 200 if known else 404))

    def _post(self, path: str, head: bytes, raw: bytes) -> None:
        server = self._server
        self._busy = True
        server.requests += 1
        server.in_flight += 1
        server.most_in_flight = max(server.most_in_flight, server.in_flight)
        body = json.loads(raw)
        if server.keep:
            server.headers = head.decode("latin-1")
            server.asked.append(body)
            del server.asked[: -server.keep]
        kind, parameter = server.take_fault()
        data = fault_answer(kind, parameter)
        if data is None:
            data = answer(path, body, server.reply_to(body), server.model, kind)
        seconds = server.seconds()
        if kind == "slow":
            seconds += float(parameter or _SLOW_SECONDS)
        if seconds:
            asyncio.get_running_loop().call_later(seconds, self._send, data, kind, parameter)
        else:
            self._send(data, kind, parameter)

    def _send(self, data: bytes, kind: str, parameter: str) -> None:
        if not self._busy or kind == "hang":  # the client has left, or gets no answer
            return
        if kind == "cut":
            self._transport.abort()
        elif kind == "cut-body":
            self._transport.write(data[:-5])
            self._transport.close()
        elif kind == "slow-body":
            self._transport.write(data[:-5])
            seconds = float(parameter or _SLOW_SECONDS)
            asyncio.get_running_loop().call_later(seconds, self._send, data[-5:], "", "")
        else:
            self._done()
            self._transport.write(data)
            self._take()

    def _done(self) -> None:
        self._busy = False
        self._server.in_flight -= 1


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _stop(server: asyncio.Server, transports: set[asyncio.Transport]) -> None:
    server.close()
    for transport in list(transports):
        transport.abort()
    await asyncio.sleep(0)  # the transports close their sockets


@contextlib.contextmanager
def serve_in_process(*arguments: str) -> Iterator[str]:
    """Serve from a separate process within the context, and yield its URL.

    Args:
        arguments: Arguments of ``python -m gem_agents.testing.endpoint_server``.
    """
    command = [sys.executable, "-m", "gem_agents.testing.endpoint_server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - itself
        try:
            yield process.stdout.readline().strip()  # type: ignore[union-attr]
        finally:
            process.terminate()


def _main() -> None:
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible endpoint.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--tail", default="0:0", help="SHARE:SECONDS, for example 0.05:1")
    parser.add_argument("--fault", action="append", default=[], help="FAULT=SHARE; may be repeated")
    parser.add_argument("--reply", action="append", help="a text; several are replied in turn")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    share, _, seconds = options.tail.partition(":")
    faults = [fault.rpartition("=") for fault in options.fault]
    with EndpointServer(
        options.reply or "ok",
        latency=options.latency,
        tail=(float(share), float(seconds)),
        faults={name: float(value) for name, _, value in faults},
        seed=options.seed,
        model=options.model,
        port=options.port,
        keep=0,
    ) as server:
        print(server.url, flush=True)  # noqa: T201 - the output of the program
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    _main()
