"""Speed of a vector in which one environment is slow."""

import itertools
import time

from compare.actions import make_actions
from compare.sides import load_side

__all__ = ["measure"]


def measure(
    side: str, *, env_id: str, num_envs: int, delay: float, wait_for: int, seconds: float
) -> dict[str, float]:
    """Step for ``seconds`` a vector whose first environment sleeps ``delay`` seconds each step.

    A library that can continue does so with the first ``wait_for`` environments that are ready.

    Returns:
        ``steps_per_s``, summed over the environments.
    """
    library = load_side(side)
    vec = library.make_straggling_vec(env_id, [delay] + [0.0] * (num_envs - 1))
    vec.reset(seed=0)
    actions = itertools.cycle(make_actions(env_id, count=9973))
    ready, count = list(range(num_envs)), 0
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        ready = library.exchange(vec, dict(zip(ready, actions, strict=False)), wait_for)
        count += len(ready)
    library.close_vec(vec)
    return {"steps_per_s": count / spent}
