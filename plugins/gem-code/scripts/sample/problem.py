"""The parts of a problem of the sample."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Problem", "integers", "joined", "table"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem, how to solve it, and how to test solutions.

    Args:
        name: The name of the problem.
        topic: The topic.
        level: ``easy``, ``medium`` or ``hard``.
        text: The statement, without an example.
        solution: The reference: a program, or the requested function.
        brute: A slow and simple solution: a function from the input text to the output text, or
            from the arguments to the value.
        inputs: Generates inputs that are small enough for ``brute``, edge cases first.
        large: Generates inputs that only the reference can solve.
        function: The name of the requested function; empty for a program.
        compare: The comparison of outputs.
    """

    name: str
    topic: str
    level: str
    text: str
    solution: str
    brute: Callable[..., Any]
    inputs: Callable[[random.Random], Iterable[Any]]
    large: Callable[[random.Random], Iterable[Any]] = lambda _: ()
    function: str = ""
    compare: str = "lines"


def integers(text: str) -> list[int]:
    """Return the numbers in a text."""
    return [int(word) for word in text.split()]


def joined(*lines: object) -> str:
    """Join lines to a text; the items of a list or tuple form one line."""
    return "".join(
        f"{' '.join(map(str, line)) if isinstance(line, list | tuple) else line}\n"
        for line in lines
    )


def table(rng: random.Random, rows: int, columns: int, cells: str) -> list[str]:
    """Return lines of characters drawn from ``cells``."""
    return ["".join(rng.choices(cells, k=columns)) for _ in range(rows)]
