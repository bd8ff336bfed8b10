"""The basis of a recursive-descent parser: a position in a list of tokens."""

from gem_math.grading.errors import UnreadableError
from gem_math.grading.tokens import Token

__all__ = ["TokenReader"]


class TokenReader:
    """A position in a list of tokens; ``_at`` is the next token."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def _at(self) -> Token:
        return self._tokens[self._position]

    def _ahead(self, offset: int) -> Token:
        return self._tokens[min(self._position + offset, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._at
        if token.kind == "end":
            raise UnreadableError("the text ends too early")
        self._position += 1
        return token

    def _is(self, *signs: str) -> bool:
        token = self._at
        if token.kind == "sign":
            return token.text in signs
        return token.kind == "command" and "\\" + token.text in signs

    def _took(self, *signs: str) -> str:
        """Consume the next token if it is one of the signs; return its text, or ''."""
        if not self._is(*signs):
            return ""
        token = self._take()
        return token.text if token.kind == "sign" else "\\" + token.text

    def _expect(self, sign: str) -> None:
        if not self._took(sign):
            raise UnreadableError(f"{sign!r} is missing before {self._at.text!r}")

    def _script(self) -> str:
        """Consume an index, ``1`` or ``{n+1}``, and return it as text."""
        if not self._took("{"):
            return self._take().text
        pieces = []
        while not self._is("}"):
            if self._at.kind == "end":
                raise UnreadableError("an index is never closed")
            pieces.append(self._take().text)
        self._take()
        return "".join(pieces)
