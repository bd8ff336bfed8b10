"""The server: for this machine, for reading, and nothing else."""

import http.client
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from commands import Command
from view_browser import serving
from view_samples import write_many

from gem_core.errors import ConfigError
from gem_eval.view.server import HOST, ViewServer, bind
from gem_eval.view.store import Store


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    return write_many(folder / "run.jsonl", 60)


@pytest.fixture(scope="module")
def server(run):
    with serving(run) as server:
        yield server


def ask(server, path, method="GET", **headers):
    port = server.server_address[1]
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:99", "[::1]:8000", "[::1]"])
def test_names_of_this_machine_are_answered(server, host):
    """Also with a port that was forwarded."""
    assert ask(server, "/", Host=host)[0].status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "", ":", "localhost.evil:1"],
)
@pytest.mark.parametrize("path", ["/", "/api/overview", "/main.js"])
def test_other_names_get_nothing(server, host, path):
    """A name elsewhere that is made to point here is refused."""
    answer, body = ask(server, path, Host=host)
    assert answer.status == 403
    assert b"many:" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"])
def test_only_reading_is_allowed(server, method):
    """Every other method is refused."""
    assert ask(server, "/api/overview", method)[0].status in {405, 501}


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/size", "/nothing", "/api/nothing"])
def test_every_answer_has_the_policy(server, path):
    """Also one that says that there is nothing."""
    answer, _ = ask(server, path)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/../page.py",
        "/%2e%2e/page.py",
        "/..%2fpage.py",
        "/static/main.js",
        "/etc/passwd",
        "//etc/passwd",
        "/main.js%00",
        "/__init__.py",
        "/.js",
    ],
)
def test_no_other_file_is_served(server, path):
    """Only the page's own files have names here."""
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/api/episodes?sort=text", "sort must be one of"),
        ("/api/episodes?outcome=x", "outcome must be one of"),
        ("/api/episodes?limit=501", "limit must be 1 to 500"),
        ("/api/episodes?offset=-1", "offset must be an integer"),
        ("/api/episodes?offset=99999999999999999999", "offset must be an integer"),
        ("/api/episodes?low=x", "low must be a number"),
        ("/api/episode?id=0-60", "There is no episode"),
        ("/api/episode?id=7-1", "There is no episode"),
        ("/api/episode?id=../x", "There is no episode"),
        ("/api/tasks?a=0&b=2", "There is no series"),
        ("/api/tasks", "There is no series"),
    ],
)
def test_a_bad_request_is_explained(server, path, problem):
    """The page shows the message."""
    answer, body = ask(server, path)
    assert answer.status == 400
    assert problem in json.loads(body)["error"]


def test_sql_in_a_filter_is_text(server):
    """Values are parameters, never part of the query."""
    _, body = ask(server, "/api/episodes?q=%27%20OR%201%3D1%20--&env=%27;DROP%20VIEW%20episodes")
    assert json.loads(body) == {"total": 0, "rows": []}


def test_a_port_that_is_taken(run):
    """The next one is used, unless a port was asked for."""
    with Store([run]) as store, ViewServer(store, 0) as first:
        port = first.server_address[1]
        with pytest.raises(ConfigError, match=f"Port {port} cannot be used.*--port"):
            bind(store, port, 1)
        if port < 65_500:
            with bind(store, None, port) as second:
                assert second.server_address[1] > port


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_ended(run, number):
    """It prints the URL, answers, and ends without a traceback."""
    program = "from gem_core.cli import main; main()"
    command = [sys.executable, "-c", program, "view", str(run), "--port", "0"]
    with Command(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            url = process.stdout.readline().decode().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
            with urllib.request.urlopen(f"{url}api/size", timeout=30) as answer:  # noqa: S310
                assert json.load(answer) == {"episodes": 60}
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert b"Traceback" not in errors


def test_a_run_that_grows_is_noticed(tmp_path):
    """The size that the page asks for again and again follows the file."""
    path = write_many(tmp_path / "run.jsonl", 10)
    more = write_many(tmp_path / "more.jsonl", 5).read_bytes()
    with serving(path) as server:
        assert json.loads(ask(server, "/api/overview")[1])["totals"]["episodes"] == 10
        with path.open("ab") as file:
            file.write(more)
        deadline = time.monotonic() + 30
        while json.loads(ask(server, "/api/size")[1])["episodes"] == 10:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert json.loads(ask(server, "/api/overview")[1])["totals"]["episodes"] == 15
