"""A small query language: the tokenizer, the parser, and how a query is carried out."""

import operator
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from .cells import Cell, compare, identity, parse_cell
from .errors import ParseError
from .grouping import FUNCTIONS, Aggregate, group_by
from .table import Row, Table

T = TypeVar("T")
Condition = Callable[[Row], bool]

_WORDS = [
    "select", "where", "group", "by", "having", "order", "asc", "desc", "limit", "as",
    "and", "or", "not", "in", "between", "is", "empty", "true", "false",
]  # fmt: skip
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le,
    "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TOKEN = re.compile(
    r'(?P<space>\s+)|(?P<text>"(?:[^"]|"")*")|(?P<name>[A-Za-z_]\w*|\[[^\]]+\])'
    r"|(?P<count>[0-9]+(?![\w.-]))|(?P<number>-?[0-9][\w.-]*)"
    r"|(?P<comparison>[<>!]=|[=<>])|(?P<symbol>[(),*])|(?P<bad>.)"
)


class Token(NamedTuple):
    """A part of a query: a word, name, text, count, number, comparison or symbol, or its end."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a query as they are written, then one of the kind "end".

    Words of the language are put in lower case; names in square brackets may be anything else.
    A character that begins no token raises ParseError.
    """
    for match in _TOKEN.finditer(text):
        kind, part = str(match.lastgroup), match.group()
        if kind == "bad":
            raise ParseError(f"unexpected {part!r}", match.start())
        if part.lower() in _WORDS:
            kind, part = "word", part.lower()
        if kind != "space":
            yield Token(kind, part, match.start())
    yield Token("end", "", len(text))


class Parser:
    """Goes through the tokens of a query, `at` the next one, and notes the aggregates in it."""

    def __init__(self, text: str) -> None:
        self.tokens = list(tokenize(text))
        self.at = 0
        self.aggregates: list[Aggregate] = []

    def fail(self, expected: str, back: int = 0) -> ParseError:
        token = self.tokens[self.at - back]
        return ParseError(f"expected {expected}, not {token.text!r}", token.position)

    def accept(self, *wanted: str) -> bool:
        """Steps over these words or symbols if all of them come next."""
        coming = self.tokens[self.at : self.at + len(wanted)]
        found = tuple(token.text for token in coming) == wanted
        self.at += len(wanted) if found else 0
        return found

    def take(self, kind: str, wanted: str = "") -> str:
        """Steps over a token of a kind, and with a certain text if one is given."""
        token = self.tokens[self.at]
        if token.kind != kind or wanted not in ("", token.text):
            raise self.fail(wanted or kind)
        self.at += 1
        return token.text

    def listed(self, part: Callable[[], T], between: str = ",") -> list[T]:
        """One or more parts with a word or symbol between each two."""
        parts = [part()]
        while self.accept(between):
            parts.append(part())
        return parts

    def name(self) -> str:
        return self.take("name").strip("[]")

    def literal(self) -> Cell:
        token = self.tokens[self.at]
        if token.kind == "text":
            return self.take("text")[1:-1].replace('""', '"')
        cell = parse_cell(token.text)
        if cell is None or isinstance(cell, str):
            raise self.fail("a value")
        self.at += 1
        return cell

    def item(self) -> tuple[str, str]:
        """The title of a selected column, and the name of the column that it is taken from."""
        source = self.name()
        if not self.accept("("):
            return (self.name() if self.accept("as") else source), source
        if source not in FUNCTIONS:
            raise self.fail("the name of a function", back=2)
        column = "*" if source == "count" and self.accept("*") else self.name()
        self.take("symbol", ")")
        call = Aggregate(source, column, self.name() if self.accept("as") else "")
        self.aggregates.append(call)
        return call.title, call.title

    def sort_key(self) -> tuple[str, bool]:
        return self.name(), not self.accept("asc") and self.accept("desc")

    def condition(self) -> Condition:
        parts = self.listed(self.conjunction, "or")
        return lambda row: any(part(row) for part in parts)

    def conjunction(self) -> Condition:
        parts = self.listed(self.negation, "and")
        return lambda row: all(part(row) for part in parts)

    def negation(self) -> Condition:
        if self.accept("not"):
            inner = self.negation()
            return lambda row: not inner(row)
        if self.accept("("):
            inner = self.condition()
            self.take("symbol", ")")
            return inner
        column = self.name()
        if self.accept("is"):
            filled = self.accept("not")
            self.take("word", "empty")
            return lambda row: (row[column] is not None) == filled
        negated = self.accept("not")
        check = self.check()
        return lambda row: row[column] is not None and check(row[column]) != negated

    def check(self) -> Callable[[Cell], bool]:
        if self.accept("in"):
            self.take("symbol", "(")
            among = [identity(cell) for cell in self.listed(self.literal)]
            self.take("symbol", ")")
            return lambda cell: identity(cell) in among
        if self.accept("between"):
            low = self.literal()
            self.take("word", "and")
            high = self.literal()
            return lambda cell: compare(low, cell) <= 0 <= compare(high, cell)
        holds = _COMPARISONS[self.take("comparison")]
        other = self.literal()
        return lambda cell: holds(compare(cell, other), 0)


def run_query(table: Table, text: str) -> Table:
    """What a query finds in a table: run_query(people, "select name where age > 30").

    The parts of a query are, in this order, and all but the first may be left out: select (* for
    all columns), where, group by, having, order by, limit. A function or "group by" makes groups;
    then only grouped columns may be selected as they are. "having" knows these and the titles of
    functions, "order by" also the titles of other columns, and what could have been selected.
    Conditions join tests (x >= 5, x in (1, 2), x between 1 and 2, x is empty) by and, or and not,
    and binds closer than or. An empty cell fails every test but "is empty", even x not in (1, 2);
    not x in (1, 2) then holds. A query that breaks these rules raises ParseError.
    """
    parser = Parser(text)
    parser.take("word", "select")
    items = [] if parser.accept("*") else parser.listed(parser.item)
    where = parser.condition() if parser.accept("where") else None
    groups = parser.listed(parser.name) if parser.accept("group", "by") else []
    having = parser.condition() if parser.accept("having") else None
    order = parser.listed(parser.sort_key) if parser.accept("order", "by") else []
    limit = int(parser.take("count")) if parser.accept("limit") else None
    parser.take("end")
    found = table.where(where) if where else table
    if groups or parser.aggregates:
        found = group_by(found, groups, parser.aggregates)
    found = found.where(having) if having else found
    sources = dict(items)
    names = [sources.get(name, name) for name, _ in order]
    down = [name for name, (_, falls) in zip(names, order) if falls]
    found = found.order_by(*names, descending=down)
    found = found if limit is None else found.limit(limit)
    items = items or [(name, name) for name in found.columns]
    cells = zip(*(found.column(source) for _, source in items))
    return Table([title for title, _ in items], cells)
