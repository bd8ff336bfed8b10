"""What tools hold ends once, in the process that made it, and nobody waits for it for ever.

The rows: use, close, drop and exit in a fork; a close during use; a second close; a part that dies.
"""

import asyncio
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from forks import in_fork

from gem_core.errors import ClosedError, DataError, ForkError
from gem_tools.mcpmark.workspace import Workspace
from gem_tools.search.backend import SearchError
from gem_tools.search.batcher import Batcher

PLAIN = [sys.executable, str(Path(__file__).parent / "mcp" / "plain_server.py")]
SECONDS = 30
WARNINGS = ["-W", "ignore::DeprecationWarning", "-W", "error::ResourceWarning"]
"""From Python 3.12, a fork of a process with threads is warned of, which is what is tested here."""


def run_program(code, **given):
    """Run a program, and return the lines that it prints."""
    lines = [f"{name} = {value!r}" for name, value in given.items()]
    done = subprocess.run(
        [sys.executable, *WARNINGS, "-c", "\n".join([*lines, code])],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


# MCP tools


MCP = """
import gc, os, sys, threading, time
from pathlib import Path
from gem_core import ToolCall
from gem_core.errors import ClosedError
from gem_tools.mcp import MCPTool

def call(tool, name, **arguments):
    try:
        return tool.run(ToolCall(tool.name, arguments, "", function=name)).output
    except ClosedError as error:
        return f"ClosedError: {error}"

def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False

def in_child(work):
    child = os.fork()
    if not child:
        work()
        sys.exit()  # the ordinary end, with its handlers
    assert os.waitpid(child, 0)[1] == 0

def use(): print("use in a fork", call(tool, "pid") != first, flush=True)
def close(): tool.close(); print("closed in a fork", call(tool, "pid"), flush=True)
def drop():
    global tool
    del tool
    gc.collect()

tool, other = MCPTool(command), MCPTool(command)
first = call(tool, "pid")
for work in (close, drop, lambda: None):
    in_child(work)
    print("the parent goes on", call(tool, "pid") == first, flush=True)

ended = []
thread = threading.Thread(target=lambda: ended.append(call(tool, "hang", note=note)))
thread.start()
while not os.path.exists(note): time.sleep(0.01)
in_child(use)  # while another thread is in a call
tool.close()
thread.join(60)
print("close during use", ended)
tool.close()
print("use after close", call(tool, "pid"))
print("another tool has the server", call(other, "pid") == first)
pid = int(first)
other.close()
print("the last close ends it", is_alive(pid))
tool = MCPTool(command)
pid = int(call(tool, "pid"))
del tool
until = time.monotonic() + 60
while is_alive(pid) and time.monotonic() < until: time.sleep(0.01)
print("a drop ends it", is_alive(pid))
"""
CLOSED = "ClosedError: This MCP tool is closed."


@pytest.mark.slow
def test_an_mcp_tool_that_is_closed_stays_closed_and_a_fork_has_its_own_servers(tmp_path):
    assert run_program(MCP, command=PLAIN, note=str(tmp_path / "note")) == [
        f"closed in a fork {CLOSED}",
        "the parent goes on True",
        "the parent goes on True",
        "the parent goes on True",
        "use in a fork True",
        f"close during use ['{CLOSED}']",
        f"use after close {CLOSED}",
        "another tool has the server True",
        "the last close ends it False",
        "a drop ends it False",
    ]


# The connections of search backends


SEARCH = """
import gc, os, sys
from gem_tools.search.http import HttpBackend
backend = HttpBackend(url=url, wire="json", cache_size=0)

def search(): return len(backend.search("cat", topk=1, seconds=20))
def drop():
    global backend
    del backend
    gc.collect()

search()
for name, work in (("use", search), ("drop", drop), ("exit", lambda: None)):
    fork = os.fork()
    if not fork:
        work()
        sys.exit()
    print(name, os.waitpid(fork, 0)[1], search())
drop()
"""


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self):
        Answers.connections += 1
        super().setup()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"result": [{"document": {"contents": "Cat"}, "score": 1.0}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""


def test_a_fork_leaves_the_connections_of_a_search_backend_to_its_parent():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            found = run_program(SEARCH, url=f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
    assert found == ["use 0 1", "drop 0 1", "exit 0 1"]
    assert Answers.connections == 2, "one of the parent, one of the fork that searches"


# Workspaces


def test_a_workspace_belongs_to_its_process_and_is_deleted_once():
    workspace = Workspace()
    path = workspace.path

    def use():
        for method in (lambda: workspace.path, lambda: workspace.fill(None), workspace.pack):
            with pytest.raises(ForkError):
                method()
        workspace.close()

    assert in_fork(use) == "None"
    assert path.is_dir()
    workspace.close()
    workspace.close()
    assert not path.exists()
    for method in (lambda: workspace.path, lambda: workspace.fill(None), workspace.pack):
        with pytest.raises(ClosedError):
            method()


# Batches of searches


class Unexpected(BaseException):
    """What nobody expects."""


def raising(error):
    def search(queries, topk):
        if "bad" in queries:
            raise error
        return [[query] for query in queries]

    return search


@pytest.mark.parametrize(
    ("search", "error"),
    [
        (lambda queries, topk: [[]] * (len(queries) - ("bad" in queries)), SearchError),
        (lambda queries, topk: [["good"]] * (len(queries) + ("bad" in queries)), SearchError),
        (lambda queries, topk: None if "bad" in queries else [["good"]], TypeError),
        (lambda queries, topk: [None if query == "bad" else [] for query in queries], TypeError),
        (raising(DataError("no")), DataError),
        (raising(StopIteration()), SearchError),
        (raising(SystemExit()), SearchError),
        (raising(Unexpected()), SearchError),
    ],
    ids=["few", "many", "none", "no-hits", "data", "stop", "exit", "unexpected"],
)
def test_a_search_that_fails_fails_for_its_query_and_nobody_waits_for_ever(search, error):
    async def ask():
        batcher = Batcher(search)
        asked = (batcher.search([query], 1) for query in ("good", "bad", "good"))
        found = await asyncio.gather(*asked, return_exceptions=True)
        batcher.close()
        return found

    before, found, after = asyncio.run(asyncio.wait_for(ask(), SECONDS))
    assert isinstance(found, error)
    assert isinstance(before, list)
    assert isinstance(after, list)


def test_closing_a_batcher_ends_the_queries_that_wait_and_a_fork_may_not_use_it():
    started, release = threading.Event(), threading.Event()

    def search(queries, topk):
        started.set()
        release.wait(SECONDS)
        return [[query] for query in queries]

    async def ask():
        batcher = Batcher(search)
        waiting = [asyncio.create_task(batcher.search([query], 1)) for query in "ab"]
        await asyncio.to_thread(started.wait, SECONDS)
        batcher.close()
        batcher.close()
        found = [*await asyncio.gather(*waiting, return_exceptions=True)]
        found += await asyncio.gather(batcher.search(["c"], 1), return_exceptions=True)
        release.set()
        return found

    async def use_in_fork(batcher):
        with pytest.raises(ForkError):
            await batcher.search(["a"], 1)
        batcher.close()

    found = asyncio.run(asyncio.wait_for(ask(), SECONDS))
    assert [type(error) for error in found] == [ClosedError] * 3
    batcher = Batcher(search)
    assert in_fork(lambda: asyncio.run(use_in_fork(batcher))) == "None"
    assert asyncio.run(batcher.search(["d"], 1)) == [["d"]]
    batcher.close()


@pytest.mark.slow
def test_a_search_that_hangs_does_not_keep_a_program_from_ending():
    code = """
import asyncio, threading
from gem_tools.search.batcher import Batcher

async def ask():
    batcher = Batcher(lambda queries, topk: threading.Event().wait())
    try:
        async with asyncio.timeout(0.2):
            await batcher.search(["a"], 1)
    except TimeoutError:
        batcher.close()
asyncio.run(ask())
print("ended")
"""
    assert run_program(code) == ["ended"]
