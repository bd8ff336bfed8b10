"""Speed of grading programs by twelve tests, for one caller and for several."""

from collections.abc import Callable
from typing import Any

from compare.callers import work
from compare.measures.programs import prepare
from compare.sides import load_side

__all__ = ["measure"]

_TESTS = 12
_RIGHT = "print(sum(int(n) for n in input().split()))"


def measure(side: str, *, callers: int, seconds: float, sandbox: str) -> dict[str, float]:
    """Grade a right program again and again: all of its tests are run.

    Args:
        side: The library.
        callers: Number of environments that grade at the same time.
        seconds: Time to grade.
        sandbox: The library's name of the sandbox.

    Returns:
        ``programs_per_s``, ``cpu_ms`` of a program, ``median_ms``, ``p99_to_median`` and
        ``as_expected``.

    Raises:
        RuntimeError: The library cannot run them here.
    """
    prepare()
    library = load_side(side)
    rows = library.rows([_row()])
    envs = [library.make_judge(rows, sandbox) for _ in range(callers)]
    done = work([_caller(env) for env in envs], seconds=seconds)
    for env in envs:
        library.close_env(env)
    return done.figures("programs")


def _row() -> dict[str, Any]:
    numbers = [list(range(start, start + 20)) for start in range(_TESTS)]
    inputs = [" ".join(map(str, each)) + "\n" for each in numbers]
    return {
        "problem": "Add.",
        "tests": {"inputs": inputs, "outputs": [f"{sum(n)}\n" for n in numbers]},
    }


def _caller(env: Any) -> Callable[[], bool]:
    def call() -> bool:
        env.reset()
        return float(env.step(f"```python\n{_RIGHT}\n```")[1]) == 1.0

    return call
