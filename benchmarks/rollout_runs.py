"""Runs an engine against the endpoint, both in processes of their own, and looks on from outside.

The endpoint counts what is done, so every engine is measured alike and needs to report nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from cpu import cpu_of, peak_rss_of
from processes import start, stop
from workload import MEAN_TURNS

from gem_agents.testing.endpoint_server import serve_in_process
from gem_rollout import read_trajectories

__all__ = ["Engine", "Scenario", "eval_seconds", "play_with_faults", "resume", "throughput"]

_HERE = Path(__file__).resolve().parent
_FILE = "trajectories.jsonl"
_ENDLESS = 100_000_000
_LISTED_PER_SECOND = 300
"""Episodes that an engine that lists them all before it begins gets for each second."""
_LONGEST_WARM_UP = 4.0
_FAULTS = ("429", "500", "cut", "malformed")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """How the endpoint behaves, and how long episodes are.

    Args:
        name: For ``--only``.
        title: What readers see.
        latency: Seconds of each answer.
        tail: A share of the calls, and the seconds that they take instead.
        multi_turn: Episodes have 3.7 turns in the mean, and not one.
        concurrency: Episodes at once, unless other numbers are asked for.
    """

    name: str
    title: str
    latency: float = 0.0
    tail: tuple[float, float] = (0.0, 0.0)
    multi_turn: bool = False
    concurrency: tuple[int, ...] = (64, 512, 2048)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What plays.

    Args:
        name: What readers see.
        command: Starts it; ``{url}``, ``{concurrency}``, ``{episodes}``, ``{out}`` and ``{turns}``
            (``one`` or ``several``) are replaced.
        lists: It makes a list of all episodes before it begins.
        stores: It writes a file of trajectories as gem-core does, which is looked at.
    """

    name: str
    command: Sequence[str]
    lists: bool = False
    stores: bool = False


