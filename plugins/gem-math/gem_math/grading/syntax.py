r"""Reads the tokens of an answer: recursive descent, from lists down to atoms.

    answer    = item (("," | ";" | "or" | "and") item)*
    item      = side (("=" | "<" | ...) side)*  [ unit ]
    side      = sum (("\cup" | ":") sum)*
    sum       = ["+" | "-" | "\pm"] product (("+" | "-" | "\pm") product)*
    product   = power (["*" | "/"] power)*
    power     = postfix ["^" exponent]
    postfix   = atom ("!" | "°" | "'")*
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from gem_math.grading.errors import UnreadableError, UnsupportedError
from gem_math.grading.nodes import (
    Apply,
    Bracketed,
    Combined,
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
    symbols_of,
)
from gem_math.grading.tokens import Token, tokenize
from gem_math.grading.units import DEGREE, read_unit

__all__ = ["read"]

_RELATION_SIGNS = frozenset(
    ["=", "<", ">", "\\le", "\\ge", "\\ne", "\\approx", "\\in", "\\equiv", "\\to"]
)
_RELATION_COMMANDS = frozenset({"le", "ge", "ne", "approx", "in", "equiv", "to", "sim", "cong"})
_UNSUPPORTED = frozenset(
    "int iint oint sum prod lim limsup liminf partial nabla bigcup bigcap forall exists".split()
)
_MULTIPLIERS = {
    "hundred": 2,
    "thousand": 3,
    "million": 6,
    "billion": 9,
    "trillion": 12,
}
_MATRICES = frozenset({"matrix", "pmatrix", "bmatrix", "Bmatrix", "array", "smallmatrix"})
_PAIRS = {"(": ")", "[": "]", "\\{": "\\}", "\\langle": "\\rangle"}
_CURRENCIES = frozenset("$€£")
_BASES = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_BASES |= {"ten": 10, "twelve": 12, "sixteen": 16}
_EMPTY = frozenset({"empty set", "the empty set", "null set"})
_LARGEST_DETERMINANT = 4
_DEEPEST = 60
_MOST_TOKENS = 600


def read(text: str) -> Node:
    """Read a clean answer.

    Raises:
        UnsupportedError: It is mathematics that this grammar does not have.
        UnreadableError: It is something else.
    """
    tokens = tokenize(text)
    if len(tokens) > _MOST_TOKENS:
        raise UnreadableError("longer than any answer")
    for token in tokens:
        if token.kind == "command" and token.text in _UNSUPPORTED:
            raise UnsupportedError(f"\\{token.text} is beyond this grammar")
    return _Reader(tokens).read()


class _Reader:
    """Reads one answer; ``_at`` is the token that comes next."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def read(self) -> Node:
        node = self._answer()
        if self._at.kind != "end":
            raise UnreadableError(f"{self._at.text!r} makes no sense here")
        return node

    # Moving on

    @property
    def _at(self) -> Token:
        return self._tokens[self._position]

    def _ahead(self, offset: int) -> Token:
        return self._tokens[min(self._position + offset, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._at
        if token.kind == "end":
            raise UnreadableError("it ends in the middle")
        self._position += 1
        return token

    def _is(self, *signs: str) -> bool:
        token = self._at
        if token.kind == "sign":
            return token.text in signs
        return token.kind == "command" and "\\" + token.text in signs

    def _took(self, *signs: str) -> str:
        """Take the next token if it is one of the signs; return it as written, or ''."""
        if not self._is(*signs):
            return ""
        token = self._take()
        return token.text if token.kind == "sign" else "\\" + token.text

    def _expect(self, sign: str) -> None:
        if not self._took(sign):
            raise UnreadableError(f"{sign!r} is missing before {self._at.text!r}")

    # Lists and relations

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
        sides, signs = [self._side()], []
        while self._at_relation():
            signs.append("\\" + self._take().text if self._at.kind == "command" else self._take().text)
            sides.append(self._side())
        if not signs:
            return sides[0]
        return Relation(tuple(sides), tuple(signs))

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

    # Quantities

    def _measured(self) -> Node:
        """Read a sum, and the unit that may stand on either side of it."""
        if self._at.kind == "word":
            return self._text()
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
            unit = read_unit(currency)
            if name and read_unit(name) != unit:
                raise UnreadableError("two units")
        elif not name:
            return _with_degrees(value)
        else:
            unit = read_unit(name)
        if unit is None:
            raise UnreadableError(f"{name!r} is no unit")
        return Quantity(value, unit)

    def _multiplied(self, value: Node) -> Node:
        """Apply ``million`` and the like."""
        while self._at.kind == "word" and self._at.text.lower() in _MULTIPLIERS:
            power = _MULTIPLIERS[self._take().text.lower()]
            value = Apply("mul", (value, Number(Fraction(10**power))))
        return value

    def _unit_text(self) -> str:
        """Take the words and signs of a unit, and return them as text; '' if there are none."""
        if self._took("%", "\\%"):
            return "%" if self._at.kind != "word" else self._no_unit()
        if self._at.kind != "word" and not self._is("\\$", *_CURRENCIES):
            return ""
        if self._at.text == "to":
            return ""
        pieces: list[str] = []
        while self._at.kind in {"word", "number", "symbol"} or self._is(
            "/", "^", "{", "}", "-", "*", "\\cdot", "(", ")", "\\$", *_CURRENCIES
        ):
            if self._at.kind == "word" and self._at.text.lower() in {"or", "and"}:
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
            words.append(self._take().text.lower())
        if not words:
            raise UnreadableError("no words")
        text = " ".join(words)
        return SetOf(()) if text in _EMPTY else Text(text)

    # Expressions

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadableError("nested deeper than any answer")
        total = self._signed()
        while sign := self._took("+", "-", "\\pm", "\\mp"):
            total = Apply(_ADDITIONS[sign], (total, self._product()))
        self._depth -= 1
        return total

    def _signed(self) -> Node:
        sign = self._took("+", "-", "\\pm", "\\mp")
        if not sign:
            return self._product()
        term = self._product() if not self._is("+", "-") else self._signed()
        return term if sign == "+" else Apply(_SIGNS[sign], (term,))

    def _product(self) -> Node:
        product = self._power()
        while True:
            if self._took("*", "\\cdot", "\\times"):
                product = _times(product, self._factor())
            elif self._took("/", "\\div"):
                product = Apply("div", (product, self._factor()))
            elif self._starts_factor():
                product = _times(product, self._power())
            else:
                return product

    def _factor(self) -> Node:
        """Read what follows a sign of multiplication, which may have a sign of its own."""
        if self._took("-"):
            return Apply("neg", (self._power(),))
        self._took("+")
        return self._power()

    def _starts_factor(self) -> bool:
        token = self._at
        if token.kind == "number":
            # Two numbers side by side are no product.
            return self._tokens[self._position - 1].kind != "number"
        if token.kind in {"symbol", "function"}:
            # (0, 1) U (2, 3)
            return not (token.text == "U" and self._ahead(1).text in {"(", "["})
        if token.kind == "command":
            return token.text in {"frac", "sqrt", "binom", "lfloor", "lceil", "overline", "begin"}
        return token.kind == "sign" and token.text in {"(", "{"}

    def _power(self) -> Node:
        base = self._postfix()
        if not self._took("^", "**"):
            return base
        exponent = self._exponent()
        power = Apply("pow", (base, exponent))
        while self._took("!"):
            power = Apply("factorial", (power,))
        return _degrees(power) if self._took("°") else power

    def _exponent(self) -> Node:
        sign = self._took("-", "+")
        value = self._power()
        return Apply("neg", (value,)) if sign == "-" else value

    def _postfix(self) -> Node:
        node = self._atom()
        while True:
            if self._took("!"):
                node = Apply("factorial", (node,))
            elif self._is("'") and isinstance(node, Symbol):
                self._take()
                node = Symbol(node.name + "'")
            elif self._took("°"):
                return _degrees(node)
            else:
                return node

    def _atom(self) -> Node:
        token = self._at
        if token.kind == "number":
            return self._number()
        if token.kind == "numeral":
            return self._numeral()
        if token.kind == "symbol":
            return self._symbol()
        if token.kind == "function":
            return self._function()
        if token.kind == "command":
            return self._command()
        if token.kind == "sign":
            bracket = self._bracket()
            if isinstance(bracket, Number) and token.text == "(" and self._took("_"):
                return _in_base(str(bracket.value), self._script())
            return bracket
        raise UnreadableError(f"{token.text!r} is no value")

    def _number(self) -> Node:
        token = self._take()
        value = token.value or Fraction(0)
        if value.denominator == 1 and token.text.isdigit():
            part = self._mixed_part()
            if part is not None:
                return Number(value + part)
        return Number(value)

    def _mixed_part(self) -> Fraction | None:
        r"""Take the fraction of a mixed number, ``1\frac{1}{2}`` or ``1 1/2``, if one follows."""
        start = self._position
        if self._is("\\frac"):
            node = self._command()
            if isinstance(node, Apply) and node.operation == "div":
                above, below = node.arguments
                if _is_natural(above) and _is_natural(below) and _value(above) < _value(below):
                    return _value(above) / _value(below)
            self._position = start
            return None
        above_token, slash, below_token = self._at, self._ahead(1), self._ahead(2)
        if (
            above_token.kind == "number"
            and above_token.spaced
            and slash.text == "/"
            and below_token.kind == "number"
            and below_token.value
        ):
            self._position += 3
            return (above_token.value or Fraction(0)) / below_token.value
        return None

    def _numeral(self) -> Node:
        """Read digits with a base: ``1011_2``, ``2BF_{16}``."""
        digits, _, index = self._take().text.partition("_")
        return _in_base(digits.replace(",", ""), index.strip("{} "))

    def _script(self) -> str:
        """Take an index, ``1`` or ``{n+1}``, and return it as text."""
        if not self._took("{"):
            return self._take().text
        pieces = []
        while not self._is("}"):
            if self._at.kind == "end":
                raise UnreadableError("an index is never closed")
            pieces.append(self._take().text)
        self._take()
        return "".join(pieces)

    def _symbol(self) -> Node:
        name = self._take().text
        if name == "emptyset":
            return SetOf(())
        while self._took("_"):
            name += "_" + self._script()
        return Symbol(name)

    def _function(self) -> Node:
        name = self._take().text
        if name == "sqrt":
            return self._root()
        base: Node | None = None
        exponent: Node | None = None
        while self._is("_", "^"):
            if self._took("_"):
                base = self._atom()
            else:
                self._take()
                exponent = self._exponent_of_function()
        argument = self._function_argument()
        if base is not None:
            if name != "log":
                raise UnreadableError(f"{name} with an index")
            value: Node = Apply("log", (argument, base))
        elif isinstance(argument, Bracketed):
            value = Apply(name, argument.items)
        else:
            value = Apply(name, (argument,))
        if exponent is None:
            return value
        if exponent == Apply("neg", (Number(Fraction(1)),)) and "arc" + name in _INVERSES:
            return Apply("arc" + name, value.arguments)
        return Apply("pow", (value, exponent))

    def _exponent_of_function(self) -> Node:
        if self._is("{"):
            return self._atom()
        return self._exponent_atom()

    def _exponent_atom(self) -> Node:
        if self._took("-"):
            return Apply("neg", (self._atom(),))
        return self._atom()

    def _function_argument(self) -> Node:
        if self._is("(", "[", "{"):
            return self._bracket()
        if self._took("-"):
            return Apply("neg", (self._function_argument(),))
        argument = self._power()
        while self._starts_factor() and self._at.kind != "function" and not self._is("("):
            argument = Apply("mul", (argument, self._power()))
        return argument

    def _root(self) -> Node:
        index: Node = Number(Fraction(2))
        if self._took("["):
            index = self._sum()
            self._expect("]")
        return Apply("root", (self._atom(), index))

    def _command(self) -> Node:
        name = self._take().text
        if name in {"frac", "binom"}:
            above, below = self._argument(), self._argument()
            return Apply("div" if name == "frac" else "binomial", (above, below))
        if name in {"lfloor", "lceil"}:
            value = self._sum()
            self._expect("\\r" + name[1:])
            return Apply("floor" if name == "lfloor" else "ceil", (value,))
        if name == "langle":
            return self._items("\\langle")
        if name == "begin":
            return self._matrix()
        if name == "overline":
            return self._overline()
        raise UnreadableError(f"\\{name} is not known")

    def _overline(self) -> Node:
        """Read a conjugate, or a segment: letters stay a name."""
        inner = self._atom()
        names = symbols_of(inner)
        if isinstance(inner, Symbol) or not names & {"i"}:
            return Symbol(f"overline {inner}")
        return Apply("conjugate", (inner,))

    def _argument(self) -> Node:
        r"""Take an argument of ``\frac``: a group, or as TeX does a single digit."""
        token = self._at
        if token.kind == "number" and len(token.text) > 1 and token.text.isdigit():
            rest = token.text[1:]
            self._tokens[self._position] = Token("number", rest, Fraction(rest))
            return Number(Fraction(token.text[0]))
        return self._atom()

    def _bracket(self) -> Node:
        if self._is("(", "[", "\\{"):
            return self._items(self._at.text)
        if self._took("{"):
            inner = self._answer()
            self._expect("}")
            return inner
        if self._took("|"):
            inner = self._sum()
            self._expect("|")
            return Apply("abs", (inner,))
        if self._is("]"):
            return self._items("]")
        raise UnreadableError(f"{self._at.text!r} is no value")

    def _items(self, opening: str) -> Node:
        """Read what stands in brackets: a single expression, or several items."""
        if opening != "\\langle":
            self._take()
        if opening == "\\{":
            return self._set()
        items = [self._item()]
        while self._took(",", ";"):
            items.append(self._item())
        closing = self._took(")", "]", "\\rangle") or self._took("[")
        if not closing:
            raise UnreadableError(f"{opening!r} is never closed")
        if len(items) == 1 and closing == _PAIRS.get(opening) and opening in "([":
            return items[0]
        return Bracketed("(" if opening in {"]", "\\langle"} else opening, tuple(items),
                         ")" if closing in {"[", "\\rangle"} else closing)

    def _set(self) -> Node:
        if self._took("\\}"):
            return SetOf(())
        items = [self._item()]
        while self._took(",", ";"):
            items.append(self._item())
        if self._took("|", ":"):
            condition = self._answer()
            self._expect("\\}")
            return condition
        self._expect("\\}")
        return SetOf(tuple(items))

    def _matrix(self) -> Node:
        name = self._script()
        if name not in _MATRICES and name != "vmatrix":
            raise UnsupportedError(f"{name} is beyond this grammar")
        if name == "array" and self._is("{"):
            self._script()
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while not self._is("\\end"):
            if self._took("\\\\"):
                rows.append(tuple(row))
                row = []
            elif not self._took("&"):
                row.append(self._item())
        self._take()
        self._script()
        if row:
            rows.append(tuple(row))
        return _determinant(rows) if name == "vmatrix" else Matrix(tuple(rows))


_COMBINATIONS: dict[str, Literal["union", "intersection", "difference"]] = {
    "\\cup": "union",
    "\\cap": "intersection",
    "\\setminus": "difference",
}
_ADDITIONS = {"+": "add", "-": "sub", "\\pm": "plus_minus", "\\mp": "minus_plus"}
_SIGNS = {"-": "neg", "\\pm": "plus_minus", "\\mp": "minus_plus"}
_INVERSES = frozenset({"arcsin", "arccos", "arctan"})


def _in_base(digits: str, index: str) -> Node:
    name = re.sub(r"\\text|[{} ]", "", index)
    base = _BASES.get(name.lower()) or (int(name) if name.isdigit() and len(name) < 3 else 0)
    if not 2 <= base <= 36 or not digits.isalnum():
        raise UnreadableError(f"{digits!r} in base {index!r}")
    return Number(Fraction(digits)) if base == 10 else Numeral(digits.lstrip("0") or "0", base)


def _times(first: Node, second: Node) -> Node:
    """Return a product; a matrix times a number is one matrix."""
    if isinstance(first, Matrix) and is_expression(second):
        first, second = second, first
    if isinstance(second, Matrix) and is_expression(first):
        rows = second.rows
        return Matrix(tuple(tuple(Apply("mul", (first, e)) for e in row) for row in rows))
    return Apply("mul", (first, second))


def _determinant(rows: Sequence[tuple[Node, ...]]) -> Node:
    """Return the determinant as an expression, expanded by the first row."""
    if not 0 < len(rows) <= _LARGEST_DETERMINANT or any(len(row) != len(rows) for row in rows):
        raise UnsupportedError("a determinant of this form is beyond this grammar")
    if len(rows) == 1:
        return rows[0][0]
    total: Node = Number(Fraction(0))
    for column, entry in enumerate(rows[0]):
        minor = [row[:column] + row[column + 1 :] for row in rows[1:]]
        term = Apply("mul", (entry, _determinant(minor)))
        total = Apply("sub" if column % 2 else "add", (total, term))
    return total


def _degrees(node: Node) -> Node:
    return Apply("degrees", (node,))


def _with_degrees(node: Node) -> Node:
    """Return an angle in degrees as a quantity; anything else as it is."""
    value = _without_degrees(node)
    return node if value is None else Quantity(value, DEGREE)


def _without_degrees(node: Node) -> Node | None:
    """Return an expression that is so many degrees without its degree signs; else None."""
    if not isinstance(node, Apply):
        return None
    if node.operation == "degrees":
        return node.arguments[0]
    inner = [_without_degrees(argument) for argument in node.arguments]
    signed = [part is not None for part in inner]
    values = tuple(
        argument if part is None else part
        for part, argument in zip(inner, node.arguments, strict=True)
    )
    fits = {"neg": [[True]], "add": [[True] * 2], "sub": [[True] * 2], "div": [[True, False]]}
    fits["mul"] = [[True, False], [False, True]]
    return Apply(node.operation, values) if signed in fits.get(node.operation, []) else None


def _is_natural(node: Node) -> bool:
    return isinstance(node, Number) and node.value.denominator == 1 and node.value > 0


def _value(node: Node) -> Fraction:
    return node.value if isinstance(node, Number) else Fraction(0)
