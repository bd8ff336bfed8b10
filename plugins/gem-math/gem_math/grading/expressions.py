r"""A recursive-descent parser of expressions, from sums to atoms.

sum       = ["+" | "-" | "\pm"] product (("+" | "-" | "\pm") product)*
product   = power (["*" | "/"] power)*
power     = postfix ["^" exponent]
postfix   = atom ("!" | "°" | "'")*
"""

import re
from abc import abstractmethod
from fractions import Fraction

from gem_math.grading.build import (
    cis,
    conjugate,
    degrees,
    determinant,
    in_base,
    plus,
    restricted,
    times,
)
from gem_math.grading.environments import EnvironmentReader
from gem_math.grading.errors import UnreadableError
from gem_math.grading.nodes import (
    Apply,
    Bracketed,
    Matrix,
    Node,
    Number,
    Relation,
    SetOf,
    Symbol,
)
from gem_math.grading.tokens import Token

__all__ = ["FUNCTION_NAMES", "ExpressionReader"]

_PAIRS = {"(": ")", "[": "]", "\\{": "\\}", "\\langle": "\\rangle"}
_FACTOR_COMMANDS = frozenset({"frac", "sqrt", "binom", "lfloor", "lceil", "overline", "begin"})
_ADDITIONS = {"+": "add", "-": "sub", "\\pm": "plus_minus", "\\mp": "minus_plus"}
_SIGNS = {"-": "neg", "\\pm": "plus_minus", "\\mp": "minus_plus"}
_INVERSES = frozenset({"arcsin", "arccos", "arctan"})
_MINUS_ONE = Apply("neg", (Number(Fraction(1)),))
_DEEPEST = 60
FUNCTION_NAMES = frozenset({*"fghFGHPpqTyr", "mathbb E", "mathbb P"})
"""The names that are functions before parentheses with variables."""
_CALL_SIGNS = frozenset("(),'^{}-")
_LONGEST_CALL = 24
_CALL = re.compile(
    r"(?:' )*(?:\^ (?:\{ )?- 1 (?:\} )?)?"
    r"\( (?:[fghFGH] \( )?(?:[a-zA-Z]+|\d+)(?: , (?:[a-zA-Z]+|\d+))*(?: \))? \)(?= |$)"
)


