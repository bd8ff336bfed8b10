"""Time to make and to reset environments of tasks."""

import statistics
import time

from compare.problems import make_problems
from compare.sides import load_side

__all__ = ["measure"]

_ROWS = 300
_TIMES = 5
_RESETS_BETWEEN_LOOKS = 64


def measure(side: str, *, family: str, num_envs: int, seconds: float) -> dict[str, float]:
    """Make environments over the same rows, then reset one for ``seconds``.

    Returns:
        ``make_ms``, the median of five; ``make_many_ms``, of ``num_envs`` together;
        ``resets_per_s``.
    """
    library, clock = load_side(side), time.perf_counter
    rows = library.rows([one.row for one in make_problems(family, count=_ROWS)])
    envs, times = [library.make_task(family, rows)], []
    envs[0].reset()
    for number in [1] * _TIMES + [num_envs]:
        began = clock()
        envs += [library.make_task(family, rows) for _ in range(number)]
        times.append(1000 * (clock() - began))
    count, began = 0, clock()
    while (spent := clock() - began) < seconds:
        for _ in range(_RESETS_BETWEEN_LOOKS):
            envs[0].reset()
        count += _RESETS_BETWEEN_LOOKS
    for env in envs:
        library.close_env(env)
    return {
        "make_ms": statistics.median(times[:-1]),
        "make_many_ms": times[-1],
        "resets_per_s": count / spent,
    }
