"""Measures the server of environments: CPU and speed of a step, idle sessions, lost connections.

The server is a process of its own. CPU times are those of the client's process and of the server's.
Episodes with lost connections are compared with local ones, value by value.

Examples:
  python benchmarks/run.py serve
  python benchmarks/run.py serve --episodes 1000 --rounds 2
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Any, cast

import aiohttp
from common.cpu import cpu_of
from common.output import machine, number, table, write

from gem_core import make
from gem_core.env import Env
from gem_core.errors import GemError

__all__ = ["add_arguments", "run"]

_ENV = "game:GuessTheNumber-v0-hard"
_GOAL_MS, _GOAL_MIB = 1.0, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4000, help="steps in a round")
    parser.add_argument("--sessions", type=int, default=1000, help="idle sessions")
    parser.add_argument("--episodes", type=int, default=10_000, help="with lost connections")
    parser.add_argument("--drops", type=float, default=0.02, help="share of steps that lose it")


def run(options: argparse.Namespace) -> None:
    """Measure."""
    rounds: dict[str, list[dict[str, float]]] = {}
    with _server() as (process, address):
        for together in (1, 64):
            rounds[f"{together} at the same time"] = [
                asyncio.run(_round(process, address, options.steps, together))
                for _ in range(options.rounds)
            ]
    ours = _memory(options.sessions, _hold_ours)
    theirs = _memory(options.sessions, _hold_theirs)
    lost = asyncio.run(_lost(options.episodes, options.drops))
    names = ("client", "server", "both", "local", "steps/s")
    rows = [
        (what, *(number(median(one[what] for one in found)) for found in rounds.values()))
        for what in names
    ]
    speed = (
        f"Milliseconds of CPU a step, by process, and steps a second: the median of "
        f"{options.rounds} rounds of {options.steps:,} steps, resets included. The row `local` is "
        f"the same without a server. The goal for both sides is {_GOAL_MS:g} ms."
    )
    memory = (
        f"The resident memory of the server with {options.sessions:,} idle sessions is "
        f"{ours['with']:.0f} MiB if one client holds them all, and {theirs['with']:.0f} MiB if "
        f"each has a connection of its own, as OpenEnv's clients have. Without sessions it is "
        f"{ours['without']:.0f} MiB. The goal is {_GOAL_MIB} MiB."
    )
    cuts = (
        f"{lost['episodes']:,.0f} episodes were played, 64 at the same time, and the connection "
        f"of all of them was cut {lost['cuts']:,.0f} times, in {options.drops:.0%} of the "
        f"{lost['steps']:,.0f} steps. {lost['equal']:,.0f} were equal to local ones, "
        f"{lost['lost']:,.0f} were lost, and the server counted {lost['counted']:,.0f} steps."
    )
    parts = [f"`{_ENV}` on {machine()}.", speed, table(("", *rounds), rows), memory, cuts]
    write(
        options.output,
        "serve",
        "Server of environments",
        parts,
        {**rounds, "memory": [ours, theirs], "lost": [lost]},
    )


@contextmanager
def _server(*arguments: str) -> Iterator[tuple[int, str]]:
    """Run a server; yield its process id and address."""
    command = [sys.executable, "-m", "gem_core", "serve", _ENV, "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        address = cast("IO[str]", process.stdout).readline().strip().rpartition("http://")[2]
        yield process.pid, address
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)


async def _round(process: int, address: str, steps: int, together: int) -> dict[str, float]:
    """Return milliseconds of CPU a step, and steps a second."""
    envs = [make(f"remote:{address}/{_ENV}") for _ in range(together)]
    await asyncio.gather(*(_play(env, 8) for env in envs))
    before = time.perf_counter(), time.process_time(), cpu_of(process)
    await asyncio.gather(*(_play(env, steps // together) for env in envs))
    after = time.perf_counter(), time.process_time(), cpu_of(process)
    for env in envs:
        env.close()
    wall, client, server = (end - start for start, end in zip(before, after, strict=True))
    done = steps // together * together
    started = time.process_time()
    with make(_ENV) as env:
        await _play(env, done)
    local = time.process_time() - started
    each = {"client": client, "server": server, "both": client + server, "local": local}
    return {
        **{name: value / done * 1e3 for name, value in each.items()},
        "steps/s": done / wall,
    }


async def _play(env: Env, steps: int) -> None:
    """Take steps in one episode after another."""
    ended = True
    for count in range(steps):
        if ended:
            await _value(env.reset(seed=count))
        step = await _value(env.step(f"\\boxed{{{count % 10}}}"))
        ended = step.terminated or step.truncated


async def _value(result: Any) -> Any:
    return await result if hasattr(type(result), "__await__") else result


def _memory(sessions: int, hold: Any) -> dict[str, float]:
    """Return the MiB of a server with and without idle sessions."""
    with _server("--max-envs", str(sessions)) as (process, address):
        without = _resident(process)
        return {"without": without, "with": asyncio.run(hold(process, address, sessions))}


async def _hold_ours(process: int, address: str, sessions: int) -> float:
    envs = [make(f"remote:{address}/{_ENV}") for _ in range(sessions)]
    for seed, env in enumerate(envs):
        await _value(env.reset(seed=seed))
    return _resident(process)


async def _hold_theirs(process: int, address: str, sessions: int) -> float:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as client:
        sockets = []
        for seed in range(sessions):
            sockets.append(await client.ws_connect(f"http://{address}/ws"))
            await sockets[-1].send_json({"type": "reset", "data": {"seed": seed}})
            reply = await sockets[-1].receive_json()
            if reply["type"] != "observation":
                raise GemError(f"The server refused a session: {reply}")
        return _resident(process)


def _resident(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


async def _lost(episodes: int, drops: float) -> dict[str, float]:
    """Play episodes while connections are cut; compare each with a local one."""
    chance = random.Random(0)
    found = dict.fromkeys(("episodes", "cuts", "steps", "equal", "lost", "counted"), 0.0)
    seeds = iter(range(episodes))

    async def work(address: str) -> None:
        env: Any = make(f"remote:{address}/{_ENV}", reconnect=60)
        for seed in seeds:
            found["episodes"] += 1
            try:
                seen = await _episode(env, seed, found, chance, drops)
            except GemError:
                found["lost"] += 1
                continue
            found["equal"] += seen == _local(seed)
        env.close()

    with _server() as (_, address):
        await asyncio.gather(*(work(address) for _ in range(64)))
        async with aiohttp.ClientSession() as client:
            text = await (await client.get(f"http://{address}/metrics")).text()
    line = next(line for line in text.splitlines() if line.startswith("gem_steps_total"))
    return {**found, "counted": float(line.split()[1])}


async def _episode(
    env: Any, seed: int, found: dict[str, float], chance: random.Random, drops: float
) -> list[Any]:
    seen = [await _value(env.reset(seed=seed))]
    ended = False
    while not ended:
        sent = env.step(f"\\boxed{{{len(seen) * 7 % 50}}}")
        if chance.random() < drops:
            found["cuts"] += 1
            env._link.drop()  # noqa: SLF001 - as a failing network does
        seen.append(await sent)
        found["steps"] += 1
        ended = seen[-1].terminated or seen[-1].truncated
    return seen


def _local(seed: int) -> list[Any]:
    with make(_ENV) as env:
        seen: list[Any] = [env.reset(seed=seed)]
        while len(seen) == 1 or not (seen[-1].terminated or seen[-1].truncated):
            seen.append(env.step(f"\\boxed{{{len(seen) * 7 % 50}}}"))
    return seen
