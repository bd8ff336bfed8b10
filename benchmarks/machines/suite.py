"""Measures local machines: starts, commands, forks, memory, episodes.

Examples:
  python benchmarks/run.py machines
  python benchmarks/run.py machines --killed 10000
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from common.output import machine, number, table, write

from gem_core.machine import Machine, MachineSpec
from gem_sandbox.guest.process_tree import children
from gem_sandbox.machines.local.provider import LocalProvider
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
    with LocalProvider() as provider:
        provider.start(MachineSpec()).close()
        rounds = [_local(provider, options.repeat) for _ in range(options.rounds)]
        memory = _memory(provider, options.alive)
    rows = [
        (what, number(median(one[what] for one in rounds)))
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
    parts = [heading, table(("", "local"), rows), alive]
    if options.killed:
        left = play_and_kill(options.killed, options.seed)
        parts.append(
            f"{left['episodes']:,} episodes were begun by {left['owners']:,} processes, each of "
            f"them killed (SIGKILL) at random, while {left['processes']:,} processes ran in all: "
            f"{left['left']} processes and {left['mounts']} mounts were left."
        )
    write(options.output, "machines", "Machines", parts, rounds)


def _milliseconds(act: Callable[[], Any], repeat: int) -> float:
    before = time.perf_counter()
    for _ in range(repeat):
        act()
    return (time.perf_counter() - before) / repeat * 1e3


def _local(provider: LocalProvider, repeat: int) -> dict[str, float]:
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
        with provider.start(MachineSpec()) as started:
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
