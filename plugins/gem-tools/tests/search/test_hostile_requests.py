"""Requests to the search server that are too large, malformed, or not for it."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="pip install 'gem-tools[serve]'")


from aiohttp import web

from gem_core.background import BackgroundLoop
from gem_tools.search.index import IndexOptions, open_retriever
from gem_tools.search.server import make_app


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    loop = BackgroundLoop("servers", seconds=30)
    app = make_app(open_retriever(None, IndexOptions(kind="bm25")))
    runner = web.AppRunner(app)
    loop.run(runner.setup())
    loop.run(web.TCPSite(runner, "127.0.0.1", 0).start())
    loop.before_end(runner.cleanup)
    yield runner.addresses[0][1]
    loop.close()


def ask(
    port: int, body: bytes, host: str = "localhost", kind: str = "json", **more: str
) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port)
    headers = {"Host": host, "Content-Type": f"application/{kind}", **more}
    connection.request("POST", "/retrieve", body, headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, said


GOOD = json.dumps({"query": "Peru"}).encode()


@pytest.mark.slow
def test_an_invalid_request_is_answered_with_400(port: int, subtests: pytest.Subtests) -> None:
    for body in [
        b"[" * 100_000,
        b'{"query":' * 100_000,
        b"{",
        b"",
        b"\xff\xfe",
        json.dumps({"query": "x" * 40_000}).encode(),
        json.dumps({"queries": ["x"] * 1025}).encode(),
        json.dumps({"query": 1}).encode(),
        json.dumps({"query": "x", "topk": 10**6}).encode(),
    ]:
        with subtests.test(body=body):
            status, said = ask(port, body)
            assert status == 400
            assert json.loads(said)["error"]
            assert ask(port, GOOD)[0] == 200


@pytest.mark.parametrize("body", [b"\x91" * 100_000, b"\xc1", b"\x81\xa5query"])
def test_an_invalid_request_in_msgpack_is_answered_with_400(port: int, body: bytes) -> None:
    assert ask(port, body, kind="msgpack")[0] == 400


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "["]
)
def test_a_request_for_another_host_is_refused_at_a_loopback_address(port: int, host: str) -> None:
    assert ask(port, GOOD, host)[0] == 403


def test_a_web_page_of_another_site_is_refused(port: int) -> None:
    assert ask(port, GOOD, Origin="http://evil.example")[0] == 403
    assert ask(port, GOOD, Origin="http://localhost")[0] == 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:9", "[::1]:9", "a.localhost"]
)
def test_a_request_for_this_machine_is_answered(port: int, host: str) -> None:
    assert ask(port, GOOD, host)[0] == 200
