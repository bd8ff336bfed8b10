"""Computer algebra, for answers beyond the grammar of this package.

This runs only in a supervised worker: it may hang, crash or use much memory, and evaluates text
that a model wrote.
"""

import logging

import math_verify
from latex2sympy2_extended import NormalizationConfig, latex2sympy
from sympy import Basic, Expr, MatrixBase, simplify

__all__ = ["equal", "verified"]

logging.disable(logging.CRITICAL)
_SPELLING = NormalizationConfig(malformed_operators=True, nits=True, boxed="none")


def equal(answer: str, gold: str) -> bool:
    """Return whether two LaTeX answers are equal."""
    first, second = (_read(text).doit() for text in (answer, gold))
    if isinstance(first, Expr) and isinstance(second, Expr):
        difference = simplify(first - second)
        if difference == 0 or difference.is_number:
            return bool(difference == 0)
    # Only the worker's deadline applies; those of math-verify use signals.
    return bool(math_verify.verify(second, first, timeout_seconds=None))


def _read(text: str) -> Basic | MatrixBase:
    expression = latex2sympy(text, normalization_config=_SPELLING)
    if not isinstance(expression, Basic | MatrixBase):
        raise TypeError(f"{text!r} is not an expression")
    return expression


def verified(answer: str, gold: str) -> bool:
    """Return whether math-verify finds two texts equal, each as the LaTeX that it is."""
    first, second = (
        math_verify.parse(text if "$" in text else f"${text}$", parsing_timeout=None)
        for text in (gold, answer)
    )
    return bool(math_verify.verify(first, second, timeout_seconds=None))


# Let sympy import its summation and integration now, not during the first answer.
equal(r"\sum_{k=1}^{n} k + \int_0^1 x^2 dx", r"\frac{n(n+1)}{2} + \frac{1}{3}")
