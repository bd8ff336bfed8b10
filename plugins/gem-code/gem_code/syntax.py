"""Syntax trees of programs with integers of any number of digits.

Python reads and writes very long integers in hexadecimal digits only.
"""

import ast
import io
import re
import sys
import tokenize

from gem_tasks.json_values import exact_int

__all__ = ["parsed"]

_DIGITS = sys.int_info.str_digits_check_threshold
"""The number of decimal digits that Python always reads and writes."""
_LONG = re.compile(r"[0-9a-fA-F_]{500}")
"""A part of each source with more digits, decimal or hexadecimal."""


class _Long(int):
    """An integer that ``ast.unparse`` writes in hexadecimal digits."""

    def __repr__(self) -> str:
        return hex(self)


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a program, which ``ast.unparse`` can write.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: It is not valid Python.
    """
    if not _LONG.search(source):
        return ast.parse(source)
    tree = ast.parse(_hexadecimal(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value >> 1000:
            node.value = _Long(node.value)
    return tree


def _hexadecimal(source: str) -> str:
    """Return a source in which long decimal integers are hexadecimal."""
    lines = io.StringIO(source).readlines()
    try:
        tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    except (tokenize.TokenError, SyntaxError):
        return source
    for token in reversed(tokens):
        digits = token.string.replace("_", "")
        if token.type == tokenize.NUMBER and digits.isdecimal() and len(digits) > _DIGITS:
            row, start, end = token.start[0] - 1, token.start[1], token.end[1]
            lines[row] = f"{lines[row][:start]}{exact_int(digits):#x}{lines[row][end:]}"
    return "".join(lines)