class _Endpoint:
    """The endpoint's process."""

    def __init__(self, scenario: Scenario, faults: float = 0.0) -> None:
        share, seconds = scenario.tail
        command = [sys.executable, str(_HERE / "endpoint.py")]
        command += ["--latency", str(scenario.latency), "--tail", f"{share}:{seconds}"]
        for fault in _FAULTS if faults else ():
            command += ["--fault", f"{fault}={faults / len(_FAULTS)}"]
        self._process = start(command, os.environ, stdin=subprocess.PIPE)
        self.url = self._read()

    def _read(self) -> str:
        line: str = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError("the endpoint ended")
        return line.strip()

    def counts(self, *, killed: bool = False) -> dict[str, Any]:
        """Return what ``endpoint.py`` prints.

        Args:
            killed: The engine has been killed: its calls in flight are in vain.
        """
        self._process.stdin.write("killed\n" if killed else "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        counts: dict[str, Any] = json.loads(self._read())
        return counts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        stop(self._process)


class _Player:
    """An engine's process."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        # What a library would look up elsewhere fails at once.
        nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        environ = {**os.environ, **nowhere, "no_proxy": "127.0.0.1", "HF_HUB_OFFLINE": "1"}
        self._log = folder / "errors.txt"
        with self._log.open("w") as log:
            self._process = start(command, environ, stderr=log, cwd=folder)
        self._began = time.perf_counter()

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def seconds(self) -> float:
        """Wall time since it was started."""
        return time.perf_counter() - self._began

    def has_ended(self) -> bool:
        """Return whether it has come to its end.

        Raises:
            RuntimeError: It failed; the message is its last word.
        """
        status = self._process.poll()
        if status:
            lines = self._log.read_text(errors="replace").strip().splitlines()
            raise RuntimeError(lines[-1][:200] if lines else f"it ended with status {status}")
        return status is not None

    def wait(self, condition: Callable[[], Any], limit: float) -> bool:
        """Wait until something is so or it has ended; return False if ``limit`` seconds passed.

        Raises:
            RuntimeError: It failed.
        """
        until = self.seconds + limit
        while not (self.has_ended() or condition()):
            if self.seconds > until:
                return False
            time.sleep(0.02)
        return True

    def kill(self) -> None:
        """Kill it and all that it started, as ``kill -9`` does."""
        stop(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@dataclass(frozen=True)
class _Stage:
    """An engine, the endpoint that it asks, and where it writes."""

    engine: Engine
    scenario: Scenario
    concurrency: int
    endpoint: _Endpoint
    folder: Path

    def player(self, episodes: int) -> _Player:
        """Start the engine."""
        (self.folder / "out").mkdir(exist_ok=True)
        place = {
            "url": self.endpoint.url,
            "concurrency": self.concurrency,
            "episodes": episodes,
            "turns": "several" if self.scenario.multi_turn else "one",
            "out": self.folder / "out",
        }
        return _Player([part.format_map(place) for part in self.engine.command], self.folder)

    def stored(self) -> int | None:
        """Return how many successes are stored; None for an engine whose files are its own."""
        if not self.engine.stores:
            return None
        trajectories = read_trajectories(self.folder / "out" / _FILE)
        return len({one.index for one in trajectories if one.success})


@contextmanager
def _staged(
    engine: Engine, scenario: Scenario, concurrency: int, faults: float = 0.0
) -> Iterator[_Stage]:
    with tempfile.TemporaryDirectory() as folder, _Endpoint(scenario, faults) as endpoint:
        yield _Stage(engine, scenario, concurrency, endpoint, Path(folder))


def throughput(
    engine: Engine, scenario: Scenario, concurrency: int, *, seconds: float, limit: float
) -> dict[str, float]:
    """Let an engine play, and look at it for a while once it is at work.

    Args:
        engine: The engine.
        scenario: What it is asked to do.
        concurrency: Episodes at once.
        seconds: How long it is looked at, after as many episodes as there are at once could have
            come to an end (or after some seconds, where that takes long).
        limit: Seconds after which it is given up if it makes no call.

    Returns:
        ``turns_per_s``; ``cpu_ms`` of the engine's processes a turn; ``utilisation``, the time that
        the calls would have taken ideally (their latencies, over the episodes at once) as a share
        of the time that they took; ``peak_rss_mib``; ``startup_s``, from the start of the process
        to its first call.

    Raises:
        RuntimeError: It failed, was too slow, or did not store and score what it played.
    """
    patience = _LONGEST_WARM_UP + scenario.tail[1]
    listed = 2 * concurrency + int(_LISTED_PER_SECOND * (patience + seconds))
    wave = concurrency * (MEAN_TURNS if scenario.multi_turn else 1)
    with _staged(engine, scenario, concurrency) as stage:
        counts = stage.endpoint.counts
        with stage.player(listed if engine.lists else _ENDLESS) as player:
            if not player.wait(lambda: counts()["begun"], limit):
                raise RuntimeError(f"no call within {limit:g} s")
            startup = player.seconds
            player.wait(lambda: player.seconds > startup + 0.5 + scenario.tail[1], patience)
            player.wait(lambda: counts()["completed"] >= wave, patience)
            before, cpu, began = counts(), cpu_of(player.pid), time.perf_counter()
            time.sleep(seconds)
            after, cpu = counts(), cpu_of(player.pid) - cpu
            spent, peak = time.perf_counter() - began, peak_rss_of(player.pid)
            if player.has_ended():
                raise RuntimeError(f"it had played all {listed} episodes too soon")
        if (stored := stage.stored()) is not None and stored < after["finished"] - concurrency:
            raise RuntimeError(f"only {stored} of {after['finished']} episodes are stored, scored")
    done, ideal = (after[name] - before[name] for name in ("completed", "ideal_seconds"))
    if not done:
        raise RuntimeError(f"no call ended within {seconds:g} s")
    return {
        "turns_per_s": done / spent,
        "cpu_ms": 1000 * cpu / done,
        "utilisation": ideal / concurrency / spent,
        "peak_rss_mib": peak,
        "startup_s": startup,
    }


def play_with_faults(
    engine: Engine, episodes: int, *, share: float, concurrency: int, limit: float
) -> dict[str, float]:
    """Let an engine play while a share of the calls meet 429, 500, a cut line or half a JSON.

    Returns:
        ``episodes``; ``lost``, how many were never finished, or not stored as successes;
        ``faults``, how many calls met one; ``seconds``, until the engine ended by itself or was
        given up.

    Raises:
        RuntimeError: It failed.
    """
    scenario = Scenario(name="faults", title="")
    with _staged(engine, scenario, concurrency, faults=share) as stage:
        with stage.player(episodes) as player:
            player.wait(lambda: False, limit)
            seconds, counts = player.seconds, stage.endpoint.counts()
        kept = [counts["finished"], stage.stored()]
    return {
        "episodes": episodes,
        "lost": episodes - min(number for number in kept if number is not None),
        "faults": sum(counts["met"].values()),
        "seconds": seconds,
    }


def resume(engine: Engine, episodes: int, *, concurrency: int, limit: float) -> dict[str, float]:
    """Kill an engine with ``kill -9`` when half is finished, and start it again.

    Returns:
        ``episodes``; ``finished`` of them when it was killed; ``redone``, how many of those were
        played again; ``lost``, how many were not finished in the end.

    Raises:
        RuntimeError: It failed, or was too slow.
    """
    scenario = Scenario(name="kill", title="", latency=0.02)
    with _staged(engine, scenario, concurrency) as stage:
        counts = stage.endpoint.counts
        with stage.player(episodes) as player:
            half = player.wait(lambda: counts()["finished"] >= episodes / 2, limit)
            player.kill()
            finished = counts(killed=True)["finished"]
        if not half or finished == episodes:
            raise RuntimeError(
                f"{finished} of {episodes} episodes were finished when it was killed"
            )
        with stage.player(episodes) as player:
            player.wait(lambda: False, limit)
            last = counts()
        kept = [last["finished"], stage.stored()]
    return {
        "episodes": episodes,
        "finished": finished,
        "redone": last["redone"],
        "lost": episodes - min(number for number in kept if number is not None),
    }


def eval_seconds(times: int) -> float:
    """Return the median wall time in seconds of ``gem-core eval`` of one episode.

    Raises:
        RuntimeError: It failed.
    """
    command = Path(sys.executable).parent / "gem-core"
    arguments = ["eval", "env=game/GuessTheNumber-v0-easy", "agent=openai", "episodes=1"]
    arguments += ["agent.model=scripted", "progress=off"]
    spent: list[float] = []
    for _ in range(times):
        with (
            tempfile.TemporaryDirectory() as out,
            serve_in_process("--reply", r"\boxed{5}") as url,
        ):
            began = time.perf_counter()
            done = subprocess.run(
                [command, *arguments, f"agent.base_url={url}", f"out={out}/run"],
                capture_output=True,
                text=True,
                check=False,
            )
            spent.append(time.perf_counter() - began)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return median(spent)
