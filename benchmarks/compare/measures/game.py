"""Speed of steps and resets of one game in one environment."""

import itertools
import time
from typing import Any

from compare.actions import make_actions
from compare.sides import load_side

__all__ = ["measure"]

_STEPS_BETWEEN_LOOKS = 64
_MOST_RESETS = 5000


def measure(
    side: str, *, env_id: str, seconds: float, reset_seconds: float | None = None
) -> dict[str, float]:
    """Step for ``seconds``, then reset for ``reset_seconds``.

    Args:
        side: The library.
        env_id: The game.
        seconds: Time to step.
        reset_seconds: Time to reset, by default ``seconds``. A mean over few resets misses the
            slowest ones, so games with very slow ones need a minute.

    Returns:
        ``steps_per_s``, including the time of resets at the ends of episodes;
        ``bare_steps_per_s``, without that time; ``resets_per_s``; ``reset_p50_ms`` and
        ``reset_p99_ms``; ``resets``, the number of resets.
    """
    env = load_side(side).make(env_id)
    env.reset(seed=0)
    return {
        **_stepping(env, make_actions(env_id, count=997), seconds),
        **_resetting(env, seconds if reset_seconds is None else reset_seconds),
    }


def _stepping(env: Any, actions: list[str], seconds: float) -> dict[str, float]:
    clock, stream = time.perf_counter, itertools.cycle(actions)
    steps, resetting = 0, 0.0
    began = now = clock()
    while now - began < seconds:
        for action in itertools.islice(stream, _STEPS_BETWEEN_LOOKS):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                ended = clock()
                env.reset()
                resetting += clock() - ended
        steps += _STEPS_BETWEEN_LOOKS
        now = clock()
    spent = now - began
    return {"steps_per_s": steps / spent, "bare_steps_per_s": steps / (spent - resetting)}


def _resetting(env: Any, seconds: float) -> dict[str, float]:
    clock = time.perf_counter
    times: list[float] = []
    began = clock()
    while not times or (clock() - began < seconds and len(times) < _MOST_RESETS):
        before = clock()
        env.reset()
        times.append(clock() - before)
    times.sort()
    return {
        "resets_per_s": len(times) / sum(times),
        "reset_p50_ms": 1000 * times[len(times) // 2],
        "reset_p99_ms": 1000 * times[int(0.99 * len(times))],
        "resets": len(times),
    }
