"""Computer algebra, for answers beyond the grammar of this package.

This runs only in a supervised worker: it may hang, crash or use much memory, and evaluates text
that a model wrote.
"""

import logging
import signal
import time
from typing import NoReturn

import math_verify
from latex2sympy2_extended import NormalizationConfig, latex2sympy
from sympy import Basic, Expr, MatrixBase, simplify

from gem_workers.pools import Last

__all__ = ["equal", "timed", "verified"]

logging.disable(logging.CRITICAL)
_SPELLING = NormalizationConfig(malformed_operators=True, nits=True, boxed="none")


class _LateError(BaseException):
    """A comparison has used up its processor time; no ``except Exception`` catches it."""


def _interrupt(*_: object) -> NoReturn:
    raise _LateError


def timed(comparison: str, answer: str, gold: str, seconds: float) -> object:
    """Compare two answers in at most some seconds of processor time.

    Args:
        comparison: ``equal`` or ``verified``.
        answer: The answer.
        gold: The gold answer.
        seconds: The processor time that it may take.

    Returns:
        Whether they are equal; ``algebra``, ``failure`` if that cannot be decided, or ``deadline``;
        and the processor time that it took.
    """
    begun = time.process_time()
    signal.signal(signal.SIGPROF, _interrupt)
    correct, decided_by = False, "failure"
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            correct, decided_by = _COMPARISONS[comparison](answer, gold), "algebra"
        except Exception:  # noqa: BLE001, S110 - the answer may be any text
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _LateError:  # which may have left anything half done
        return Last((False, "deadline", time.process_time() - begun))
    return correct, decided_by, time.process_time() - begun


def equal(answer: str, gold: str) -> bool:
    """Return whether two LaTeX answers are equal."""
    first, second = (_read(text).doit() for text in (answer, gold))
    if isinstance(first, Expr) and isinstance(second, Expr):
        difference = simplify(first - second)
        if difference == 0 or difference.is_number:
            return bool(difference == 0)
    # The limits of `timed` and of the worker apply; those of math-verify use signals.
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


_COMPARISONS = {"equal": equal, "verified": verified}

# Let sympy import its summation and integration now, not during the first answer.
equal(r"\sum_{k=1}^{n} k + \int_0^1 x^2 dx", r"\frac{n(n+1)}{2} + \frac{1}{3}")
