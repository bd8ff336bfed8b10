r"""The parser of whole answers: lists, relations, sets, quantities.

answer    = item (("," | ";" | "or" | "and") item)*
item      = side (("=" | "<" | ...) side)*
side      = measured (("\cup" | ":" | "to") measured)*
measured  = ["$"] sum ["million"] [unit]
"""

from fractions import Fraction
from typing import Literal

from gem_math.grading.build import in_base_units, with_degrees
from gem_math.grading.errors import UnreadableError, UnsupportedError
from gem_math.grading.expressions import ExpressionReader
from gem_math.grading.forms import both_signs
from gem_math.grading.names import names
from gem_math.grading.nodes import (
    Apply,
    Bracketed,
    Combined,
    Listing,
    Node,
    Number,
    Quantity,
    Ratio,
    Relation,
    SetOf,
    Symbol,
    Text,
    is_expression,
)
from gem_math.grading.spelled import spelled_number
from gem_math.grading.tokens import Token, tokenize
from gem_math.grading.units import Unit, is_unit, read_unit

__all__ = ["read"]

_RELATION_SIGNS = frozenset({"=", "<", ">", "\\le", "\\ge", "\\ne"})
_RELATION_COMMANDS = frozenset(
    {"le", "ge", "ne", "approx", "in", "equiv", "to", "sim", "cong", "pmod", "mod"}
)
_COMBINATIONS: dict[str, Literal["union", "intersection", "difference"]] = {
    "\\cup": "union",
    "\\cap": "intersection",
    "\\setminus": "difference",
}
_UNSUPPORTED = names(
    "int iint oint sum prod lim limsup liminf partial nabla bigcup bigcap forall exists"
)
_MULTIPLIERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_CURRENCIES = frozenset("$€£¥₹")
_REALS = Symbol("mathbb R")
_NAMED_SETS: dict[str, Node] = {
    **dict.fromkeys(("empty set", "the empty set", "null set"), SetOf(())),
    **dict.fromkeys(("no solution", "no solutions", "no real solution"), SetOf(())),
    **dict.fromkeys(("no real solutions", "none"), SetOf(())),
    **dict.fromkeys(("all real numbers", "all reals", "all real x", "all real numbers x"), _REALS),
}
_CALLS = frozenset({"P", "E", "n", "N", "mathbb P", "mathbb E", "Var"})
_EXTREMES = frozenset({"max", "min"})
_MOST_TOKENS = 600


def read(text: str) -> Node:
    """Parse a clean answer.

    Raises:
        UnsupportedError: The answer is mathematics beyond this grammar.
        UnreadableError: The answer is not mathematics.
    """
    tokens = tokenize(text)
    if len(tokens) > _MOST_TOKENS:
        raise UnreadableError("too long")
    for token in tokens:
        if token.kind == "command" and token.text in _UNSUPPORTED:
            raise UnsupportedError(f"\\{token.text} is beyond this grammar")
    return _AnswerReader(tokens).read()