class ExpressionReader(EnvironmentReader):
    """A parser of expressions from tokens.

    Brackets may contain more than expressions, which the subclass parses.
    """

    @abstractmethod
    def _answer(self) -> Node:
        """Parse one or several items, as between braces."""

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadableError("nested too deeply")
        total = self._signed()
        while sign := self._took("+", "-", "\\pm", "\\mp"):
            total = plus(_ADDITIONS[sign], total, self._product())
        self._depth -= 1
        return total

    def _signed(self) -> Node:
        sign = self._took("+", "-", "\\pm", "\\mp")
        if not sign:
            return self._product()
        term = self._product() if not self._is("+", "-") else self._signed()
        if sign == "-" and isinstance(term, Matrix):
            return times(_MINUS_ONE, term)
        return term if sign == "+" else Apply(_SIGNS[sign], (term,))

    def _product(self) -> Node:
        product = self._power()
        while True:
            if self._took("*", "\\cdot", "\\times"):
                product = times(product, self._factor())
            elif not self._at_rate() and self._took("/", "\\div"):
                product = Apply("div", (product, self._factor()))
            elif self._starts_factor():
                product = times(product, self._power())
            else:
                return product

    def _at_rate(self) -> bool:
        """Return whether a unit follows a slash, as in ``15/hour``."""
        return self._is("/") and self._ahead(1).kind == "word"

    def _factor(self) -> Node:
        """Parse the operand after a multiplication sign, which may have its own sign."""
        if self._took("-"):
            return Apply("neg", (self._power(),))
        self._took("+")
        return self._power()

    def _starts_factor(self) -> bool:
        token = self._at
        if token.kind == "number":
            # Two adjacent numbers are not a product.
            return self._tokens[self._position - 1].kind != "number"
        if token.kind in {"symbol", "function"}:
            # (0, 1) U (2, 3)
            return not (token.text == "U" and self._ahead(1).text in {"(", "["})
        if token.kind == "command":
            return token.text in _FACTOR_COMMANDS
        return token.kind == "sign" and token.text in {"(", "[", "{"}

    def _power(self) -> Node:
        base = self._postfix()
        if not self._took("^", "**"):
            return base
        exponent = self._exponent()
        power = Apply("pow", (base, exponent))
        while self._took("!"):
            power = Apply("factorial", (power,))
        return degrees(power) if self._took("°") else power

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
                return degrees(self._with_minutes(node))
            else:
                return node

    def _with_minutes(self, node: Node) -> Node:
        """Parse the minutes and seconds of an angle, as in 22° 30' 15''."""
        for size, marks in ((60, ("'",)), (3600, ("'", "'"))):
            texts = tuple(self._ahead(1 + number).text for number in range(len(marks)))
            if self._at.kind != "number" or texts != marks:
                break
            part = Number((self._at.value or Fraction(0)) / size)
            self._position += 1 + len(marks)
            node = Apply("add", (node, part))
        return node

    def _atom(self) -> Node:
        read_kind = {
            "number": self._number,
            "numeral": self._numeral,
            "symbol": self._symbol,
            "function": self._function,
            "command": self._command,
            "sign": self._bracket,
        }.get(self._at.kind)
        if read_kind is None:
            raise UnreadableError(f"{self._at.text!r} is not a value")
        return read_kind()

    def _number(self) -> Node:
        token = self._take()
        value = token.value or Fraction(0)
        if value.denominator == 1 and token.text.isdigit():
            part = self._mixed_part()
            if part is not None:
                return Number(value + part)
        return Number(value)

    def _mixed_part(self) -> Fraction | None:
        r"""Parse the fraction of a mixed number, ``1\frac{1}{2}`` or ``1 1/2``, if one follows."""
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
        """Parse digits with a base: ``1011_2``, ``2BF_{16}``."""
        digits, _, index = self._take().text.partition("_")
        return in_base(digits.replace(",", ""), index.strip("{} "))

    def _symbol(self) -> Node:
        is_first = self._position == 0 or self._tokens[self._position - 1].text in {",", ";"}
        name = self._take().text
        if name == "emptyset":
            return SetOf(())
        while self._took("_"):
            name += "_" + self._script()
        if self._at_function_value():
            self._take()
            name += f"({self._take().text})"
            self._take()
            return Symbol(name)
        return Symbol(self._call(name, is_first=is_first) or name)

    def _call(self, name: str, *, is_first: bool) -> str:
        """Parse the arguments of a function: ``f(x)``, ``f(x, y)``, ``f^{-1}(x)``, ``f(g(x))``.

        A letter that starts a definition, as in ``V(r) =``, is a function too.

        Returns:
            The call as a name, or '' if no names follow in parentheses.
        """
        is_function = name.partition("_")[0] in FUNCTION_NAMES
        if not self._is("(", "'", "^") or not (is_function or is_first):
            return ""
        match = _CALL.match(" ".join(map(_spelled, self._tokens[self._position :][:_LONGEST_CALL])))
        length = len(match[0].split()) if match else 0
        if match is None or not (is_function or self._ahead(length).text == "="):
            return ""
        self._position += length
        return name + match[0].replace(" ", "")

    def _at_function_value(self) -> bool:
        """Return whether a number in parentheses follows directly, as in ``f(0)``."""
        opening, inner, closing = self._at, self._ahead(1), self._ahead(2)
        is_value = (opening.text, inner.kind, closing.text) == ("(", "number", ")")
        return is_value and not opening.spaced

    def _function(self) -> Node:
        name = self._take().text
        if name == "sqrt":
            return self._root()
        if name == "cis":
            return cis(self._function_argument())
        base: Node | None = None
        exponent: Node | None = None
        while self._is("_", "^"):
            if self._took("_"):
                base = self._atom()
            else:
                self._take()
                exponent = self._short_exponent()
        if base is not None and name != "log":
            raise UnreadableError(f"{name} with an index")
        argument = self._function_argument()
        if name == "det" and isinstance(argument, Matrix):
            return determinant(argument.rows)
        arguments = argument.items if isinstance(argument, Bracketed | SetOf) else (argument,)
        if base is not None:
            arguments = (*arguments, base)
        if exponent == _MINUS_ONE and "arc" + name in _INVERSES:
            return Apply("arc" + name, arguments)
        value = Apply(name, arguments)
        return value if exponent is None else Apply("pow", (value, exponent))

    def _short_exponent(self) -> Node:
        """Parse the exponent of a function's name, before its argument."""
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
            return conjugate(self._atom())
        raise UnreadableError(f"\\{name} is not known")

    def _argument(self) -> Node:
        r"""Parse an argument of ``\frac``: a group or, as in TeX, a single digit."""
        token = self._at
        if token.kind == "number" and len(token.text) > 1 and token.text.isdigit():
            rest = token.text[1:]
            self._tokens[self._position] = Token("number", rest, Fraction(rest))
            return Number(Fraction(token.text[0]))
        return self._atom()

    def _bracket(self) -> Node:
        if self._is("(", "[", "\\{"):
            opening = self._at.text
            items = self._items(opening)
            if isinstance(items, Number) and opening == "(" and self._took("_"):
                return in_base(str(items.value), self._script())
            return items
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
        raise UnreadableError(f"{self._at.text!r} is not a value")

    def _items(self, opening: str) -> Node:
        """Parse the content of brackets: a single expression, or several items."""
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
        return Bracketed(
            "(" if opening in {"]", "\\langle"} else opening,
            tuple(items),
            ")" if closing in {"[", "\\rangle"} else closing,
        )

    def _set(self) -> Node:
        if self._took("\\}"):
            return SetOf(())
        items = [self._element()]
        while self._took(",", ";"):
            items.append(self._item())
        if self._took("|", ":"):
            condition = self._answer()
            self._expect("\\}")
            return restricted(items[0], condition)
        self._expect("\\}")
        return SetOf(tuple(items))

    def _element(self) -> Node:
        """Parse the first item of a set, in which a colon before a condition is not a ratio."""
        following, start = self._ahead(1).text, self._position
        if self._at.kind == "symbol" and following == ":":
            return self._symbol()
        if self._at.kind == "symbol" and following == "in":
            name = self._symbol()
            self._take()
            domain = self._atom()
            if self._is(":", "|"):
                return Relation((name, domain), ("\\in",))
            self._position = start
        return self._item()


def _spelled(token: Token) -> str:
    """Return a token's text as far as it can be part of a call, or a question mark."""
    is_part = token.kind in {"symbol", "number"} or token.text in _CALL_SIGNS
    return token.text if is_part and not (token.text == "(" and token.spaced) else "?"


def _is_natural(node: Node) -> bool:
    return isinstance(node, Number) and node.value.denominator == 1 and node.value > 0


def _value(node: Node) -> Fraction:
    return node.value if isinstance(node, Number) else Fraction(0)
