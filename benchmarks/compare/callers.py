"""Concurrent callers that repeat a call, and their latencies and CPU time."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.cpu import cpu_clock

__all__ = ["Work", "work"]


@dataclass(frozen=True)
class Work:
    """The work of some callers.

    Args:
        seconds: Time from the first call to the end of the last.
        latencies: Seconds of each call.
        cpu_seconds: CPU time of this process and its descendants.
        right: Number of calls with the expected outcome.
    """

    seconds: float
    latencies: Sequence[float]
    cpu_seconds: float
    right: int

    @property
    def as_expected(self) -> float:
        """Share of the calls that had the expected outcome."""
        return self.right / len(self.latencies)

    def calls(self) -> dict[str, float]:
        """Return ``calls_per_s``, ``p99_ms`` and ``failed``, the calls with another outcome."""
        ordered = sorted(self.latencies)
        return {
            "calls_per_s": len(ordered) / self.seconds,
            "p99_ms": 1000 * ordered[int(0.99 * (len(ordered) - 1))],
            "failed": len(ordered) - self.right,
        }

    def figures(self, unit: str) -> dict[str, float]:
        """Return the figures of tables; only calls with the expected outcome count.

        Args:
            unit: Name of a call, in plural.

        Raises:
            RuntimeError: No call had the expected outcome.
        """
        if not self.right:
            raise RuntimeError(f"none of {len(self.latencies)} {unit} had the expected outcome")
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
    """Let each caller repeat its call until the time is over; running calls are finished.

    Args:
        calls: The call of each caller; returns whether the outcome was the expected one.
        seconds: Time in which new calls start.
        warm_up: Number of calls of each caller before the clock starts.
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
