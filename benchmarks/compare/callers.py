"""Callers that do the same thing again and again at once, and what that took."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.cpu import cpu_clock

__all__ = ["Work", "work"]


@dataclass(frozen=True)
class Work:
    """What callers did.

    Args:
        seconds: From the first call to the end of the last.
        latencies: Seconds of each call.
        cpu_seconds: CPU time of this process and all that it started.
        right: How many calls had the expected outcome.
    """

    seconds: float
    latencies: Sequence[float]
    cpu_seconds: float
    right: int

    @property
    def as_expected(self) -> float:
        """Share of the calls that had the expected outcome."""
        return self.right / len(self.latencies)

    def figures(self, unit: str) -> dict[str, float]:
        """Return what tables show: only calls with the expected outcome count as done.

        Args:
            unit: What was done.

        Raises:
            RuntimeError: No call had the expected outcome.
        """
        if not self.right:
            raise RuntimeError(f"none of {len(self.latencies)} {unit} gave what it should")
        ordered = sorted(self.latencies)
        median, slow = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
        return {
            f"{unit}_per_s": self.right / self.seconds,
            "cpu_ms": 1000 * self.cpu_seconds / self.right,
            "median_ms": 1000 * median,
            "p99_to_median": slow / median,
            "as_expected": self.as_expected,
        }


def work(calls: Sequence[Callable[[], bool]], *, seconds: float, warm_up: int = 2) -> Work:
    """Let each caller call until the time is over; a call that has begun is waited for.

    Args:
        calls: What each caller calls; says whether the outcome was the expected one.
        seconds: How long to begin new calls.
        warm_up: Calls of each caller before the clock starts.
    """
    cpu_seconds = cpu_clock()
    latencies: list[float] = []
    outcomes: list[bool] = []
    ready = threading.Barrier(len(calls) + 1)

    def caller(call: Callable[[], bool]) -> None:
        for _ in range(warm_up):
            call()
        ready.wait()
        ready.wait()
        while (began := time.perf_counter()) < end:
            outcomes.append(call())
            latencies.append(time.perf_counter() - began)

    threads = [threading.Thread(target=caller, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    ready.wait()
    cpu, started = cpu_seconds(), time.perf_counter()
    end = started + seconds
    ready.wait()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - started
    return Work(spent, latencies, cpu_seconds() - cpu, sum(outcomes))
