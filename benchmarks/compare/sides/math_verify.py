"""math-verify on its own, as in its documentation; it only grades."""
# mypy: ignore-errors
# It has no type hints.

from math_verify import parse, verify

__all__ = ["Library"]


class Library:
    """The part of ``Side`` that grading needs."""

    def grade(self, answer: str, gold: str) -> bool:
        return bool(verify(_parsed(gold), _parsed(answer), timeout_seconds=1))


def _parsed(text: str) -> list:
    """Return the parsed LaTeX of a text, passed in the way that gives the best results."""
    return parse(text if "$" in text else f"${text}$", parsing_timeout=1)
