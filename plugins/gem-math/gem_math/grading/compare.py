"""Are two answers the same? The same kind of thing, and equal as such.

Each kind has its own rule: sets have no order, points have one, an interval's brackets count, a
unit that the reference demands must be there. What no rule decides is None, for the workers.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gem_math.grading.exact import exact_value
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
from gem_math.grading.reals import equal_conditions, is_condition
from gem_math.grading.units import MARKS, PERCENT, Unit, read_unit
from gem_math.grading.values import equal_expressions, proportion

__all__ = ["same"]

Verdict = bool | None
_MOST_ITEMS = 60
_FUNCTION_NAMES = frozenset("fghFGHPpqTyr")
_MIRRORED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "=": "=", "\\ne": "\\ne"}
_INFINITY = Symbol("infty")


def same(answer: Node, gold: Node) -> Verdict:
    """Return whether an answer is what the reference says; None if that cannot be decided here."""
    answer, gold = _plain(answer), _plain(gold)
    if answer == gold:
        return True
    if isinstance(answer, Relation) != isinstance(gold, Relation):
        answer, gold = _without_name(answer), _without_name(gold)
    answer, gold = _as_listing(answer), _as_listing(gold)
    for rule in _RULES:
        verdict = rule(answer, gold)
        if verdict is not NotImplemented:
            return verdict  # type: ignore[no-any-return]
    return False


# Forms


def _plain(node: Node) -> Node:
    """Return a set of one value as that value: solutions are written either way."""
    if isinstance(node, SetOf) and len(node.items) == 1 and is_expression(node.items[0]):
        return node.items[0]
    return node


def _without_name(node: Node) -> Node:
    """Return what an equation says that a name is: of ``x = 5`` the 5, of ``x in S`` the set."""
    if isinstance(node, Listing):
        named = [item for item in node.items if isinstance(item, Relation)]
        names = {item.sides[0] for item in named}
        if len(names) == 1 and all(_without_name(item) is not item for item in named):
            return Listing(tuple(map(_without_name, node.items)), node.joint)
        return node
    if not isinstance(node, Relation) or not _is_name(node.sides[0]):
        return node
    names_value = set(node.signs) == {"="} or node.signs in {("\\approx",), ("\\in",)}
    return node.sides[-1] if names_value else node


def _is_name(node: Node) -> bool:
    """Return whether a side of an equation is a name: ``x``, ``x_1``, ``f(x)``."""
    if isinstance(node, Symbol):
        return node.name not in CONSTANTS
    if isinstance(node, Bracketed):
        return all(map(_is_name, node.items))
    if isinstance(node, Apply) and node.operation == "mul":
        head, argument = node.arguments
        if isinstance(head, Apply) and head.operation == "pow":
            head = head.arguments[0]
        return (
            isinstance(head, Symbol)
            and head.name.partition("_")[0].rstrip("'") in _FUNCTION_NAMES
            and isinstance(argument, Symbol | Number)
        )
    return False


def _as_listing(node: Node) -> Node:
    r"""Return ``1 \pm 2`` as the two values that it stands for."""
    if not is_expression(node) or not _has_both_signs(node):
        return node
    return Listing((_choose(node, upper=True), _choose(node, upper=False)))


def _has_both_signs(node: Node) -> bool:
    return isinstance(node, Apply) and (
        node.operation in {"plus_minus", "minus_plus"} or any(map(_has_both_signs, node.arguments))
    )


def _choose(node: Node, *, upper: bool) -> Node:
    if not isinstance(node, Apply):
        return node
    arguments = tuple(_choose(argument, upper=upper) for argument in node.arguments)
    if node.operation in {"plus_minus", "minus_plus"}:
        is_plus = upper == (node.operation == "plus_minus")
        if len(arguments) == 1:
            return arguments[0] if is_plus else Apply("neg", arguments)
        return Apply("add" if is_plus else "sub", arguments)
    return Apply(node.operation, arguments)


# Rules: each returns NotImplemented for kinds that are not its own


def _texts(answer: Node, gold: Node) -> Any:
    if not isinstance(answer, Text) and not isinstance(gold, Text):
        return NotImplemented
    return answer == gold


def _expressions(answer: Node, gold: Node) -> Any:
    if not (is_expression(answer) and is_expression(gold)):
        return NotImplemented
    return equal_expressions(answer, gold)


def _quantities(answer: Node, gold: Node) -> Any:
    if not isinstance(answer, Quantity) and not isinstance(gold, Quantity):
        return NotImplemented
    if not isinstance(answer, Quantity):
        return _bare_for_quantity(answer, gold)  # type: ignore[arg-type]
    if not isinstance(gold, Quantity):
        return _quantity_for_bare(answer, gold)
    if answer.unit.powers != gold.unit.powers:
        return _angles(answer, gold)
    return same(_scaled(answer), _scaled(gold))


def _bare_for_quantity(answer: Node, gold: Quantity) -> Verdict:
    """A unit may be missing only if notation often leaves it out, and then the value decides."""
    spelled = _spelled_quantity(answer)
    if spelled is not None:
        return _quantities(spelled, gold)  # type: ignore[no-any-return]
    if gold.unit == PERCENT:
        return same(answer, _scaled(gold))
    if _is_mark(gold.unit):
        return same(answer, gold.value) or _angles(answer, gold)
    return False


def _quantity_for_bare(answer: Quantity, gold: Node) -> Verdict:
    """A reference without a unit leaves the unit to the question, so any will do."""
    spelled = _spelled_quantity(gold)
    if spelled is not None:
        return _quantities(answer, spelled)  # type: ignore[no-any-return]
    if answer.unit == PERCENT:
        return same(_scaled(answer), gold) or _is_percentage(answer, gold)
    return same(answer.value, gold)


def _is_percentage(answer: Quantity, gold: Node) -> bool:
    """Return whether the reference, beyond 1, is the percentage without its sign."""
    value = exact_value(gold) if is_expression(gold) else None
    return value is not None and abs(value) > 1 and same(answer.value, gold) is True


def _is_mark(unit: Unit) -> bool:
    return len(unit.powers) == 1 and unit.powers[0][0] in MARKS and unit.factor == 1


def _scaled(quantity: Quantity) -> Node:
    if quantity.unit.factor == 1:
        return quantity.value
    return Apply("mul", (quantity.value, Number(quantity.unit.factor)))


def _angles(answer: Node, gold: Node) -> Verdict:
    """Compare angles in degrees with angles in radians."""
    first, second = _radians(answer), _radians(gold)
    return False if first is None or second is None else same(first, second)


def _radians(node: Node) -> Node | None:
    if not isinstance(node, Quantity):
        return node if is_expression(node) and "pi" in symbols_of(node) else None
    if node.unit.powers == (("°", 1),):
        return Apply("degrees", (node.value,))
    return node.value if node.unit.powers == (("rad", 1),) else None


def _spelled_quantity(node: Node) -> Quantity | None:
    """Return ``2*m`` as 2 metres, where a letter may have been meant as a unit."""
    if not isinstance(node, Apply) or node.operation not in {"mul", "div"}:
        return None
    value, letter = node.arguments
    unit = _spelled_unit(letter)
    if unit is None:
        return None
    if node.operation == "mul":
        return Quantity(value, unit) if not symbols_of(value) else None
    inner = _spelled_quantity(value)
    if inner is None:
        return None
    powers = dict(inner.unit.powers)
    for name, power in unit.powers:
        powers[name] = powers.get(name, 0) - power
    return Quantity(
        inner.value, Unit(inner.unit.factor / unit.factor, tuple(sorted(powers.items())))
    )


def _spelled_unit(node: Node) -> Unit | None:
    if isinstance(node, Symbol) and len(node.name) == 1:
        return read_unit(node.name)
    if (
        isinstance(node, Apply)
        and node.operation == "pow"
        and isinstance(node.arguments[0], Symbol)
    ):
        base, exponent = node.arguments
        if isinstance(exponent, Number) and exponent.value in {2, 3}:
            return read_unit(f"{base.name}^{exponent.value}")  # type: ignore[union-attr]
    return None


def _numerals(answer: Node, gold: Node) -> Any:
    if isinstance(answer, Numeral) or isinstance(gold, Numeral):
        return answer == gold
    return NotImplemented


def _ratios(answer: Node, gold: Node) -> Any:
    if isinstance(answer, Ratio) and isinstance(gold, Ratio):
        if len(answer.parts) != len(gold.parts):
            return False
        first = answer.parts[0], gold.parts[0]
        return all_same(
            (_product(part, first[1]), _product(other, first[0]))
            for part, other in zip(answer.parts[1:], gold.parts[1:], strict=True)
        )
    for ratio, other in ((answer, gold), (gold, answer)):
        if isinstance(ratio, Ratio) and isinstance(other, Bracketed) and other.opening == "to":
            return same(ratio, Ratio(other.items))
        if isinstance(ratio, Ratio):
            if len(ratio.parts) != 2 or not is_expression(other):
                return False
            return same(Apply("div", ratio.parts), other)
    return NotImplemented


def _product(first: Node, second: Node) -> Node:
    return Apply("mul", (first, second))


def _matrices(answer: Node, gold: Node) -> Any:
    if not isinstance(answer, Matrix) and not isinstance(gold, Matrix):
        return NotImplemented
    if not (isinstance(answer, Matrix) and isinstance(gold, Matrix)):
        return False
    if [len(row) for row in answer.rows] != [len(row) for row in gold.rows]:
        return False
    return all_same(
        pair
        for rows in zip(answer.rows, gold.rows, strict=True)
        for pair in zip(*rows, strict=True)
    )


def _brackets(answer: Node, gold: Node) -> Any:
    if not (isinstance(answer, Bracketed) and isinstance(gold, Bracketed)):
        return NotImplemented
    if len(answer.items) != len(gold.items):
        return False
    if _ends(answer) != _ends(gold):
        return False
    return all_same(zip(answer.items, gold.items, strict=True))


def _ends(node: Bracketed) -> tuple[str, str]:
    """Return the brackets; at infinity an interval is open, whatever was written."""
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
    """Return whether each answer is one of the references and the other way round, in any order."""
    if len(answers) != len(golds):
        return False
    remaining, undecided = list(golds), False
    for answer in answers:
        verdicts = [same(answer, gold) for gold in remaining]
        if True in verdicts:
            del remaining[verdicts.index(True)]
        elif None in verdicts:
            undecided = True
        else:
            return False
    return None if undecided else True


def _within(items: Sequence[Node], others: Sequence[Node]) -> bool:
    return all(any(same(item, other) for other in others) for item in items)


def all_same(pairs: Any) -> Verdict:
    """Return whether all pairs are the same; None if only some of them are decided."""
    verdict: Verdict = True
    for first, second in pairs:
        one = same(first, second)
        if one is False:
            return False
        verdict = verdict if one else None
    return verdict


# Relations and sets of reals


def _conditions(answer: Node, gold: Node) -> Any:
    if not any(map(is_condition, (answer, gold))):
        return NotImplemented
    return equal_conditions(answer, gold)


def _relations(answer: Node, gold: Node) -> Any:
    if isinstance(answer, Relation) and isinstance(gold, Relation):
        return _equal_relations(answer, gold)
    return False if isinstance(answer, Relation) or isinstance(gold, Relation) else NotImplemented


def _equal_relations(answer: Relation, gold: Relation) -> Verdict:
    if len(answer.sides) != 2 or len(gold.sides) != 2:
        return (
            False
            if answer.signs != gold.signs
            else all_same(zip(answer.sides, gold.sides, strict=True))
        )
    sides = [*answer.sides, *gold.sides]
    if not all(map(is_expression, sides)):
        return answer.signs == gold.signs and (all_same(zip(answer.sides, gold.sides, strict=True)))
    if is_variable(answer.sides[0]) and answer.sides[0] == gold.sides[0]:
        return answer.signs == gold.signs and same(answer.sides[1], gold.sides[1])
    (first,), (second,) = answer.signs, gold.signs
    factor = proportion(Apply("sub", answer.sides), Apply("sub", gold.sides))
    if factor is None:
        return False
    return first == (second if factor > 0 else _MIRRORED.get(second, ""))


_RULES: tuple[Callable[[Node, Node], Any], ...] = (
    _texts,
    _expressions,
    _quantities,
    _conditions,
    _relations,
    _numerals,
    _ratios,
    _matrices,
    _brackets,
    _collections,
)
