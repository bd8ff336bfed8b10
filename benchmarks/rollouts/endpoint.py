"""The scripted endpoint in a separate process, which records the episodes of its requests.

    python benchmarks/worker.py rollouts.endpoint --latency 0.02 --tail 0.05:1 --fault 500=0.01

It prints its URL, and for each line on its standard input a line of JSON: ``completed`` calls,
``ideal_seconds`` (the sum of their latencies), ``met`` (faults by kind); and of episodes how many
were ``begun``, ``finished`` (the reply of the last turn was given as it should be), and ``redone``:
begun again after they were finished. The line ``killed`` means that the client was killed.
"""

import argparse
import asyncio
import json
import sys
from typing import Any

from gem_agents.testing.endpoint_server import EndpointServer
from rollouts.workload import REPLY, place_of

__all__ = ["NotingServer"]


class NotingServer(EndpointServer):
    """An endpoint that recognises the episodes of the workload; see the module."""

    def __init__(self, **options: Any) -> None:
        self._fault = ""
        self._last_of: int | None = None
        """The episode that the next answer finishes."""
        self._ideal_seconds = 0.0
        self._begun: set[int] = set()
        self._finished: set[int] = set()
        self._redone: set[int] = set()
        self._kills = 0
        super().__init__(REPLY, keep=0, **options)

    def take_fault(self) -> tuple[str, str]:
        self._last_of = None
        self._fault, parameter = super().take_fault()
        return self._fault, parameter

    def reply_to(self, body: dict[str, Any]) -> str:
        place = place_of(body.get("messages", []))
        if place is not None and place.turn == 1:
            self._begun.add(place.episode)
            if place.episode in self._finished:
                self._redone.add(place.episode)
        if place is not None and place.turn == place.turns and not self._fault:
            self._last_of = place.episode
        return REPLY

    def seconds(self) -> float:
        seconds, ends = super().seconds(), self._last_of
        if seconds:
            loop = asyncio.get_running_loop()
            loop.call_later(seconds, self._answered, seconds, ends, self._kills)
        else:
            self._answered(seconds, ends, self._kills)
        return seconds

    def _answered(self, seconds: float, ends: int | None, kills: int) -> None:
        if kills == self._kills:
            self._ideal_seconds += seconds
            if ends is not None:
                self._finished.add(ends)

    def forget_calls(self) -> None:
        """Do not count the calls that are running now, because the client was killed."""
        self._kills += 1

    def counts(self) -> dict[str, Any]:
        """Return the counts so far."""
        return {
            "completed": self.requests - self.in_flight,
            "ideal_seconds": self._ideal_seconds,
            "met": dict(self.met),
            "begun": len(self._begun),
            "finished": len(self._finished),
            "redone": len(self._redone),
        }


def main() -> None:
    """Serve until the standard input ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--latency", type=float, default=0.0, help="seconds of each answer")
    parser.add_argument("--tail", default="0:0", metavar="SHARE:SECONDS")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT=SHARE")
    options = parser.parse_args()
    share, _, seconds = options.tail.partition(":")
    faults = [fault.rpartition("=") for fault in options.fault]
    with NotingServer(
        latency=options.latency,
        tail=(float(share), float(seconds)),
        faults={name: float(value) for name, _, value in faults},
    ) as server:
        print(server.url, flush=True)
        for line in sys.stdin:
            if line.strip() == "killed":
                server.forget_calls()
            print(json.dumps(server.counts()), flush=True)
