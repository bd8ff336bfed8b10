"""An environment made and reset: the first time in a bare interpreter, and once more.

It imports almost nothing before the library, so that the library's own imports are timed.
"""

import time

__all__ = ["measure"]

_TIMES = 5


def measure(side: str, *, env_id: str) -> dict[str, float]:
    """Import the library, make the environment and reset it; then again with everything imported.

    Returns:
        ``first_s``, imports included; ``again_ms``, the median of five.
    """
    package = {"gem_core": "gem_core", "gem_llm": "gem"}[side]
    began = time.perf_counter()
    library = __import__(package)
    library.make(env_id).reset(seed=0)
    first = time.perf_counter() - began
    times = []
    for seed in range(1, 1 + _TIMES):
        began = time.perf_counter()
        library.make(env_id).reset(seed=seed)
        times.append(time.perf_counter() - began)
    return {"first_s": first, "again_ms": 1000 * sorted(times)[_TIMES // 2]}
