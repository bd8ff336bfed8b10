"""Speed of programs run by a tool, for one caller and for several."""

import os
import sys
import tempfile
from collections.abc import Callable

from compare.callers import work
from compare.sides import load_side

__all__ = ["measure", "prepare"]

_PROGRAMS = {
    "bare": ("n = {number}\nprint(sum(i * i for i in range(n)))", 20_000),
    "numpy": ("import numpy as np\nprint(int((np.arange({number}) ** 2).sum()))", 20_000),
    "sympy": (
        "import sympy\nx = sympy.symbols('x')\nprint(sympy.diff(x**3, x).subs(x, {number}))",
        1000,
    ),
}


def measure(
    side: str, *, kind: str, callers: int, seconds: float, sandbox: str
) -> dict[str, float]:
    """Run programs of a kind for ``seconds``; each prints a known number.

    Args:
        side: The library.
        kind: Their import: ``bare`` (nothing), ``numpy`` or ``sympy``.
        callers: Number of simultaneous callers, each with its own tool.
        seconds: Time to run.
        sandbox: The library's name of the sandbox.

    Returns:
        ``runs_per_s``, ``cpu_ms`` of a run, ``median_ms``, ``p99_to_median`` and ``as_expected``.

    Raises:
        RuntimeError: The library cannot run them here.
    """
    prepare()
    library = load_side(side)
    tools = [library.make_tool(sandbox) for _ in range(callers)]
    done = work([_caller(tool, kind, index) for index, tool in enumerate(tools)], seconds=seconds)
    return done.figures("runs")


def prepare() -> None:
    """Work in an empty folder, with this interpreter as the ``python`` of the path."""
    os.chdir(tempfile.mkdtemp())
    here = os.path.dirname(sys.executable)  # noqa: PTH120 - its links must stay
    os.environ["PATH"] = os.pathsep.join([here, os.environ["PATH"]])


def _caller(tool: Callable[[str], str], kind: str, index: int) -> Callable[[], bool]:
    program, most = _PROGRAMS[kind]
    number = most - index

    def call() -> bool:
        said = tool(f"<python>{program.format(number=number)}</python>")
        return str(_expected(kind, number)) in said

    return call


def _expected(kind: str, number: int) -> int:
    if kind == "sympy":
        return 3 * number**2
    return (number - 1) * number * (2 * number - 1) // 6
