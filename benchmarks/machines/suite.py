"""Measures machines: starts, commands, forks, memory, episodes; beside docker, if it works here.

Examples:
  python benchmarks/run.py machines
  python benchmarks/run.py machines --killed 10000
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import Any

from common.output import machine, number, table, write
from rich.progress import track

from gem_core.errors import MachineError
from gem_sandbox.guest.process_tree import children
from gem_sandbox.machines.docker.provider import DockerProvider
from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import Machine, MachineProvider, MachineSpec
from machines.killed import play_and_kill

__all__ = ["add_arguments", "run"]

_WORKERS = 4
_COMMANDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=20, help="repetitions in a round")
    parser.add_argument("--alive", type=int, default=200, help="machines that live together")
    parser.add_argument("--killed", type=int, default=0, help="episodes whose owners are killed")
    parser.add_argument("--seed", type=int, default=0, help="when owners are killed")


def run(options: argparse.Namespace) -> None:
    """Measure."""
    rounds: dict[str, list[dict[str, float]]] = {}
    with LocalProvider() as provider:
        rounds["local"] = _rounds(provider, options)
        memory = _memory(provider, options.alive)
    with suppress(MachineError), DockerProvider() as engine:
        engine.prepare(MachineSpec())
        rounds["docker"] = _rounds(engine, options)
    rows = [
        (what, *(number(median(one[what] for one in found)) for found in rounds.values()))
        for what in ("start", "command", "shell command", "fork", "episodes/s")
    ]
    heading = (
        f"Milliseconds, but for episodes: the median of {options.rounds} rounds of "
        f"{options.repeat}, on {machine()}. An episode is a start, {_COMMANDS} commands in the "
        f"shell and the end, {_WORKERS} at the same time."
    )
    alive = (
        f"{options.alive} machines at the same time have {memory:.2f} MiB of private memory each."
    )
    parts = [heading, table(("", *rounds), rows), alive]
    if options.killed:
        left = play_and_kill(options.killed, options.seed)
        parts.append(
            f"{left['episodes']:,} episodes were begun by {left['owners']:,} processes, each "
            f"killed (SIGKILL) at random; {left['processes']:,} processes ran then in all, and "
            f"{left['left']} processes, {left['mounts']} mounts and {left['groups']} control "
            f"groups were left."
        )
    write(options.output, "machines", "Machines", parts, rounds)


def _rounds(provider: MachineProvider, options: argparse.Namespace) -> list[dict[str, float]]:
    provider.start(MachineSpec()).close()
    rounds = range(options.rounds)
    return [_measured(provider, options.repeat) for _ in track(rounds, description="measuring")]


def _milliseconds(act: Callable[[], Any], repeat: int) -> float:
    before = time.perf_counter()
    for _ in range(repeat):
        act()
    return (time.perf_counter() - before) / repeat * 1e3


def _measured(provider: MachineProvider, repeat: int) -> dict[str, float]:
    machines: list[Machine] = []
    found = {"start": _milliseconds(lambda: machines.append(provider.start(MachineSpec())), repeat)}
    first = machines[0]
    first.shell().send("true")
    found["command"] = _milliseconds(lambda: first.run("true"), repeat)
    found["shell command"] = _milliseconds(lambda: first.shell().send("echo"), repeat)
    found["fork"] = _milliseconds(lambda: machines.append(first.fork()), repeat)
    for one in machines:
        one.close()

    def episode(_: int) -> None:
        with closing(provider.start(MachineSpec())) as started:
            for _ in range(_COMMANDS):
                started.shell().send("echo line >> file; ls -la; cat file | wc -l")

    before = time.perf_counter()
    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(episode, range(repeat)))
    return {**found, "episodes/s": repeat / (time.perf_counter() - before)}


def _memory(provider: LocalProvider, count: int) -> float:
    """Return the MiB of private memory of the processes of a machine."""
    machines = [provider.start(MachineSpec()) for _ in range(count)]
    pids = [pid for server in children(os.getpid()) for pid in children(server)]
    private = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Private_Clean:", "Private_Dirty:")):
                private += int(line.split()[1])
    for one in machines:
        one.close()
    return private / 1024 / count
