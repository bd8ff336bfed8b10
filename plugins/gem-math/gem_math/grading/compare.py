"""Comparison of two answers, which must be of the same kind and equal.

Each kind has its own rule: sets have no order, points have one, the brackets of an interval count,
and units must be of the same kind if both answers have one. If no rule decides, the result is None,
and a worker decides.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from gem_math.grading.build import in_base_units
from gem_math.grading.exact import exact_value
from gem_math.grading.families import equal_families, is_family
from gem_math.grading.forms import components, compound, plain, spelled_quantity
from gem_math.grading.functions import with_same_variables
from gem_math.grading.integration import differ_by_a_number, with_same_constant
from gem_math.grading.naming import as_point, without_names
from gem_math.grading.nodes import (
    CONSTANTS,
    Apply,
    Bracketed,
    Listing,
    Matrix,
    Node,
    Number,
    Numeral,
    Quantity,
    Ratio,
    Relation,
    SetOf,
    Symbol,
    Text,
    is_expression,
    is_variable,
    symbols_of,
)
from gem_math.grading.piecewise import equal_piecewise, is_piecewise
from gem_math.grading.reals import equal_conditions, is_condition
from gem_math.grading.units import PERCENT, is_unit
from gem_math.grading.values import equal_expressions, proportion

__all__ = ["same"]

Verdict = bool | None
_MOST_ITEMS = 60
_MIRRORED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "=": "=", "\\ne": "\\ne"}
_INFINITY = Symbol("infty")
_ZERO = Number(Fraction(0))


def same(answer: Node, gold: Node) -> Verdict:
    """Return whether an answer equals the reference, or None if no rule decides."""
    answer, gold = with_same_variables(answer, gold)
    answer, gold = (_without_repeats(plain(node)) for node in (answer, gold))
    answer, gold = _compounds(*without_names(answer, gold, _same))
    return _same(*as_point(_without_repeats(answer), _without_repeats(gold)))


def _without_repeats(node: Node) -> Node:
    r"""Return ``\frac12`` for ``\frac12 \text{ or } 0.5``, which is one value in several forms."""
    if not isinstance(node, Listing) or node.joint != "or" or len(node.items) > _MOST_ITEMS:
        return node
    first, *others = node.items
    is_value = is_expression(first) or isinstance(first, Quantity | Relation)
    return first if is_value and all(_same(item, first) is True for item in others) else node


def _compounds(answer: Node, gold: Node) -> tuple[Node, Node]:
    """Return both with ``1 hour and 30 minutes`` as one quantity, unless both are lists."""
    if isinstance(answer, Listing) and isinstance(gold, Listing):
        return answer, gold
    return compound(answer), compound(gold)


def _same(answer: Node, gold: Node) -> Verdict:
    if answer == gold:
        return True
    for rule in _RULES:
        verdict = rule(answer, gold)
        if verdict is not NotImplemented:
            return verdict  # type: ignore[no-any-return]
    return False


# Rules: each returns NotImplemented for other kinds


def _texts(answer: Node, gold: Node) -> Any:
    if not isinstance(answer, Text) and not isinstance(gold, Text):
        return NotImplemented
    return answer == gold


def _expressions(answer: Node, gold: Node) -> Any:
    if not (is_expression(answer) and is_expression(gold)):
        return NotImplemented
    quantity = spelled_quantity(answer)
    if quantity is not None and _is_rate(answer) and not symbols_of(gold) - CONSTANTS:
        return equal_expressions(quantity.value, gold)
    answer = with_same_constant(answer, gold)
    return differ_by_a_number(answer, gold) or equal_expressions(answer, gold)


def _is_rate(node: Node) -> bool:
    """Return whether an expression is divided by a letter that is a unit, as in ``5 m/s``."""
    if not isinstance(node, Apply) or node.operation != "div":
        return False
    names = symbols_of(node)
    return len(names) > 1 and all(map(is_unit, names))


def _quantities(answer: Node, gold: Node) -> Any:
    if not isinstance(answer, Quantity) and not isinstance(gold, Quantity):
        return NotImplemented
    if not isinstance(answer, Quantity):
        return _bare_for_quantity(answer, gold)  # type: ignore[arg-type]
    if not isinstance(gold, Quantity):
        return _quantity_for_bare(answer, gold)
    if answer.unit.powers != gold.unit.powers:
        return _angles(answer, gold)
    return _same(in_base_units(answer), in_base_units(gold))


def _bare_for_quantity(answer: Node, gold: Quantity) -> Verdict:
    """Compare values, as an answer may omit the unit; 0.5 stands for 50%, and not for 0.5%."""
    spelled = spelled_quantity(answer)
    if spelled is not None:
        return _quantities(spelled, gold)  # type: ignore[no-any-return]
    if gold.unit == PERCENT:
        return _same(answer, in_base_units(gold)) or _is_percentage(gold, answer, with_one=True)
    return _same(answer, gold.value) or _angles(answer, gold)


def _quantity_for_bare(answer: Quantity, gold: Node) -> Verdict:
    """Accept any unit if the reference has none, as the question may have named it."""
    spelled = spelled_quantity(gold)
    if spelled is not None:
        return _quantities(answer, spelled)  # type: ignore[no-any-return]
    if answer.unit == PERCENT:
        return _same(in_base_units(answer), gold) or _is_percentage(answer, gold, with_one=False)
    return _same(answer.value, gold) or _angles(answer, gold)


def _is_percentage(quantity: Quantity, bare: Node, *, with_one: bool) -> bool:
    """Return whether a number above 1, or also 1 itself, is a percentage without its sign."""
    value = exact_value(bare) if is_expression(bare) else None
    return (
        value is not None
        and abs(value) >= 1
        and (with_one or abs(value) != 1)
        and _same(bare, quantity.value) is True
    )


def _angles(answer: Node, gold: Node) -> Verdict:
    """Compare angles in degrees with angles in radians."""
    first, second = _radians(answer), _radians(gold)
    return False if first is None or second is None else _same(first, second)


def _radians(node: Node) -> Node | None:
    if not isinstance(node, Quantity):
        return node if is_expression(node) and "pi" in symbols_of(node) else None
    if node.unit.powers == (("°", 1),):
        return Apply("degrees", (node.value,))
    return node.value if node.unit.powers == (("rad", 1),) else None


def _numerals(answer: Node, gold: Node) -> Any:
    if isinstance(answer, Numeral) or isinstance(gold, Numeral):
        return answer == gold
    return NotImplemented


def _ratios(answer: Node, gold: Node) -> Any:
    if isinstance(answer, Ratio) and isinstance(gold, Ratio):
        if len(answer.parts) != len(gold.parts) or _is_zero(answer.parts[0]):
            return False
        first = answer.parts[0], gold.parts[0]
        return _all_same(
            (_product(part, first[1]), _product(other, first[0]))
            for part, other in zip(answer.parts[1:], gold.parts[1:], strict=True)
        )
    for ratio, other in ((answer, gold), (gold, answer)):
        if isinstance(ratio, Ratio) and isinstance(other, Bracketed) and other.opening == "to":
            return _same(ratio, Ratio(other.items))
        if isinstance(ratio, Ratio):
            if len(ratio.parts) != 2 or not is_expression(other):
                return False
            return _same(Apply("div", ratio.parts), other)
    return NotImplemented


def _is_zero(node: Node) -> bool:
    return is_expression(node) and equal_expressions(node, _ZERO) is not False


def _product(first: Node, second: Node) -> Node:
    return Apply("mul", (first, second))


def _matrices(answer: Node, gold: Node) -> Any:
    if not isinstance(answer, Matrix) and not isinstance(gold, Matrix):
        return NotImplemented
    if not (isinstance(answer, Matrix) and isinstance(gold, Matrix)):
        return False
    if [len(row) for row in answer.rows] != [len(row) for row in gold.rows]:
        return False
    return _all_same(
        pair
        for rows in zip(answer.rows, gold.rows, strict=True)
        for pair in zip(*rows, strict=True)
    )


def _vectors(answer: Node, gold: Node) -> Any:
    spelled = components(answer), components(gold)
    if (spelled[0] is None) == (spelled[1] is None):
        return NotImplemented
    first, second = spelled[0] or answer, spelled[1] or gold
    if not isinstance(first, Bracketed) or not isinstance(second, Bracketed):
        return False
    if _ends(first) != _ends(second):
        return False
    length = min(len(first.items), len(second.items))
    rest = (*first.items[length:], *second.items[length:])
    pairs = [*zip(first.items, second.items, strict=False), *((item, _ZERO) for item in rest)]
    return _all_same(pairs)


def _brackets(answer: Node, gold: Node) -> Any:
    if not (isinstance(answer, Bracketed) and isinstance(gold, Bracketed)):
        return NotImplemented
    if len(answer.items) != len(gold.items):
        return False
    if _ends(answer) != _ends(gold):
        return False
    return _all_same(zip(answer.items, gold.items, strict=True))


def _ends(node: Bracketed) -> tuple[str, str]:
    """Return the brackets of an interval, which is always open at infinity."""
    opening = "(" if _is_infinite(node.items[0]) else node.opening
    closing = ")" if _is_infinite(node.items[-1]) else node.closing
    return opening, closing


def _is_infinite(node: Node) -> bool:
    return node in {_INFINITY, Apply("neg", (_INFINITY,))}


def _collections(answer: Node, gold: Node) -> Any:
    kinds = (Listing, SetOf)
    if not (isinstance(answer, kinds) and isinstance(gold, kinds)):
        return NotImplemented
    if max(len(answer.items), len(gold.items)) > _MOST_ITEMS:
        return answer == gold
    if isinstance(answer, Listing) and isinstance(gold, Listing):
        return _matched(answer.items, gold.items)
    return _within(answer.items, gold.items) and _within(gold.items, answer.items)


def _matched(answers: Sequence[Node], golds: Sequence[Node]) -> Verdict:
    """Return whether answers and references are the same in any order."""
    if len(answers) != len(golds):
        return False
    remaining, undecided = list(golds), False
    for answer in answers:
        verdicts = [_same(answer, gold) for gold in remaining]
        if True in verdicts:
            del remaining[verdicts.index(True)]
        elif None in verdicts:
            undecided = True
        else:
            return False
    return None if undecided else True


def _within(items: Sequence[Node], others: Sequence[Node]) -> bool:
    return all(any(_same(item, other) for other in others) for item in items)


def _all_same(pairs: Any) -> Verdict:
    """Return whether all pairs are the same, or None if some are undecided and none differ."""
    verdict: Verdict = True
    for first, second in pairs:
        one = _same(first, second)
        if one is False:
            return False
        verdict = verdict if one else None
    return verdict


# Relations and sets of reals


def _families(answer: Node, gold: Node) -> Any:
    if not any(map(is_family, (answer, gold))):
        return NotImplemented
    return equal_families(answer, gold)


def _conditions(answer: Node, gold: Node) -> Any:
    if not any(map(is_condition, (answer, gold))):
        return NotImplemented
    return equal_conditions(answer, gold)


def _functions_in_pieces(answer: Node, gold: Node) -> Any:
    if not any(map(is_piecewise, (answer, gold))):
        return NotImplemented
    return equal_piecewise(answer, gold)


def _relations(answer: Node, gold: Node) -> Any:
    if isinstance(answer, Relation) and isinstance(gold, Relation):
        return _equal_relations(answer, gold)
    return False if isinstance(answer, Relation) or isinstance(gold, Relation) else NotImplemented


def _equal_relations(answer: Relation, gold: Relation) -> Verdict:
    if len(answer.sides) != 2 or len(gold.sides) != 2:
        return (
            False
            if answer.signs != gold.signs
            else _all_same(zip(answer.sides, gold.sides, strict=True))
        )
    sides = [*answer.sides, *gold.sides]
    if not all(map(is_expression, sides)):
        return answer.signs == gold.signs and (
            _all_same(zip(answer.sides, gold.sides, strict=True))
        )
    if is_variable(answer.sides[0]) and answer.sides[0] == gold.sides[0]:
        return answer.signs == gold.signs and same(answer.sides[1], gold.sides[1])
    (first,), (second,) = answer.signs, gold.signs
    sign = proportion(Apply("sub", answer.sides), Apply("sub", gold.sides))
    if sign is None:
        return False
    return first == (second if sign > 0 else _MIRRORED.get(second, ""))


_RULES: tuple[Callable[[Node, Node], Any], ...] = (
    _texts,
    _vectors,
    _expressions,
    _quantities,
    _functions_in_pieces,
    _families,
    _conditions,
    _relations,
    _numerals,
    _ratios,
    _matrices,
    _brackets,
    _collections,
)
