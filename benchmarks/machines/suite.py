"""Measures machines: starts, commands, forks, memory, episodes; beside containers of Docker.

Docker is measured through docker-py, with the image of `gem-core doctor --make-image`, if an engine
answers. Every round measures both sides, one after the other.

Examples:
  python benchmarks/run.py machines
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from common.output import machine, not_measured, number, table, write

from gem_core.machine import Machine, MachineSpec
from gem_sandbox.docker import connect
from gem_sandbox.guest.process_tree import children
from gem_sandbox.image import DEFAULT_IMAGE
from gem_sandbox.machines.local.provider import LocalProvider

__all__ = ["add_arguments", "run"]

_WORKERS = 4
_COMMANDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=20, help="repetitions in a round")
    parser.add_argument("--alive", type=int, default=200, help="machines that live together")


def run(options: argparse.Namespace) -> None:
    """Measure."""
    missing: dict[str, str] = {}
    rounds: list[dict[str, float]] = []
    with LocalProvider() as provider:
        provider.start(MachineSpec()).close()
        for _ in range(options.rounds):
            found = _local(provider, options.repeat)
            try:
                found |= _docker(options.repeat)
            except Exception as error:  # noqa: BLE001 - any problem of the engine
                missing["docker"] = str(error).splitlines()[0].rstrip(".")
            rounds.append(found)
        memory = _memory(provider, options.alive)
    rows = [
        (what, number(_median(rounds, f"local {what}")), number(_median(rounds, f"docker {what}")))
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
    parts = [heading, table(("", "local", "docker"), rows), alive, *not_measured(missing)]
    write(options.output, "machines", "Machines", parts, rounds)


def _median(rounds: list[dict[str, float]], name: str) -> float | None:
    found = [one[name] for one in rounds if name in one]
    return median(found) if found else None


def _milliseconds(act: Callable[[], Any], repeat: int) -> float:
    before = time.perf_counter()
    for _ in range(repeat):
        act()
    return (time.perf_counter() - before) / repeat * 1e3


def _local(provider: LocalProvider, repeat: int) -> dict[str, float]:
    machines: list[Machine] = []
    found = {
        "local start": _milliseconds(lambda: machines.append(provider.start(MachineSpec())), repeat)
    }
    first = machines[0]
    first.shell().send("true")
    found["local command"] = _milliseconds(lambda: first.run("true"), repeat)
    found["local shell command"] = _milliseconds(lambda: first.shell().send("echo"), repeat)
    found["local fork"] = _milliseconds(lambda: machines.append(first.fork()), repeat)
    for one in machines:
        one.close()

    def episode(_: int) -> None:
        with provider.start(MachineSpec()) as started:
            for _ in range(_COMMANDS):
                started.shell().send("echo line >> file; ls -la; cat file | wc -l")

    before = time.perf_counter()
    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(episode, range(repeat)))
    return {**found, "local episodes/s": repeat / (time.perf_counter() - before)}


def _docker(repeat: int) -> dict[str, float]:
    client = connect()
    containers: list[Any] = []

    def start() -> None:
        containers.append(
            client.containers.run(
                DEFAULT_IMAGE,
                ["/bin/sh", "-c", "read line"],
                entrypoint="",
                stdin_open=True,
                detach=True,
                network_mode="none",
                init=True,
            )
        )

    try:
        found = {"docker start": _milliseconds(start, max(1, repeat // 4))}
        first = containers[0]
        found["docker command"] = _milliseconds(lambda: first.exec_run(["/bin/sh", "-c", ":"]), repeat)
    finally:
        for one in containers:
            one.remove(force=True)
        client.close()
    return found


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
