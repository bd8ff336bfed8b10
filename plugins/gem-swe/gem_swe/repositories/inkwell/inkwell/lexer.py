"""From source text to tokens: a cursor that knows its line and column, and the lexer."""

import re
from dataclasses import dataclass

from inkwell.errors import ParseError, Position

CLOSERS = {"{{": "}}", "{%": "%}", "{#": "#}"}
SPACE = re.compile(r"\s*")
MINUS = re.compile("-")
TOKEN = re.compile(
    r"""(?P<name>[^\W\d]\w*)
    | (?P<number>\d+(?:\.\d+)?)
    | (?P<string>"[^"]*"|'[^']*')
    | (?P<operator>[=!<>]=|//|[-+*/%~<>=()\[\],.|])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """`kind` is one of text, open, close, name, number, string, operator, end."""

    kind: str
    value: str
    position: Position


class Cursor:
    """A place in a text that only moves forward and counts lines and columns from 1."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._offset = 0
        self._line = 1
        self._column = 1

    @property
    def position(self) -> Position:
        return Position(self._line, self._column)

    @property
    def remaining(self) -> int:
        return len(self._source) - self._offset

    def at(self, text: str) -> bool:
        return self._source.startswith(text, self._offset)

    def distance(self, text: str) -> int:
        """How many characters come before the next `text`; all that remain if there is none."""
        found = self._source.find(text, self._offset)
        return self.remaining if found < 0 else found - self._offset

    def advance(self, count: int = 1) -> str:
        """Move past the next `count` characters, or fewer if the text ends, and return them."""
        taken = self._source[self._offset : self._offset + count]
        for char in taken:
            if char == "\n":
                self._line += 1
                self._column = 1
            else:
                self._column += 1
        self._offset += len(taken)
        return taken

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past what matches the pattern right here, if anything does."""
        found = pattern.match(self._source, self._offset)
        if found is not None:
            self.advance(len(found.group()))
        return found


class Lexer:
    """Makes tokens; a minus sign in a delimiter, as in `{{-`, strips the text on that side."""

    def __init__(self, source: str) -> None:
        self._cursor = Cursor(source)
        self._strip_next = False
        self._tokens: list[Token] = []

    def run(self) -> list[Token]:
        """All tokens of the template; the last one has the kind end."""
        while self._cursor.remaining:
            self._read_text()
            if self._cursor.remaining:
                self._read_markup()
        self._tokens.append(Token("end", "", self._cursor.position))
        return self._tokens

    def _read_text(self) -> None:
        start = self._cursor.position
        text = self._cursor.advance(min(self._cursor.distance(opener) for opener in CLOSERS))
        if self._strip_next:
            text = text.lstrip()
        if any(self._cursor.at(opener + "-") for opener in CLOSERS):
            text = text.rstrip()
        if text:
            self._tokens.append(Token("text", text, start))

    def _read_markup(self) -> None:
        start = self._cursor.position
        opener = self._cursor.advance(2)
        closer = CLOSERS[opener]
        self._cursor.take(MINUS)
        if opener == "{#":
            comment = self._cursor.advance(self._cursor.distance(closer))
            self._strip_next = comment.endswith("-")
        else:
            self._tokens.append(Token("open", opener, start))
            self._read_code(closer)
            self._strip_next = self._cursor.take(MINUS) is not None
        if not self._cursor.at(closer):
            raise ParseError(f"{opener!r} is never closed", start)
        if opener != "{#":
            self._tokens.append(Token("close", closer, self._cursor.position))
        self._cursor.advance(2)

    def _read_code(self, closer: str) -> None:
        """Read tokens up to the closing delimiter, or the minus sign in front of it."""
        cursor = self._cursor
        cursor.take(SPACE)
        while cursor.remaining and not cursor.at(closer) and not cursor.at("-" + closer):
            self._read_token()
            cursor.take(SPACE)

    def _read_token(self) -> None:
        start = self._cursor.position
        found = self._cursor.take(TOKEN)
        if found is None:
            char = self._cursor.advance()
            problem = "unclosed string" if char in "'\"" else "unexpected character"
            raise ParseError(f"{problem} {char}", start)
        kind, text = str(found.lastgroup), found.group()
        self._tokens.append(Token(kind, text[1:-1] if kind == "string" else text, start))