class _AnswerReader(ExpressionReader):
    """A parser of one answer."""

    def read(self) -> Node:
        node = self._answer()
        if self._at.kind != "end":
            raise UnreadableError(f"{self._at.text!r} is unexpected here")
        return node

    def _answer(self) -> Node:
        items, joint = [self._item()], ""
        if sign := self._took("\\over", "\\choose"):
            return Apply("div" if sign == "\\over" else "binomial", (items[0], self._item()))
        while sign := self._joint():
            joint = joint or sign
            if self._at.kind == "end":
                break
            items.append(self._item())
        if len(items) == 1:
            return items[0]
        return Listing(tuple(items), "or" if joint == "or" else "and" if joint == "and" else ",")

    def _joint(self) -> str:
        joint = self._took(",", ";", "\\lor", "\\land", "\\vee", "\\wedge")
        if self._at.kind == "word" and self._at.text.lower() in {"or", "and"}:
            return self._take().text.lower()
        return {"\\lor": "or", "\\vee": "or", "\\land": "and", "\\wedge": "and"}.get(joint, joint)

    def _item(self) -> Node:
        sides, signs = [self._call_name() or self._side()], []
        while self._at_relation():
            signs.append(
                "\\" + self._take().text if self._at.kind == "command" else self._take().text
            )
            sides.append(self._side())
        if not signs:
            return sides[0]
        return Relation(tuple(sides), tuple(signs))

    def _call_name(self) -> Node | None:
        """Parse the name of a probability or an expectation before its value: ``P(X = 2) =``."""
        if self._at.text in _EXTREMES and self._ahead(1).text in {"=", ":"}:
            return self._extreme()
        if self._at.text not in _CALLS or self._ahead(1).text not in {"(", "["}:
            return None
        texts, depth = [self._at.text], 0
        for token in self._tokens[self._position + 1 :]:
            texts.append(token.text)
            depth += (token.text in {"(", "["}) - (token.text in {")", "]"})
            if depth == 0:
                break
        after = self._ahead(len(texts))
        if len(texts) == 4 or after.text != "=":  # P(A) is a name like any other
            return None
        self._position += len(texts)
        return Symbol(" ".join(texts))

    def _extreme(self) -> Node:
        r"""Parse a name of a value that is also a function: ``\max = 3``, ``\text{min: }3``."""
        name = self._take().text
        if self._is(":"):
            self._tokens[self._position] = Token("sign", "=")
        return Symbol(name)

    def _at_relation(self) -> bool:
        token = self._at
        if token.kind == "command":
            return token.text in _RELATION_COMMANDS
        return token.kind == "sign" and token.text in _RELATION_SIGNS

    def _side(self) -> Node:
        first = self._measured()
        if self._at_combination(first):
            return self._combination(first)
        if self._is(":"):
            parts = [first]
            while self._took(":"):
                parts.append(self._measured())
            return Ratio(tuple(parts))
        if self._at.text == "to" and self._at.kind == "word":
            self._take()
            return Bracketed("to", (first, self._measured()), "")
        return first

    def _at_combination(self, first: Node) -> bool:
        return self._is(*_COMBINATIONS) or (self._at.text == "U" and not is_expression(first))

    def _combination(self, first: Node) -> Node:
        items, operations = [first], []
        while self._at_combination(items[-1]):
            operations.append(_COMBINATIONS["\\" + self._take().text.replace("U", "cup")])
            items.append(self._measured())
        return Combined(tuple(items), tuple(operations))

    def _measured(self) -> Node:
        """Parse a sum with an optional unit on either side."""
        if self._at.kind == "word":
            return self._text()
        if self._took("..."):
            return Text("...")
        minus = self._is("-") and self._ahead(1).text in {*_CURRENCIES, "\\$"}
        if minus:
            self._take()
        currency = self._took(*_CURRENCIES, "\\$").removeprefix("\\")
        value = self._sum()
        if minus:
            value = Apply("neg", (value,))
        value = self._multiplied(value)
        name = self._unit_text()
        if currency:
            unit = _price(currency, name)
        elif not name:
            return with_degrees(value)
        else:
            unit = read_unit(name)
        if unit is None:
            raise UnreadableError(f"{name!r} is not a unit")
        quantity = Quantity(value, unit)
        return self._compound(quantity) if self._at.kind == "number" else quantity

    def _compound(self, first: Quantity) -> Node:
        """Parse the rest of ``4 ft 3 in``, and return the sum in base units."""
        rest = self._measured()
        if not isinstance(rest, Quantity) or rest.unit.powers != first.unit.powers:
            raise UnreadableError("quantities that do not add up")
        return Quantity(Apply("add", (in_base_units(first), in_base_units(rest))), rest.unit.base)

    def _multiplied(self, value: Node) -> Node:
        """Apply ``million`` and the like."""
        while self._at.kind == "word" and self._at.text.lower() in _MULTIPLIERS:
            power = _MULTIPLIERS[self._take().text.lower()]
            value = Apply("mul", (value, Number(Fraction(10**power))))
        return value

    def _unit_text(self) -> str:
        """Consume the words and signs of a unit; return them as text, or ''."""
        if self._took("%", "\\%"):
            return "%" if self._at.kind != "word" else self._no_unit()
        if self._at.kind != "word" and not self._at_rate() and not self._is("\\$", *_CURRENCIES):
            return ""
        if self._at.text == "to":
            return ""
        pieces: list[str] = []
        while self._at.kind in {"word", "number", "symbol"} or self._is(
            "/", "^", "{", "}", "-", "*", "\\cdot", "(", ")", "\\$", *_CURRENCIES
        ):
            if self._at.kind == "word" and self._at.text.lower() in {"or", "and"}:
                break
            if self._at.kind == "number" and pieces[-1:] not in (["^"], ["{"], ["-"]):
                break
            token = self._take()
            glued = not pieces or pieces[-1] in {"^", "{", "-"} or token.text in {"^", "{", "}"}
            pieces.append(token.text.removeprefix("\\") if glued else " " + token.text)
        return "".join(pieces).strip()

    def _no_unit(self) -> str:
        raise UnreadableError("words after a percent sign")

    def _text(self) -> Node:
        words: list[str] = []
        while self._at.kind in {"word", "symbol", "number"} or self._is(
            "-", "'", ".", "\\$", ":", "(", ")", "/", "&", "!", "?", '"'
        ):
            if self._at.kind == "word" and self._at.text.lower() in {"or", "and"} and not words:
                break
            if self._at.text.lower() == "except" and _NAMED_SETS.get(" ".join(words)) == _REALS:
                return self._except()
            words.append(self._take().text.lower())
        if not words:
            raise UnreadableError("no words")
        text = " ".join(words)
        number = spelled_number(text)
        return _NAMED_SETS.get(text, Text(text)) if number is None else Number(number)

    def _except(self) -> Node:
        """Parse the numbers that the reals lack: ``except 1 and 2``, ``except for x = 1``."""
        self._take()
        if self._at.text == "for":
            self._take()
        excluded = self._answer()
        items = excluded.items if isinstance(excluded, Listing | SetOf) else (excluded,)
        values = [one.sides[-1] if isinstance(one, Relation) else one for one in items]
        values = [value for one in values for value in both_signs(one)]
        if not all(map(is_expression, values)):
            raise UnreadableError("an exception that is not a number")
        return Combined((_REALS, SetOf(tuple(values))), ("difference",))


def _price(currency: str, name: str) -> Unit | None:
    """Return the unit of a price, which may have a rate or a noun: ``$5 per week``, ``$5 profit``.

    Raises:
        UnreadableError: The words after the number are another unit.
    """
    unit, other = read_unit(currency), read_unit(name) if name else None
    if name.startswith(("per ", "/")):
        return read_unit(f"{currency} {name}")
    if (
        name
        and other != unit
        and (other is None or any(is_unit(word) for word in name.split() if word != "in"))
    ):
        raise UnreadableError("two units")
    return unit
