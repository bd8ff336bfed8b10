"""Servers on the loopback interface, and corpora."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from gem_core.background import BackgroundLoop

SEARCHES = Path(__file__).parent / "qa_sample_searches.jsonl"


@pytest.fixture(scope="session")
def sample_searches():
    """For each question of qa:Sample: what to search for, and which passage then has the fact."""
    return [json.loads(line) for line in SEARCHES.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def loopback():
    """Serve every path with a handler of aiohttp, in a thread, and return the URL."""
    loop = BackgroundLoop("servers")

    async def listen(handler):
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        loop.before_end(runner.cleanup)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    yield lambda handler: loop.run(listen(handler))
    loop.close()


@contextlib.contextmanager
def search_server(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``gem-core serve-search`` as a process; give it and its URL."""
    command = [sys.executable, "-m", "gem_core", "serve-search", "--port", "0", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # for encoders so small that more would harm
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+(?=/retrieve)", line)
        assert found, line + process.communicate(timeout=60)[1]
        yield process, found[0]
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="session")
def run_server():
    return search_server


@pytest.fixture(scope="session")
def server_url():
    """The URL of a server process that searches the corpus that ships."""
    with search_server() as (_, url):
        yield url


@pytest.fixture(scope="session")
def run_python():
    """Run code in a fresh interpreter, and return what it prints."""

    def run(code, **environ):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def write_corpus(tmp_path):
    """Write rows as JSON lines and return the path."""

    def write(rows, name="corpus.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write
