"""The syntax tree."""

from dataclasses import dataclass

from inkwell.errors import Position


@dataclass(frozen=True)
class Node:
    """Base of all nodes; errors about a node are reported at its position."""

    position: Position


Body = tuple[Node, ...]


@dataclass(frozen=True)
class Literal(Node):
    value: object


@dataclass(frozen=True)
class Name(Node):
    name: str


@dataclass(frozen=True)
class Operation(Node):
    """An operator with its operands; `.` looks an item or attribute up, `[` makes a list."""

    symbol: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Filtered(Node):
    operand: Node
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class If(Node):
    """Pairs of a condition and what it guards, then what is left for `else`."""

    branches: tuple[tuple[Node, Body], ...]
    otherwise: Body


@dataclass(frozen=True)
class For(Node):
    targets: tuple[str, ...]
    items: Node
    body: Body
    otherwise: Body


@dataclass(frozen=True)
class Set(Node):
    name: str
    value: Node
