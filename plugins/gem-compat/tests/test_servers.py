"""The servers, as programs."""

import importlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner
from commands import Command

from gem.tools.search_tool import SearchTool


class FakeSerp(BaseHTTPRequestHandler):
    """Answers as SerpApi does."""

    def do_GET(self):
        found = {"organic_results": [{"title": "A page", "snippet": f"of {self.path[:7]}"}]}
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def serp():
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeSerp)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/search"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_the_web_is_searched_behind_the_same_route(serp):
    command = [sys.executable, "-m", "gem.tools.search_engine.serp_search_server"]
    command += ["--search_url", serp, "--serp_api_key", "key", "--port", "0", "--topk", "2"]
    server = Command(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        url = server.stdout.readline().split()[-1]
        tool = SearchTool(search_url=url, wrapped=False)
        assert tool.execute_action("<search>x</search>")[1:3] == (
            False,
            'Doc 1(Title: "A page") of /search\n',
        )
    finally:
        server.terminate()
        server.wait(timeout=60)
        server.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("retrieval_server", "--index_path --corpus_path --retriever_name --retriever_model"),
        ("serp_search_server", "--search_url --serp_api_key --serp_engine"),
        ("google_search_server", "--api_key --cse_id --snippet_only"),
    ],
)
def test_the_options_of_a_search_server_are_those_of_gem_llm(name, options):
    module = importlib.import_module(f"gem.tools.search_engine.{name}")
    said = CliRunner().invoke(module.main, ["--help"]).output
    for option in [*options.split(), "--topk", "--num_workers", "--port"]:
        assert option in said
    hidden = ["--max_batch_size", "10", "--max_wait_time", "50", "--topk", "0"]
    result = CliRunner().invoke(module.main, hidden)
    assert "topk" in result.output
    assert result.exit_code == 2


@pytest.mark.slow
def test_the_clock_is_a_server_with_an_address():
    time_mcp = importlib.import_module("gem.tools.mcp_server.time_mcp")
    said = CliRunner().invoke(time_mcp.main, ["--help"]).output
    for name in ("--transport", "--host", "--port", "--path", "--log-level"):
        assert name in said
    assert time_mcp.app.name == "time"
