"""Definitions of functions: ``f(x) = x^2`` and ``f(t) = t^2`` define the same function.

The variables of a definition are bound, so their names do not matter: both sides get the same names
if both are definitions. A function of one variable is also a curve, ``y = x^2``.
"""

import re

from gem_math.grading.nodes import CONSTANTS, Listing, Node, Relation, Symbol, renamed

__all__ = ["with_same_variables"]

_CALL = re.compile(r"[^()]+(?:\([^()]+)?\(([a-z]+(?:,[a-z]+)*)\)+")
_TERM = re.compile(r"([A-Za-z]+)_([a-df-z])")
"""A term of a sequence, such as ``a_n``; ``e`` is a number."""


def with_same_variables(answer: Node, gold: Node) -> tuple[Node, Node]:
    """Return both answers with the same names of the variables that they bind."""
    bound = _bound(answer), _bound(gold)
    if bound[0] != answer and bound[1] != gold:
        return bound
    return _as_curve(answer, gold), _as_curve(gold, answer)


def _bound(node: Node) -> Node:
    """Return definitions with numbers for their variables, and other nodes unchanged."""
    if isinstance(node, Listing):
        return Listing(tuple(map(_bound, node.items)), node.joint)
    if not isinstance(node, Relation) or node.signs[0] != "=":
        return node
    left = node.sides[0].name if isinstance(node.sides[0], Symbol) else ""
    call = _CALL.fullmatch(left)
    if call and CONSTANTS.isdisjoint(call[1].split(",")):
        names = call[1].split(",")
        numbers = [f"#{number}" for number in range(len(names))]
        called = left.replace(f"({call[1]})", f"({','.join(numbers)})")
        return _renamed(node, {left: called, **dict(zip(names, numbers, strict=True))})
    term = _TERM.fullmatch(left)
    if term and renamed(node, {term[2]: "#0"}) != node:
        return _renamed(node, {left: f"{term[1]}_#0", term[2]: "#0"})
    return node


def _renamed(node: Node, names: dict[str, str]) -> Node:
    changed: Node = renamed(node, names)
    return changed


def _as_curve(node: Node, other: Node) -> Node:
    """Return ``f(x) = ...`` as ``y = ...`` if the other one is an equation with ``y``."""
    if not isinstance(node, Relation) or not isinstance(other, Relation) or node.signs != ("=",):
        return node
    left = node.sides[0]
    call = _CALL.fullmatch(left.name) if isinstance(left, Symbol) else None
    is_curve = call is not None and call[1] == "x" and _mentions(other, "y")
    if not is_curve or _mentions(node, "y") or not isinstance(left, Symbol):
        return node
    return _renamed(node, {left.name: "y"})


def _mentions(node: Node, name: str) -> bool:
    return bool(renamed(node, {name: f"#{name}"}) != node)
