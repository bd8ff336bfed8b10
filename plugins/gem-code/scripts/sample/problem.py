"""What a problem of the sample is made of."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Problem", "integers", "joined", "table"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem, how to solve it, and how to test solutions.

    Args:
        name: Its name.
        topic: What it is about.
        level: ``easy``, ``medium`` or ``hard``.
        text: The statement, without an example.
        solution: The reference: a program, or the function that is asked for.
        brute: Another way to the output, slow and simple: from an input's text to the output's, or
            from the arguments to the value.
        inputs: Makes up to ``TESTS`` inputs that ``brute`` can cope with, those at the edges first.
        large: Makes inputs that it cannot cope with, which only the reference answers.
        function: Name of the function that is asked for; empty for a program.
        compare: How outputs are compared.
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
    """Return a text of lines; of a list or tuple, the items stand in one line."""
    return "".join(
        f"{' '.join(map(str, line)) if isinstance(line, list | tuple) else line}\n"
        for line in lines
    )


def table(rng: random.Random, rows: int, columns: int, cells: str) -> list[str]:
    """Return lines of characters drawn from ``cells``."""
    return ["".join(rng.choices(cells, k=columns)) for _ in range(rows)]
