"""The time to grade one answer with several alternatives that need computer algebra."""

import time

from gem_math.grading import grade

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (1, 4, 16)
UNIT = "s"
TITLE = "grading an answer with n alternatives, none of which computer algebra can decide"


def measure(size: int) -> float:
    """Return the seconds that it takes to grade an answer with ``size`` alternatives."""
    grade(r"\int_0^1 x dx", "1/2")  # starts the workers
    alternatives = [rf"\sum_{{k=1}}^{{10^{{{9 + number}}}}} \sin(k)^k" for number in range(size)]
    begun = time.perf_counter()
    grade("1", alternatives)
    return time.perf_counter() - begun
