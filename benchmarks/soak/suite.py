"""Plays through restarts of a server of environments, and counts what stays open.

Twice as many environments as the server has places play episodes and are forked in each, while
another server takes the address, several times: the one before is drained, or every other time
killed. Each episode is compared with a local one. At the end, everything that was opened should be
closed again: sessions, processes, descriptors, memory.

Examples:
  python benchmarks/run.py soak
  python benchmarks/run.py soak --episodes 10000 --restarts 10 --places 64
"""

import argparse
import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast
from urllib.request import urlopen

from common.cpu import family
from common.output import machine, number, table, write

from gem_core import make
from gem_core.errors import GemError

__all__ = ["add_arguments", "run"]

_ENV = "game:GuessTheNumber-v0-hard"
_THINKING = 0.02
"""Seconds before an action, so that restarts come in the middle of episodes."""
_SETTLE = 2.0
"""Seconds for the last messages, which end sessions."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--places", type=int, default=8, help="the server's --max-envs")


def run(options: argparse.Namespace) -> None:
    """Play, and count."""
    found = asyncio.run(_soak(options.episodes, options.restarts, options.places))
    played, states = found["played"], found["states"]
    headings = ("", "sessions", "processes", "descriptors", "MiB")
    rows = [(name, *map(number, (one[what] for what in headings[1:]))) for name, one in states]
    said = (
        f"{played['episodes']:,} episodes were played in {played['seconds']:.0f} s by "
        f"{2 * options.places} environments on a server with {options.places} places, which was "
        f"drained {played['drained']} times and killed {played['killed']} times. "
        f"{played['equal']:,} were equal to local ones, and {played['lost']:,} were lost."
    )
    parts = [f"`{_ENV}` on {machine()}.", said, table(headings, rows)]
    write(options.output, "soak", "Restarts of a server", parts, found)


class _Server:
    """The server that has the address now."""

    def __init__(self, places: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._places = places
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "gem_core", "serve", _ENV, "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--max-envs", str(self._places)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        cast("IO[bytes]", self.process.stdout).readline()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Drain or kill it, and wait for its end."""
        self.process.send_signal(number)
        self.process.wait(120)
        cast("IO[bytes]", self.process.stdout).close()

    def restart(self, number: signal.Signals) -> None:
        self.stop(number)
        self.start()

    def state(self) -> dict[str, float]:
        with urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        sessions = next(line for line in lines if line.startswith("gem_sessions "))
        return {"sessions": float(sessions.split()[1]), **_state_of(family(str(self.process.pid)))}

    def client(self) -> dict[str, float]:
        """Return the state of this process without the server."""
        gc.collect()
        theirs = family(str(self.process.pid))
        ours = [one for one in family(str(os.getpid())) if one not in theirs]
        return {"sessions": 0, **_state_of(ours)}


def _state_of(ours: list[str]) -> dict[str, float]:
    """Return the number, the descriptors and the resident memory of processes."""
    status = [Path(f"/proc/{one}/status").read_text().splitlines() for one in ours]
    memory = [next(line for line in one if line.startswith("VmRSS")) for one in status]
    return {
        "processes": len(ours),
        "descriptors": sum(len(list(Path(f"/proc/{one}/fd").iterdir())) for one in ours),
        "MiB": sum(int(line.split()[1]) for line in memory) / 1024,
    }


async def _soak(episodes: int, restarts: int, places: int) -> dict[str, Any]:
    server = _Server(places)
    try:
        return await _played(server, episodes, restarts, places)
    finally:
        server.stop()


async def _played(server: _Server, episodes: int, restarts: int, places: int) -> dict[str, Any]:
    counts = dict.fromkeys(("episodes", "equal", "lost", "drained", "killed"), 0)
    expected = [_local(seed) for seed in range(min(episodes, 100))]
    seeds = iter(range(episodes))

    async def work(seeds: Any) -> None:
        env: Any = make(f"remote:127.0.0.1:{server.port}/{_ENV}", reconnect=60, replay=True)
        for seed in seeds:
            counts["episodes"] += 1
            try:
                seen = await _episode(env, seed % 100)
            except GemError:
                counts["lost"] += 1
            else:
                counts["equal"] += seen == expected[seed % 100]
        env.close()

    async def restart() -> None:
        for count in range(1, restarts + 1):
            while counts["episodes"] < count * episodes // (restarts + 1):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            number, what = (signal.SIGTERM, "drained") if count % 2 else (signal.SIGKILL, "killed")
            await asyncio.to_thread(server.restart, number)
            counts[what] += 1

    await work(iter(()))  # opens the connection, which stays
    await asyncio.sleep(_SETTLE)
    states = [("server before", server.state()), ("client before", server.client())]
    began = time.monotonic()
    await asyncio.gather(restart(), *(work(seeds) for _ in range(2 * places)))
    seconds = time.monotonic() - began
    await asyncio.sleep(_SETTLE)
    states += [("server after", server.state()), ("client after", server.client())]
    return {"played": {**counts, "seconds": seconds}, "states": states}


async def _episode(env: Any, seed: int) -> list[Any]:
    seen = [await env.reset(seed=seed)]
    while len(seen) == 1 or not (seen[-1].terminated or seen[-1].truncated):
        await asyncio.sleep(_THINKING)
        if len(seen) == 2:
            env.fork().close()
        seen.append(await env.step(_action(seen)))
    return seen


def _local(seed: int) -> list[Any]:
    with make(_ENV) as env:
        seen: list[Any] = [env.reset(seed=seed)]
        while len(seen) == 1 or not (seen[-1].terminated or seen[-1].truncated):
            seen.append(env.step(_action(seen)))
    return seen


def _action(seen: list[Any]) -> str:
    return f"\\boxed{{{len(seen) * 7 % 50}}}"
