"""math-verify by itself, as its documentation shows it; it grades, and knows no environments."""
# mypy: ignore-errors
# It has no type hints.

from math_verify import parse, verify

__all__ = ["Library"]


class Library:
    """The part of ``Side`` that grading needs."""

    def grade(self, answer: str, gold: str) -> bool:
        return bool(verify(_parsed(gold), _parsed(answer), timeout_seconds=1))


def _parsed(text: str) -> list:
    """Return what is found in a text, read as LaTeX: of all ways to hand it over the best one."""
    return parse(text if "$" in text else f"${text}$", parsing_timeout=1)
