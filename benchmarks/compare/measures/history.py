"""Time of a turn with the text history, as an episode grows."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from compare.sides import load_side

__all__ = ["measure"]

_OBSERVATION = "Turn 7: you guessed 25. The secret number is higher than that."
_TIMED_TURNS = 8


def measure(side: str, *, turns: int, seconds: float) -> dict[str, float]:
    """Time turns that come after ``turns`` others, in many episodes.

    Returns:
        Microseconds, medians: ``turn_us``, a whole step; ``join_us``, merely joining the lines of
        such a history to a text; ``append_us``, merely adding one line to such a text;
        ``beyond_text_us``, the step without the latter, which every history needs.
    """
    env = load_side(side).make_echo(_OBSERVATION)
    lines = [_OBSERVATION + "\n"] * (turns + 1)
    text, line = "".join(lines), lines[0]
    turn_us = _median_over_episodes(env, turns, seconds)
    append_us = _median_us(lambda: text + line)
    return {
        "turn_us": turn_us,
        "join_us": _median_us(lambda: "".join(lines)),
        "append_us": append_us,
        "beyond_text_us": turn_us - append_us,
    }


def _median_over_episodes(env: Any, turns: int, seconds: float) -> float:
    samples: list[float] = []
    began = time.perf_counter()
    while not samples or time.perf_counter() - began < seconds:
        env.reset()
        for _ in range(turns):
            env.step("")
        before = time.perf_counter()
        for _ in range(_TIMED_TURNS):
            env.step("")
        samples.append((time.perf_counter() - before) / _TIMED_TURNS)
    return 1e6 * statistics.median(samples)


def _median_us(work: Callable[[], object]) -> float:
    samples: list[float] = []
    for _ in range(500):
        before = time.perf_counter()
        for _ in range(_TIMED_TURNS):
            work()
        samples.append((time.perf_counter() - before) / _TIMED_TURNS)
    return 1e6 * statistics.median(samples)
