"""The server is for this machine and for reading, and its page does not execute what it shows."""

import http.client
import io
import itertools
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from importlib import resources

import pytest
from commands import Command
from view_browser import serving
from view_samples import write_many

from gem_core.errors import ConfigError
from gem_eval.view.page import page_json, static_file
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


def post(server, given, **headers):
    """Ask for a change of tags as the page does, but for some headers."""
    connection = http.client.HTTPConnection(HOST, server.server_address[1], timeout=30)
    fields = {"Content-Type": "application/json"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/api/tags", json.dumps(given), fields)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


OUR_NAMES = ("127.0.0.1", "localhost", "LOCALHOST:99", "[::1]:8000", "[::1]")
OTHER_NAMES = (
    *("evil.example", "evil.example:8420", "127.0.0.1.evil.example"),
    *("", ":", "localhost.evil:1"),
)
OTHER_METHODS = ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE")
OTHER_FILES = (
    *("/../page.py", "/%2e%2e/page.py", "/..%2fpage.py", "/static/main.js", "/etc/passwd"),
    *("//etc/passwd", "/main.js%00", "/__init__.py", "/.js"),
)
PROBLEMS = {
    "/api/episodes?sort=text": "sort must be one of",
    "/api/episodes?outcome=x": "outcome must be one of",
    "/api/episodes?limit=501": "limit must be 1 to 500",
    "/api/episodes?offset=-1": "offset must be an integer",
    "/api/episodes?offset=99999999999999999999": "offset must be an integer",
    "/api/episodes?low=x": "low must be a number",
    "/api/episodes?step=x": "step must be an integer",
    "/api/episodes?evaluation=2": "evaluation must be one of",
    "/api/episode?id=0-60": "There is no episode",
    "/api/episode?id=7-1": "There is no episode",
    "/api/episode?id=../x": "There is no episode",
    "/api/tasks?a=0&b=2": "There is no series",
    "/api/tasks": "There is no series",
}
"""What is said about requests that cannot be answered."""


@pytest.mark.slow
def test_names_of_this_machine_are_answered_with_any_port(server, subtests):
    for host in OUR_NAMES:
        with subtests.test(host):
            assert ask(server, "/", Host=host)[0].status == 200


def test_a_name_elsewhere_that_points_to_this_machine_is_refused(server, subtests):
    for path, host in itertools.product(("/", "/api/overview", "/main.js"), OTHER_NAMES):
        with subtests.test(f"{path} of {host!r}"):
            answer, body = ask(server, path, Host=host)
            assert answer.status == 403
            assert b"many:" not in body


def test_a_page_of_another_site_is_refused_and_the_own_one_is_not(server):
    own = f"http://{HOST}:{server.server_address[1]}"
    assert ask(server, "/api/overview", Origin=own)[0].status == 200
    for origin in ("http://evil.example", "http://localhost:1", "null"):
        assert ask(server, "/api/overview", Origin=origin)[0].status == 403


def test_only_reading_is_allowed(server, subtests):
    for method in OTHER_METHODS:
        with subtests.test(method):
            assert ask(server, "/api/overview", method)[0].status in {405, 501}


def test_every_answer_has_the_headers_that_protect_the_page(server, subtests):
    for path in ("/", "/main.js", "/api/size", "/nothing", "/api/nothing"):
        with subtests.test(path):
            headers = ask(server, path)[0].headers
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; ")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "Access-Control-Allow-Origin" not in headers


def test_only_the_files_of_the_page_are_served(server, subtests):
    for path in OTHER_FILES:
        with subtests.test(path):
            assert ask(server, path)[0].status == 404


@pytest.mark.slow
def test_a_bad_request_is_explained(server, subtests):
    for path, problem in PROBLEMS.items():
        with subtests.test(path):
            answer, body = ask(server, path)
            assert answer.status == 400
            assert problem in json.loads(body)["error"]


def test_sql_in_a_filter_is_only_text(server):
    _, body = ask(server, "/api/episodes?q=%27%20OR%201%3D1%20--&env=%27;DROP%20VIEW%20episodes")
    assert json.loads(body) == {"total": 0, "rows": []}


def test_the_next_port_is_used_if_one_is_taken_unless_it_was_asked_for(run):
    with Store([run]) as store, ViewServer(store, 0) as first:
        port = first.server_address[1]
        with pytest.raises(ConfigError, match=f"Port {port} cannot be used.*--port"):
            bind(store, port, 1)
        if port < 65_500:
            with bind(store, None, port) as second:
                assert second.server_address[1] > port


@pytest.mark.slow
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
                assert json.load(answer) == {"episodes": 60, "training": ""}
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert b"Traceback" not in errors


@pytest.mark.slow
def test_the_size_that_the_page_asks_for_follows_a_run_that_grows(tmp_path, monkeypatch):
    monkeypatch.setattr("gem_eval.view.answers._REFRESH_SECONDS", 0.05)
    path = write_many(tmp_path / "run.jsonl", 10)
    more = write_many(tmp_path / "more.jsonl", 5).read_bytes()
    with serving(path) as server:
        assert json.loads(ask(server, "/api/overview")[1])["totals"]["episodes"] == 10
        with path.open("ab") as file:
            file.write(more)
        deadline = time.monotonic() + 60
        while json.loads(ask(server, "/api/size")[1])["episodes"] == 10:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert json.loads(ask(server, "/api/overview")[1])["totals"]["episodes"] == 15


def test_data_in_a_page_cannot_end_their_element():
    """No character that HTML gives a meaning is left, and all comes back."""
    value = {"</script>": ["<!--", "&lt;", "\u2028", 2**53, float("nan"), "\ud800"]}
    written = page_json(value)
    assert not set(b"<>&") & set(written)
    assert json.loads(written) == {
        "</script>": ["<!--", "&lt;", "\u2028", str(2**53), "NaN", "\ud800"]
    }


def test_no_script_of_the_page_turns_text_into_elements_or_code():
    scripts = (resources.files("gem_eval.view") / "static").iterdir()
    names = [script.name for script in scripts if script.name.endswith(".js")]
    assert {"dom.js", "text.js", "shop.js"} <= {*names}
    for name in names:
        text = static_file(name).decode()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert "</script" not in text
        assert io.StringIO(text).readline().startswith("/**")
