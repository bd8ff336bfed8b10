"""From tokens to the syntax tree."""

from inkwell import nodes
from inkwell.errors import ParseError
from inkwell.lexer import Lexer, Token
from inkwell.values import Markup

CONSTANTS = {"true": True, "false": False, "none": None}
KEYWORDS = (*CONSTANTS, "and", "or", "not", "in")
NEGATION = 3
PRECEDENCE = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">=", "in"], 3),
    **dict.fromkeys(["+", "-", "~"], 4),
    **dict.fromkeys(["*", "/", "//", "%"], 5),
}


class TokenStream:
    """Tokens and a place among them; reading stops at the last one, of the kind end."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0

    @property
    def current(self) -> Token:
        return self._tokens[self._index]

    def next(self) -> Token:
        """Return the current token and move to the one after it."""
        token = self.current
        self._index += 1
        return token

    def at(self, kind: str, *values: str) -> bool:
        """Whether the current token has the kind, and one of the values if any are given."""
        return self.current.kind == kind and (not values or self.current.value in values)

    def accept(self, kind: str, *values: str) -> Token | None:
        """Move past the current token and return it if it fits; otherwise stay, return None."""
        return self.next() if self.at(kind, *values) else None

    def expect(self, kind: str, *values: str) -> Token:
        """Like accept, but a ParseError when the token does not fit."""
        if not self.at(kind, *values):
            raise self.unexpected(" or ".join(values) or f"a {kind}")
        return self.next()

    def unexpected(self, wanted: str) -> ParseError:
        token = self.current
        return ParseError(f"expected {wanted} but found {token.value!r}", token.position)


class Parser:
    """Reads a whole template and checks that its tags are nested well.

    Operators from the loosest to the tightest: or; and; not; == != < <= > >= in; + - ~; * / // %;
    a minus sign; attributes, indexes and filters. Those of one level group from the left.
    """

    def __init__(self, source: str) -> None:
        self._stream = TokenStream(Lexer(source).run())

    def body(self, opening: Token | None = None, *stops: str) -> nodes.Body:
        """Nodes up to the name of one of the stop tags, or of the template without an opening."""
        found: list[nodes.Node] = []
        while not self._stream.at("end"):
            if token := self._stream.accept("text"):
                found.append(nodes.Literal(token.position, Markup(token.value)))
            elif self._stream.accept("open", "{{"):
                found.append(self._closed_expression())
            else:
                self._stream.expect("open")
                if stops and self._stream.at("name", *stops):
                    return tuple(found)
                found.append(self._tag())
        if opening is not None:
            raise ParseError(f"{opening.value!r} is never ended", opening.position)
        return tuple(found)

    def _expression(self, loosest: int = 1) -> nodes.Node:
        """An expression whose binary operators bind at least as tightly as `loosest`."""
        left = self._operand()
        while self._binding() >= loosest:
            token = self._stream.next()
            right = self._expression(PRECEDENCE[token.value] + 1)
            left = nodes.Operation(token.position, token.value, (left, right))
        return left

    def _listed(self, closer: str) -> tuple[nodes.Node, ...]:
        """Expressions with commas between them, then the closing operator; perhaps none."""
        if self._stream.accept("operator", closer):
            return ()
        items = [self._expression()]
        while self._stream.expect("operator", ",", closer).value == ",":
            items.append(self._expression())
        return tuple(items)

    def _binding(self) -> int:
        """How tightly the current token binds as a binary operator; 0 if it is none."""
        token = self._stream.current
        return PRECEDENCE.get(token.value, 0) if token.kind in ("name", "operator") else 0

    def _operand(self) -> nodes.Node:
        if token := self._stream.accept("name", "not"):
            return nodes.Operation(token.position, "not", (self._expression(NEGATION),))
        if token := self._stream.accept("operator", "-"):
            zero = nodes.Literal(token.position, 0)
            return nodes.Operation(token.position, "-", (zero, self._operand()))
        node = self._primary()
        while token := self._stream.accept("operator", ".", "[", "|"):
            if token.value == "[":
                key = self._expression()
                self._stream.expect("operator", "]")
                node = nodes.Operation(token.position, ".", (node, key))
                continue
            name = self._stream.expect("name")
            if token.value == ".":
                key = nodes.Literal(name.position, name.value)
                node = nodes.Operation(name.position, ".", (node, key))
            else:
                arguments = self._listed(")") if self._stream.accept("operator", "(") else ()
                node = nodes.Filtered(name.position, node, name.value, arguments)
        return node

    def _primary(self) -> nodes.Node:
        start = self._stream.current.position
        if token := self._stream.accept("number"):
            number = float(token.value) if "." in token.value else int(token.value)
            return nodes.Literal(start, number)
        if token := self._stream.accept("string"):
            return nodes.Literal(start, token.value)
        if token := self._stream.accept("name", *CONSTANTS):
            return nodes.Literal(start, CONSTANTS[token.value])
        if self._stream.at("name") and not self._stream.at("name", *KEYWORDS):
            return nodes.Name(start, self._stream.next().value)
        if self._stream.accept("operator", "["):
            return nodes.Operation(start, "[", self._listed("]"))
        if self._stream.accept("operator", "("):
            inner = self._expression()
            self._stream.expect("operator", ")")
            return inner
        raise self._stream.unexpected("a value")

    def _tag(self) -> nodes.Node:
        name = self._stream.expect("name")
        if name.value == "if":
            return self._if(name)
        if name.value == "for":
            return self._for(name)
        if name.value == "set":
            target = self._target()
            self._stream.expect("operator", "=")
            return nodes.Set(name.position, target, self._closed_expression())
        raise ParseError(f"unknown or misplaced tag {name.value!r}", name.position)

    def _if(self, opening: Token) -> nodes.If:
        branches: list[tuple[nodes.Node, nodes.Body]] = []
        while not branches or self._stream.accept("name", "elif"):
            condition = self._closed_expression()
            branches.append((condition, self.body(opening, "elif", "else", "endif")))
        return nodes.If(opening.position, tuple(branches), self._otherwise(opening, "endif"))

    def _for(self, opening: Token) -> nodes.For:
        targets = [self._target()]
        while self._stream.accept("operator", ","):
            targets.append(self._target())
        self._stream.expect("name", "in")
        items = self._closed_expression()
        body = self.body(opening, "else", "endfor")
        otherwise = self._otherwise(opening, "endfor")
        return nodes.For(opening.position, tuple(targets), items, body, otherwise)

    def _otherwise(self, opening: Token, end: str) -> nodes.Body:
        """The part after an `else` tag, empty if there is none, and the end tag."""
        body: nodes.Body = ()
        if self._stream.accept("name", "else"):
            self._stream.expect("close")
            body = self.body(opening, end)
        self._stream.expect("name", end)
        self._stream.expect("close")
        return body

    def _closed_expression(self) -> nodes.Node:
        """An expression and the closing delimiter that must follow it."""
        found = self._expression()
        self._stream.expect("close")
        return found

    def _target(self) -> str:
        """A name that may be set: neither a keyword nor `loop`."""
        token = self._stream.expect("name")
        if token.value in KEYWORDS or token.value == "loop":
            raise ParseError(f"{token.value!r} cannot be set", token.position)
        return token.value
