"""Speed of searches from several episodes, through the tool wrapper."""

import contextlib
import itertools
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from compare.callers import work
from compare.sides import load_side

__all__ = ["measure"]

_STUB = [sys.executable, str(Path(__file__).resolve().parent.parent / "search_server.py")]
_SERVER = [sys.executable, "-m", "gem_core", "serve-search", "--port", "0"]
_WORDS = ("river", "planet", "poet", "whale", "king", "number", "metal", "city", "violin", "moon")


def measure(side: str, *, where: str, episodes: int, seconds: float) -> dict[str, float]:
    """Search for ``seconds``, with queries that never repeat.

    Args:
        side: The library.
        where: ``process``: in the library's own process; ``stub``: on a server that always gives
            the same answer; ``server``: on gem-core's retrieval server.
        episodes: Number of episodes that search at the same time, each with its own stack.
        seconds: Time to search.

    Returns:
        ``calls_per_s``, ``p99_ms`` and ``failed``, the number of calls without documents.

    Raises:
        RuntimeError: The library has no such search, or the server does not start.
    """
    if side != "gem_core" and where != "stub":
        raise RuntimeError("it has no search without another program")
    library, numbers = load_side(side), itertools.count()
    with _url(where) as url:
        steps = [library.make_search(url) for _ in range(episodes)]
        done = work([_caller(step, numbers) for step in steps], seconds=seconds, warm_up=1)
    return done.calls()


def _caller(step: Callable[[str], str], numbers: Iterator[int]) -> Callable[[], bool]:
    def call() -> bool:
        number = next(numbers)
        query = f"{_WORDS[number % 10]} {_WORDS[number // 10 % 10]} {number}"
        return "Doc 1(Title: " in step(f"<search>{query}</search>")

    return call


@contextlib.contextmanager
def _url(where: str) -> Iterator[str]:
    """Give the URL of the server, which runs meanwhile; empty for none."""
    if where == "process":
        yield ""
        return
    command = _STUB if where == "stub" else _SERVER
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            port = re.search(r"(\d+)(?:/|$)", said.strip())
            if port is None:
                raise RuntimeError(f"the server does not start: {said!r}")
            yield f"http://127.0.0.1:{port[1]}/retrieve"
        finally:
            process.kill()
