"""Measures the CPU time that the gateway adds to a call, over a bare proxy in the same run.

An engine with prepared answers, a proxy that passes everything on unread, and the gateway are
processes of their own. Programs play conversations of 20 calls. The proxy's engine is not asked for
token ids, as without training; the gateway's is. The reply has 64 tokens, in a stream one a piece.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
from common.cpu import cpu_of
from common.output import machine, number, table, write
from common.processes import stop

__all__ = ["add_arguments", "run"]

HERE = Path(__file__).resolve().parent
CALLS = 20
REPLY = 64
_SIDES = ("proxy", "engine", "continue")


@dataclass(frozen=True)
class Round:
    """A measurement.

    Args:
        side: ``proxy``, or the gateway's mode.
        prompt: Tokens of the first prompt.
        stream: Whether answers are streamed.
        cpu: CPU milliseconds of a call in the proxy or the gateway.
        wall: Wall time of a call in milliseconds.
    """

    side: str
    prompt: int
    stream: bool
    cpu: float
    wall: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--prompts", type=int, nargs="+", default=[500, 2000, 8000, 32000])
    parser.add_argument("--conversations", type=int, default=20, help="in each measurement")
    parser.add_argument("--rounds", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    """Measure all sides in turn, round by round."""
    found: list[Round] = []
    for prompt in options.prompts:
        with _started("engine.py", str(prompt), str(REPLY)) as (engine, _):
            for _ in range(options.rounds):
                found += [
                    _measure(side, engine, prompt, stream=stream, count=options.conversations)
                    for stream in (False, True)
                    for side in _SIDES
                ]
    write(options.output, "gateway", "Gateway", _page(found, options), [vars(one) for one in found])


def _measure(side: str, engine: str, prompt: int, *, stream: bool, count: int) -> Round:
    with TemporaryDirectory() as folder, _server(side, engine, folder) as (url, admin, process):

        def play(some: int) -> None:
            asyncio.run(_play(side, url, admin, prompt, stream=stream, count=some))

        play(2)  # imports, connections
        before, began = cpu_of(process), time.perf_counter()
        play(count)
        calls = count * CALLS
        cpu, wall = cpu_of(process) - before, time.perf_counter() - began
    return Round(side, prompt, stream, 1000 * cpu / calls, 1000 * wall / calls)


@contextmanager
def _server(side: str, engine: str, folder: str) -> Iterator[tuple[str, str, int]]:
    if side == "proxy":
        with _started("proxy.py", engine) as (url, process):
            yield url, "", process.pid
        return
    words = [sys.executable, "-m", "gem_core", "gateway", "--engine", engine, "--out", folder]
    process = _open([*words, "--port", "0", "--admin-port", "0"])
    try:
        url = _line(process).partition(" ")[2].partition("/e/")[0]
        admin = _line(process).rpartition(" ")[2].removesuffix("/episodes")
        yield url, admin, process.pid
    finally:
        stop(process)


@contextmanager
def _started(file: str, *words: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    process = _open([sys.executable, str(HERE / file), *words])
    try:
        yield _line(process), process
    finally:
        stop(process)


def _open(words: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None  # noqa: S101 - narrows the type
    return process.stdout.readline().strip()


async def _play(side: str, url: str, admin: str, prompt: int, *, stream: bool, count: int) -> None:
    """Play conversations, four at the same time."""
    gate = asyncio.Semaphore(4)
    async with aiohttp.ClientSession() as session:

        async def one() -> None:
            async with gate:
                base = url
                if side != "proxy":
                    async with session.post(f"{admin}/episodes", json={"mode": side}) as created:
                        base = (await created.json())["url"]
                await _converse(session, f"{base}/v1/chat/completions", prompt, stream=stream)

        await asyncio.gather(*(one() for _ in range(count)))


async def _converse(session: aiohttp.ClientSession, url: str, prompt: int, *, stream: bool) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "word " * prompt}]
    for turn in range(CALLS):
        body = {"model": "m", "messages": messages, "stream": stream}
        async with session.post(url, json=body) as response:
            text = await response.read()
            if response.status != 200 or b"word" not in text:
                raise RuntimeError(f"{url} answered {response.status}: {text[:200]!r}")
        messages.append({"role": "assistant", "content": "word " * REPLY})
        messages.append({"role": "user", "content": f"next {turn}"})


def _page(found: list[Round], options: argparse.Namespace) -> list[str]:
    heading = (
        f"CPU time of the process for a call, in ms: the least of {options.rounds} rounds of "
        f"{options.conversations * CALLS} calls, on {machine()}. The prompt grows by {REPLY + 8} "
        f"tokens a call. The goal is at most 1 ms + 0.05 ms per 1,000 prompt ids over the proxy."
    )
    parts = [heading]
    for stream, title in ((False, "Whole answers"), (True, f"Streams of {REPLY} pieces")):
        rows = [_row(found, prompt, stream=stream) for prompt in options.prompts]
        headings = ("prompt ids", "proxy", "engine", "continue", "goal over the proxy")
        parts += [f"## {title}", table((*headings, "engine over it", "continue over it"), rows)]
    return parts


def _row(found: list[Round], prompt: int, *, stream: bool) -> tuple[str, ...]:
    least = {
        side: min(
            one.cpu for one in found if (one.side, one.prompt, one.stream) == (side, prompt, stream)
        )
        for side in _SIDES
    }
    length = prompt + CALLS // 2 * (REPLY + 8)
    goal = 1 + 0.05 * length / 1000
    over = [least[side] - least["proxy"] for side in _SIDES[1:]]
    return (f"{length:,}", *(number(one) for one in [*least.values(), goal, *over]))
