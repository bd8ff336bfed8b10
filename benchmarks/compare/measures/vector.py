"""Environment steps per second of a vector."""

import statistics
import time
from typing import Any

from compare.actions import make_actions
from compare.sides import load_side

__all__ = ["measure"]

_BATCHES = 100
_WINDOWS = 5


def measure(
    side: str, *, env_id: str, num_envs: int, executor: str, seconds: float
) -> dict[str, float]:
    """Step a vector for ``seconds`` with random actions; episodes follow one another.

    Returns:
        ``steps_per_s``, summed over the environments: the median of five parts of the time.
    """
    library = load_side(side)
    vec = library.make_vec(env_id, num_envs, executor)
    vec.reset(seed=0)
    actions = make_actions(env_id, count=_BATCHES * num_envs)
    batches = [actions[i * num_envs : (i + 1) * num_envs] for i in range(_BATCHES)]
    for batch in batches[:3]:  # start threads and fill caches before the clock starts
        vec.step(batch)
    rates = [_rate(vec, batches, seconds / _WINDOWS) for _ in range(_WINDOWS)]
    library.close_vec(vec)
    return {"steps_per_s": statistics.median(rates) * num_envs}


def _rate(vec: Any, batches: list[list[str]], seconds: float) -> float:
    """Return vector steps per second."""
    began, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds:
        vec.step(batches[count % _BATCHES])
        count += 1
    return count / spent
