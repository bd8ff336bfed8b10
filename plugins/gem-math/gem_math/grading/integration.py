r"""Antiderivatives: ``\sin^2 x + C`` and ``-\cos^2 x + C`` are the same family of functions.

The constant of integration takes all values, so two antiderivatives are the same if they differ
by a number. This holds only where ``C`` is one term of a sum in one variable: in ``A + B + C`` it
is a variable like the others.
"""

from gem_math.grading.nodes import CONSTANTS, Apply, Node, Symbol, renamed, symbols_of
from gem_math.grading.values import equal_expressions, other_point

__all__ = ["differ_by_a_number", "with_same_constant"]

_ADDED_CONSTANTS = frozenset({"c", "K", "k", "C_1", "c_1", "C_0"})


def with_same_constant(answer: Node, gold: Node) -> Node:
    """Return an antiderivative with the reference's name of its constant: ``c`` becomes ``C``."""
    added = _added_symbols(answer) & _ADDED_CONSTANTS
    others = symbols_of(gold) - {"C"}
    if "C" not in _added_symbols(gold) or len(added) != 1 or not others - CONSTANTS:
        return answer
    renamed_answer: Node = renamed(answer, dict.fromkeys(added, "C"))
    return answer if added & others else renamed_answer


def differ_by_a_number(answer: Node, gold: Node) -> bool:
    """Return whether both are antiderivatives with a constant, and their difference is a number."""
    variables = _variable(answer)
    if not variables or variables != _variable(gold):
        return False
    elsewhere = other_point(answer), other_point(gold)
    sums = Apply("add", (answer, elsewhere[1])), Apply("add", (elsewhere[0], gold))
    return equal_expressions(*sums) is True


def _variable(node: Node) -> str:
    """Return the variable of an antiderivative with a constant, or '' for others."""
    variables = symbols_of(node) - CONSTANTS - {"C"}
    if "C" not in _added_symbols(node) or _count(node, "C") != 1 or len(variables) != 1:
        return ""
    (name,) = variables
    return "" if name[0].isupper() else name


def _added_symbols(node: Node) -> frozenset[str]:
    """Return the symbols that are terms of a sum of several terms."""
    if not isinstance(node, Apply) or node.operation not in {"add", "sub"}:
        return frozenset()
    first, second = node.arguments
    is_added = isinstance(second, Symbol) and node.operation == "add"
    terms = [one.name for one in (first, second if is_added else first) if isinstance(one, Symbol)]
    return _added_symbols(first).union(terms)


def _count(node: Node, name: str) -> int:
    if isinstance(node, Apply):
        return sum(_count(argument, name) for argument in node.arguments)
    return int(node == Symbol(name))
