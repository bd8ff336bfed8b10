"""The exceptions of the package."""


class RouteError(Exception):
    """The base class of all of them."""


class ParseError(RouteError):
    """A text cannot be read; `line` counts its lines from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


class UnknownNode(RouteError):
    """A node, cell or stop is asked for that does not exist."""


class InvalidGraph(RouteError):
    """An edge that cannot be, or a question that makes no sense for the kind of graph."""


class NoPath(RouteError):
    """There is no way from one place to another."""


class CycleFound(RouteError):
    """A graph has no topological order; `cycle` lists the nodes of one of its cycles."""

    def __init__(self, cycle: list[str]) -> None:
        super().__init__(" -> ".join([*cycle, cycle[0]]))
        self.cycle = cycle
